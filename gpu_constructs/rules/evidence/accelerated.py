"""Which tasks and workloads use accelerators: what is wrong with the others is for other linters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from gpu_constructs.errors import counted
from gpu_constructs.facts.values import by_identity
from gpu_constructs.fleet import GPU, Container, Pool, ResourceRequirement, Scheduler, Task, Workload
from gpu_constructs.placement.destinations import by_hand, unassigned
from gpu_constructs.placement.reach import pools_by_hand, pools_of
from gpu_constructs.placement.route import Destination, Route
from gpu_constructs.rules.rule import Context, Problems, Rule, as_run

_Found = TypeVar("_Found")

MANAGED_INSTANCES = "MANAGED_INSTANCES"
"""The launch type of ECS Managed Instances, as ``RequiresCompatibilities`` has it."""

NEURON_ON_EC2 = (
    "on EC2 hosts, leave the entry out and give the container its devices, LinuxParameters.Devices with /dev/neuron0"
)
"""What to do instead of asking for `NeuronDevice`."""


def accelerated_workloads(context: Context) -> tuple[Workload, ...]:
    """Workloads whose task asks for an accelerator, or may be placed on hosts that have some."""
    return tuple(
        each
        for each in context.fleet.workloads
        if (each.task is not None and asks_for_accelerator(each.task))
        or _have_accelerators(pools_of(context.fleet, each))
    )


def and_where_submitted(rule: Rule) -> Rule:
    """A rule about the GPUs of tasks, asked also of jobs and runs that ask for other GPUs than their definitions."""

    def of_others(context: Context) -> Problems:
        for defined, asked, by in context.runs:
            if [each.requirements for each in asked.containers] != [each.requirements for each in defined.containers]:
                yield from (replace(each, about=by) for each in rule.ask(asked))

    return replace(rule, in_fleet=of_others)


def failing_pairs(
    context: Context, known: Callable[[Container], _Found | None], fails: Callable[[_Found, Destination], object]
) -> Iterator[tuple[Route, Container, _Found, Destination]]:
    """Every container of which something is known as it is run, with each pool on which it fails, once.

    A task that no workload runs may go to any pool that has room for it, so that it must fail on all of them.
    """
    seen: set[tuple[int, str, int]] = set()
    as_they_run = {each.name: each for each, _ in context.tasks_as_run}
    for route in context.routed(lambda task: any(map(known, task.containers))):
        hosts = [each for each in route.destinations if each.types]
        by_none = as_they_run.get(route.task.name, route.task)  # of its definition, or as it is submitted
        run = by_none if route.workload is None else as_run(route.task, route.workload, route.task)
        for container, found in zip(route.task.containers, map(known, run.containers), strict=True):
            failing = [] if found is None else [each for each in hosts if fails(found, each)]
            for each in failing if route.workload is not None or len(failing) == len(hosts) else ():
                key = (id(route.task), container.name, id(each.pool))
                if found is not None and key not in seen:
                    seen.add(key)
                    yield route, container, found, each


def gangs(context: Context) -> Iterator[tuple[Task, tuple[Pool, ...]]]:
    """Multi-node jobs of AWS Batch, with every compute environment that they may run on."""
    for task in unassigned(context.fleet):
        if task.scheduler is Scheduler.BATCH and task.is_multi_node and by_hand(context.fleet, task).is_closed:
            yield task, pools_by_hand(context.fleet, task)


def is_managed(context: Context, pool: Pool) -> bool:
    """Whether a compute environment of AWS Batch has ECS Managed Instances."""
    properties = context.section(pool)
    return properties is not None and properties.section("ComputeResources").has("ManagedInstancesProvider")


def has_several_nodes(task: Task) -> bool:
    """Whether a job certainly runs on more than one host, with accelerators."""
    return isinstance(task.nodes, int) and task.nodes > 1 and task.wants_accelerator


@by_identity(maxsize=1 << 16)
def asks_for_accelerator(asking: Task | Container) -> bool:
    """Whether it wants an accelerator, or asks for GPUs in a spelling that ECS refuses, such as ``gpu``."""
    containers = asking.containers if isinstance(asking, Task) else (asking,)
    return asking.wants_accelerator or any(is_gpu(one) for each in containers for one in each.requirements)


@by_identity(maxsize=1024)
def _have_accelerators(pools: tuple[Pool, ...]) -> bool:
    return any(host.accelerators for pool in pools for host in pool.instance_types)


def is_gpu(requirement: ResourceRequirement) -> bool:
    """Whether GPUs are meant, in whatever case the type was written."""
    return isinstance(requirement.type, str) and requirement.type.upper() == GPU


def devices_of(task: Task) -> str:
    """What a task with accelerators asks for, in words."""
    asked = (each for container in task.containers for each in container.requirements)
    return "GPUs" if any(map(is_gpu, asked)) else "Neuron devices"


def gpus_in_words(container: Container, gpus: int) -> str:
    """The GPUs of a container that has so many devices, or what it has of one."""
    return "a part of one GPU" if container.mps or container.gpu_part else counted(gpus, "GPU")
