"""Fleets to ask rules about: good ones, short words to make them bad, and what rules say about them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from gpu_constructs.facts import image, instance_type
from gpu_constructs.fleet import (
    Bought,
    Container,
    Fleet,
    GroupSettings,
    HostImage,
    NvidiaMps,
    PlacementConstraint,
    Pool,
    PoolKind,
    PurchaseOption,
    ResourceRequirement,
    Scheduler,
    StrategyItem,
    Task,
    Unknown,
    Workload,
)
from gpu_constructs.rules import Finding, Rule, check, rules_of
from gpu_constructs.rules.expressions.constraints import satisfied_by_all_types, satisfied_by_hosts
from gpu_constructs.rules.fit import gpu_needs, task_fits
from gpu_constructs.rules.fit.tasks_without_hosts import fits_somewhere_here, has_gpu_hosts, some_type_can_run_it
from gpu_constructs.rules.scaling.managed_scaling import has_a_first_host, makes_hosts_scale_out
from gpu_constructs.rules.tasks.containers import fed

_ALONE = (fed, fits_somewhere_here, has_gpu_hosts, some_type_can_run_it, has_a_first_host, makes_hosts_scale_out)
_OF_CONSTRAINTS = (satisfied_by_hosts, satisfied_by_all_types)
FIT_RULES = (*_ALONE, *_OF_CONSTRAINTS, *rules_of(task_fits), *rules_of(gpu_needs))
GPU_TASK = Task(name="chat", containers=(Container(name="vllm", requirements=(ResourceRequirement.gpus(1),)),))
_KNOWN = "the newest that is known"


def gpu(value: str | Unknown | None = "1") -> ResourceRequirement:
    return ResourceRequirement(value=value)


def mps(memory: int | Unknown | None = 4096, percent: int | Unknown | None = None) -> ResourceRequirement:
    return ResourceRequirement(nvidia_mps=NvidiaMps(memory_mib=memory, max_compute_percent=percent))


def container(*requirements: ResourceRequirement, name: str = "main") -> Container:
    return Container(name=name, requirements=requirements, cpu=1024, memory_limit_mib=4096)


def task_of(*containers: Container, name: str = "train") -> Task:
    return Task(name=name, containers=containers)


def job(*requirements: ResourceRequirement, **changes: Any) -> Task:
    """A job of AWS Batch."""
    return replace(task_of(replace(container(*requirements), **changes)), scheduler=Scheduler.BATCH)


GPU_JOB = job(gpu("1"), cpu=4096)


def a_task(*values: str | Unknown, name: str = "train", **changes: Any) -> Task:
    """A task with a container for each number of GPUs."""
    containers = tuple(
        Container(name=f"c{place}", requirements=(ResourceRequirement(value=each),))
        for place, each in enumerate(values)
    )
    return Task(**{"name": name, "containers": containers or (Container(name="c"),), **changes})


def member_of(expression: str) -> PlacementConstraint:
    return PlacementConstraint(type="memberOf", expression=expression)


def of_image(name: str = "al2023-gpu", *, release: str | None = _KNOWN) -> HostImage:
    row = image(name)
    return HostImage(image=row, release=row.known_release if release == _KNOWN else release)


def a_pool(*types: str, **changes: Any) -> Pool:
    """A pool of these types, good in every other respect; how it is bought and its group may be said field by field."""
    bought = {"option": changes.pop("purchase", PurchaseOption.ON_DEMAND)}
    bought |= {each.name: changes.pop(each.name) for each in fields(Bought) if each.name in changes}
    of_group = {each.name for each in fields(GroupSettings)} - {"name"}
    group = {key: changes.pop(key) for key in of_group & changes.keys()}
    return Pool(
        **{
            "name": "Hosts",
            "instance_types": tuple(map(instance_type, types or ("g6.xlarge",))),
            "image": of_image(),
            "min_instances": 0,
            "max_instances": 4,
            "bought": Bought(**bought),
            **changes,
            "group": GroupSettings(name=changes.get("group"), **group),
        }
    )


def managed_pool(*types: str) -> Pool:
    """The same of ECS Managed Instances."""
    picture = of_image("bottlerocket-ecs-2-nvidia-x86_64", release=None)
    return a_pool(*types, name="managed", image=picture, kind=PoolKind.MANAGED_INSTANCES)


def service(task: Task, *pools: Pool, **changes: Any) -> Workload:
    """A service that goes to all of these pools."""
    strategy = tuple(StrategyItem(provider=each.name, pool=each, weight=1) for each in pools)
    return Workload(**{"name": "service", "task": task, "strategy": strategy, **changes})


def fleet_of(*tasks: Task, workloads: tuple[Workload, ...] = (), is_whole: bool = False) -> Fleet:
    """Tasks and services, with the pools that these name."""
    pools = {item.pool.name: item.pool for each in workloads for item in each.strategy if item.pool is not None}
    return Fleet(pools=tuple(pools.values()), tasks=tasks, workloads=workloads, is_whole=is_whole)


def running_on(*pools: Pool, task: Task = GPU_TASK, **changes: Any) -> Fleet:
    """The pools with one service that goes to all of them."""
    return Fleet(pools=pools, tasks=(task,), workloads=(service(task, *pools, **{"name": "chat-service", **changes}),))


def on_launch_type(*pools: Pool, task: Task, is_whole: bool = False, **changes: Any) -> Fleet:
    """The pools with one service without a strategy in their cluster."""
    runs = service(task, **{"launch_type": "EC2", **changes})
    return Fleet(pools=pools, tasks=(task,), workloads=(runs,), is_whole=is_whole)


def on_strategy(task: Task, *items: tuple[Pool, int, int]) -> Fleet:
    """One service on a strategy of pools with their weight and base."""
    strategy = tuple(
        StrategyItem(provider=pool.name, pool=pool, weight=weight, base=base) for pool, weight, base in items
    )
    return running_on(*(pool for pool, _, _ in items), task=task, strategy=strategy)


def said(rules: Rule | Iterable[Rule], what: Fleet | Pool) -> list[Finding]:
    """Everything that these rules find."""
    fleet = what if isinstance(what, Fleet) else Fleet(pools=(what,))
    return list(check(fleet, rules=(rules,) if isinstance(rules, Rule) else rules))


def only(rules: Rule | Iterable[Rule], what: Fleet | Pool) -> Finding:
    """The one thing that they find."""
    (finding,) = said(rules, what)
    return finding


def asked(rules: Rule | Iterable[Rule], what: Fleet | Pool) -> dict[str, Finding]:
    """What they find, by their ids; each may find one thing only."""
    findings = said(rules, what)
    by_id = {each.rule: each for each in findings}
    assert len(by_id) == len(findings), findings
    return by_id


def found(fleet: Fleet) -> list[tuple[str, str, str]]:
    """Rule, message and fix of everything that the rules about fit find."""
    return [(each.rule, each.message, each.fix) for each in said(FIT_RULES, fleet)]


def unpriced(fix: str) -> str:
    """A fix without the prices of instance types, which change."""
    return re.sub(r" \(\$[^)]*\)", "", fix)
