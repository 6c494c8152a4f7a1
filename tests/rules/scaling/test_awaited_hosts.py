"""New hosts wait for lifecycle hooks until something completes the action, and CloudFormation for their signals."""

from __future__ import annotations

import pytest

from tests.reports import of_part
from tests.rules.changed import USER_DATA

_HOOK = "LifecycleTransition: autoscaling:EC2_INSTANCE_LAUNCHING"
_BESIDE = """  Hook:
    Type: AWS::AutoScaling::LifecycleHook
    Properties: {AutoScalingGroupName: !Ref Hosts, %s}
"""
_ALONE = _BESIDE % _HOOK
_FUNCTION = """  Answers:
    Type: AWS::Events::Rule
    Properties: {EventPattern: {source: [aws.autoscaling]}, Targets: [{Id: a, Arn: !Ref Answering}]}
"""
_ROLE = """  May:
    Type: AWS::IAM::Role
    Properties: {Policies: [{PolicyDocument: {Statement: [{Action: ['autoscaling:CompleteLifecycleAction']}]}}]}
"""
_WAITS = "  Hosts: {CreationPolicy: {ResourceSignal: {Timeout: PT15M}}}\n"
_UPDATES = "  Hosts: {UpdatePolicy: {AutoScalingRollingUpdate: {WaitOnResourceSignals: true, PauseTime: PT5M}}}\n"
_DATA = "  Template: {{Properties: {{LaunchTemplateData: {{UserData: {{'Fn::Base64': {}}}}}}}}}\n"
_CLOUD_CONFIG = (
    '{"Fn::Sub": "#cloud-config\\nbootcmd:\\n  - echo ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config\\n'
    'runcmd:\\n  - /opt/aws/bin/cfn-signal --resource Hosts\\n"}'
)


@pytest.mark.parametrize(
    ("part", "count"),
    [
        (_ALONE, 1),
        (_BESIDE % f"{_HOOK}, DefaultResult: ABANDON", 1),
        (_ALONE + USER_DATA % "echo ready", 1),
        (_BESIDE % f"{_HOOK}, DefaultResult: CONTINUE", 0),
        (_BESIDE % f"{_HOOK}, DefaultResult: !Ref Result", 0),
        (_BESIDE % f"{_HOOK}, NotificationTargetARN: !Ref Answering", 0),
        (_BESIDE % "LifecycleTransition: autoscaling:EC2_INSTANCE_TERMINATING", 0),
        (_ALONE + USER_DATA % "aws autoscaling complete-lifecycle-action --lifecycle-action-result CONTINUE", 0),
        (_ALONE + USER_DATA % "curl -s https://example.com/setup.sh | bash", 0),
        (_ALONE + _FUNCTION, 0),
        (_ALONE + _ROLE, 0),
        (_ALONE + "  Runs: {Type: AWS::SSM::Association, Properties: {Name: AWS-RunShellScript}}\n", 0),
        (_ALONE + "  Template: {Properties: {LaunchTemplateData: {ImageId: ami-0123456789abcdef0}}}\n", 0),
    ],
)
def test_a_launch_hook_that_nothing_completes_is_named(part: str, count: int) -> None:
    parameters = "Parameters: {Answering: {Type: String}, Result: {Type: String}}\n"
    assert len(of_part("GPU316", f"{parameters}Resources:\n{part}")) == count


@pytest.mark.parametrize(
    ("part", "severities"),
    [
        (_WAITS, ["error"]),
        (_UPDATES, ["warning"]),
        ("  Hosts: {CreationPolicy: {ResourceSignal: {Count: 0}}}\n", []),
        ("  Hosts: {CreationPolicy: {ResourceSignal: {Count: !Ref Many}}}\n", []),
        ("  Hosts: {CreationPolicy: {AutoScalingCreationPolicy: {MinSuccessfulInstancesPercent: 50}}}\n", []),
        (_WAITS + _DATA.format(_CLOUD_CONFIG), []),
        (_WAITS + "  Runs: {Type: AWS::SSM::Association, Properties: {Name: AWS-RunShellScript}}\n", []),
        (_WAITS + "  May: {Type: AWS::IAM::Policy, Properties: {Action: ['cloudformation:SignalResource']}}\n", []),
    ],
)
def test_hosts_that_send_no_signal_are_named_where_cloudformation_waits(part: str, severities: list[str]) -> None:
    assert [str(each.severity) for each in of_part("GPU306", f"Resources:\n{part}")] == severities
