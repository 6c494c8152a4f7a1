"""Tasks that no service keeps are listed, and stopped only where that is said; whatever AWS answers ends in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from gpu_constructs.account import live_cluster, stop_tasks
from gpu_constructs.account.stop_tasks import POLICY
from gpu_constructs.cli.program import main
from tests.account.modelled import error_codes
from tests.account.recorded import Recorded

_ARN = "arn:aws:ecs:us-east-1:123456789012:task"
CALLS = sorted(call for each in POLICY["Statement"] for call in each["Action"])  # type: ignore[attr-defined]


def task(name: str, **more: str) -> dict[str, str]:
    definition = f"{_ARN}-definition/train:3"
    return {"taskArn": f"{_ARN}/demo/{name}", "taskDefinitionArn": definition, "lastStatus": "RUNNING", **more}


OURS = task("1", group="family:train", startedBy="me\x1b[2J", capacityProviderName="l4")
OF_A_JOB = task("2", group="family:train", startedBy="AWS Step Functions", lastStatus="PROVISIONING")
OTHERS = (task("3", group="service:chat"), task("4", startedBy="ecs-svc/1"), task("5", lastStatus="STOPPED"))


class Account(Recorded):
    """An account whose tasks end some looks after they were stopped."""

    def __init__(
        self,
        *tasks: dict[str, str],
        looks: int = 1,
        then: BaseException | None = None,
        at: str = "describe_tasks",
        **refused: Exception,
    ) -> None:
        super().__init__(refused)
        self.tasks, self.looks, self.stopped = tasks, looks, 0
        self.then, self.at = then, at

    def answer(self, service: str, operation: str) -> dict[str, Any]:
        answer = super().answer(service, operation)
        self.stopped += operation == "stop_task"
        if self.then and self.stopped and operation == self.at:
            raise self.then
        if self.stopped and operation == "describe_tasks":
            self.looks -= 1
            return {"tasks": list(self.tasks) if self.looks > 0 else []}
        clusters = [{"capacityProviders": ["l4", "a10\x1b"]}]
        return {**answer, "tasks": list(self.tasks), "clusters": clusters}

    def given_to(self, operation: str, name: str) -> list[str]:
        return [given[name] for asked, given in self.given if asked == operation]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(stop_tasks, "_POLL_SECONDS", 0)

    def ask(account: Recorded, *arguments: str) -> int:
        monkeypatch.setattr(live_cluster, "clients_of", lambda _: account)
        return main(["stop-tasks", "Demo", *arguments])

    return ask


def test_it_lists_what_no_service_keeps_and_stops_nothing(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(OURS, OF_A_JOB, *OTHERS)
    assert asked(account) == 1
    assert capsys.readouterr().out == (
        "cluster demo\n"
        "  runs     1 of train:3, RUNNING, started by me\\x1b[2J\n"
        "  runs     2 of train:3, PROVISIONING, started by AWS Step Functions\n"
        "2 tasks that no service keeps; --yes stops them\n"
    )
    assert "ecs:StopTask" not in account.asked
    assert asked(Account(*OTHERS)) == 0
    assert capsys.readouterr().out.endswith("0 tasks that no service keeps\n")


def test_told_to_it_stops_them_and_waits_for_their_ends(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(OURS, OF_A_JOB, *OTHERS, looks=4)
    assert asked(account, "--yes") == 0
    assert (account.stopped, account.looks) == (2, 0)
    assert "  stopped  1 of train:3, STOPPED, started by me" in capsys.readouterr().out


def test_of_one_capacity_it_stops_no_others(asked: Any) -> None:
    account = Account(OURS, OF_A_JOB)
    assert asked(account, "--yes", "--capacity", "l4") == 0
    assert account.stopped == 1


def test_what_may_still_run_is_said(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(Account(OURS, looks=99), "--yes", "--minutes", "0", "--format", "json") == 1
    (cluster,) = json.loads(capsys.readouterr().out)["clusters"]
    assert [(each["may_run"], each["why"]) for each in cluster["tasks"]] == [(True, "it has not ended in 0 seconds")]


@pytest.mark.parametrize(
    ("then", "code", "error"),
    [(ClientError({}, "DescribeTasks"), 2, "ecs:DescribeTasks"), (KeyboardInterrupt(), 130, "it was interrupted")],
)
def test_what_was_told_to_stop_is_said_whatever_comes_then(
    then: BaseException, code: int, error: str, asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(Account(OURS, then=then), "--yes") == code
    assert "  may run  1 of train:3" in capsys.readouterr().out
    assert asked(Account(OURS, then=then), "--yes", "--format", "json") == code
    answer = json.loads(capsys.readouterr().out)
    assert [each["why"] for each in answer["clusters"][0]["tasks"]] == ["it was told to stop, and may not have ended"]
    assert error in answer["error"]


def test_it_waits_for_those_that_are_stopping_and_stops_them_no_second_time(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    stopping = {**OF_A_JOB, "desiredStatus": "STOPPED"}
    assert asked(Account(stopping)) == 1
    assert capsys.readouterr().out.endswith("\n1 task that no service keeps; --yes waits for it\n")
    account = Account(OURS, stopping, looks=3)
    assert asked(account, "--yes") == 0
    assert account.looks == 0
    assert account.given_to("list_tasks", "desiredStatus") == ["RUNNING", "STOPPED"]
    assert account.given_to("stop_task", "task") == [OURS["taskArn"]]


@pytest.mark.parametrize("minutes", ["nan", "inf", "-5", "1e400"])
def test_it_waits_for_a_time_that_ends(minutes: str, asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(account := Account(OURS), "--yes", "--minutes", minutes) == 2
    assert "--minutes: got " in capsys.readouterr().err
    assert not account.asked


def test_the_policy_has_every_call_that_is_made(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    account = Account(OURS)
    asked(account, "--yes", "--capacity", "l4")
    assert sorted(account.asked) == CALLS
    capsys.readouterr()
    assert main(["stop-tasks", "--policy"]) == 0
    assert json.loads(capsys.readouterr().out) == POLICY


@pytest.mark.parametrize("call", CALLS)
def test_every_error_that_botocore_models_is_words_and_an_exit_code(
    call: str, asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    service, _, operation = call.partition(":")
    for code in error_codes(service, operation, turn=CALLS.index(call)):
        error = ClientError({"Error": {"Code": code, "Message": "why\x1b[2J"}}, operation)
        exit_code = asked(Account(OURS, **{xform_name(operation): error}), "--yes", "--capacity", "l4")
        said = "".join(capsys.readouterr())
        assert "internal error" not in said
        assert "\x1b" not in said
        assert exit_code == (1 if operation == "StopTask" else 2)
