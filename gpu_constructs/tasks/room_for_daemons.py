"""A task whose sizes were not given, on hosts of which daemons keep CPU and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpu_constructs.fleet import UNKNOWN, Container, Pool, Task, Unknown, total
from gpu_constructs.placement import FairShare
from gpu_constructs.tasks.container_plan import DefaultSize, share_for, with_container
from gpu_constructs.tasks.host_share import default_shared_memory_mib
from gpu_constructs.tasks.log_router import LOG_ROUTER


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
