"""Fleets to ask rules about: a good one, and short words to make it a bad one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpu_constructs.fleet import Container, Fleet, HostImage, Pool, ResourceRequirement, StrategyItem, Task, Workload
from gpu_constructs.hardware import image, instance_type
from gpu_constructs.rules import Finding, Rule, check

__all__ = ["GPU_TASK", "a_pool", "asked", "of_image", "running_on"]

GPU_TASK = Task(name="chat", containers=(Container(name="vllm", requirements=(ResourceRequirement.gpus(1),)),))


def a_pool(*types: str, **changes: Any) -> Pool:
    """A pool of these types that is good in every other respect."""
    return Pool(
        **{
            "name": "Hosts",
            "instance_types": tuple(map(instance_type, types or ("g6.xlarge",))),
            "image": of_image("al2023-gpu"),
            "min_instances": 0,
            "max_instances": 4,
            **changes,
        }
    )


def of_image(name: str, *, release: str | None = "pinned") -> HostImage:
    return HostImage(image=image(name), release=release)


def running_on(*pools: Pool, task: Task = GPU_TASK, **changes: Any) -> Fleet:
    """The pools with one service that goes to all of them."""
    strategy = tuple(StrategyItem(provider=each.name, pool=each, weight=1) for each in pools)
    service = Workload(**{"name": "chat-service", "task": task, "strategy": strategy, **changes})
    return Fleet(pools=pools, tasks=(task,), workloads=(service,))


def asked(rules: Iterable[Rule], what: Fleet | Pool) -> dict[str, Finding]:
    """What these rules find, by their ids; each may find one thing only."""
    findings = check(what if isinstance(what, Fleet) else Fleet(pools=(what,)), rules=rules)
    by_id = {each.rule: each for each in findings}
    assert len(by_id) == len(findings), findings
    return by_id
