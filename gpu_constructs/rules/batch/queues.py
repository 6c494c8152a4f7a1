"""Queues of AWS Batch: do their environments go together, and do submissions name a share where there are shares?"""

from __future__ import annotations

from gpu_constructs.budget import brief
from gpu_constructs.fleet import JobQueue, Submission
from gpu_constructs.hardware.aws_limits import (
    JOB_ARRAY_SIZE,
    JOB_WAIT_SECONDS,
    LARGEST_INTEGER,
    MAX_JOB_ATTEMPTS,
    MAX_QUEUE_ENVIRONMENTS,
    MIN_JOB_TIMEOUT_SECONDS,
)
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error

_SUBMIT = "https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitJob.html"


@error(
    "GPU350",
    question="are the numbers of a submitted GPU job and of its queue those that AWS Batch accepts?",
    because="AWS Batch refuses an array of fewer than 2 or more than 10,000 jobs, fewer than 1 or more than 10 "
    "attempts, a timeout below 60 seconds, and a queue that cancels waiting jobs before 10 minutes or after 24 hours",
    source=_SUBMIT,
)
def accepted_numbers(context: Context) -> Problems:
    for each in context.fleet.submissions:
        if each.task is not None and each.task.wants_gpu:
            for name, value, (least, most) in (
                ("ArrayProperties.Size", each.array_size, JOB_ARRAY_SIZE),
                ("RetryStrategy.Attempts", each.attempts, (1, MAX_JOB_ATTEMPTS)),
                ("Timeout.AttemptDurationSeconds", each.attempt_seconds, (MIN_JOB_TIMEOUT_SECONDS, LARGEST_INTEGER)),
            ):
                if isinstance(value, int) and not least <= value <= most:
                    yield Problem(
                        about=each,
                        involves=(each.task,),
                        property_name=name,
                        value=value,
                        message=f"{brief(each.name)} submits {each.task.name} with {name} {value}",
                        allowed=_range(least, most),
                        fix=f"{name} of {_range(least, most)}",
                    )
    least, most = JOB_WAIT_SECONDS
    for queue in context.fleet.queues:
        for value in queue.wait_seconds if context.gpu_pools(queue) else ():
            if isinstance(value, int) and not least <= value <= most:
                yield Problem(
                    about=queue,
                    property_name="JobStateTimeLimitActions.MaxTimeSeconds",
                    value=value,
                    message=f"{queue.name} cancels jobs that wait for {value} seconds",
                    allowed=_range(least, most),
                    fix=f"MaxTimeSeconds of {_range(least, most)}",
                )


def _range(least: int, most: int) -> str:
    return f"{least} or more" if most == LARGEST_INTEGER else f"{least} to {most:,}"


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
    if queue.has_shares is True and not submission.may_share:
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


@error(
    "GPU357",
    question="can the compute environments of a GPU queue be in one queue?",
    because=f"a queue has up to {MAX_QUEUE_ENVIRONMENTS} compute environments, all of them on EC2 or all on Fargate, "
    "and all of one architecture",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeEnvironmentOrder.html",
)
def go_together(context: Context) -> Problems:
    for queue in context.fleet.queues:
        problem, there = _apart(queue), context.gpu_pools(queue)
        if problem and there:
            yield Problem(
                about=queue,
                involves=there,
                property_name="ComputeEnvironmentOrder",
                value=[each.name for each in queue.environments],
                message=f"{queue.name} has {problem}",
                fix="a queue for each kind, which may share the job definitions",
            )


def _apart(queue: JobQueue) -> str:
    """Why AWS Batch refuses the environments together; empty where it does not certainly."""
    count = len(queue.environments)
    if count > MAX_QUEUE_ENVIRONMENTS:
        return f"{count} compute environments, and AWS Batch takes {MAX_QUEUE_ENVIRONMENTS}"
    platforms = {each.platform: each.name for each in queue.environments if each.platform in {"EC2", "Fargate"}}
    if len(platforms) > 1:
        return f"{and_list(f'{name} ({kind})' for kind, name in platforms.items())}, which cannot be in one queue"
    of_one = {next(iter(each.architectures)): each.name for each in queue.environments if len(each.architectures) == 1}
    if len(of_one) > 1:
        named = and_list(f"{name} ({each.value})" for each, name in of_one.items())
        return f"{named}, and all hosts of a queue must have one architecture"
    return ""
