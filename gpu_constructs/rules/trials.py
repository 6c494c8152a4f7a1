"""Fixes that are tried on a fleet before they are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TypeAlias

from gpu_constructs.budget import TRIED_FIXES, TRIED_THINGS
from gpu_constructs.fleet import Fleet
from gpu_constructs.rules.change import Way, changed
from gpu_constructs.rules.parts import Parts
from gpu_constructs.rules.rule import Problem, Rule

_Counted: TypeAlias = Counter[tuple[str, str]]
"""How often each rule finds something about each thing."""


class Trials:
    """Tries fixes on one fleet, as many as there is time for, each on the part of the fleet that it changes.

    Args:
        fleet: What was asked for.
        grave: Counts what is grave in a fleet, and everything that the rule with an id finds.
    """

    def __init__(self, fleet: Fleet, grave: Callable[[Fleet, str], _Counted]) -> None:
        self._fleet = fleet
        self._grave = grave
        self._known: dict[tuple[int, str], _Counted] = {}
        self._tries, self._things = TRIED_FIXES, TRIED_THINGS

    @cached_property
    def _parts(self) -> Parts:
        return Parts(self._fleet)

    def working(self, rule: Rule, problem: Problem) -> tuple[Way, ...]:
        """Of each group of ways the first that works."""
        about = rule.id, rule.signed(problem).subject
        return tuple(each for group in problem.ways if (each := self._first(group, about)) is not None)

    def _first(self, group: Iterable[Way], about: tuple[str, str]) -> Way | None:
        return next((each for each in group if not each.things or self._works(each, about)), None)

    def _works(self, way: Way, about: tuple[str, str]) -> bool:
        if self._tries <= 0 or self._things <= 0:
            return False
        things = way.made()
        part = self._parts.around(things)
        before = self._before(part, about[0])
        if not before[about]:  # it is about more than this part
            part = self._fleet
            before = self._before(part, about[0])
        self._tries -= 1
        self._things -= _size(part)
        if self._things < 0:
            return False
        after = self._grave(changed(part, things), about[0])
        return after[about] < before[about] and all(count <= before[each] for each, count in after.items())

    def _before(self, part: Fleet, rule: str) -> _Counted:
        """What is grave as it is; parts are kept, so that each is one object."""
        key = id(part), rule
        if key not in self._known:
            self._things -= _size(part)
            self._known[key] = self._grave(part, rule) if self._things >= 0 else Counter()
        return self._known[key]


def _size(fleet: Fleet) -> int:
    containers = sum(len(each.containers) or 1 for each in fleet.tasks)
    return len(fleet.pools) + containers + len(fleet.workloads)
