"""Runs of tasks, other than services: may they start, and not too many at once?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpu_constructs.fleet import Origin, Starter, Workload
from gpu_constructs.hardware.aws_limits import MAX_RUN_COPIES
from gpu_constructs.rules.change import one_way
from gpu_constructs.rules.rule import Problem, Problems, error

# The property with a largest number; the models of rules and pipes have none.
_COUNTS: Mapping[Starter, str] = {Starter.SCHEDULE: "TaskCount", Starter.STATE_MACHINE: "Count"}


@error(
    "GPU219",
    question="does a run start at most as many tasks at once as RunTask takes?",
    because=f"RunTask takes up to {MAX_RUN_COPIES} tasks in one call, and EventBridge Scheduler refuses a schedule "
    "with more",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html",
)
def few_at_once(workload: Workload) -> Problems:
    count, name = workload.desired_count, _COUNTS.get(workload.starter)
    if name is not None and isinstance(count, int) and count > MAX_RUN_COPIES:
        yield Problem(
            property_name=name,
            value=count,
            message=f"{workload.name} starts {count} tasks at once, and RunTask takes {MAX_RUN_COPIES}",
            allowed=f"1 to {MAX_RUN_COPIES}",
            one_value=True,
            fix="fewer tasks, and another run for the others",
            ways=one_way(
                f"a {name} of {MAX_RUN_COPIES}, and another run for the others",
                replace(workload, desired_count=MAX_RUN_COPIES),
            ),
        )


@error(
    "GPU300",
    question="does a rule or a schedule name a role that may run the task?",
    because="EventBridge calls RunTask with the role of the target, and starts nothing without one",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/CWE_IAM_role.html",
)
def may_run(workload: Workload) -> Problems:
    if workload.lacks_role:
        yield Problem(
            property_name="RoleArn",
            origin=_above(workload.origin),
            message=f"{workload.name} runs {'a task' if workload.task is None else workload.task.name} without a role "
            "with which EventBridge may start it",
            fix="a RoleArn beside the Arn of the target, of a role that may call ecs:RunTask and pass the roles of the "
            "task",
        )


def _above(origin: Origin | None) -> Origin | None:
    """The target around what ``RunTask`` is given."""
    return None if origin is None else replace(origin, path=origin.path[:-1])
