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
_WAITS = "  Hosts: {CreationPolicy: {ResourceSignal: {Timeout: PT15M}}}\n"
_UPDATES = "  Hosts: {UpdatePolicy: {AutoScalingRollingUpdate: {WaitOnResourceSignals: true, PauseTime: PT5M}}}\n"


@pytest.mark.parametrize(
    ("part", "count"),
    [
        (_ALONE, 1),
        (_BESIDE % f"{_HOOK}, DefaultResult: ABANDON", 1),
        (_ALONE + USER_DATA % "echo ready", 1),
        (_BESIDE % f"{_HOOK}, DefaultResult: CONTINUE", 0),
        (_ALONE + _FUNCTION, 0),
    ],
)
def test_a_launch_hook_that_nothing_completes_is_named(part: str, count: int) -> None:
    parameters = "Parameters: {Answering: {Type: String}, Result: {Type: String}}\n"
    assert len(of_part("GPU316", f"{parameters}Resources:\n{part}")) == count


@pytest.mark.parametrize(
    ("part", "severities"),
    [
        (_WAITS, ["error"]),
        (_UPDATES, ["error"]),
        (_UPDATES.replace("true", "true, MinSuccessfulInstancesPercent: 0"), ["warning"]),
        ("  Hosts: {CreationPolicy: {ResourceSignal: {Count: !Ref Many}}}\n", []),
        (_WAITS + "  Runs: {Type: AWS::SSM::Association, Properties: {Name: AWS-RunShellScript}}\n", []),
        (_WAITS + "  May: {Type: AWS::IAM::Policy, Properties: {Action: ['cloudformation:SignalResource']}}\n", []),
    ],
)
def test_hosts_that_send_no_signal_are_named_where_cloudformation_waits(part: str, severities: list[str]) -> None:
    assert [str(each.severity) for each in of_part("GPU306", f"Resources:\n{part}")] == severities
