"""Where a task could run, host by host, and what would help where it cannot: what ``explain`` tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from gpu_constructs.errors import InvalidValueError, UnknownNameError, shown
from gpu_constructs.fleet import UNKNOWN, Fleet, PlacementConstraint, Pool, Task, Unknown
from gpu_constructs.hardware import InstanceType, Verdict, compatibility
from gpu_constructs.placement import alternatives, fit, fit_on, unmet_needs
from gpu_constructs.placement.destinations import pools_of

__all__ = ["Answer", "Host", "Place", "answer_of", "find_task", "places_of"]

Answer: TypeAlias = "bool | Unknown"
"""Yes, no, or what nobody can say before the deploy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One instance type of a pool.

    Attributes:
        instance_type: What it is.
        answer: Whether the task runs on it.
        reasons: What keeps it from a clear yes.
    """

    instance_type: InstanceType
    answer: Answer
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One pool.

    Attributes:
        pool: The pool.
        services: Services that place the task there.
        counts: Whether the task may come there: a service places it there, or no service says where it goes.
        answer: Whether a copy of the task gets a host there.
        reasons: What keeps it from a clear yes though some host is one.
        hosts: Its instance types.
        instead: Instance types that would do, the smallest first; only where none of its own does for certain.
        at_most: What the task could ask for instead, such as ``GPUs: 1``.
    """

    pool: Pool
    services: tuple[str, ...]
    counts: bool
    answer: Answer
    reasons: tuple[str, ...]
    hosts: tuple[Host, ...]
    instead: tuple[InstanceType, ...] = ()
    at_most: tuple[str, ...] = ()


def find_task(fleet: Fleet, name: str) -> Task:
    """The task that somebody means.

    Args:
        fleet: What was read.
        name: Its name, logical id, family or construct path.

    Raises:
        UnknownNameError: No task is called that; carries the nearest names.
        InvalidValueError: Several are.
    """
    named = {each: [task for task in fleet.tasks if each in set(_names(task))] for each in _all_names(fleet)}
    found = [each for each in fleet.tasks if each.name == name] or named.get(name, [])
    if not found:
        nearest = tuple(get_close_matches(name[:200], named, n=3, cutoff=0.5)) or tuple(
            each.name for each in fleet.tasks[:3]
        )
        raise UnknownNameError(f"no task {shown(name)} among {len(fleet.tasks)}", value=name, nearest=nearest)
    if len(found) > 1:
        raise InvalidValueError(
            f"{len(found)} tasks are called {shown(name)}",
            argument="TASK",
            value=name,
            allowed=" or ".join(each.name for each in found[:5]),
        )
    return found[0]


def places_of(task: Task, fleet: Fleet) -> tuple[Place, ...]:
    """Every pool, first those that a service places the task on.

    Args:
        task: One of the fleet.
        fleet: What was read.
    """
    workloads = [(each, pools_of(fleet, each)) for each in fleet.workloads_of(task)]
    said_where = any(pools for _, pools in workloads)
    places: list[Place] = []
    for pool in fleet.pools:
        here = [each for each, pools in workloads if pool in pools]
        by_constraints: dict[tuple[PlacementConstraint, ...], list[str]] = {}
        for each in here:
            by_constraints.setdefault(each.constraints, []).append(each.name)
        for constraints, services in (by_constraints or {(): []}).items():
            places.append(
                _place(task, pool, constraints, services=tuple(services), counts=bool(services) or not said_where)
            )
    return tuple(sorted(places, key=lambda each: not each.counts))


def answer_of(places: Sequence[Place]) -> Answer:
    """Whether the task gets a host somewhere that counts.

    Args:
        places: Every pool.
    """
    answers = [each.answer for each in places if each.counts]
    if any(each is True for each in answers):
        return True
    return UNKNOWN if any(isinstance(each, Unknown) for each in answers) else False


def _place(
    task: Task, pool: Pool, constraints: Sequence[PlacementConstraint], *, services: tuple[str, ...], counts: bool
) -> Place:
    hosts = tuple(_host(task, each, pool, constraints) for each in pool.instance_types)
    placed = fit(task, pool, constraints=constraints)
    runs = [each.answer for each in hosts]
    answer = placed.answer
    if answer is not False and runs and not any(each is True for each in runs):
        # Room is not all: the image has to drive the GPUs, and they have to serve the needs that ECS does not see.
        answer = UNKNOWN if any(isinstance(each, Unknown) for each in runs) else False
    told = {reason for each in hosts for reason in each.reasons}
    return Place(
        pool=pool,
        services=services,
        counts=counts,
        answer=answer,
        reasons=tuple(each for each in placed.reasons if each not in told),
        hosts=hosts,
        instead=() if answer is True else alternatives(task, like=pool),
        at_most=tuple(
            f"{each.resource.label}: {each.resource.amount(each.available)}"
            for each in placed.shortfalls
            if each.available
        ),
    )


def _host(task: Task, instance_type: InstanceType, pool: Pool, constraints: Sequence[PlacementConstraint]) -> Host:
    placed = fit_on(task, instance_type, pool, constraints=constraints)
    against, doubts = _image(task, instance_type, pool)
    against = (*map(str, unmet_needs(task, instance_type)), *against)
    answer = False if against else placed.answer
    return Host(
        instance_type=instance_type,
        answer=UNKNOWN if answer is True and doubts else answer,
        reasons=(*placed.reasons, *against, *doubts),
    )


def _image(task: Task, instance_type: InstanceType, pool: Pool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the machine image has against it, and what nobody confirms."""
    if not task.wants_gpu:
        return (), ()
    if isinstance(pool.image, Unknown):
        return (), ("what its machine image can do is not known",)
    answer = compatibility(pool.image.image, instance_type)
    if answer.verdict is Verdict.CANNOT:
        return (f"machine image: {answer.reason}",), ()
    if answer.verdict is Verdict.UNCONFIRMED:
        return (), (f"machine image: {answer.reason}",)
    return (), ()


def _all_names(fleet: Fleet) -> Iterator[str]:
    return (name for task in fleet.tasks for name in _names(task))


def _names(task: Task) -> Iterator[str]:
    yield task.name
    if isinstance(task.family, str):
        yield task.family
    if task.origin is not None:
        yield task.origin.resource
        if task.origin.construct_path is not None:
            yield task.origin.construct_path
            # The path of the L2 construct, as the user knows it.
            yield task.origin.construct_path.removesuffix("/Resource")
