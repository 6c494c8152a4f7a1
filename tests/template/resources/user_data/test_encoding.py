"""EC2 takes user data in base64: what is written as a text has ``Fn::Base64`` around it."""

from __future__ import annotations

import base64

import pytest

from gpu_constructs.check.report import check_files

SCRIPT = "#!/bin/bash\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config\n"
ENCODED = base64.b64encode(SCRIPT.encode()).decode()
TEMPLATE = {
    "Parameters": {"Plain": {"Type": "String", "Default": SCRIPT}, "Encoded": {"Type": "String", "Default": ENCODED}},
    "Conditions": {"Never": {"Fn::Equals": ["a", "b"]}},
}


def refused(user_data: object) -> bool:
    kind = "AWS::EC2::LaunchTemplate"
    launch = {"Type": kind, "Properties": {"LaunchTemplateData": {"InstanceType": "g6.xlarge", "UserData": user_data}}}
    group = {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Properties": {"MinSize": "0", "MaxSize": "1", "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Template"}}},
    }
    provider = {
        "Type": "AWS::ECS::CapacityProvider",
        "Properties": {"AutoScalingGroupProvider": {"AutoScalingGroupArn": {"Ref": "Group"}}},
    }
    found = check_files([{**TEMPLATE, "Resources": {"Template": launch, "Group": group, "Provider": provider}}])
    return any("base64" in each.message for each in found.findings if each.rule == "GPU231")


@pytest.mark.parametrize(
    ("user_data", "expected"),
    [
        (SCRIPT, True),
        ({"Fn::Sub": "#!/bin/bash\necho ${AWS::StackName}\n"}, True),
        ({"Fn::Join": ["\n", ["#!/bin/bash", {"Ref": "Group"}]]}, True),
        (None, False),
    ],
)
def test_a_text_that_is_not_in_base64_is_refused(user_data: object, expected: bool) -> None:
    assert refused(user_data) is expected
