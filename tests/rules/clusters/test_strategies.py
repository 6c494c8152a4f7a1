"""Strategies that the API refuses."""

from __future__ import annotations

import pytest

from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import UNKNOWN, Fleet, Pool, StrategyItem, Unknown, Workload
from gpu_constructs.rules import Severity, check, rules_of
from gpu_constructs.rules.clusters import services

RULES = rules_of(services)


def item(
    name: str = "L4", weight: int | Unknown = 1, base: int | Unknown = 0, *, fargate: bool = False
) -> StrategyItem:
    hosts = Pool(
        name=name, instance_types=(instance_type("g6.xlarge"),), image=UNKNOWN, min_instances=0, max_instances=1
    )
    return StrategyItem(provider=name, pool=None if fargate else hosts, weight=weight, base=base)


def found(*strategy: StrategyItem) -> list[tuple[str, Severity, str]]:
    fleet = Fleet(workloads=(Workload(name="chat", task=None, strategy=strategy),))
    return [(each.rule, each.severity, each.message) for each in check(fleet, rules=RULES)]


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        ([item(f"P{index}") for index in range(21)], "has 21 capacity providers, and 20 are allowed"),
        ([item(base=100_001)], "gives L4 a base of 100001, and 0 to 100000 are allowed"),
        ([item(weight=-1)], "a weight of -1"),
        ([item("A", 0), item("B", 0)], "gives all of its 2 providers a weight of 0"),
        ([item("A", base=1), item("B", base=2)], "gives A and B a base, and only one provider can have one"),
    ],
)
def test_what_ecs_refuses_is_an_error(strategy: list[StrategyItem], words: str) -> None:
    ((rule, severity, message),) = found(*strategy)
    assert (rule, severity) == ("GPU089", Severity.ERROR)
    assert message.startswith("the strategy of chat ")
    assert words in message


@pytest.mark.parametrize(
    "strategy",
    [[], [item(weight=0, base=1)], [item("A", 0, 1), item("B", 1)]],
)
def test_what_ecs_takes_or_may_take_is_silent(strategy: list[StrategyItem]) -> None:
    assert found(*strategy) == []
