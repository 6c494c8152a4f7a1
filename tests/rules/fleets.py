"""Small fleets for tests of rules, and what one rule says about them."""

from __future__ import annotations

from gpu_constructs.fleet import (
    Container,
    Fleet,
    HostImage,
    NvidiaMps,
    PlacementConstraint,
    Pool,
    PoolKind,
    ResourceRequirement,
    StrategyItem,
    Task,
    Unknown,
    Workload,
)
from gpu_constructs.hardware import image, instance_type
from gpu_constructs.rules.finding import Finding
from gpu_constructs.rules.rule import Rule

RELEASE = "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"


def mps(memory: int | Unknown | None = 4096, percent: int | Unknown | None = None) -> ResourceRequirement:
    return ResourceRequirement(nvidia_mps=NvidiaMps(memory_mib=memory, max_compute_percent=percent))


def gpu(value: str | Unknown | None = "1") -> ResourceRequirement:
    return ResourceRequirement(value=value)


def container(*requirements: ResourceRequirement, name: str = "main") -> Container:
    return Container(name=name, requirements=requirements, cpu=1024, memory_limit_mib=4096)


def task_of(*containers: Container, name: str = "train") -> Task:
    return Task(name=name, containers=containers)


def member_of(expression: str) -> PlacementConstraint:
    return PlacementConstraint(type="memberOf", expression=expression)


def pool_of(*types: str, name: str = "L4", image_name: str = "al2023-gpu", release: str | None = RELEASE) -> Pool:
    return Pool(
        name=name,
        instance_types=tuple(map(instance_type, types or ("g6.xlarge",))),
        image=HostImage(image=image(image_name), release=release),
        min_instances=0,
        max_instances=4,
    )


def managed_pool(*types: str) -> Pool:
    return Pool(
        name="managed",
        instance_types=tuple(map(instance_type, types or ("g6.xlarge",))),
        image=HostImage(image=image("bottlerocket-ecs-2-nvidia-x86_64")),
        min_instances=0,
        max_instances=4,
        kind=PoolKind.MANAGED_INSTANCES,
    )


def service(task: Task, *pools: Pool, name: str = "service", desired_count: int | Unknown = 1) -> Workload:
    return Workload(
        name=name,
        task=task,
        strategy=tuple(StrategyItem(provider=each.name, pool=each, weight=1) for each in pools),
        desired_count=desired_count,
    )


def fleet_of(*tasks: Task, workloads: tuple[Workload, ...] = (), is_whole: bool = False) -> Fleet:
    pools = {item.pool.name: item.pool for each in workloads for item in each.strategy if item.pool is not None}
    return Fleet(pools=tuple(pools.values()), tasks=tasks, workloads=workloads, is_whole=is_whole)


def said(rule: Rule, fleet: Fleet) -> list[Finding]:
    return list(rule.findings(fleet))


def only(rule: Rule, fleet: Fleet) -> Finding:
    (finding,) = rule.findings(fleet)
    return finding
