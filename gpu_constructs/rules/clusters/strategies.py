"""Capacity provider strategies that the API refuses."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import StrategyItem, Unknown, Workload, known
from gpu_constructs.hardware.aws_limits import MAX_BASE, MAX_STRATEGY_PROVIDERS, MAX_WEIGHT
from gpu_constructs.placement.destinations import FARGATE_PROVIDERS
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule


@rule(
    "GPU089",
    Severity.ERROR,
    about=Workload,
    question="does ECS take the capacity provider strategy?",
    because=f"a strategy has {MAX_STRATEGY_PROVIDERS} providers at most, weights of 0 to {MAX_WEIGHT} of which one "
    f"of several is above 0, one base of 0 to {MAX_BASE}, and providers of either Fargate or Auto Scaling groups",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html",
)
def taken(workload: Workload) -> Iterator[Problem]:
    for problem, fix in _problems(workload.strategy):
        yield Problem(about=workload, message=f"the strategy of {workload.name} {problem}", fix=fix)


def _problems(strategy: tuple[StrategyItem, ...]) -> Iterator[tuple[str, str]]:
    if len(strategy) > MAX_STRATEGY_PROVIDERS:
        yield (
            f"has {len(strategy)} capacity providers, and {MAX_STRATEGY_PROVIDERS} are allowed",
            f"the {MAX_STRATEGY_PROVIDERS} that matter, or a service for each group of providers",
        )
    for item in strategy:
        for name, value, most in (("weight", item.weight, MAX_WEIGHT), ("base", item.base, MAX_BASE)):
            if not isinstance(value, Unknown) and not 0 <= value <= most:
                yield f"gives {item.provider} a {name} of {value}, and 0 to {most} are allowed", f"{name}={most}"
    if len(strategy) > 1 and all(item.weight == 0 for item in strategy):
        yield (
            f"gives all of its {len(strategy)} providers a weight of 0, and one of several must have more",
            "a weight of 1 for each of them",
        )
    with_base = [item for item in strategy if known(item.base) > 0]
    if len(with_base) > 1:
        yield f"gives {and_list(item.provider for item in with_base)} a base, and one provider can have one", "one base"
    fargate = [item for item in strategy if item.provider in FARGATE_PROVIDERS]
    of_groups = [item for item in strategy if item.pool is not None]
    if fargate and of_groups:
        names = f"{and_list(item.provider for item in fargate)} beside {and_list(item.provider for item in of_groups)}"
        yield f"has {names}, and it takes either Fargate or Auto Scaling groups", "a service of its own for Fargate"
