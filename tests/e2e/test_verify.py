"""``verify`` after a deploy on the emulator: what came up is held against what its instance types and tasks say."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from gpu_constructs.account import live_cluster
from gpu_constructs.cli.program import main

from .local import Local
from .templates import cluster_template, service, task_definition

Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def ask(cloud: Local, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setattr(live_cluster, "clients_of", lambda _: lambda name, _: cloud.account.client(name))
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words: str) -> tuple[int, str]:
        code = main(["verify", *words])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def with_service() -> dict[str, Any]:
    template = cluster_template()
    template["Resources"] |= {"Task": task_definition(gpus=1), "Service": service(count=2)}
    return template


def test_a_stack_that_came_up_passes_every_check(cloud: Local, ask: Ask) -> None:
    stack = cloud.deploy(with_service(), "demo")
    cloud.minutes(stack.outputs["Cluster"], 5)

    code, said = ask("demo")

    assert (code, said.count("  ok "), "fails" in said) == (0, 9, False)
    assert "GPU ids held: task " in said
    assert "registered 1 of 1" in said
    assert said.endswith("9 checks, 0 failed, 0 not checked\n")
    assert max(map(len, said.splitlines())) <= 80
    cloud.destroy(stack)


def test_hosts_without_their_gpus_fail(cloud: Local, ask: Ask) -> None:
    stack = cloud.deploy(cluster_template(), "demo")
    cluster = stack.outputs["Cluster"]
    cloud.switch("missing-gpus", "1,1")
    cloud.run(cluster, stack.outputs["Task"], stack.outputs["Provider"])

    code, said = ask("--cluster", cluster, "--format", "json")

    assert code == 1
    ((found,),) = [json.loads(said)["clusters"]]
    failed = {each["check"] for each in found["checks"] if each["passed"] is False}
    assert failed == {"GPUs registered"}
    cloud.account.stop_all(cluster)
    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["nothing"], "AWS did not answer cloudformation:ListStackResources"),
        (["--cluster", "nothing"], "there is no cluster nothing"),
    ],
)
def test_what_is_not_there_is_2(ask: Ask, words: list[str], problem: str) -> None:
    code, said = ask(*words)
    assert (code, problem in said) == (2, True)
