"""Which pool or task a name means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeVar

from gpu_constructs.budget import LABEL
from gpu_constructs.errors import InvalidValueError, UnknownNameError, shown
from gpu_constructs.fleet.pool import Pool
from gpu_constructs.fleet.task import Task

_Thing = TypeVar("_Thing", Pool, Task)

# The hash of the construct's path that CDK appends to a logical id, and what constructs call their own parts.
_SUFFIX = re.compile(r"(?:(?:Provider|Group|ASG|TaskDef|Resource)*[0-9A-F]{8})?$")
_MOST_NAMED = 5
_MOST_NEAR = 3


def find_task(tasks: Sequence[Task], name: str, *, argument: str = "task") -> Task:
    """The one task that a name means.

    Raises:
        UnknownNameError: No task is called that; carries the nearest names.
        InvalidValueError: Several are; names each so that it is the only one.
    """
    found = all_called(tasks, name)
    if not found:
        raise UnknownNameError(f"no task {shown(name)} among {len(tasks)}", value=name, nearest=most_alike(tasks, name))
    if len(found) > 1:
        more = f" or {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        raise InvalidValueError(
            f"{len(found)} tasks are called {shown(name)}",
            argument=argument,
            value=name,
            allowed=" or ".join(each.name for each in found[:_MOST_NAMED]) + more,
        )
    return found[0]


def all_called(things: Sequence[_Thing], name: str) -> tuple[_Thing, ...]:
    """The pools or tasks of a name: those with exactly this name, else those that may be called so.

    The name in the fleet, which is unique; its logical id, family or provider, or the path of its construct; the end of
    such a path. CDK writes ids of constructs one after the other: ``ClusterL4GroupASG0C9E5504`` is ``ClusterL4``, and
    ``L4`` too.
    """
    return (
        tuple(each for each in things if each.name == name)
        or tuple(each for each in things if name in _names(each))
        or tuple(each for each in things if _ends_with(each, name))
    )


def most_alike(things: Sequence[_Thing], name: str) -> tuple[str, ...]:
    """Names in the fleet of those whose names are most like another, the nearest first."""
    wanted = name.lower()[:LABEL]

    def likeness(thing: _Thing) -> float:
        return max(SequenceMatcher(None, wanted, known.lower()[:LABEL]).ratio() for known in _names(thing))

    return tuple(each.name for each in sorted(things, key=likeness, reverse=True)[:_MOST_NEAR])


def _ends_with(thing: Pool | Task, name: str) -> bool:
    stems = [(known, _SUFFIX.sub("", known, count=1)) for known in _names(thing) if name]
    return any(
        known.endswith(f"/{name}") or stem == name or (name[:1].isupper() and stem.endswith(name))
        for known, stem in stems
    )


def _names(thing: Pool | Task) -> Iterator[str]:
    yield thing.name
    other = thing.provider if isinstance(thing, Pool) else thing.family
    if isinstance(other, str):
        yield other
    if thing.origin is not None:
        yield thing.origin.resource
        path = thing.origin.construct_path
        if path is not None:
            yield path
            # The path of the L2 construct, as the user knows it; a job of AWS Batch has its definition inside.
            yield path.removesuffix("/Resource").removesuffix("/Definition")
