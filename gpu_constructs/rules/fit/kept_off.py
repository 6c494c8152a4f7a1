"""Tasks without GPUs: do they stay off the hosts that GPU tasks wait for?"""

from __future__ import annotations

from collections.abc import Iterable

from gpu_constructs.fleet import Pool
from gpu_constructs.placement import demand_of
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import asks_for_accelerator
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


@warning(
    "GPU304",
    question="does a service without GPUs start hosts without GPUs?",
    because="ECS starts a host of the capacity provider for each task that finds no room, whatever the task asks for, "
    "and keeps it while the task runs: a task without GPUs pays for GPUs that it cannot use",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html",
)
def starts_its_own_kind(context: Context) -> Problems:
    for workload in context.fleet.workloads:
        task, pools = workload.task, [each.pool for each in workload.strategy if each.pool is not None]
        if task is None or workload.daemon is not False or any(map(asks_for_accelerator, task.containers)):
            continue
        is_all = bool(pools) and len(pools) == len(workload.strategy) and all(map(_only_accelerators, pools))
        if is_all and workload.desired_count != 0 and not context.gpu_workloads.keys().isdisjoint(_names(pools)):
            named = and_list(f"{each.name} ({each.instance_types[0]})" for each in pools)
            yield Problem(
                about=workload,
                involves=tuple(pools),
                property_name="CapacityProviderStrategy",
                message=f"{workload.name} runs {task.name}, which asks for no GPU, on {named}: it starts such "
                "hosts, and takes their CPU and memory from GPU tasks",
                fix="a capacity provider of hosts without GPUs, or Fargate",
            )


def _names(pools: Iterable[Pool]) -> set[str]:
    return {each.name for each in pools}


def _only_accelerators(pool: Pool) -> bool:
    """Whether ECS starts hosts of the pool, each of which has accelerators."""
    return pool.is_scaled_by_ecs and pool.types_are_known and all(each.accelerators for each in pool.instance_types)


def _has_accelerators(pool: Pool) -> bool:
    return any(each.accelerators for each in pool.instance_types)
