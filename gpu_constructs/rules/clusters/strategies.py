"""Capacity provider strategies: does ECS accept them?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import StrategyItem, Unknown, Workload, known
from gpu_constructs.hardware.aws_limits import MAX_BASE, MAX_STRATEGY_PROVIDERS, MAX_WEIGHT
from gpu_constructs.placement.destinations import FARGATE_PROVIDERS
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, error


@error(
    "GPU089",
    question="does ECS accept the capacity provider strategy?",
    because=f"a strategy has at most {MAX_STRATEGY_PROVIDERS} providers, weights of 0 to {MAX_WEIGHT}, at least one of "
    f"them above 0 if there are several, one base of 0 to {MAX_BASE}, and providers of either Fargate or Auto Scaling "
    "groups",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html",
)
def accepted_by_ecs(workload: Workload) -> Iterator[Problem]:
    for problem, fix in _problems(workload.strategy):
        yield Problem(
            property_name="CapacityProviderStrategy",
            message=f"the strategy of {workload.name} {problem}",
            fix=fix,
        )


def _problems(strategy: tuple[StrategyItem, ...]) -> Iterator[tuple[str, str]]:
    if len(strategy) > MAX_STRATEGY_PROVIDERS:
        yield (
            f"has {len(strategy)} capacity providers, and {MAX_STRATEGY_PROVIDERS} are allowed",
            f"name at most {MAX_STRATEGY_PROVIDERS}, or split the service",
        )
    for item in strategy:
        for name, value, most in (("weight", item.weight, MAX_WEIGHT), ("base", item.base, MAX_BASE)):
            if not isinstance(value, Unknown) and not 0 <= value <= most:
                yield f"gives {item.provider} a {name} of {value}, and 0 to {most} are allowed", f"{name}={most}"
    if len(strategy) > 1 and all(item.weight == 0 for item in strategy):
        yield (
            f"gives all of its {len(strategy)} providers a weight of 0, and at least one of several must have more",
            "give each of them a weight of 1",
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
