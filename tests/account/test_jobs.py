"""``run_job`` waits for a job and says how it ended; the job itself runs in ``tests/e2e/test_jobs.py``."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest

from gpu_constructs.account.jobs import JobEnd, run_job
from gpu_constructs.errors import InvalidValueError

MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:Job"
TASK = "arn:aws:ecs:us-east-1:123456789012:task/cluster/0123abcd"
TIME = datetime(2026, 11, 22, tzinfo=timezone.utc)
DEFINITION = {
    "States": {
        "Run": {"Parameters": {"TaskDefinition": "t:1", "Overrides": {"ContainerOverrides": [{"Name": "train"}]}}}
    }
}


class Clients:
    """Step Functions and ECS, for one job that ends like this after one look."""

    def __init__(self, **end: Any) -> None:
        self.given: dict[str, Any] = {}
        self.definition: dict[str, Any] = DEFINITION
        self.tasks: list[dict[str, str]] = []
        running = {"name": "one", "status": "RUNNING", "startDate": TIME}
        self._looks = iter([running, {**running, "stopDate": TIME, **end}])

    def __call__(self, service: str, region: str) -> Clients:
        assert (service, region) in {("stepfunctions", "us-east-1"), ("ecs", "us-east-1")}
        return self

    def start_execution(self, **given: Any) -> dict[str, str]:
        self.given = given
        return {"executionArn": "one"}

    def describe_execution(self, **_: Any) -> Any:
        return next(self._looks)

    def describe_state_machine(self, **_: Any) -> dict[str, str]:
        return {"definition": json.dumps(self.definition)}

    def get_execution_history(self, **_: Any) -> dict[str, Any]:
        submitted = {"taskSubmittedEventDetails": {"output": json.dumps({"Tasks": self.tasks})}}
        return {"events": [{"type": "ExecutionTimedOut"}, submitted]}

    def describe_task_definition(self, **_: Any) -> dict[str, Any]:
        options = {"awslogs-group": "logs", "awslogs-stream-prefix": "Train"}
        return {
            "taskDefinition": {"containerDefinitions": [{"name": "train", "logConfiguration": {"options": options}}]}
        }


def ended(clients: Clients, **arguments: Any) -> JobEnd:
    return run_job(MACHINE, client=clients, poll_seconds=0, **arguments)


def test_a_job_that_ended_well() -> None:
    output = {"TaskArn": TASK, "Containers": [{"Name": "agent"}, {"Name": "train", "ExitCode": 0}]}
    clients = Clients(status="SUCCEEDED", output=json.dumps(output))
    end = ended(clients, job_input={"epochs": 3}, name="one")
    assert (end.succeeded, end.exit_code, end.error, end.cause) == (True, 0, None, None)
    assert (end.task_arn, end.log_group, end.log_stream) == (TASK, "logs", "Train/train/0123abcd")
    assert (end.name, end.started, end.ended) == ("one", TIME, TIME)
    assert clients.given == {"stateMachineArn": MACHINE, "input": '{"epochs": 3}', "name": "one"}


def test_a_job_that_failed() -> None:
    cause = f"the container train ended with exit code 75 (task {TASK})"
    end = ended(Clients(status="FAILED", error="ExitCode75", cause=cause))
    assert (end.succeeded, end.exit_code, end.error, end.cause) == (False, 75, "ExitCode75", cause)
    assert end.log_stream == "Train/train/0123abcd"


def test_a_job_that_passed_its_limit_names_the_task_that_was_stopped() -> None:
    clients = Clients(status="FAILED", error="TimeLimit", cause="it passed its time limit of 1 hour")
    clients.tasks = [{"TaskArn": TASK}]
    end = ended(clients)
    assert (end.task_arn, end.log_stream) == (TASK, "Train/train/0123abcd")


@pytest.mark.parametrize(
    ("definition", "job_input", "argument"),
    [
        ({"States": {"Other": {"Type": "Succeed"}}}, {}, "state_machine_arn"),
        (DEFINITION, {"x": object()}, "job_input"),
    ],
)
def test_nothing_is_started_that_is_no_job(definition: Any, job_input: Any, argument: str) -> None:
    clients = Clients()
    clients.definition = definition
    with pytest.raises(InvalidValueError) as refused:
        ended(clients, job_input=job_input)
    assert (refused.value.argument, clients.given) == (argument, {})
