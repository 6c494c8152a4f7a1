"""A fix as a change of a fleet, so that it can be tried before it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias, TypeVar

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Fleet, Pool, Task, Workload

_Thing = TypeVar("_Thing", Pool, Task, Workload)

Changed: TypeAlias = Pool | Task | Workload | Callable[[], Task]
"""A thing as it would be, or what makes a task when it is tried: a task of n containers may have n fixes, and making
each takes as long as there are containers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One change that would do.

    Attributes:
        text: The change, for a reader.
        things: Pools, tasks and workloads as they would be; each takes the place of the one with its name. Without any,
            the change is shown untried, because the values are the reader's.
    """

    text: str
    things: tuple[Changed, ...] = ()

    def made(self) -> tuple[Pool | Task | Workload, ...]:
        """The things, those among them that are made when they are tried."""
        return tuple(each if isinstance(each, (Pool, Task, Workload)) else each() for each in self.things)


Ways: TypeAlias = tuple[tuple[Way, ...], ...]
"""Ways to settle a problem. Of each group, smallest change first, the first that works is shown."""


def either(*changes: tuple[str, Changed]) -> Ways:
    """Ways of one thing each; every one that works is shown."""
    return tuple((Way(text=text, things=(thing,)),) for text, thing in changes)


def one_way(text: str, thing: Changed) -> Ways:
    """The only way, which changes one thing."""
    return either((text, thing))


def first_of(changes: Iterable[tuple[str, Changed]]) -> Ways:
    """Ways of one thing each, of which the first that works is shown."""
    return (tuple(Way(text=text, things=(thing,)) for text, thing in changes),)


def changed(fleet: Fleet, things: Iterable[Pool | Task | Workload]) -> Fleet:
    """The fleet with some things in place of those of the same name, wherever they are named."""
    new = tuple(things)
    pools = {each.name: each for each in new if isinstance(each, Pool)}
    tasks = {each.name: each for each in new if isinstance(each, Task)}
    workloads = {each.name: each for each in new if isinstance(each, Workload)}
    return replace(
        fleet,
        pools=_swapped(fleet.pools, pools),
        tasks=tuple(
            replace(each, submissions=_swapped(each.submissions, tasks)) if each.submissions else each
            for each in _swapped(fleet.tasks, tasks)
        ),
        workloads=tuple(_joined(each, pools, tasks) for each in _swapped(fleet.workloads, workloads)),
    )


def _swapped(old: tuple[_Thing, ...], new: Mapping[str, _Thing]) -> tuple[_Thing, ...]:
    return tuple(new.get(each.name, each) for each in old)


def _joined(workload: Workload, pools: Mapping[str, Pool], tasks: Mapping[str, Task]) -> Workload:
    """A workload that names the new pools and the new task; the same object where it names none."""
    task = workload.task and tasks.get(workload.task.name, workload.task)
    strategy = tuple(
        replace(item, pool=pools[item.pool.name]) if item.pool is not None and item.pool.name in pools else item
        for item in workload.strategy
    )
    if task is workload.task and all(map(_is_same, strategy, workload.strategy)):
        return workload
    return replace(workload, task=task, strategy=strategy)


def _is_same(one: object, other: object) -> bool:
    return one is other
