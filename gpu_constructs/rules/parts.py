"""The parts of a fleet that have nothing in common, so that a fix is checked on one of them alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from itertools import pairwise

from gpu_constructs.fleet import Fleet, GangMember, Pool, Task, Workload


class Parts:
    """The parts of a fleet with no host, task, cluster or gang in common, so that a change stays in one of them.

    A task that no workload runs may run anywhere, and is a part of each.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._parents: dict[Hashable, Hashable] = {}
        for pool in fleet.pools:
            self._join(_key(pool), ("cluster", pool.cluster))
        for workload in fleet.workloads:
            named = [_key(item.pool) for item in workload.strategy if item.pool is not None]
            run = [] if workload.task is None else [_key(workload.task)]
            for each in (("cluster", workload.cluster), *named, *run):
                self._join(_key(workload), each)
        for gang in fleet.gangs:
            for one, other in pairwise(gang.members):
                self._join(_member(one), _member(other))
        self._run = {each.task.name for each in fleet.workloads if each.task is not None}
        self._known: dict[frozenset[Hashable], Fleet] = {}

    def around(self, things: Iterable[Pool | Task | Workload]) -> Fleet:
        """The part that some things are in."""
        roots = frozenset(self._root(_key(each)) for each in things)
        if roots not in self._known:
            self._known[roots] = self._part(roots)
        return self._known[roots]

    def _part(self, roots: frozenset[Hashable]) -> Fleet:
        fleet = self._fleet
        return replace(
            fleet,
            pools=tuple(each for each in fleet.pools if self._root(_key(each)) in roots),
            tasks=tuple(each for each in fleet.tasks if each.name not in self._run or self._root(_key(each)) in roots),
            workloads=tuple(each for each in fleet.workloads if self._root(_key(each)) in roots),
            gangs=tuple(each for each in fleet.gangs if all(self._root(_member(of)) in roots for of in each.members)),
        )

    def _join(self, one: Hashable, other: Hashable) -> None:
        self._parents[self._root(one)] = self._root(other)

    def _root(self, key: Hashable) -> Hashable:
        while (parent := self._parents.setdefault(key, key)) != key:
            self._parents[key] = self._parents[parent]
            key = parent
        return key


def _key(thing: Pool | Task | Workload) -> tuple[str, str]:
    return type(thing).__name__, thing.name


def _member(member: GangMember) -> tuple[str, str]:
    return Workload.__name__, member.workload
