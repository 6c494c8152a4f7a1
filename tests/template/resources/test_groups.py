"""What a group says of its hosts, out of templates: how a deploy replaces them, its warm pool, and its region."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, HostUpdate, UpdateMethod, WarmPool
from tests.template.resources.declared import fleet_of_data, only_pool, pool_of_data, resource

DATA = {"InstanceType": "g6.xlarge", "UserData": "#!/bin/bash\necho ECS_CLUSTER=gpu >> /etc/ecs/ecs.config"}


def _update(policy: Any, **properties: Any) -> HostUpdate | None:
    return pool_of_data(DATA, properties, update_policy=policy).group.update


def _refresh(**fields: Any) -> HostUpdate:
    return HostUpdate(method=UpdateMethod.INSTANCE_REFRESH, **fields)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"AutoScalingReplacingUpdate": {"WillReplace": "false"}}, None),
        ({"AutoScalingInstanceRefresh": {"Strategy": "Rolling"}}, _refresh()),
        (
            {"AutoScalingRollingUpdate": {"MinInstancesInService": 2, "SuspendProcesses": ["AlarmNotification"]}},
            HostUpdate(method=UpdateMethod.ROLLING, min_in_service=2, suspended=("AlarmNotification",)),
        ),
    ],
)
def test_an_update_policy_is_read(policy: Any, expected: HostUpdate | None) -> None:
    assert _update(policy) == expected


def test_the_groups_own_policy_may_say_how_many_stay() -> None:
    own = {"InstanceMaintenancePolicy": {"MinHealthyPercentage": 90, "MaxHealthyPercentage": 100}}
    update = _update({"AutoScalingInstanceRefresh": {"Strategy": "Rolling"}}, **own)
    assert update == _refresh(min_healthy_percent=UNKNOWN, max_healthy_percent=UNKNOWN)


def _warm(**properties: Any) -> dict[str, Any]:
    return resource("AutoScaling::WarmPool", **{"AutoScalingGroupName": {"Ref": "Group"}, **properties})


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, WarmPool(state="Stopped", min_size=0, max_prepared=None, reuse_on_scale_in=False)),
        ({"MaxGroupPreparedCapacity": -1}, WarmPool()),
        ({"InstanceReusePolicy": {"ReuseOnScaleIn": "true"}}, WarmPool(reuse_on_scale_in=True)),
    ],
)
def test_a_warm_pool_is_read(properties: dict[str, Any], expected: WarmPool) -> None:
    assert pool_of_data(DATA, Warm=_warm(**properties)).group.warm_pool == expected


@pytest.mark.parametrize(("name", "has"), [({"Ref": "Group"}, [True, False]), ("by-name", [False, True])])
def test_it_belongs_to_the_group_that_it_names(name: Any, has: list[bool]) -> None:
    properties = {"AutoScalingGroupName": "by-name", "LaunchTemplate": {"LaunchTemplateId": {"Ref": "Template"}}}
    other = {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": properties}
    found = fleet_of_data(DATA, Warm=_warm(AutoScalingGroupName=name), Other=other).pools
    assert [each.group.warm_pool is not None for each in found] == has


def test_what_is_no_number_is_noted() -> None:
    found = fleet_of_data(DATA, Warm=_warm(MinSize="many"))
    assert found.pools[0].group.warm_pool == WarmPool(min_size=UNKNOWN)
    assert any("Properties.MinSize: expects a whole number, got 'many'" in each.text for each in found.remarks)


PROVIDER = {"Type": "AWS::ECS::CapacityProvider", "Properties": {"AutoScalingGroupProvider": {}}}


def logging_to(region: Any) -> dict[str, Any]:
    log = {"LogDriver": "awslogs", "Options": {"awslogs-region": region}}
    containers = [{"Name": "c", "LogConfiguration": log}]
    return {"Type": "AWS::ECS::TaskDefinition", "Properties": {"ContainerDefinitions": containers}}


@pytest.mark.parametrize(
    ("hints", "stack_region", "expected"),
    [(["eu-west-1"], None, "eu-west-1"), (["eu-west-1"], "us-east-1", "us-east-1"), (["somewhere"], None, None)],
)
def test_the_region_of_the_logs_stands_in_for_that_of_the_stack(hints: Any, stack_region: Any, expected: Any) -> None:
    resources = {f"Task{number}": logging_to(hint) for number, hint in enumerate(hints)}
    pool = only_pool({**resources, "Provider": PROVIDER}, region=stack_region)
    assert pool.region == expected
    assert pool.origin is not None
    assert pool.origin.place.region == expected
