"""Warm pools out of templates."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, WarmPool
from tests.template.resources.declared import fleet, only_pool


def _group(**properties: Any) -> dict[str, Any]:
    launch = {"LaunchTemplateId": {"Ref": "Template"}}
    return {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Properties": {"MinSize": "0", "MaxSize": "4", "LaunchTemplate": launch, **properties},
    }


def _resources(**properties: Any) -> dict[str, Any]:
    text = "#!/bin/bash\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config"
    data = {"InstanceType": "g6.xlarge", "UserData": text}
    return {
        "Template": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}},
        "Group": _group(),
        "Warm": {
            "Type": "AWS::AutoScaling::WarmPool",
            "Properties": {"AutoScalingGroupName": {"Ref": "Group"}, **properties},
        },
    }


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, WarmPool(state="Stopped", min_size=0, max_prepared=None, reuse_on_scale_in=False)),
        ({"MaxGroupPreparedCapacity": -1}, WarmPool()),
        ({"InstanceReusePolicy": {"ReuseOnScaleIn": "true"}}, WarmPool(reuse_on_scale_in=True)),
    ],
)
def test_a_warm_pool_is_read(properties: dict[str, Any], expected: WarmPool) -> None:
    assert only_pool(_resources(**properties)).group.warm_pool == expected


def test_it_belongs_to_the_group_that_it_names() -> None:
    resources = _resources(MinSize=1) | {"Other": _group(AutoScalingGroupName="by-name")}
    assert [each.group.warm_pool is not None for each in fleet(resources).pools] == [True, False]
    resources["Warm"]["Properties"]["AutoScalingGroupName"] = "by-name"
    assert [each.group.warm_pool is not None for each in fleet(resources).pools] == [False, True]


def test_what_is_no_number_is_noted() -> None:
    found = fleet(_resources(MinSize="many"))
    assert found.pools[0].group.warm_pool == WarmPool(min_size=UNKNOWN)
    assert any("Properties.MinSize: expects a whole number, got 'many'" in each.text for each in found.remarks)
