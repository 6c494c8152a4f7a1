"""What each attempt of a job runs, and the variables that its container gets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NAME, ATTEMPT, INPUT, CHECKPOINTS = "JOB_NAME", "JOB_ATTEMPT", "JOB_INPUT", "JOB_CHECKPOINTS"
VARIABLES = frozenset({NAME, ATTEMPT, INPUT, CHECKPOINTS})
"""Variables of the job's container: the execution, which attempt it is, from 0, the execution's input as JSON, and
where it keeps what it resumes from."""

NAME_FORM = re.compile(r"[0-9A-Za-z_-]{1,80}", re.ASCII)
"""Of state machines and of executions:
https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """What each attempt of a job runs.

    Attributes:
        partition: The partition of AWS.
        cluster: The ARN of the cluster.
        task_definition: The ARN of the task definition.
        family: Its family.
        container: The container whose exit code is that of the job.
        strategy: Items of the capacity provider strategy, as the API has them.
        network: The configuration of ``awsvpc``, as the API has it; None in other modes.
        packed: Whether tasks are packed onto hosts, which Managed Instances do by themselves.
        environment: More variables of that container.
        checkpoints: Where each job has a directory to resume from; None without.
        timeout_seconds: How long one attempt may take.
    """

    partition: str
    cluster: str
    task_definition: str
    family: str
    container: str
    strategy: Sequence[Mapping[str, object]]
    network: Mapping[str, Sequence[str]] | None
    packed: bool
    environment: Mapping[str, str]
    checkpoints: str | None
    timeout_seconds: int


def variables_by_hand(run: JobRun, *, name: str, job_input: str) -> dict[str, str]:
    """What a task that no state machine runs is given, as the first attempt of a job.

    Args:
        run: What a job runs.
        name: In place of the name of an execution.
        job_input: In place of its input, as JSON.
    """
    checkpoints = {} if run.checkpoints is None else {CHECKPOINTS: f"{run.checkpoints}{name}/"}
    return {NAME: name, ATTEMPT: "0", INPUT: job_input, **run.environment, **checkpoints}
