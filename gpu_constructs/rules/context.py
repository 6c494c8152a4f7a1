"""What rules look at: a fleet, and what was worked out about it, each thing once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from gpu_constructs.fleet import Fleet, Pool, Task, Workload
from gpu_constructs.placement import Proof, prove
from gpu_constructs.placement.destinations import all_routes, assignments, gpu_workloads
from gpu_constructs.placement.reach import tasks_of
from gpu_constructs.placement.route import Assignment, Route

if TYPE_CHECKING:
    from gpu_constructs.template import Files
    from gpu_constructs.template.model import Resource
    from gpu_constructs.template.resources.index import Index
    from gpu_constructs.template.resources.section import Section

_Derived = TypeVar("_Derived")


class Context:
    """A fleet with what several rules ask about it.

    Attributes:
        fleet: What was asked for.
        now: The time of the check, for rules about what may have ended; without one they are silent.
        files: What the fleet was read from, for rules about how resources refer to each other; without it they are
            silent. Constructs have none.
    """

    def __init__(self, fleet: Fleet, now: dt.datetime | None = None, files: Files | None = None) -> None:
        self.fleet = fleet
        self.now = now
        self.files = files
        self._known: dict[Callable[[Context], object], object] = {}

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """Every task once, including tasks that only a workload names."""
        return tasks_of(self.fleet)

    def section(self, thing: Pool | Task | Workload) -> Section | None:
        """The properties of the resource that defines a thing; None where no file that was read does."""
        return None if self.files is None else self.files.section(thing)

    def resource(self, thing: Pool | Task | Workload) -> Resource | None:
        """The resource that defines a thing; None where no file that was read does."""
        return None if self.files is None else self.files.resource(thing)

    def group(self, pool: Pool) -> Resource | None:
        """The Auto Scaling group of a pool; None where it has none, or no file that was read defines it."""
        return None if self.files is None else self.files.group(pool)

    @cached_property
    def index(self) -> Index:
        """Every resource of the files; none where there are no files."""
        from gpu_constructs.template.resources.index import Index  # noqa: PLC0415 - constructors read no files

        return Index(()) if self.files is None else self.files.index

    @cached_property
    def assignments(self) -> tuple[Assignment, ...]:
        """The workloads that have pools, with the pools that their tasks may go to."""
        return assignments(self.fleet)

    @cached_property
    def proof(self) -> Proof:
        """Whether all workloads have room together at their desired counts."""
        return prove(self.fleet)

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """Every way to hosts: of each workload, and of each task that no workload runs."""
        return all_routes(self.fleet)

    @cached_property
    def gpu_workloads(self) -> Mapping[str, tuple[Workload | Task, ...]]:
        """Workloads, and GPU tasks without one, whose copies certainly go to a pool, by the name of the pool."""
        return gpu_workloads(self.fleet)

    def routed(self, suspect: Callable[[Task], bool]) -> Iterator[Route]:
        """The routes of tasks of a kind, as `assigned` has assignments."""
        if any(map(suspect, self.tasks)):
            yield from (each for each in self.routes if suspect(each.task))

    def assigned(self, suspect: Callable[[Task], bool]) -> Iterator[Assignment]:
        """The assignments of tasks of a kind; without such a task nothing is placed to find them."""
        if any(map(suspect, self.tasks)):
            yield from (each for each in self.assignments if suspect(each.task))

    def awaited(self, suspect: Callable[[Pool], bool]) -> Iterator[tuple[Pool, tuple[Workload | Task, ...]]]:
        """Pools of a kind to which copies of GPU tasks certainly go, with the workloads."""
        for pool in self.fleet.pools:
            if suspect(pool) and (waiting := self.gpu_workloads.get(pool.name)):
                yield pool, waiting

    def once(self, derive: Callable[[Context], _Derived]) -> _Derived:
        """What a function works out about this context; the function is called the first time only."""
        if derive not in self._known:
            self._known[derive] = derive(self)
        return cast("_Derived", self._known[derive])
