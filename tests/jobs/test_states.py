"""Whatever an attempt ends with: a job ends, within its budgets, and nothing that ended well is run again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecs_emulator.state_language import StateError, Waiting, run_machine
from gpu_constructs.jobs.job_run import JobRetries, JobRun
from gpu_constructs.jobs.states import definition_of

RUN = JobRun(
    partition="aws",
    cluster="cluster",
    task_definition="train:1",
    family="train",
    container="train",
    strategy=[],
    network=None,
    packed=True,
    environment={},
    checkpoints=None,
    timeout_seconds=3600,
)
RETRIES = JobRetries(no_host=2, not_started=1, lost_host=3, exit_codes={75: 2})
CONTEXT = {"Execution": {"Name": "one", "Input": {}}}


def stopped(code: str, exit_code: int | None = None, **also: Any) -> dict[str, Any]:
    """A stopped task, as Step Functions describes it; its sidecar failed."""
    of_job = {"Name": "train"} if exit_code is None else {"Name": "train", "ExitCode": exit_code}
    containers = [{"Name": "agent", "ExitCode": 1}, of_job]
    return {"TaskArn": "arn", "StopCode": code, "StoppedReason": "why", "Containers": containers, **also}


def failed(task: dict[str, Any]) -> StateError:
    return StateError("States.TaskFailed", json.dumps(task))


ENDED = "EssentialContainerExited"
WELL = (stopped(ENDED, 0), failed(stopped(ENDED, 0)))
ENDS: dict[str, tuple[dict[str, Any] | StateError, ...]] = {
    "NoHost": (failed(stopped("TaskFailedToStart")),),
    "NotStarted": (failed(stopped("TaskFailedToStart", ContainerInstanceArn="host")),),
    "LostHost": (
        *(
            end
            for code in ("SpotInterruption", "TerminationNotice", "InfrastructureHealth")
            for end in (stopped(code), failed(stopped(code, 0)))
        ),
        failed(stopped("UserInitiated", 137, StoppedReason="GPU recovery: GPU 0 failed with Xid 79")),
    ),
    "Stopped": (failed(stopped("UserInitiated", 137)),),
    "ExitCode75": (failed(stopped(ENDED, 75)),),
    "OtherExitCode": (failed(stopped(ENDED, 1)),),
    "Ended": (failed(stopped(ENDED)),),
    "NoRoom": (StateError("AmazonECS.Unknown", "RESOURCE:GPU"), StateError("ECS.ClientException", "500 wait")),
    "EcsFailed": (StateError("ECS.ServerException", "try again"),),
    "NotAccepted": (StateError("ECS.InvalidParameterException", "no"), StateError("States.TaskFailed", "no task")),
    "TimeLimit": (StateError("States.Timeout", ""),),
}
BUDGETS = {"NoHost": 2, "NoRoom": 2, "NotStarted": 1, "EcsFailed": 1, "LostHost": 3, "ExitCode75": 2}
KINDS = [(error, end) for error, ends in ENDS.items() for end in ends]


class Attempts:
    """Runs the machine of a job, whose attempts end like this; the last end stays."""

    def __init__(self, *ends: dict[str, Any] | StateError, run: JobRun = RUN, retries: JobRetries = RETRIES) -> None:
        self.count, self.stopped = 0, 0
        self._ends = ends
        self.error = ""
        try:
            for _ in run_machine(definition_of(run, retries), {}, CONTEXT, self._call):
                pass
        except StateError as error:
            self.error, self.cause = error.error, error.cause

    def _call(self, resource: str, given: Any, _: Any) -> Waiting:
        yield
        if resource.endswith("listTasks"):
            return {"TaskArns": ["other"] if self.stopped else ["arn", "other"]}
        if resource.endswith("describeTasks"):
            groups = {"arn": "job:one", "other": "job:two"}
            return {"Tasks": [{"TaskArn": each, "Group": groups[each]} for each in given["Tasks"]]}
        if resource.endswith("stopTask"):
            self.stopped += 1
            return {"Task": {"TaskArn": "arn"}}
        end = self._ends[min(self.count, len(self._ends) - 1)]
        self.count += 1
        if isinstance(end, StateError):
            raise end
        return end


@pytest.mark.parametrize(("error", "end"), KINDS)
def test_each_cause_has_its_budget(error: str, end: dict[str, Any] | StateError) -> None:
    attempts = Attempts(end)
    assert (attempts.error, attempts.count) == (error, 1 + BUDGETS.get(error, 0))
    assert attempts.stopped == (error == "TimeLimit")


MIXED = replace(RUN, strategy=[{"CapacityProvider": each} for each in ("spot", "l4")], spot=["spot"])


@pytest.mark.parametrize("code", [137, 143, None])
@pytest.mark.parametrize(("provider", "is_lost"), [("spot", True), ("l4", False)])
def test_what_a_reclaimed_spot_host_leaves_is_a_lost_host(code: int | None, provider: str, is_lost: bool) -> None:
    attempts = Attempts(failed(stopped(ENDED, code, CapacityProviderName=provider)), run=MIXED)
    error = "OtherExitCode" if code else "Ended"
    assert (attempts.error, attempts.count) == (("LostHost", 1 + BUDGETS["LostHost"]) if is_lost else (error, 1))


def test_a_lost_host_and_one_that_is_taken_back_have_one_budget() -> None:
    lost, reclaimed = failed(stopped("SpotInterruption")), failed(stopped(ENDED, 143, CapacityProviderName="spot"))
    attempts = Attempts(lost, reclaimed, lost, reclaimed, run=MIXED)
    assert (attempts.error, attempts.count) == ("LostHost", 1 + BUDGETS["LostHost"])
    assert "ended 4 times as on a Spot host that is taken back" in attempts.cause


def test_a_container_that_had_too_little_memory_is_no_lost_host() -> None:
    task = stopped(ENDED, 137, CapacityProviderName="spot")
    task["Containers"][-1]["Reason"] = "OutOfMemoryError: Container killed due to high memory usage"
    assert (Attempts(failed(task), run=MIXED).error, Attempts(failed(task), run=MIXED).count) == ("OtherExitCode", 1)


def test_a_code_that_the_user_named_keeps_its_own_budget() -> None:
    end = failed(stopped(ENDED, 143, CapacityProviderName="spot"))
    attempts = Attempts(end, run=MIXED, retries=JobRetries(exit_codes={143: 1}))
    assert (attempts.error, attempts.count) == ("ExitCode143", 2)


@given(st.lists(st.sampled_from([*KINDS, *(("", end) for end in WELL)]), min_size=1, max_size=40))
def test_a_job_ends_whatever_happens(ends: list[tuple[str, Any]]) -> None:
    attempts = Attempts(*(end for _, end in ends))
    assert attempts.count <= RETRIES.attempts == 1 + sum(BUDGETS.values())
    met = [error for error, _ in (*ends, *[ends[-1]] * attempts.count)][: attempts.count]
    assert met[-1] == attempts.error
    assert all(met.count(error) <= 1 + BUDGETS.get(error, 0) for error in met)
    assert "" not in met[:-1]
