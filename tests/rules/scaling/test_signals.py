"""CloudFormation waits for signals that hosts send."""

from __future__ import annotations

import pytest

from gpu_constructs.checking.report import check_files
from tools.rule_examples import example_of

_WAITS = "  Hosts: {CreationPolicy: {ResourceSignal: {Timeout: PT15M}}}\n"
_UPDATES = "  Hosts: {UpdatePolicy: {AutoScalingRollingUpdate: {WaitOnResourceSignals: true, PauseTime: PT5M}}}\n"
_DATA = "  Template: {{Properties: {{LaunchTemplateData: {{UserData: {{'Fn::Base64': {}}}}}}}}}\n"
_CLOUD_CONFIG = (
    '{"Fn::Sub": "#cloud-config\\nbootcmd:\\n  - echo ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config\\n'
    'runcmd:\\n  - /opt/aws/bin/cfn-signal --resource Hosts\\n"}'
)


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
    text = example_of("GPU306").file(f"Resources:\n{part}")
    found = [each for each in check_files(["-"], stdin=text.encode()).findings if each.rule == "GPU306"]
    assert [str(each.severity) for each in found] == severities
