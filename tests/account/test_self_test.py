"""Whatever AWS refuses of a self-test, it ends in words and an exit code, and its task is stopped."""

from __future__ import annotations

import signal
from contextlib import suppress
from itertools import cycle
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.account import live_cluster
from gpu_constructs.account import self_test as run_module
from gpu_constructs.account.answers import answers
from gpu_constructs.account.live.self_test import targets_of
from gpu_constructs.account.self_test import POLICY, Request, run_self_test
from gpu_constructs.cli.program import main
from gpu_constructs.errors import GpuConstructsError, UnknownNameError
from tests.account.live.given import cluster
from tests.account.modelled import error_codes
from tests.account.recorded import Recorded

STATEMENTS = POLICY["Statement"]
assert isinstance(STATEMENTS, list)
CALLS = sorted({action for each in STATEMENTS for action in each["Action"]})
(HOST,) = cluster()["containerInstances"]
TASK = {
    "taskArn": "arn:aws:ecs:us-east-1:123456789012:task/demo/1",
    "containerInstanceArn": HOST["containerInstanceArn"],
    "containers": [{"exitCode": 0}],
}
LOG = "<gpu id='0'><fb_memory_usage><total>22888 MiB</total></fb_memory_usage></gpu>"


@pytest.mark.parametrize("call", CALLS)
def test_every_error_that_botocore_models_is_words_and_an_exit_code(
    call: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service, _, operation = call.partition(":")
    monkeypatch.setattr(run_module, "_POLL_SECONDS", 0)
    monkeypatch.setattr(run_module, "_LOG_SECONDS", 0)
    for code, status in zip(
        error_codes(service, operation, turn=CALLS.index(call)), cycle(("STOPPED", "RUNNING")), strict=False
    ):
        error = ClientError({"Error": {"Code": code, "Message": "why\x1b[2J"}}, operation)
        more = {"tasks": [{**TASK, "lastStatus": status}], "events": [{"message": LOG}]}
        recorded = Recorded({xform_name(operation): error}, **more)
        monkeypatch.setattr(live_cluster, "clients_of", lambda _, made=recorded: made)
        exit_code = main(["run-self-test", "Demo", "--region", "us-east-1", "--minutes", "0.00001"])
        said = "".join(capsys.readouterr())
        assert "internal error" not in said, said
        assert "\x1b" not in said
        assert exit_code in {0, 1} or call in said
        if "ecs:RunTask" in recorded.asked and call != "ecs:RunTask" and status == "RUNNING":
            assert "ecs:StopTask" in recorded.asked
        if "ecs:RegisterTaskDefinition" in recorded.asked and call != "ecs:RegisterTaskDefinition":
            assert "ecs:DeregisterTaskDefinition" in recorded.asked


def test_the_end_of_a_build_stops_the_task_as_an_interruption_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_POLL_SECONDS", 0)
    before = signal.getsignal(signal.SIGTERM)

    class Ending(Recorded):
        def answer(self, service: str, operation: str) -> dict[str, Any]:
            if operation == "describe_tasks":
                signal.raise_signal(signal.SIGTERM)
            return super().answer(service, operation)

    recorded = Ending(tasks=[{**TASK, "lastStatus": "RUNNING"}])
    monkeypatch.setattr(live_cluster, "clients_of", lambda _: recorded)
    assert main(["run-self-test", "Demo"]) == 130
    assert {"ecs:StopTask", "ecs:DeregisterTaskDefinition"} <= recorded.asked
    assert signal.getsignal(signal.SIGTERM) == before


ODD = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["taskArn", "lastStatus", "containers", "message", "reason"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
KEYS = ("taskDefinition", "tasks", "failures", "events", "nextForwardToken", "taskArns", "containerInstances")


@given(st.dictionaries(st.sampled_from(KEYS), ODD, min_size=1, max_size=3))
def test_answers_of_any_shape_end_the_run(answers: dict[str, Any]) -> None:
    time = iter(range(0, 100_000, 30))
    with suppress(GpuConstructsError):
        run_self_test(
            Recorded(**{"tasks": [{**TASK, "lastStatus": "STOPPED"}], **answers}),
            Request(cluster="demo", minutes=2, region="us-east-1"),
            sleep=lambda _: None,
            clock=lambda: float(next(time)),
        )


MADE = ("Demo-ClusterL4Provider00D5-3CZ", "Demo-ClusterSpotL40sProvider999E-COJ", "Demo-ClusterSpotL4Provider71AB-9RR")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("L4", "'L4' may be several capacity providers; fix: did you mean Demo-ClusterL4P"),
        ("H100", "the cluster has no capacity provider 'H100'"),
    ],
)
def test_a_capacity_provider_that_may_be_several_is_not_chosen(name: str, problem: str) -> None:
    (provider,) = cluster()["capacityProviders"]
    hosts = [{**HOST, "containerInstanceArn": each, "capacityProviderName": each} for each in MADE]
    providers = [{**provider, "name": each} for each in MADE]
    found = answers([{**cluster(), "capacityProviders": providers, "containerInstances": hosts}])
    with pytest.raises(UnknownNameError) as refused:
        targets_of(found, Request(cluster="demo", capacity=(name,)))
    assert problem in str(refused.value)
