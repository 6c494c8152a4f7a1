"""Kinds of capacity: do those of a service agree with each other and with its task definition?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Pool, PoolKind, Task, Unknown, Workload
from gpu_constructs.placement.destinations import pools_of
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.evidence.walk import MANAGED_INSTANCES
from gpu_constructs.rules.rule import Problem, warning


@warning(
    "GPU125",
    question="is the task definition compatible with the capacity that its service uses?",
    because="ECS validates a task definition for what RequiresCompatibilities names; no page says whether it runs "
    "elsewhere",
    source="UNCONFIRMED: API_RegisterTaskDefinition says what is checked, and nothing of where a task may run then",
)
def compatible_with_capacity(workload: Workload) -> Iterator[Problem]:
    task = workload.task
    if task is None or not task.compatibilities:
        return
    pools = {item.pool.name: item.pool for item in workload.strategy if item.pool is not None}
    for pool in pools.values():
        if not _is_for(task, pool):
            asks = MANAGED_INSTANCES if pool.kind is PoolKind.MANAGED_INSTANCES else "EC2"
            yield Problem(
                property_name="RequiresCompatibilities",
                value=list(task.compatibilities),
                message=f"{task.name} requires {and_list(map(brief, task.compatibilities))}, and {workload.name} runs "
                f"it on {pool.name} ({pool.kind.value})",
                fix=f"{asks} in RequiresCompatibilities",
            )


@warning(
    "GPU139",
    question="do services for ECS Managed Instances have a capacity provider strategy?",
    because="Managed Instances run only tasks that a capacity provider strategy sends; with a launch type, a task "
    "needs hosts that something else registers",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html",
)
def by_strategy(context: Context) -> Iterator[Problem]:
    all_managed: dict[str | Unknown | None, list[Pool]] = {}
    for each in context.fleet.pools:
        if each.kind is PoolKind.MANAGED_INSTANCES:
            all_managed.setdefault(each.cluster, []).append(each)
    for workload in context.fleet.workloads if all_managed else ():
        if workload.strategy or workload.launch_type != "EC2" or isinstance(workload.cluster, Unknown):
            continue
        managed = all_managed.get(workload.cluster)
        if managed and not pools_of(context.fleet, workload):
            yield Problem(
                about=workload,
                property_name="LaunchType",
                value=workload.launch_type,
                message=f"{workload.name} has the launch type EC2, and its cluster has only ECS Managed Instances "
                f"({and_list(each.name for each in managed)}), which run tasks of a capacity provider strategy only",
                fix=f"use a CapacityProviderStrategy with {managed[0].name}, and remove LaunchType",
            )


@warning(
    "GPU140",
    question="are all capacity providers of a strategy of one kind?",
    because="a guide to capacity providers by AWS says that a strategy cannot mix Managed Instances with Auto Scaling "
    "groups or Fargate; the API page does not say so",
    source="https://aws-samples.github.io/sample-apex-skills/docs/skills/ecs/ecs-build/references/"
    "capacity-provider-guide",
)
def one_kind(workload: Workload) -> Iterator[Problem]:
    pools = [item.pool for item in workload.strategy if item.pool is not None]
    managed = dict.fromkeys(each.name for each in pools if each.kind is PoolKind.MANAGED_INSTANCES)
    groups = dict.fromkeys(each.name for each in pools if each.kind is PoolKind.AUTO_SCALING_GROUP)
    if managed and groups:
        yield Problem(
            property_name="CapacityProviderStrategy",
            value=[*managed, *groups],
            message=f"the strategy of {workload.name} has ECS Managed Instances ({and_list(managed)}) and Auto Scaling "
            f"groups ({and_list(groups)})",
            fix=f"a service for each kind, this one with a CapacityProviderStrategy of {and_list(groups)} only",
        )


def _is_for(task: Task, pool: Pool) -> bool:
    """Whether the pool can run it; a task that is valid for Fargate is valid for EC2 as well."""
    named = {each.upper() for each in task.compatibilities}
    if pool.kind is PoolKind.MANAGED_INSTANCES:
        return MANAGED_INSTANCES in named
    return pool.kind is not PoolKind.AUTO_SCALING_GROUP or bool(named & {"EC2", "FARGATE"})
