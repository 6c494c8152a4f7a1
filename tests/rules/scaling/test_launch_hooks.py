"""New hosts wait for lifecycle hooks until something completes the action."""

from __future__ import annotations

import pytest

from gpu_constructs.checking.report import check_files
from tests.rules.changed import USER_DATA
from tools.rule_examples import example_of

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
    text = example_of("GPU316").file(f"{parameters}Resources:\n{part}")
    found = [each for each in check_files(["-"], stdin=text.encode()).findings if each.rule == "GPU316"]
    assert len(found) == count
