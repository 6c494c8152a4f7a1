"""Runs of tasks besides services: does whatever starts them accept how many there are at once?"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.fleet import Starter, Workload
from gpu_constructs.hardware.aws_limits import MAX_RUN_COPIES
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
            fix=f"a {name} of {MAX_RUN_COPIES}, and another run for the others",
        )
