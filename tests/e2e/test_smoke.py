"""``make smoke`` on the emulator in this process: what it records, and with each call of each step refused in turn."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr
from io import StringIO
from itertools import cycle, zip_longest
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError, ReadTimeoutError
from ecs_emulator.local import Deployed, Local, local
from gpu_constructs.account import self_test
from gpu_constructs.facts.names import SELF_TEST
from tools.smoke.__main__ import main
from tools.smoke.account import Account
from tools.smoke.app import JOB, STACK, assembly
from tools.smoke.findings import SHOWN_BY
from tools.smoke.steps import DESTROY, STEPS

from tests.replayed import COMMANDS, replayed, said_otherwise

from .cdk_cli import about

BEFORE = "before"
FIX = "credentials that may, and a region, as the AWS CLI takes them"
OPTIONS = {"deploy": ("--require-approval", "never"), DESTROY: ("--force",)}
STAYS = {
    ("self-test", "ecs:DeregisterTaskDefinition"): f"task definition {SELF_TEST}:1, which is still active",
    (DESTROY, "logs:DeleteLogGroup"): f"\n  aws logs delete-log-group --log-group-name {SELF_TEST}\n",
}
"""Calls without which something is left that costs nothing, and what is said of it."""


def _error(code: str, call: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "User: arn:aws:iam::111122223333:user/x"}}, call)


def denied(*calls: tuple[str, str]) -> dict[tuple[str, str], BaseException]:
    return {(step, call): _error("AccessDeniedException", call.partition(":")[2]) for step, call in calls}


class Smoke(StringIO):
    """One run of ``make smoke`` in which calls of steps raise an error: what it asked, did, said, and left."""

    def __init__(
        self,
        apps: dict[int, Path],
        folder: Path,
        refused: Mapping[tuple[str, str], BaseException] | None = None,
        had: str = "",
    ) -> None:
        super().__init__()
        self.asked: list[tuple[str, str]] = []
        self.did: list[str] = []
        self.step, asked = BEFORE, BaseClient._make_api_call

        def answer(client: BaseClient, operation: str, given: object) -> Any:
            self.asked.append((self.step, f"{client.meta.service_model.signing_name}:{operation}"))
            if error := (refused or {}).get(self.asked[-1]):
                raise error
            return asked(client, operation, given)

        def cdk(words: list[str], **_: object) -> SimpleNamespace:
            self.did.append(words[3])
            # The command line takes these words: `test_reference_stacks` deploys and destroys with them.
            assert words == about(Path(words[2]), words[3], STACK, *OPTIONS[words[3]])
            with patch.object(BaseClient, "_make_api_call", asked):
                _cdk(cloud, Path(words[2]), words[3])
            return SimpleNamespace(returncode=0)

        with local() as cloud, pytest.MonkeyPatch.context() as patched, redirect_stderr(self):
            for family in (SELF_TEST, JOB):
                cloud.switch(f"ends/{family}", "0")
            if had:
                cloud.account.client("logs").create_log_group(logGroupName=had)
            session = SimpleNamespace(client=lambda name, **_: cloud.account.client(name), region_name="us-east-1")
            patched.setattr(boto3, "Session", lambda **_: session)
            patched.setattr(subprocess, "run", cdk)
            patched.setattr(self_test, "_POLL_SECONDS", 0)
            patched.setattr(Account, "assembly", lambda _, copies: apps[copies])
            with patch.object(BaseClient, "_make_api_call", answer):
                of: Any = lambda folder: Account(folder, sleep=lambda _: None)  # noqa: E731
                self.code = main(["--record", str(folder), "--yes"], of=of)
            kinds = ("cluster", "stack", "log group", "task definition")
            self.left = [f"{kind} {name}" for kind, name in cloud.inventory() if kind in kinds]

    def write(self, text: str) -> int:
        self.step = text.removesuffix(" …\n") if text.endswith(" …\n") else self.step
        return super().write(text)


def _cdk(cloud: Local, app: Path, command: str) -> None:
    stacks = cloud.account.client("cloudformation").describe_stacks()["Stacks"]
    there = next((Deployed(each["StackId"], {}) for each in stacks if each["StackName"] == STACK), None)
    if there is None:
        cloud.deploy_assembly(app, STACK)
    elif command == DESTROY:
        cloud.destroy(there)
    else:
        cloud.update(there, json.loads((app / f"{STACK}.template.json").read_text()))


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    return {copies: assembly(tmp_path_factory.mktemp("app") / "out", copies=copies) for copies in (0, 1)}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings") / "the emulator, which shows nothing about AWS"


@pytest.fixture(scope="module")
def whole(apps: dict[int, Path], recorded: Path) -> Smoke:
    """A run in which nothing is refused."""
    return Smoke(apps, recorded)


def test_it_deploys_tries_and_destroys(whole: Smoke) -> None:
    said = whole.getvalue()
    assert (whole.code, whole.did, whole.left) == (0, ["deploy", "deploy", DESTROY], []), said
    assert "$0.26  one g4dn.xlarge\n" in said
    assert "$0.73  in all, in half an hour\n" in said
    for row in SHOWN_BY:
        assert f"  ok         {row}: " in said
    assert "  not tried  EFA\n" in said


@pytest.mark.usefixtures("whole")
def test_what_it_records_names_nobody_and_is_read_again(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_test, "_POLL_SECONDS", 0)
    names = [*(name for name, _, _ in STEPS), DESTROY]
    files = [f"{at}-{name}.json" for at, name in enumerate(names, 1)]
    assert [each.name for each in sorted(recorded.iterdir())] == files
    text = "".join(each.read_text(encoding="utf-8") for each in recorded.iterdir())
    for secret in ("123456789012", "10.0.", "ec2.internal"):
        assert secret not in text
    assert [then == now for then, now in replayed(recorded)] == [True] * len(COMMANDS)
    changed = copytree(recorded, tmp_path / recorded.name) / files[names.index("verify")]
    changed.write_text(changed.read_text(encoding="utf-8").replace('"ACTIVE"', '"DRAINING"'), encoding="utf-8")
    assert said_otherwise(tmp_path) == [recorded.name]


def calls_of(whole: Smoke, step: str) -> list[tuple[str, str]]:
    calls = dict.fromkeys(each for each in whole.asked if each[0] == step)
    assert calls
    return [*calls]


def refused_in_turn(whole: Smoke) -> Iterator[list[tuple[str, str]]]:
    """Calls for each run, at most one of each step: what it refuses of one does not change what the next one asks.

    What both ``why`` and ``verify`` ask is refused of each in turn; `tests/account` refuses all of it of each command.
    """
    of_each = {name: calls_of(whole, name) for name in [*(name for name, _, _ in STEPS), DESTROY]}
    both = {call for _, call in of_each["why"]} & {call for _, call in of_each["verify"]}
    refuses = dict(zip(sorted(both), cycle(("verify", "why")), strict=False))
    for name in ("self-test", "why", "verify"):
        of_each[name] = [each for each in of_each[name] if refuses.get(each[1], name) == name]
    # From the last one on: what ends the self-test before it makes its log group leaves none to delete.
    for calls in zip_longest(*map(reversed, of_each.values())):
        yield [each for each in calls if each]


def test_each_call_before_the_first_step_may_be_refused(whole: Smoke, apps: dict[int, Path], tmp_path: Path) -> None:
    for _, call in calls_of(whole, BEFORE):
        run = Smoke(apps, tmp_path / "r", denied((BEFORE, call)))
        assert (run.code, run.did, run.left) == (2, [], [])
        said = f"nothing was deployed: the credentials may not call {call}; fix: {FIX}\n"
        assert run.getvalue().endswith(said)


def test_each_call_of_each_step_may_be_refused(whole: Smoke, apps: dict[int, Path], tmp_path: Path) -> None:
    for number, refused in enumerate(refused_in_turn(whole)):
        run = Smoke(apps, folder := tmp_path / str(number), denied(*refused))
        said = run.getvalue()
        assert "Error" not in said
        assert (run.code, run.did[-1]) == (1, DESTROY)
        for step, call in refused:
            may_not = f"the credentials may not call {call}"
            assert f"\n{step} got no answer: {may_not}\n" in said
            assert not re.search(rf"^  ok .*\b{step} in ", said, re.MULTILINE)
            (recorded,) = folder.glob(f"*-{step}.json")
            assert may_not in [call.get("unanswered") for call in json.loads(recorded.read_text())["calls"]]
        stays = [STAYS[each] for each in refused if each in STAYS]
        assert len(run.left) == len(stays), run.left
        assert [each for each in stays if each not in said] == []
        # It is this call that says whether the stack is gone.
        is_unknown = (DESTROY, "cloudformation:DescribeStacks") in refused
        assert (f"there may be a stack {STACK}, or a part of it" in said) is is_unknown


def test_a_call_may_be_throttled_or_time_out(apps: dict[int, Path], tmp_path: Path) -> None:
    throttled, late = _error("ThrottlingException", "it"), ReadTimeoutError(endpoint_url="https://aws.test")
    calls = [("self-test", "ecs:RunTask"), ("job", "states:DescribeExecution")]
    calls += [(DESTROY, "cloudformation:DescribeStacks")]
    for error, words in ((throttled, "AWS limits the rate of {call}, after several tries"), (late, "{call}: ")):
        run = Smoke(apps, tmp_path / type(error).__name__, dict.fromkeys(calls, error))
        assert (run.code, run.did[-1], run.left) == (1, DESTROY, [])
        for step, call in calls:
            assert f"\n{step} got no answer: {words.format(call=call)}" in run.getvalue()


def test_after_ctrl_c_nothing_else_is_tried(apps: dict[int, Path], tmp_path: Path) -> None:
    run = Smoke(apps, tmp_path / "r", {("self-test", "ecs:DescribeTasks"): KeyboardInterrupt()})
    assert (run.code, run.did, run.left) == (1, ["deploy", DESTROY], [])
    assert 'self-test failed: {"error": "it was interrupted"}' in run.getvalue()
    assert "self-test got no answer" not in run.getvalue()


def test_a_log_group_that_was_there_before_is_kept(apps: dict[int, Path], tmp_path: Path) -> None:
    run = Smoke(apps, tmp_path / "r", had=SELF_TEST)
    assert (run.code, run.left) == (0, [f"log group {SELF_TEST}"])
