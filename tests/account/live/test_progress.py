"""A service is there once its newest deployment is, a provider once it scales; what an answer does not say is not."""

from __future__ import annotations

import json

import pytest

from gpu_constructs.account import live_cluster
from gpu_constructs.account.answers import answers
from gpu_constructs.account.live.hosts import Layer
from gpu_constructs.account.live.subjects import subject_called
from gpu_constructs.account.live.verified import verify
from gpu_constructs.account.live.waiting import why
from gpu_constructs.cli.program import main
from gpu_constructs.errors import UnknownNameError
from tests.account.recorded import Recorded

from .given import Answer, cluster

PRIMARY: Answer = {"status": "PRIMARY", "desiredCount": 1, "runningCount": 0, "rolloutState": "IN_PROGRESS"}
OLD: Answer = {"status": "ACTIVE", "desiredCount": 1, "runningCount": 1, "rolloutState": "COMPLETED"}
FAILED: Answer = {**PRIMARY, "runningCount": 1, "rolloutState": "FAILED", "rolloutStateReason": "tasks failed to start"}
GREEN: Answer = {"status": "ACTIVE", "computedDesiredCount": 1, "runningCount": 0}
BLUE: Answer = {"status": "PRIMARY", "computedDesiredCount": 1, "runningCount": 1}


def service(**more: object) -> Answer:
    answer = cluster()
    return {**answer, "services": [{**answer["services"][0], "runningCount": 1, **more}]}


@pytest.mark.parametrize(
    ("given", "state"),
    [
        (service(), None),
        (service(deployments=[{**PRIMARY, "runningCount": 1}, OLD]), None),
        (service(taskSets=[BLUE]), None),
        (service(deployments=[PRIMARY, OLD]), "runs 1 of 1 tasks, 0 of 1 of its newest deployment"),
        (service(deployments=[FAILED]), "runs 1 of 1 tasks, and its newest deployment failed"),
        (service(taskSets=[BLUE, GREEN]), "runs 1 of 1 tasks, 0 of 1 of its newest deployment"),
    ],
)
def test_a_service_waits_for_its_newest_deployment(given: Answer, state: str | None) -> None:
    found = answers([given])
    diagnosis = why(found, subject_called(found, "chat"), region="us-east-1")
    (check,) = [each for each in verify(found) if each.name == "service runs"]
    assert (diagnosis.waits, check.passed) == (state is not None, state is None)
    assert diagnosis.state == (state or "runs 1 of 1 tasks")
    assert check.text.startswith(f"it {diagnosis.state}")
    assert check.fix == ("gpu-constructs why chat --cluster demo" if state else "")
    assert not diagnosis.waits or diagnosis.causes


@pytest.mark.parametrize("status", ["DRAINING", "INACTIVE"])
def test_a_deleted_service_that_is_still_described_is_not_waited_for(status: str) -> None:
    found = answers([service(status=status)])
    assert not [each for each in verify(found) if each.name == "service runs"]
    with pytest.raises(UnknownNameError, match=f"the service 'chat' is deleted: it is {status}"):
        subject_called(found, "chat")


def test_a_deployment_that_failed_says_why() -> None:
    found = answers([service(deployments=[FAILED])])
    cause = why(found, subject_called(found, "chat")).causes[-1]
    assert (cause.layer, cause.text) == (Layer.DEPLOYMENT, "its newest deployment failed: tasks failed to start")


@pytest.mark.parametrize(
    ("given", "passed", "said"),
    [
        (cluster(host={"agentConnected": False}), False, "i-1 has an ECS agent that is not connected"),
        (cluster(host={"status": "DRAINING"}), False, "i-1 is DRAINING"),
        (cluster(host={"ec2InstanceId": "i-2"}), False, "0 of 1 hosts joined the cluster; i-1 did not"),
        (cluster(group={"DesiredCapacity": "2"}), None, "the size of its group was not described"),
        (cluster(), True, "1 of 1 hosts joined the cluster"),
    ],
)
def test_a_host_that_takes_no_tasks_has_not_come_up(given: Answer, passed: bool | None, said: str) -> None:
    size = {"DesiredCapacity": 1, **given["AutoScalingGroups"][0]} if passed is None else {"DesiredCapacity": 1}
    group = {**given["AutoScalingGroups"][0], **size}
    (check,) = [
        each for each in verify(answers([{**given, "AutoScalingGroups": [group]}])) if each.name.startswith("h")
    ]
    assert (check.passed, said in check.text) == (passed, True), check.text


@pytest.mark.parametrize(("desired", "passed"), [(2, False), (1, True)])
def test_a_launch_that_failed_counts_while_the_group_lacks_hosts(desired: int, passed: bool) -> None:
    failed = ("InsufficientInstanceCapacity", "VcpuLimitExceeded")
    found = verify(answers([cluster(activities=failed, group={"DesiredCapacity": desired})]))
    (check,) = [each for each in found if each.name == "provider scales"]
    assert check.passed is passed
    assert all((each in check.text) is not passed for each in ("(capacity) ", "(quota) "))


def test_failures_are_shown_last_and_alone_where_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = Recorded(**cluster(gpus=(), group={"DesiredCapacity": 1}))
    monkeypatch.setattr(live_cluster, "clients_of", lambda _: recorded)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["verify", "Demo"]) == 1
    words = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith(("  ok", "  fails"))]
    assert words == [*["ok"] * 3, *["fails"] * 2]
    assert main(["verify", "Demo", "--failed"]) == 1
    said = capsys.readouterr().out
    assert said.count("  fails ") == 2
    assert ("  ok " in said, said.splitlines()[-1]) == (False, "5 checks, 2 failed, 0 not checked")
    assert main(["verify", "Demo", "--format", "json"]) == 1
    checks = json.loads(capsys.readouterr().out)["clusters"][0]["checks"]
    assert {(each["passed"], each["verdict"]) for each in checks} == {(True, "ok"), (False, "fails")}
    assert "registered 15144 MiB; 15144 to 16383 MiB are expected" in {each["text"] for each in checks}
