"""Jobs of AWS Batch: are they repeated for nothing, and does Batch take what is submitted to a queue?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpu_constructs.errors import brief
from gpu_constructs.facts.aws_limits import JOB_ARRAY_SIZE, MAX_JOB_ATTEMPTS, MIN_JOB_TIMEOUT_SECONDS
from gpu_constructs.fleet import JobQueue, Scheduler, Starter, Submission, Task, Unknown
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, error, warning

if TYPE_CHECKING:
    from gpu_constructs.template.resources.section import Section

_SUBMIT = "https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitJob.html"
_WITHOUT_SHARES = (Starter.RULE, Starter.PIPE)  # whose targets can name no share identifier
_PATTERNS = ("OnExitCode", "OnReason", "OnStatusReason")
_THE_REST = '{"OnReason": "*", "Action": "EXIT"}'
_SIZE, _ATTEMPTS, _SECONDS = "ArrayProperties.Size", "RetryStrategy.Attempts", "Timeout.AttemptDurationSeconds"
_NUMBERS = {
    _SIZE: (*JOB_ARRAY_SIZE, "{:,} to {:,}"),
    _ATTEMPTS: (1, MAX_JOB_ATTEMPTS, "{} to {}"),
    _SECONDS: (MIN_JOB_TIMEOUT_SECONDS, None, "{} or more"),
}
"""The least and the most of each number, and how both are said."""


@warning(
    "GPU331",
    question="do the conditions of retries say what ends a job?",
    because="AWS Batch runs a job again that meets none of its conditions: a mistake of the job itself costs all its "
    "attempts",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_RetryStrategy.html",
)
def ends(context: Context) -> Problems:
    for task in context.fleet.tasks:
        strategy = _strategy(context, task)
        attempts = None if strategy is None else strategy.integer("Attempts")
        if strategy is None or not isinstance(attempts, int) or attempts <= 1:
            continue
        conditions = strategy.sections("EvaluateOnExit")
        patterns = [[each.text(key) for key in _PATTERNS if each.has(key)] for each in conditions]
        # A pattern that is not known may be met by anything.
        names_the_rest = any(all(one == "*" or isinstance(one, Unknown) for one in each) for each in patterns)
        repeats_chosen = any(str(each.text("Action")).upper() == "RETRY" for each in conditions)
        if repeats_chosen and not names_the_rest and not any(each.is_unknown for each in conditions):
            yield Problem(
                about=task,
                property_name="RetryStrategy.EvaluateOnExit",
                message=f"the job {task.name} is run again after chosen causes, and after every other one as well, up "
                f"to {attempts} times",
                fix=f"{_THE_REST} as the last condition",
            )


def _strategy(context: Context, task: Task) -> Section | None:
    """The retry strategy of a GPU job; None for other tasks, and where no file that was read defines it."""
    is_job = task.scheduler is Scheduler.BATCH and task.wants_gpu
    properties = context.section(task) if is_job else None
    return None if properties is None else properties.section("RetryStrategy")


@error(
    "GPU350",
    question="are the numbers of a GPU job those that AWS Batch accepts?",
    because="AWS Batch refuses fewer than 1 or more than 10 attempts, a timeout below 60 seconds, and an array of "
    "fewer than 2 or more than 10,000 jobs, and what it refuses on a schedule is lost",
    source=_SUBMIT,
)
def accepted_numbers(context: Context) -> Problems:
    for subject, task, text, name, value in _numbers(context):
        least, most, words = _NUMBERS[name]
        if isinstance(value, int) and (value < least or (most is not None and value > most)):
            allowed = words.format(least, most)
            yield Problem(
                about=subject,
                involves=(task,),
                property_name=name,
                value=value,
                message=text,
                allowed=allowed,
                one_value=True,
                fix=f"{name} of {allowed}",
            )


def _numbers(context: Context) -> Iterator[tuple[Task | Submission, Task, str, str, int | Unknown | None]]:
    """The numbers of GPU jobs: whose it is, of which job, what it says, the property and the value."""
    for task in context.tasks:
        if task.wants_gpu:
            strategy = _strategy(context, task)
            seconds, attempts = task.attempt_seconds, None if strategy is None else strategy.integer("Attempts")
            takes = f"{MIN_JOB_TIMEOUT_SECONDS} or more"
            text = f"the job {task.name} times out after {seconds} seconds, and AWS Batch takes {takes}"
            yield task, task, text, _SECONDS, seconds
            text = f"the job {task.name} has {attempts} attempts, and AWS Batch takes 1 to {MAX_JOB_ATTEMPTS}"
            yield task, task, text, _ATTEMPTS, attempts
    for each in context.fleet.submissions:
        if each.task is not None and each.task.wants_gpu:
            for name, value in (
                (_SIZE, each.array_size),
                (_ATTEMPTS, each.attempts),
                (_SECONDS, each.attempt_seconds),
            ):
                yield each, each.task, f"{brief(each.name)} submits {each.task.name} with {name} {value}", name, value


@error(
    "GPU351",
    question="does a GPU job name its share where its queue has shares, and none where it has none?",
    because="AWS Batch requires a share identifier in a queue with a fair-share scheduling policy and refuses one in "
    "any other queue; the targets of rules and pipes have no share identifier",
    softer="where a scheduling priority is missing, which the API has been seen to require and its page does not name",
    source=_SUBMIT,
)
def share_as_its_queue(context: Context) -> Problems:
    for each in context.fleet.submissions:
        if each.queue is None or each.task is None or not each.task.wants_gpu:
            continue
        problem, fix, is_certain = _unshared(each, each.queue)
        if problem:
            yield Problem(
                about=each,
                involves=(each.task,),
                property_name="ShareIdentifier",
                message=f"{brief(each.name)} submits {each.task.name} {problem}",
                fix=fix,
                is_certain=is_certain,
            )


def _unshared(submission: Submission, queue: JobQueue) -> tuple[str, str, bool]:
    """What is wrong with a share, what would do, and whether that is certain; empty where nothing is wrong."""
    if queue.has_shares is True and submission.starter in _WITHOUT_SHARES:
        return (
            f"to {queue.name}, which has a fair-share policy, and the target of a rule or a pipe names no share",
            "a schedule or a state that calls batch:submitJob with ShareIdentifier, or a queue without a policy",
            True,
        )
    if queue.has_shares is True and submission.share is False:
        return (
            f"without a share, and {queue.name} has a fair-share policy",
            "a ShareIdentifier, and a SchedulingPriority in the job definition",
            True,
        )
    if queue.has_shares is True and submission.share is True and submission.priority is False:
        return (
            f"to the fair shares of {queue.name}, and neither it nor the job definition has a scheduling priority",
            "a SchedulingPriority in the job definition, or SchedulingPriorityOverride",
            False,  # https://github.com/nextflow-io/nextflow/pull/3505
        )
    if queue.has_shares is False and submission.share is True:
        return (
            f"with a share, and {queue.name} has no fair-share policy",
            f"no ShareIdentifier, or a SchedulingPolicyArn of {queue.name}",
            True,
        )
    return "", "", True
