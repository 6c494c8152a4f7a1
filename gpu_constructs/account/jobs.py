"""Starting a job from a program: it runs, and its exit code, its times and its logs are what comes back."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import boto3

from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.facts.values import dataclass

__all__ = ["JobEnd", "run_job"]

_MACHINE = re.compile(r"arn:[\w-]+:states:(?P<region>[\w-]+):\d+:stateMachine:[\w-]+")
_STARTED = re.compile(r"arn:[\w-]+:ecs:[\w-]+:\d+:task/[\w/-]+")
_WITHOUT_LOGS = ("NoHost", "NotStarted")
_TASK = re.compile(r"\(task (arn:[^)]+)\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """How a job ended.

    Attributes:
        name: Its name, that of the execution.
        succeeded: Whether it ended well.
        exit_code: That of its container; None where the container did not end by itself.
        error: The error that it ended with; None for one that ended well.
        cause: What happened, in words; None likewise.
        task_arn: Its last task; None where no task was started.
        log_group: Where the logs of its container are; None where it sends them elsewhere than to CloudWatch Logs.
        log_stream: The stream of the last task; None likewise, and where its containers did not start.
        started: When it was started.
        ended: When it ended.
    """

    name: str
    succeeded: bool
    exit_code: int | None
    error: str | None
    cause: str | None
    task_arn: str | None
    log_group: str | None
    log_stream: str | None
    started: datetime
    ended: datetime | None


def run_job(
    state_machine_arn: str,
    *,
    job_input: Mapping[str, object] | None = None,
    name: str | None = None,
    client: Callable[[str, str], Any] | None = None,
    poll_seconds: float = 15,
) -> JobEnd:
    """Starts a job and waits for its end, which its own limits bound.

    Args:
        state_machine_arn: The state machine of the job.
        job_input: What the job gets as ``JOB_INPUT``. By default an empty object.
        name: A name for it, which no other job of the last 90 days has. By default AWS makes one.
        client: A client of boto3, by service and region. By default those of boto3.
        poll_seconds: How long it waits between two looks.

    Raises:
        InvalidValueError: It is not the ARN of the state machine of a job, or `job_input` cannot be written as JSON.
            Nothing was started then.
    """
    found = _MACHINE.fullmatch(state_machine_arn) if isinstance(state_machine_arn, str) else None
    if found is None:
        raise InvalidValueError(
            f"expects the ARN of a state machine, got {shown(state_machine_arn)}",
            argument="state_machine_arn",
            value=state_machine_arn,
            fix="job.state_machine.state_machine_arn as an output of its stack",
        )
    make = client or (lambda service, region: boto3.client(service, region_name=region))
    machines, region = make("stepfunctions", found["region"]), found["region"]
    named = {} if name is None else {"name": name}
    text = _text(job_input or {})
    definition, container = _run_in(
        machines.describe_state_machine(stateMachineArn=state_machine_arn), state_machine_arn
    )
    started = machines.start_execution(stateMachineArn=state_machine_arn, input=text, **named)
    while (end := machines.describe_execution(executionArn=started["executionArn"]))["status"] == "RUNNING":
        time.sleep(poll_seconds)
    task = json.loads(end.get("output") or "{}")
    failed_task = _TASK.search(end.get("cause") or "")
    task_arn = task.get("TaskArn") or (failed_task and failed_task[1])
    if task_arn is None and end["status"] != "SUCCEEDED":
        history = machines.get_execution_history(executionArn=started["executionArn"], reverseOrder=True)
        task_arn = _last_submitted(history["events"])
    ecs = make("ecs", region)
    described = ecs.describe_task_definition(taskDefinition=definition)["taskDefinition"]
    group, stream = _logs(described, container, None if end.get("error") in _WITHOUT_LOGS else task_arn)
    return JobEnd(
        name=end["name"],
        succeeded=end["status"] == "SUCCEEDED",
        exit_code=_exit_code(end, task, container),
        error=end.get("error") or (None if end["status"] == "SUCCEEDED" else end["status"]),
        cause=end.get("cause"),
        task_arn=task_arn,
        log_group=group,
        log_stream=stream,
        started=end["startDate"],
        ended=end.get("stopDate"),
    )


def _run_in(machine: Mapping[str, Any], arn: str) -> tuple[str, str]:
    """The task definition that the machine of a job runs, and the container whose exit code is that of the job."""
    try:
        run = json.loads(machine["definition"])["States"]["Run"]["Parameters"]
        return run["TaskDefinition"], run["Overrides"]["ContainerOverrides"][0]["Name"]
    except (IndexError, KeyError, TypeError):
        raise InvalidValueError(
            f"{shown(arn)} is not the state machine of a GpuJob",
            argument="state_machine_arn",
            value=arn,
            fix="job.state_machine.state_machine_arn as an output of its stack",
        ) from None


def _text(job_input: object) -> str:
    try:
        return json.dumps(job_input, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidValueError(
            f"expects what can be written as JSON, got {shown(job_input)}",
            argument="job_input",
            value=job_input,
            fix="job_input={'epochs': 3}",
        ) from None


def _last_submitted(events: Sequence[Mapping[str, Any]]) -> str | None:
    """The last task that ECS answered with, from the events of an execution, the newest first."""
    answers = (str(each.get("taskSubmittedEventDetails", {}).get("output")) for each in events)
    return next((found[0] for found in map(_STARTED.search, answers) if found), None)


def _exit_code(end: Mapping[str, Any], task: Mapping[str, Any], container: str) -> int | None:
    codes = (each.get("ExitCode") for each in task.get("Containers", ()) if each["Name"] == container)
    said = re.search(r"exit code (\d+) \(task", end.get("cause") or "")
    return int(said[1]) if said else next(codes, None)


def _logs(definition: Mapping[str, Any], container: str, task_arn: str | None) -> tuple[str | None, str | None]:
    """The log group and the stream of a task, as the driver ``awslogs`` names it: prefix, container, task."""
    of_container = next(each for each in definition["containerDefinitions"] if each["name"] == container)
    options = of_container.get("logConfiguration", {}).get("options") or {}
    group, prefix = options.get("awslogs-group"), options.get("awslogs-stream-prefix")
    if group is None or prefix is None or task_arn is None:
        return group, None
    return group, f"{prefix}/{container}/{task_arn.rpartition('/')[2]}"
