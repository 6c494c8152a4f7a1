"""Whether a task runs where it is sent: on one instance type, on a pool, on all pools that a workload sends it to.

What ECS sees of a task and a host is `gpu_constructs.placement.fit`; what it does not see, or finds only once the host
runs, is in `machine`. `Destination.answer` and `Route.answer` take all of it together.
"""

from __future__ import annotations

from itertools import chain
from typing import TypeAlias

from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, PlacementConstraint, Pool, Task, Unknown, Workload, all_of
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.fit import runs_somewhere
from gpu_constructs.placement.machine import of_every_host, of_machine, unmet_needs
from gpu_constructs.placement.one_host import on_host
from gpu_constructs.placement.pool_profile import PoolProfile
from gpu_constructs.placement.reasons import Doubt, DoubtKind, Fit, Obstacle, ObstacleKind

UNSCALED = frozenset({DoubtKind.SMALLEST_TYPE, DoubtKind.SOME_TYPES})
"""Doubts about what managed scaling launches: it looks at the smallest type only."""


Answer: TypeAlias = "bool | Unknown"
"""Yes, no, or not known before the deploy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeFit:
    """Whether a task runs on one instance type of a pool."""

    instance_type: InstanceType
    answer: Answer
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Destination:
    """A pool that copies of a task may be placed on.

    Attributes:
        offer: What the pool has for the task beside its daemons.
        constraints: Placement constraints besides the task's own.
        is_certain: Whether some of the copies can be placed nowhere else: they were given its capacity provider, or it
            is the only pool there is.
        is_spared: Whether no copy comes there as long as there are as many as are wanted, because the base of another
            capacity provider takes them.
        fit: Whether one copy fits there, as far as ECS sees.
    """

    task: Task
    pool: Pool
    offer: PoolProfile
    constraints: tuple[PlacementConstraint, ...] = ()
    is_certain: bool
    is_spared: bool = False
    fit: Fit

    @property
    def types(self) -> tuple[InstanceType, ...]:
        """Types that the tasks may land on."""
        return self.fit.hosts

    @property
    def by_type(self) -> tuple[TypeFit, ...]:
        """Whether a copy runs on each type of the pool, whatever managed scaling makes of the others."""
        return tuple([_on_type(self, each) for each in self.pool.instance_types])

    @property
    def answer(self) -> Answer:
        """Whether a copy gets a host there and runs on it.

        ECS does not see all that a task needs. What some of the types do not serve may land on those.
        """
        if self.fit.answer is False or of_every_host(self.task, self.pool):
            return False
        landing = {each.name for each in self.types}
        runs = [each.answer for each in self.by_type if each.instance_type.name in landing]
        if runs and self.pool.types_are_known and all(each is False for each in runs):
            return False
        return self.fit.answer if all(each is True for each in runs) else UNKNOWN

    @property
    def reasons(self) -> tuple[str, ...]:
        """Everything that keeps it from a clear yes, in words."""
        landing = {each.name for each in self.types}
        of_types = (each.reasons for each in self.by_type if each.instance_type.name in landing)
        of_all = () if self.types else of_every_host(self.task, self.pool)
        return tuple(dict.fromkeys((*self.fit.reasons, *of_all, *chain.from_iterable(of_types))))

    def barred_by(self, kind: ObstacleKind) -> tuple[Obstacle, ...]:
        """Obstacles of a kind that between them exclude every type of the pool; empty if one is left."""
        found = tuple(each for each in self.fit.obstacles if each.kind is kind)
        excluded = {host.name for each in found for host in each.instance_types}
        return found if excluded.issuperset(each.name for each in self.pool.instance_types) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """Where copies of a task go that is not a pool of the fleet.

    Attributes:
        why: Why the copies do not run there, in words; empty where that is not known.
    """

    text: str
    answer: Answer = UNKNOWN
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Route:
    """Where one workload, or a user who runs the task by hand, sends the copies of a task.

    Attributes:
        workload: What keeps the copies running; None where it is not known who runs them.
        every: Whether each pool gets its own copies, as with a strategy; else one pool that fits is enough.
        is_closed: Whether the copies can run on no other hosts: a strategy names these, or everything was read.
    """

    task: Task
    workload: Workload | None = None
    destinations: tuple[Destination, ...]
    every: bool
    is_closed: bool
    elsewhere: tuple[Elsewhere, ...] = ()

    @property
    def sender(self) -> Workload | Task:
        """What sends the copies: the workload, or the task that somebody runs by hand."""
        return self.workload or self.task

    @property
    def in_question(self) -> tuple[Destination, ...]:
        """Those of the pools on which ECS does not certainly have room."""
        return tuple([each for each in self.destinations if each.fit.answer is not True])

    @property
    def in_doubt(self) -> tuple[Destination, ...]:
        """Those of them on which copies may wait: where one pool is enough, none while another certainly has room."""
        found = self.in_question
        return found if self.every or len(found) == len(self.destinations) else ()

    @property
    def never(self) -> tuple[Destination, ...]:
        """Pools that never run what they are to run: each of them where it gets its own tasks, else all or none."""
        never = tuple([each for each in self.destinations if each.fit.answer is False])
        return never if self.every or len(never) == len(self.destinations) else ()

    @property
    def stuck(self) -> tuple[Destination, ...]:
        """Those of them whose tasks wait forever, because no host of another stack may take them."""
        return self.never if self.is_closed else ()

    @property
    def answer(self) -> Answer:
        """Whether the copies run wherever they are sent."""
        if self.task.wants_gpu and not any(each.types for each in self.destinations) and not runs_somewhere(self.task):
            return False
        # One that never runs the task is not asked to while there are as many copies as are wanted.
        answers: list[Answer] = [
            UNKNOWN if each.is_spared and each.answer is False else each.answer for each in self.destinations
        ]
        answers += [each.answer for each in self.elsewhere]
        if not answers:
            return False if self.is_closed and self.task.wants_gpu else UNKNOWN
        if self.every:
            return all_of(answers)
        if any(each is True for each in answers):
            # ECS may choose a host that it has room on, and whose GPUs do not serve the needs that ECS does not see.
            chosen = () if self.workload is None else self.destinations
            return UNKNOWN if any(unmet_needs(each.task, one) for each in chosen for one in each.types) else True
        return UNKNOWN if any(isinstance(each, Unknown) for each in answers) else False

    @property
    def unsettled(self) -> tuple[Destination, ...]:
        """Pools on which copies may wait forever, or not run."""
        return () if self.answer is True else tuple(each for each in self.destinations if each.answer is not True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assignment(Route):
    """Where a workload sends the copies of its task."""

    workload: Workload


def _on_type(destination: Destination, instance_type: InstanceType) -> TypeFit:
    task, pool = destination.task, destination.pool
    placed = on_host(demand_of(task, destination.constraints), instance_type, destination.offer)
    found = tuple(of_machine(task, instance_type, pool))
    against = [str(each) for each in unmet_needs(task, instance_type)]
    against += [each.text for each in found if isinstance(each, Obstacle)]
    doubts = [each.text for each in found if isinstance(each, Doubt)]
    return TypeFit(
        instance_type=instance_type,
        answer=False if against else all_of([placed.answer, *([UNKNOWN] if doubts else [])]),
        reasons=(*placed.reasons, *against, *doubts),
    )
