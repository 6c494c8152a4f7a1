"""Which pool or task a test means by a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeVar

from gpu_constructs.fleet import Pool, Task

__all__ = ["is_called", "most_alike"]

_Thing = TypeVar("_Thing", Pool, Task)

# The hash of the construct's path that CDK appends to a logical id, and what constructs call the parts of their own.
_SUFFIX = re.compile(r"(?:(?:Provider|Group|ASG|TaskDef|Resource)*[0-9A-F]{8})?$")
_LONGEST = 255


def is_called(thing: Pool | Task, name: str) -> bool:
    """Whether a test may call it so: its name, the end of its construct's path, its family or provider, its logical id.

    CDK writes ids of constructs one after the other: ``ClusterL4GroupASG0C9E5504`` is ``ClusterL4``, and ``L4`` too.

    Args:
        thing: A pool or a task.
        name: What the test calls it.
    """
    return any(
        known == name or known.endswith(f"/{name}") or (name[:1].isupper() and stem.endswith(name))
        for known, stem in ((known, _SUFFIX.sub("", known, count=1)) for known in _names(thing))
    )


def most_alike(things: Sequence[_Thing], name: str) -> _Thing | None:
    """The one whose name is most like another; None if there is none.

    Args:
        things: Pools or tasks.
        name: What was looked for.
    """
    wanted = name.lower()[:_LONGEST]

    def likeness(thing: _Thing) -> float:
        return max(SequenceMatcher(None, wanted, known.lower()[:_LONGEST]).ratio() for known in _names(thing))

    return max(things, key=likeness, default=None)


def _names(thing: Pool | Task) -> Iterator[str]:
    yield thing.name
    other = thing.provider if isinstance(thing, Pool) else thing.family
    if isinstance(other, str):
        yield other
    if thing.origin is not None:
        yield thing.origin.resource
