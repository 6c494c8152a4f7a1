"""How often a job is run again: does AWS Batch take it, and does it repeat mistakes as well?"""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.fleet import RetryStrategy, Task
from gpu_constructs.hardware.aws_limits import MAX_JOB_ATTEMPTS, MAX_JOB_CONDITIONS
from gpu_constructs.rules.change import one_way
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_API = "https://docs.aws.amazon.com/batch/latest/APIReference/API_RetryStrategy.html"
_THE_REST = '{"OnReason": "*", "Action": "EXIT"}'


@error(
    "GPU330",
    question="is the retry strategy of a job one that AWS Batch accepts?",
    because=f"AWS Batch takes 1 to {MAX_JOB_ATTEMPTS} attempts and up to {MAX_JOB_CONDITIONS} conditions, which need "
    "attempts, and refuses the job definition otherwise",
    source=_API,
)
def accepted(task: Task) -> Problems:
    retries = task.retries
    if retries is None or not task.wants_gpu:
        return
    attempts, conditions = retries.attempts, retries.conditions
    if isinstance(attempts, int) and not 1 <= attempts <= MAX_JOB_ATTEMPTS:
        near = min(max(attempts, 1), MAX_JOB_ATTEMPTS)
        yield Problem(
            property_name="RetryStrategy.Attempts",
            value=attempts,
            message=f"the job {task.name} has {attempts} attempts, and AWS Batch takes 1 to {MAX_JOB_ATTEMPTS}",
            allowed=f"1 to {MAX_JOB_ATTEMPTS}",
            one_value=True,
            fix=f"Attempts of {near}",
            ways=one_way(f"Attempts of {near}", _with(task, replace(retries, attempts=near))),
        )
    elif isinstance(conditions, int) and conditions > MAX_JOB_CONDITIONS:
        yield Problem(
            property_name="RetryStrategy.EvaluateOnExit",
            value=conditions,
            message=f"the job {task.name} has {conditions} conditions of retries, and AWS Batch takes "
            f"{MAX_JOB_CONDITIONS}",
            allowed=f"up to {MAX_JOB_CONDITIONS}",
            fix="one exit code for everything that is worth another attempt",
            ways=one_way("fewer conditions", _with(task, replace(retries, conditions=MAX_JOB_CONDITIONS))),
        )
    elif attempts is None and conditions:
        yield Problem(
            property_name="RetryStrategy.EvaluateOnExit",
            message=f"the job {task.name} has conditions of retries without Attempts",
            fix="Attempts of 3",
            ways=one_way("Attempts of 3", _with(task, replace(retries, attempts=3))),
        )


@warning(
    "GPU331",
    question="do the conditions of retries say what ends a job?",
    because="AWS Batch runs a job again that meets none of its conditions: a mistake of the job itself costs all its "
    "attempts",
    source=_API,
    unless=("GPU330",),
)
def ends(task: Task) -> Problems:
    retries = task.retries
    if retries is None or not task.wants_gpu or retries.names_the_rest or not retries.repeats_chosen:
        return
    if isinstance(retries.attempts, int) and retries.attempts > 1 and isinstance(retries.conditions, int):
        yield Problem(
            property_name="RetryStrategy.EvaluateOnExit",
            message=f"the job {task.name} is run again after chosen causes, and after every other one as well, up to "
            f"{retries.attempts} times",
            fix=f"{_THE_REST} as the last condition",
            ways=one_way(f"{_THE_REST} as the last condition", _with(task, replace(retries, names_the_rest=True))),
        )


def _with(task: Task, retries: RetryStrategy) -> Task:
    return replace(task, retries=retries)
