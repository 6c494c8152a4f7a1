"""Sizes of a task that leave room for what ECS runs beside its containers: the proxy of Service Connect, and daemons.

"You must set the CPU and memory parameters": ECS gives the proxy what the task has above its containers, and "on Amazon
EC2, task definition memory is required".
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-connect-concepts-deploy.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

from aws_cdk import aws_ecs as ecs

from gpu_constructs.errors import DoesNotFitError, InvalidValueError
from gpu_constructs.facts.aws_limits import PROXY_CPU, PROXY_MEMORY_MIB
from gpu_constructs.fleet import UNKNOWN, Container, Pool, Task, Unknown, known, total
from gpu_constructs.placement import FairShare, task_slots
from gpu_constructs.placement.fit import refusals
from gpu_constructs.tasks.container_plan import DefaultSize, share_for, with_container
from gpu_constructs.tasks.host_share import default_shared_memory_mib, types_for

# What CDK adds at synth where a container logs with FireLens and there is no log router (``renderContainers`` of
# aws-cdk-lib 2.275).
LOG_ROUTER = Container(name="log-router", memory_reservation_mib=50)


def with_proxy(task: Task) -> Task:
    """The task with a size that has room for its containers and the proxy; as it is where it has a size."""
    if task.memory_limit_mib is not None:
        return task
    proxy_alone = replace(task, containers=(), cpu_limit=PROXY_CPU, memory_limit_mib=PROXY_MEMORY_MIB)
    return reduce(with_container, task.containers, proxy_alone)


def require_known_size(task: Task) -> None:
    """Refuses a container whose CPU or memory is only known at deploy time, of which a task has no sum.

    Raises:
        InvalidValueError: The task has a size, and it is not known.
    """
    for argument, size in (("cpu", task.cpu_limit), ("memory_mib", task.memory_limit_mib)):
        if isinstance(size, Unknown):
            raise InvalidValueError(
                "a task with Service Connect has a size, the sum of its containers and the proxy, which cannot be "
                "computed from a value that is only known at deploy time",
                argument=argument,
                fix=f"a number, such as {argument}=4096",
            )


def require_room_for_proxy(task: Task, sized: Task, pools: Sequence[Pool]) -> None:
    """Refuses a task of which a host holds fewer copies because of the proxy: a GPU would be left over.

    Raises:
        DoesNotFitError: A host holds fewer, or none.
        InvalidValueError: Its size is not known.
    """
    require_known_size(sized)
    for pool in pools if sized is not task else ():
        host = replace(pool, max_instances=1)
        before, after = (known(task_slots(each, host)) for each in (task, sized))
        if any(refusals(sized, each, pool) for each in types_for(sized, pool)):
            before, after = max(before, 1), 0
        if after < before:
            raise DoesNotFitError(
                f"ECS adds a proxy to each task in Service Connect, with which a host of {pool.name} has room for "
                f"{after} tasks, and without it for {before}",
                argument="service_connect_configuration",
                value=pool.name,
                allowed=f"tasks that leave {PROXY_CPU} CPU units and {PROXY_MEMORY_MIB} MiB for the proxy of each",
                fix="GpuTaskDefinition(…, service_connect=True), which takes it off the share of a host that "
                "containers get by default, or a smaller cpu and memory_mib of the containers",
            )


def write_size(resource: ecs.CfnTaskDefinition, task: Task) -> None:
    """Writes the size of a task into the template, for which `ecs.Ec2TaskDefinition` has no argument."""
    resource.cpu, resource.memory = str(task.cpu_limit), str(task.memory_limit_mib)


class SharedSize(NamedTuple):
    """What of a container's size was not given, and what it was shared with.

    Attributes:
        default: What was not given.
        has_router: Whether the log router that CDK adds was taken off before.
    """

    default: DefaultSize
    has_router: bool


def beside_daemons(
    task: Task, sizes: Mapping[str | Unknown, SharedSize], *, pools: Sequence[Pool], kept: FairShare
) -> Task:
    """The task if daemons keep so much of its hosts: sizes that were not given become smaller.

    Args:
        task: What it asks of a host so far.
        sizes: The containers whose size, or a part of it, was not given, by name.
        pools: Where it may run.
        kept: What daemons keep of every host.

    Raises:
        InvalidValueError: Its other containers take all of the share of a host that is left.
    """
    sized = _without_containers(task)
    for container in task.containers:
        shared = sizes.get(container.name)
        resized = container
        if shared is not None:
            before = with_container(sized, LOG_ROUTER) if shared.has_router else sized
            resized = _with_share(container, shared.default, share_for(container, task=before, pools=pools, kept=kept))
        sized = with_container(sized, resized)
    return sized


def _with_share(container: Container, default: DefaultSize, share: FairShare) -> Container:
    sized = replace(
        container,
        cpu=share.cpu if default.cpu else container.cpu,
        memory_limit_mib=share.memory_mib if default.memory else container.memory_limit_mib,
    )
    shared = default_shared_memory_mib(sized.memory_mib) if default.shared_memory else container.shared_memory_mib
    return replace(sized, shared_memory_mib=shared)


def _without_containers(task: Task) -> Task:
    """The task with none of its containers, which a size of the task shrinks by."""
    limits = (each.memory_mib if each.memory_limit_mib is None else each.memory_limit_mib for each in task.containers)
    return replace(
        task,
        containers=(),
        cpu_limit=_less(task.cpu_limit, total(each.cpu for each in task.containers)),
        memory_limit_mib=_less(task.memory_limit_mib, total(limits)),
    )


def _less(size: int | Unknown | None, containers: int | Unknown) -> int | Unknown | None:
    if size is None:
        return None
    return UNKNOWN if isinstance(size, Unknown) or isinstance(containers, Unknown) else size - containers
