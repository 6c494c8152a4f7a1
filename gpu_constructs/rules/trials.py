"""Fixes that are tried on a fleet before they are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Protocol, TypeAlias

from gpu_constructs.facts.budget import work
from gpu_constructs.facts.values import kept
from gpu_constructs.fleet import Fleet, Pool, Task, Workload
from gpu_constructs.rules.finding import Way, changed
from gpu_constructs.rules.rule import Problem, Rule

_Counted: TypeAlias = Counter[tuple[str, str]]
"""How often each rule finds something about each thing."""

# As measured: 190 rules look at a thing, and a few of them at each entry of its lists.
_STEPS_OF_THING = 500
_ENTRIES_OF_THING = 10


class _Grave(Protocol):
    def __call__(self, fleet: Fleet, also: str, /, *, alone: bool = False) -> _Counted: ...


class Trials:
    """Tries fixes on one fleet, as many as there is work left for, each on the part of the fleet that it changes.

    `grave` counts what is grave in a fleet, and everything that the rule with an id finds; or what that finds alone.
    """

    def __init__(self, fleet: Fleet, grave: _Grave) -> None:
        self._fleet = fleet
        self._grave = grave
        self._known: dict[tuple[int, str, bool], _Counted] = {}
        self._work = work()
        # So that the values of parameters have the rest.
        self._least = self._work.left // 2

    @cached_property
    def _parts(self) -> _Parts:
        return _Parts(self._fleet)

    def working(self, rule: Rule, problem: Problem) -> tuple[Way, ...]:
        """Of each group of ways the first that works."""
        if self._work.left <= self._least:
            return ()
        about = rule.id, rule.signed(problem).subject
        groups = problem.ways() if callable(problem.ways) else problem.ways
        return tuple(each for group in groups if (each := self._first(group, about)) is not None)

    def _first(self, group: Iterable[Way], about: tuple[str, str]) -> Way | None:
        left = iter(group)
        first = next((each for each in left if not each.things or self._works(each, about)), None)
        return None if first is None else replace(first, instead=tuple(left))

    def _works(self, way: Way, about: tuple[str, str]) -> bool:
        if self._work.left <= self._least:
            return False
        things = way.made()
        parts = (self._parts.around(things), self._fleet)
        # Of the whole fleet where it is about more than this part.
        part = next((each for each in parts if self._before(each, about[0], alone=True)[about]), None)
        if part is None or not self._takes(_STEPS_OF_THING * _size(part)):
            return False
        after = self._grave(changed(part, things), about[0])
        if not after:  # as mostly, so that it is not worth asking what was grave besides
            return True
        before = self._before(part, about[0])
        return after[about] < before[about] and all(count <= before[each] for each, count in after.items())

    def _before(self, part: Fleet, rule: str, *, alone: bool = False) -> _Counted:
        """What is grave as it is, or what the rule alone finds; parts are kept, so that each is one object."""
        key = id(part), rule, alone
        if key not in self._known:
            steps = (_ENTRIES_OF_THING if alone else _STEPS_OF_THING) * _size(part)
            # Twice, so that no part is looked at without work left to try a fix of it.
            self._known[key] = self._grave(part, rule, alone=alone) if self._takes(2 * steps) else Counter()
        return self._known[key]

    def _takes(self, steps: int) -> bool:
        if self._work.left - steps < self._least:
            self._least = self._work.left  # what comes next is hardly smaller
            return False
        return self._work.takes(steps)


def _size(fleet: Fleet) -> int:
    types = sum(len(each.instance_types) + len(each.unknown_type_names) for each in fleet.pools)
    containers = [each for task in fleet.tasks for each in task.containers]
    requests = sum(len(each.requirements) for each in containers)
    sent = sum(len(each.strategy) + len(each.constraints) for each in fleet.workloads)
    placed = sum(len(each.constraints) for each in fleet.tasks)
    things = len(fleet.pools) + len(fleet.tasks) + len(containers) + len(fleet.workloads)
    return things + (types + requests + sent + placed) // _ENTRIES_OF_THING


class _Parts:
    """The parts of a fleet with no host, task or cluster in common, so that a change stays in one of them.

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
        self._run = {each.task.name for each in fleet.workloads if each.task is not None}

    def around(self, things: Iterable[Pool | Task | Workload]) -> Fleet:
        """The part that some things are in."""
        return self._part(frozenset(self._root(_key(each)) for each in things))

    @kept
    def _part(self, roots: frozenset[Hashable]) -> Fleet:
        fleet = self._fleet
        return replace(
            fleet,
            pools=tuple(each for each in fleet.pools if self._root(_key(each)) in roots),
            tasks=tuple(each for each in fleet.tasks if each.name not in self._run or self._root(_key(each)) in roots),
            workloads=tuple(each for each in fleet.workloads if self._root(_key(each)) in roots),
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
