"""How hosts come: steps of managed scaling, and hosts that are kept prepared."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest

from gpu_constructs import (
    GpuJob,
    GpuService,
    HostReplacement,
    HostScaling,
    InvalidValueError,
    WarmHosts,
)
from gpu_constructs.fleet import UNKNOWN, WarmPool
from tests.synthesis import Site, user_data

_WARM_POOL = "AWS::AutoScaling::WarmPool"


def test_steps_and_target_reach_the_capacity_provider(site: Site) -> None:
    steps = HostScaling(minimum_scaling_step_size=2, maximum_scaling_step_size=4, target_capacity_percent=90)
    site.capacity("g6.xlarge", scaling=steps)
    assert site.only("AWS::ECS::CapacityProvider")["AutoScalingGroupProvider"]["ManagedScaling"] == {
        "InstanceWarmupPeriod": 600,
        "MaximumScalingStepSize": 4,
        "MinimumScalingStepSize": 2,
        "Status": "ENABLED",
        "TargetCapacity": 90,
    }


@pytest.mark.parametrize(
    ("argument", "value", "allowed"),
    [
        ("minimum_scaling_step_size", 0, "1 to 10000"),
        ("maximum_scaling_step_size", 10001, "1 to 10000"),
        ("target_capacity_percent", 0, "1 to 100"),
        ("target_capacity_percent", 101, "1 to 100"),
        ("target_capacity_percent", float("nan"), "1 to 100"),
        ("instance_warmup_seconds", -1, "0 to 10000"),
    ],
)
def test_numbers_outside_the_api_are_refused(argument: str, value: object, allowed: str) -> None:
    with pytest.raises(InvalidValueError) as raised:
        HostScaling(**{argument: value})  # type: ignore[arg-type]
    assert (raised.value.argument, raised.value.allowed) == (argument, allowed)


def test_steps_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="5 hosts at least and 2 at most contradict"):
        HostScaling(minimum_scaling_step_size=5, maximum_scaling_step_size=2)


def test_warm_hosts_are_a_warm_pool_of_exactly_their_number(site: Site) -> None:
    made = site.capacity("g6.xlarge", scaling=HostScaling(warm_hosts=WarmHosts(hosts=2)))
    assert site.warnings() == []
    pool = site.only(_WARM_POOL)
    assert pool.pop("AutoScalingGroupName") == {"Ref": "ClusterCapacityGroupASG4C96E0D9"}
    assert pool == {"MinSize": 2, "MaxGroupPreparedCapacity": 2, "PoolState": "Stopped"}
    assert made.pool.group.warm_pool == WarmPool(state="Stopped", min_size=2, max_prepared=2)
    assert "\nECS_WARM_POOLS_CHECK=true\n" in user_data(site.launch_template())


def test_numbers_that_are_only_known_at_deploy_time_are_passed_on(site: Site) -> None:
    warm = WarmHosts(hosts=site.number("Hosts"))
    made = site.capacity("g6.xlarge", scaling=HostScaling(warm_hosts=warm))
    assert site.only(_WARM_POOL)["MinSize"] == {"Ref": "Hosts"}
    assert made.pool.group.warm_pool == WarmPool(min_size=UNKNOWN, max_prepared=UNKNOWN)


@pytest.mark.parametrize(
    ("arguments", "argument", "words"),
    [
        ({"hosts": 0}, "hosts", "1 or more"),
        ({"hosts": True}, "hosts", "1 or more"),
        ({"hosts": 1, "state": "Hibernated"}, "state", "EC2 hibernates no type with accelerators"),
        ({"hosts": 1, "state": "stopped"}, "state", "no such state, 'stopped'"),
        ({"hosts": 1, "state": None}, "state", "'Stopped' or 'Running'"),
    ],
)
def test_warm_hosts_that_are_wrong_by_themselves(arguments: dict[str, Any], argument: str, words: str) -> None:
    with pytest.raises(InvalidValueError) as raised:
        WarmHosts(**arguments)
    assert raised.value.argument == argument
    assert words in str(raised.value)


def test_a_capacity_may_be_paused_and_work_that_wants_it_is_told(site: Site) -> None:
    """Auto Scaling takes a MaxSize of 0."""
    replacement = HostReplacement(launch_first=False)
    paused = site.capacity("g6.xlarge", max_instances=0, scaling=HostScaling(replacement=replacement))
    task = site.task(paused)
    task.add_gpu_container("chat", image=site.image)
    for name, count in (("Asleep", 0), ("Awake", 1)):
        GpuService(site.stack, name, cluster=site.cluster, task_definition=task, desired_count=count)
    GpuJob(site.stack, "Job", cluster=site.cluster, task_definition=task, timeout=cdk.Duration.hours(1))
    assert sorted(site.findings("GPU009")) == [
        "no task of Job/StateMachine[Run] starts while MaxSize of Cluster/Capacity is 0",
        "the only task has no room: Cluster/Capacity holds 0 at MaxSize",
    ]


@pytest.mark.parametrize(("most", "times"), [(2, 1), (1, 0)])
def test_the_second_host_from_zero_is_said_unless_there_can_be_one_only(site: Site, most: int, times: int) -> None:
    capacity = site.capacity("p5.48xlarge", max_instances=most)
    task = site.task(capacity)
    task.add_gpu_container("train", image=site.image, gpus=8)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task, desired_count=1)
    assert len(site.findings("GPU087")) == times
