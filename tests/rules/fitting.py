"""Fleets to ask the rules about fit, and what they say about them."""

from __future__ import annotations

from typing import Any

from gpu_constructs.fleet import Container, Fleet, Pool, ResourceRequirement, StrategyItem, Task, Unknown, Workload
from gpu_constructs.rules import Finding, check, cpu_share, fit, gpu_needs, host_kinds, placing, unplaced

__all__ = ["RULES", "a_service", "a_task", "found", "on_launch_type", "only"]

RULES = tuple(each for module in (cpu_share, fit, gpu_needs, host_kinds, placing, unplaced) for each in module.RULES)


def a_task(*values: str | Unknown, name: str = "train", **changes: Any) -> Task:
    """A task with a container for each number of GPUs."""
    containers = tuple(
        Container(name=f"c{place}", requirements=(ResourceRequirement(value=each),))
        for place, each in enumerate(values)
    )
    return Task(**{"name": name, "containers": containers or (Container(name="c"),), **changes})


def found(fleet: Fleet) -> list[tuple[str, str, str]]:
    """Rule, message and fix of everything that the rules about fit find."""
    return [(each.rule, each.message, each.fix) for each in check(fleet, rules=RULES)]


def only(fleet: Fleet) -> Finding:
    """The one thing that they find."""
    (finding,) = check(fleet, rules=RULES)
    return finding


def on_launch_type(*pools: Pool, task: Task, **changes: Any) -> Fleet:
    """A service without a strategy in the cluster of the pools."""
    service = Workload(**{"name": "service", "task": task, "launch_type": "EC2", **changes})
    return Fleet(pools=pools, tasks=(task,), workloads=(service,))


def a_service(task: Task, *items: tuple[Pool, int, int]) -> Fleet:
    """A service on a strategy of pools with their weight and base."""
    strategy = tuple(
        StrategyItem(provider=pool.name, pool=pool, weight=weight, base=base) for pool, weight, base in items
    )
    pools = tuple(pool for pool, _, _ in items)
    return Fleet(pools=pools, tasks=(task,), workloads=(Workload(name="service", task=task, strategy=strategy),))
