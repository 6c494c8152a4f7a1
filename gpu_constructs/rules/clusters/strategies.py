"""Capacity provider strategies: does ECS accept them, and do their kinds of capacity suit the tasks and each other?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.errors import brief
from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS, MAX_BASE, MAX_STRATEGY_PROVIDERS, MAX_WEIGHT
from gpu_constructs.facts.values import by_identity
from gpu_constructs.fleet import Pool, PoolKind, StrategyItem, Task, Unknown, Workload, known
from gpu_constructs.rules.evidence.accelerated import MANAGED_INSTANCES
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Text, Word, and_list


@error(
    "GPU089",
    question="does ECS accept the capacity provider strategy?",
    because=f"a strategy has at most {MAX_STRATEGY_PROVIDERS} providers, of either Fargate or Auto Scaling groups, "
    f"weights of 0 to {MAX_WEIGHT}, at least one of them above 0, and one base of 0 to {MAX_BASE}; ECS refuses any "
    "other, and a strategy beside a launch type",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html",
)
def accepted_by_ecs(workload: Workload) -> Problems:
    for problem, fix in _problems(workload.strategy):
        yield Problem(
            property_name="CapacityProviderStrategy",
            message=f"the strategy of {workload.name} {problem}",
            fix=fix,
        )
    if workload.strategy and isinstance(workload.launch_type, str):
        yield Problem(
            property_name="LaunchType",
            value=workload.launch_type,
            message=f"{workload.name} has the launch type {brief(workload.launch_type)} and a capacity provider "
            f"strategy ({and_list(brief(str(item.provider)) for item in workload.strategy)}); ECS accepts one of them",
            fix="remove LaunchType",
        )


@error(
    "GPU125",
    question="is the task definition compatible with the capacity that its service uses?",
    because="a task definition for Managed Instances must require MANAGED_INSTANCES",
    softer="for other capacity, because no AWS page says whether such a task runs there",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html",
)
def compatible_with_capacity(workload: Workload) -> Problems:
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
                is_certain=pool.kind is PoolKind.MANAGED_INSTANCES,
            )


@warning(
    "GPU140",
    question="are all capacity providers of a strategy of one kind?",
    because="a guide to capacity providers by AWS says that a strategy cannot mix Managed Instances with Auto Scaling "
    "groups or Fargate; the API page does not say so",
    source="https://aws-samples.github.io/sample-apex-skills/docs/skills/ecs/ecs-build/references/"
    "capacity-provider-guide",
)
def one_kind(workload: Workload) -> Problems:
    pools = [item.pool for item in workload.strategy if item.pool is not None]
    managed = dict.fromkeys(each.name for each in pools if each.kind is PoolKind.MANAGED_INSTANCES)
    groups = dict.fromkeys(each.name for each in pools if each.kind is PoolKind.AUTO_SCALING_GROUP)
    if managed and groups:
        yield Problem(
            property_name="CapacityProviderStrategy",
            value=[*managed, *groups],
            message=f"the strategy of {workload.name} has ECS Managed Instances ({and_list(managed)}) and Auto Scaling "
            f"groups ({and_list(groups)})",
            fix=Text(
                "a service for each kind, this one with a ",
                Word("CapacityProviderStrategy"),
                f" of {and_list(groups)} only",
            ),
        )


@by_identity(maxsize=1 << 12)
def _problems(strategy: tuple[StrategyItem, ...]) -> tuple[tuple[str, str], ...]:
    """What ECS does not accept, and the fix."""
    return tuple(_found(strategy))


def _found(strategy: tuple[StrategyItem, ...]) -> Iterator[tuple[str, str]]:
    if len(strategy) > MAX_STRATEGY_PROVIDERS:
        yield (
            f"has {len(strategy)} capacity providers, and {MAX_STRATEGY_PROVIDERS} are allowed",
            f"name at most {MAX_STRATEGY_PROVIDERS}, or split the service",
        )
    for item in strategy:
        for name, value, most in (("weight", item.weight, MAX_WEIGHT), ("base", item.base, MAX_BASE)):
            if not isinstance(value, Unknown) and not 0 <= value <= most:
                yield (
                    f"gives {item.provider} a {name} of {value}, and 0 to {most} are allowed",
                    f"{name}={most}",
                )
    if len(strategy) == 1 and strategy[0].weight == 0 and strategy[0].base == 0:
        yield (
            f"gives its only provider, {strategy[0].provider}, a weight of 0 and no base",
            "a weight above 0",
        )
    if len(strategy) > 1 and all(item.weight == 0 for item in strategy):
        yield (
            f"gives all of its {len(strategy)} providers a weight of 0, and at least one of several must have more",
            "give each of them a weight above 0",
        )
    with_base = [item for item in strategy if known(item.base) > 0]
    if len(with_base) > 1:
        yield (
            f"gives {and_list(item.provider for item in with_base)} a base, and only one provider can have one",
            "keep one base",
        )
    fargate = [item for item in strategy if item.provider in FARGATE_PROVIDERS]
    of_groups = [item for item in strategy if item.pool is not None]
    if fargate and of_groups:
        names = and_list([item.provider for item in (*fargate, *of_groups)])
        yield (
            f"has {names}, and a strategy has providers of either Fargate or Auto Scaling groups",
            "write a separate service for Fargate",
        )


def _is_for(task: Task, pool: Pool) -> bool:
    """Whether the pool can run it; a task that is valid for Fargate is valid for EC2 as well."""
    named = {each.upper() for each in task.compatibilities}
    if pool.kind is PoolKind.MANAGED_INSTANCES:
        return MANAGED_INSTANCES in named
    return pool.kind is not PoolKind.AUTO_SCALING_GROUP or bool(named & {"EC2", "FARGATE"})
