"""GPUs that fail, on the emulator: the host goes, its work runs again elsewhere, and somebody is told."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import aws_cdk as cdk
import pytest
from emulator.local import Deployed, Local

from .watched_cluster import HARMLESS_XIDS, Watched, template

Deploy = Callable[..., Watched]


@pytest.fixture(name="deploy")
def _deploy(cloud: Local) -> Iterator[Deploy]:
    deployed: list[tuple[Watched, Deployed]] = []

    def deploy(**how: Any) -> Watched:
        made = cloud.deploy(template(**how))

        def update(change: Callable[[Any], Any]) -> None:
            cloud.update(made, change(copy.deepcopy(template(**how))))

        deployed.append((Watched(cloud.account, made.outputs, update), made))
        return deployed[-1][0]

    yield deploy
    for each, made in deployed:
        each.account.stop_all(each.cluster)
        cloud.destroy(made)


def test_a_fatal_xid_under_a_service_moves_it_to_another_host(deploy: Deploy) -> None:
    watched = deploy(copies=2)
    others = set(watched.hosts())
    broken, gpu = watched.host_of("chat")
    watched.fault(broken, gpu)
    watched.minutes(10)
    assert watched.executions() == [("SUCCEEDED", "")]
    assert len(watched.running("chat")) == 2
    assert others - {broken} <= set(watched.hosts())
    assert broken not in watched.hosts()
    drained, replaced = watched.told()
    assert drained == (
        f"Host {broken} of cluster {watched.cluster} is draining: GPU 0 ({gpu}) failed with Xid 79, GPU has fallen off "
        f'the bus. It gets no new task. Stopped, to run elsewhere: ["service:{watched.outputs["Chat"]}"]. To move, or '
        "to end: []."
    )
    assert replaced.endswith("Its Auto Scaling group has the 2 hosts that it should have.")


def test_a_job_on_the_failed_gpu_runs_again_elsewhere_and_ends_well(deploy: Deploy) -> None:
    watched = deploy()
    job = watched.start("late,0")
    watched.minutes(6)
    broken, gpu = watched.host_of("train")
    watched.fault(broken, gpu)
    assert watched.end(job)["status"] == "SUCCEEDED"
    assert broken not in watched.hosts()


@pytest.mark.parametrize("xid", HARMLESS_XIDS)
def test_a_harmless_xid_drains_nothing(deploy: Deploy, xid: int) -> None:
    watched = deploy(copies=1)
    before = watched.states()
    watched.fault(*watched.host_of("chat"), xid=xid)
    watched.minutes(5)
    assert watched.states() == before
    assert watched.executions() == [("SUCCEEDED", "")]
    assert watched.told() == []


def test_a_fault_during_a_deployment_hinders_neither(deploy: Deploy) -> None:
    watched = deploy(copies=2)
    broken, gpu = watched.host_of("chat")
    watched.fault(broken, gpu)
    watched.update(lambda template: _with_command(template, "chat"))
    watched.minutes(10)
    assert watched.executions() == [("SUCCEEDED", "")]
    assert len(watched.running("chat")) == 2
    assert broken not in watched.hosts()


def test_without_capacity_for_a_replacement_healthy_tasks_keep_their_time(deploy: Deploy, cloud: Local) -> None:
    watched = deploy(instance_type="g6.12xlarge", most=1, copies=2, drain_timeout=cdk.Duration.minutes(20))
    broken, gpu = watched.host_of("chat")
    cloud.switch("no-capacity", "g6.12xlarge")
    watched.fault(broken, gpu)
    watched.minutes(15)
    # One was on the failed GPU; the other has no other place to go to.
    assert watched.running("chat") == [broken]
    watched.minutes(45)
    assert watched.executions() == [("FAILED", "NotReplaced")]
    *_, stopping, nothing = watched.told()
    assert "ends with tasks" in stopping
    assert "They have not ended or moved within 20 minutes. They are stopped now" in stopping
    assert "has 0 of 1 hosts" in nothing
    assert "InsufficientInstanceCapacity" in nothing
    cloud.switch("no-capacity", "nothing")
    watched.minutes(8)
    assert len(watched.running("chat")) == 2


def test_a_job_beside_a_missing_gpu_has_its_time_and_then_runs_again(deploy: Deploy) -> None:
    watched = deploy(drain_timeout=cdk.Duration.minutes(10))
    job = watched.start("late,0")
    watched.minutes(6)
    broken, _ = watched.host_of("train")
    watched.fault(broken, xid=None)
    watched.minutes(5)
    assert watched.running("train") == [broken]
    assert watched.end(job)["status"] == "SUCCEEDED"
    assert broken not in watched.hosts()
    assert "a GPU failed: 1 of 2 GPUs is missing" in watched.told()[0]


def test_tasks_that_are_not_ended_hold_their_host(deploy: Deploy) -> None:
    watched = deploy(drain_timeout=cdk.Duration.minutes(5), end_remaining_tasks=False)
    job = watched.start("40*0")
    watched.minutes(6)
    broken, _ = watched.host_of("train")
    watched.fault(broken, xid=None)
    watched.minutes(20)
    assert watched.states()[broken] == "DRAINING"
    assert watched.end(job)["status"] == "SUCCEEDED"
    watched.minutes(20)
    assert broken not in watched.hosts()
    assert len(watched.attempts()) == 1
    assert "The host is replaced when the last one has ended" in watched.told()[1]


@pytest.mark.parametrize(("impaired", "replaced"), [("ACCELERATED_COMPUTE", True), ("CONTAINER_RUNTIME", False)])
def test_the_health_check_of_gpus_counts_and_no_other(deploy: Deploy, impaired: str, replaced: bool) -> None:
    watched = deploy(copies=1)
    host, _ = watched.host_of("chat")
    checks = [
        {"type": each, "status": "IMPAIRED" if each == impaired else "OK", "statusReason": "XID_79"}
        for each in ("CONTAINER_RUNTIME", "ACCELERATED_COMPUTE")
    ]
    of_host = {"clusterArn": watched.outputs["ClusterArn"], "ec2InstanceId": host, "capacityProviderName": None}
    detail = {**of_host, "overallStatus": "IMPAIRED", "healthChecks": checks}
    watched.send("aws.ecs", "ECS Container Instance Health Change", detail)
    watched.minutes(10)
    assert (host not in watched.hosts()) is replaced
    said = watched.told()
    assert bool(said) is replaced
    assert all('ECS reports its GPUs impaired: ["XID_79"]' in each for each in said)


def test_a_spot_host_that_is_taken_back_is_drained_and_its_job_runs_again(deploy: Deploy) -> None:
    watched = deploy(spot=True)
    job = watched.start("late,0")
    watched.minutes(6)
    host, _ = watched.host_of("train")
    watched.spot("EC2 Spot Instance Interruption Warning", host, times=2)
    watched.minutes()
    assert watched.states()[host] == "DRAINING"
    watched.account.client("ec2").terminate_instances(InstanceIds=[host])
    assert watched.end(job)["status"] == "SUCCEEDED"
    assert watched.executions() == [("SUCCEEDED", "")] * 2
    (said,) = watched.told()
    assert "EC2 takes this Spot host back in two minutes" in said


def test_a_recommendation_replaces_a_spot_host_and_stops_no_task(deploy: Deploy) -> None:
    watched = deploy(spot=True, drain_timeout=cdk.Duration.minutes(5))
    job = watched.start("30*0")
    watched.minutes(6)
    host, _ = watched.host_of("train")
    watched.spot("EC2 Instance Rebalance Recommendation", host)
    assert watched.end(job)["status"] == "SUCCEEDED"
    assert len(watched.attempts()) == 1
    watched.minutes(20)
    assert host not in watched.hosts()
    assert watched.executions() == [("SUCCEEDED", "")]


def test_hosts_of_others_are_left_alone(deploy: Deploy) -> None:
    watched = deploy(copies=1)
    before = watched.states()
    watched.spot("EC2 Instance Rebalance Recommendation", "i-0123456789abcdef0")
    watched.outputs = {**watched.outputs, "ClusterArn": watched.outputs["ClusterArn"] + "-2"}
    watched.fault(next(iter(before)))
    watched.minutes(3)
    assert watched.states() == before
    assert watched.executions() == [("SUCCEEDED", "")]
    assert watched.told() == []


def _with_command(template: Any, family: str) -> Any:
    """The same with another revision of a task definition."""
    for each in template["Resources"].values():
        if each["Type"] == "AWS::ECS::TaskDefinition" and each["Properties"].get("Family") == family:
            each["Properties"]["ContainerDefinitions"][0]["Command"] = ["other"]
    return template
