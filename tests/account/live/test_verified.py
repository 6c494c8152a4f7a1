"""Providers that scale, and how failures are shown."""

from __future__ import annotations

import json

import pytest

from gpu_constructs.account import live_cluster
from gpu_constructs.account.answers import answers
from gpu_constructs.account.live.verified import verify
from gpu_constructs.cli.program import main
from tests.account.recorded import Recorded

from .given import cluster


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
