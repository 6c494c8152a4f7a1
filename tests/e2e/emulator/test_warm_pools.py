"""Warm pools, scheduled actions and Capacity Blocks, which all say when hosts are there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ecs_emulator.local import Local, NotDeployedError

from tests.e2e.templates import Template, cluster_template, resource

BLOCK = {
    "InstanceType": "p5.48xlarge",
    "AvailabilityZone": "us-east-1a",
    "TotalInstanceCount": 1,
    "ReservationType": "capacity-block",
    "StartDate": "2026-02-01T11:30:00Z",
    "EndDate": "2026-02-02T11:30:00Z",
}


def warm(template: Template, *, told: bool = True, **settings: Any) -> Template:
    template["Resources"]["WarmPool"] = resource(
        "AutoScaling::WarmPool", AutoScalingGroupName={"Ref": "Group"}, **settings
    )
    if told:
        data(template)["UserData"]["Fn::Base64"]["Fn::Sub"] += "\necho ECS_WARM_POOLS_CHECK=true >> /etc/ecs/ecs.config"
    return template


def data(template: Template) -> Template:
    return template["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"]  # type: ignore[no-any-return]


def pool(cloud: Local, group: str) -> list[tuple[str, str]]:
    answer = cloud.account.client("autoscaling").describe_warm_pool(AutoScalingGroupName=group)
    return [(item["InstanceId"], item["LifecycleState"]) for item in answer["Instances"]]


def states(cloud: Local, group: str) -> dict[str, str]:
    described = cloud.account.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[group])
    instances = described["AutoScalingGroups"][0]["Instances"]
    return {item["InstanceId"]: item["LifecycleState"] for item in instances}


@pytest.mark.parametrize(
    ("settings", "size"),
    [({}, 4), ({"MaxGroupPreparedCapacity": 2}, 2), ({"MaxGroupPreparedCapacity": 0, "MinSize": 1}, 1)],
)
def test_a_pool_holds_what_its_formula_says(cloud: Local, settings: dict[str, Any], size: int) -> None:
    stack = cloud.deploy(warm(cluster_template(max_size=4), **settings))

    assert [state for _, state in pool(cloud, stack.outputs["Group"])] == ["Warmed:Stopped"] * size
    assert not cloud.account.hosts(stack.outputs["Cluster"])
    cloud.destroy(stack)


def test_a_group_takes_warm_hosts_before_it_launches(cloud: Local) -> None:
    stack = cloud.deploy(warm(cluster_template(max_size=2)))
    outputs = stack.outputs
    warmed = {name for name, _ in pool(cloud, outputs["Group"])}

    assert cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"]) == "RUNNING"

    assert set(states(cloud, outputs["Group"])) == warmed
    assert not pool(cloud, outputs["Group"])
    cloud.account.stop_all(outputs["Cluster"])
    cloud.destroy(stack)


@pytest.mark.parametrize(("told", "hosts"), [(True, 0), (False, 2)])
def test_a_running_warm_host_joins_its_cluster_unless_its_agent_checks(cloud: Local, told: bool, hosts: int) -> None:
    stack = cloud.deploy(warm(cluster_template(), told=told, PoolState="Running"))

    cloud.minutes(stack.outputs["Cluster"], 2)

    assert len(cloud.account.hosts(stack.outputs["Cluster"])) == hosts
    cloud.destroy(stack)


def with_policy(template: Template, **distribution: object) -> Template:
    group = template["Resources"]["Group"]["Properties"]
    group["MixedInstancesPolicy"] = {
        "LaunchTemplate": {"LaunchTemplateSpecification": group.pop("LaunchTemplate")},
        "InstancesDistribution": distribution,
    }
    return template


@pytest.mark.parametrize("how", ["a policy with spot", "spot"])
def test_a_pool_is_refused_with_spot(cloud: Local, how: str) -> None:
    template = warm(cluster_template())
    if how == "spot":
        data(template)["InstanceMarketOptions"] = {"MarketType": "spot"}
    else:
        with_policy(template, OnDemandPercentageAboveBaseCapacity=0)

    with pytest.raises(NotDeployedError, match="can't add a warm pool"):
        cloud.deploy(template)


def test_spot_is_refused_with_a_pool(cloud: Local) -> None:
    template = warm(cluster_template())
    stack = cloud.deploy(template)

    with pytest.raises(NotDeployedError, match="can't request Spot Instances"):
        cloud.update(stack, with_policy(template, OnDemandPercentageAboveBaseCapacity=0))

    cloud.destroy(stack)


def scheduled(template: Template, name: str, **settings: object) -> Template:
    template["Resources"][name] = resource(
        "AutoScaling::ScheduledAction", AutoScalingGroupName={"Ref": "Group"}, **settings
    )
    return template


def test_a_scheduled_action_runs_once_when_its_time_has_come(cloud: Local) -> None:
    template = scheduled(cluster_template(), "Up", DesiredCapacity=2, StartTime="2026-01-02T00:00:00Z")
    stack = cloud.deploy(scheduled(template, "Down", DesiredCapacity=0, StartTime="2026-01-03T00:00:00Z"))
    cluster, group, counts = stack.outputs["Cluster"], stack.outputs["Group"], []

    for time in ("2026-01-01T23:59:59Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"):
        cloud.switch("now", time)
        cloud.minutes(cluster, 2)
        counts.append(len(states(cloud, group)))

    assert counts == [0, 2, 0]
    cloud.destroy(stack)


def block(template: Template) -> Template:
    data(template).update(
        InstanceMarketOptions={"MarketType": "capacity-block"},
        CapacityReservationSpecification={"CapacityReservationTarget": {"CapacityReservationId": "cr-block"}},
    )
    template["Resources"]["Subnet"]["Properties"]["AvailabilityZone"] = "us-east-1a"
    return template


def test_hosts_of_a_capacity_block_come_at_its_start_and_go_before_its_end(cloud: Local) -> None:
    cloud.switch("reservations/cr-block", json.dumps(BLOCK))
    template = block(cluster_template("p5.48xlarge"))
    stack = cloud.deploy(scheduled(template, "Up", DesiredCapacity=1, StartTime="2026-02-01T11:35:00Z"))
    cluster, group, counts = stack.outputs["Cluster"], stack.outputs["Group"], []

    for time in ("2026-02-01T11:00:00Z", "2026-02-01T11:35:00Z", "2026-02-02T10:59:00Z", "2026-02-02T11:00:00Z"):
        cloud.switch("now", time)
        cloud.minutes(cluster, 2)
        counts.append(len(states(cloud, group)))

    assert counts == [0, 1, 1, 0]
    cloud.destroy(stack)


def test_a_task_waits_for_a_capacity_block_that_has_not_begun(cloud: Local) -> None:
    cloud.switch("reservations/cr-block", json.dumps(BLOCK))
    stack = cloud.deploy(block(cluster_template("p5.48xlarge")))
    outputs = stack.outputs

    before = cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"])
    cloud.switch("now", "2026-02-01T12:00:00Z")
    cloud.minutes(outputs["Cluster"], 4)

    assert before == "PROVISIONING"
    assert [task.status for task in cloud.account.tasks(outputs["Cluster"])] == ["RUNNING"]
    assert len(cloud.account.hosts(outputs["Cluster"])) == 1  # the block holds one, though ECS asks for two
    cloud.account.stop_all(outputs["Cluster"])
    cloud.destroy(stack)
