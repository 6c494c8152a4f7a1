"""GPUs that fail, on the emulator: the host goes, its work runs again elsewhere, and somebody is told."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import aws_cdk as cdk
import pytest
from ecs_emulator.local import Deployed, Local

from .watched_cluster import Watched, template

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


def test_a_fault_under_a_service_moves_it_to_another_host(deploy: Deploy) -> None:
    watched = deploy(copies=2)
    others = set(watched.hosts())
    broken = watched.host_of("chat")
    watched.fault(broken, times=2)
    watched.minutes(10)
    assert watched.executions() == [("SUCCEEDED", "")] * 2
    assert len(watched.running("chat")) == 2
    assert others - {broken} <= set(watched.hosts())
    assert broken not in watched.hosts()
    (said,) = watched.told()
    assert said == (
        f"A GPU of host {broken} failed: the ECS agent reports XID_79. The host is drained and replaced; tasks that "
        "are left after 1 hour are stopped."
    )


def test_a_job_has_its_time_and_then_runs_again_elsewhere_and_ends_well(deploy: Deploy) -> None:
    watched = deploy(drain_timeout=cdk.Duration.minutes(10))
    job = watched.start("late,0")
    watched.minutes(6)
    broken = watched.host_of("train")
    watched.fault(broken)
    watched.minutes(5)
    assert watched.running("train") == [broken]
    assert watched.end(job)["status"] == "SUCCEEDED"
    assert broken not in watched.hosts()


def test_a_job_that_ends_in_time_is_not_stopped(deploy: Deploy) -> None:
    watched = deploy(drain_timeout=cdk.Duration.hours(2))
    job = watched.start("40*0")
    watched.minutes(6)
    broken = watched.host_of("train")
    watched.fault(broken)
    watched.minutes(20)
    assert watched.states()[broken] == "DRAINING"
    assert watched.end(job)["status"] == "SUCCEEDED"
    watched.minutes(20)
    assert broken not in watched.hosts()
    assert len(watched.attempts()) == 1


def test_a_fault_during_a_deployment_hinders_neither(deploy: Deploy) -> None:
    watched = deploy(copies=2)
    broken = watched.host_of("chat")
    watched.fault(broken)
    watched.update(lambda template: _with_command(template, "chat"))
    watched.minutes(10)
    assert watched.executions() == [("SUCCEEDED", "")]
    assert len(watched.running("chat")) == 2
    assert broken not in watched.hosts()


def test_without_capacity_for_a_replacement_tasks_keep_their_time(deploy: Deploy, cloud: Local) -> None:
    watched = deploy(instance_type="g6.12xlarge", most=1, copies=2, drain_timeout=cdk.Duration.minutes(20))
    broken = watched.host_of("chat")
    cloud.switch("no-capacity", "g6.12xlarge")
    watched.fault(broken)
    watched.minutes(15)
    assert watched.running("chat") == [broken] * 2
    watched.minutes(15)
    assert watched.executions() == [("SUCCEEDED", "")]
    cloud.switch("no-capacity", "nothing")
    watched.minutes(8)
    assert len(watched.running("chat")) == 2


@pytest.mark.parametrize(("impaired", "replaced"), [("ACCELERATED_COMPUTE", True), ("CONTAINER_RUNTIME", False)])
def test_the_health_check_of_gpus_counts_and_no_other(deploy: Deploy, impaired: str, replaced: bool) -> None:
    watched = deploy(copies=1)
    host = watched.host_of("chat")
    checks = [
        {"type": each, "status": "IMPAIRED" if each == impaired else "OK", "statusReason": "XID_79"}
        for each in ("CONTAINER_RUNTIME", "ACCELERATED_COMPUTE")
    ]
    detail = {**watched.of_host(host), "overallStatus": "IMPAIRED", "healthChecks": checks}
    watched.send("aws.ecs", "ECS Container Instance Health Change", detail)
    watched.minutes(10)
    assert (host not in watched.hosts()) is replaced
    said = watched.told()
    assert bool(said) is replaced
    assert all("XID_79" in each for each in said)


def test_hosts_of_others_are_left_alone(deploy: Deploy) -> None:
    watched = deploy(copies=1)
    before = watched.states()
    host = watched.host_of("chat")
    of_host, reason = watched.of_host(host), {"reason": "the ECS agent reports XID_79"}
    for other in ({"clusterArn": "other"}, {"containerInstanceArn": of_host["containerInstanceArn"] + "0"}):
        watched.send("gpu-constructs", "GPU Fault", {**of_host, **reason, **other})
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
