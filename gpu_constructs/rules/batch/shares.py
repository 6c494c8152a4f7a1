"""Priorities of jobs and queues of AWS Batch, and their shares: does the service take the numbers?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Origin, Task
from gpu_constructs.hardware.aws_limits import SHARE_NUMBERS
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, Problems, error


@error(
    "GPU369",
    question="are the priorities of GPU jobs and the shares of their queues those that AWS Batch accepts?",
    because="AWS Batch takes weight factors of 0.0001 to 999.9999, a decay of up to a week, 0 to 99 percent as a "
    "reserve, and priorities of 0 to 9999",
    source="https://docs.aws.amazon.com/batch/latest/APIReference/API_ShareAttributes.html",
)
def accepted_shares(context: Context) -> Problems:
    for name, key, value, origin, tasks in _numbers(context):
        least, most = SHARE_NUMBERS["Priority" if key.startswith("SchedulingPriority") else key]
        if not least <= value <= most:
            allowed = f"{least:,} to {most:,}"
            yield Problem(
                about=name,
                origin=origin,
                involves=tasks,
                property_name=key,
                value=value,
                message=f"{brief(name)} has {key} {value:,}",
                allowed=allowed,
                fix=f"{key} of {allowed}",
            )


def _numbers(context: Context) -> Iterator[tuple[str, str, float, Origin | None, tuple[Task, ...]]]:
    """Numbers of queues with GPUs and of what submits GPU jobs: the name, the property, the value, the place."""
    for queue in context.fleet.queues:
        for key, value, origin in queue.numbers if context.gpu_pools(queue) else ():
            yield queue.name, key, value, origin, ()
    for each in context.fleet.submissions:
        priority = each.scheduling_priority
        if isinstance(priority, int) and each.task is not None and each.task.wants_gpu:
            yield each.name, "SchedulingPriority", priority, each.origin, (each.task,)
