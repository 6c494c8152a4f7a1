"""Tasks without GPUs: do they stay off the hosts that GPU tasks wait for?"""

from __future__ import annotations

from gpu_constructs.fleet import Pool
from gpu_constructs.placement import demand_of
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, warning


@warning(
    "GPU260",
    question="do tasks without GPUs stay off the hosts of GPU tasks?",
    because="a task without a capacity provider strategy is placed on any host of its cluster that has room, and takes "
    "the CPU and the memory that a GPU task waits for",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html",
)
def kept_off(context: Context) -> Problems:
    for assignment in context.assignments:
        workload, task = assignment.workload, assignment.task
        if workload.strategy or workload.daemon is not False or demand_of(task).wants_accelerator:
            continue
        fitting = [each.pool for each in assignment.destinations if each.types]
        taken = [each for each in fitting if _has_accelerators(each) and context.gpu_workloads.get(each.name)]
        others = [each for each in fitting if not _has_accelerators(each)]
        if taken and others:
            yield Problem(
                about=workload,
                involves=tuple(taken),
                message=f"{task.name} asks for no GPU and may be placed on hosts of "
                f"{and_list(each.name for each in taken)}, for which GPU tasks wait",
                fix=f"a CapacityProviderStrategy with {others[0].name}"
                if others[0].has_provider
                else "a placement constraint that leaves the GPU hosts out",
                property_name="CapacityProviderStrategy",
            )


def _has_accelerators(pool: Pool) -> bool:
    return any(each.accelerators for each in pool.instance_types)
