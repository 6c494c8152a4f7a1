"""The instance types that users declare, laid over the catalogue: for the process, or for one check.

What is declared is a fact like those of the data, for every look-up alike, so it is held here and not handed through
every reader and every rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from gpu_constructs.hardware.model import InstanceType

__all__ = ["declared_type", "declared_types", "for_one_check", "for_the_process"]

_OF_THE_PROCESS: dict[str, InstanceType] = {}
_OF_THE_CHECK: ContextVar[Mapping[str, InstanceType]] = ContextVar("declared instance types")
_NOTHING: Mapping[str, InstanceType] = {}


def declared_type(name: str) -> InstanceType | None:
    """The type that was declared with this name; that of the check that is running before that of the process."""
    return _OF_THE_CHECK.get(_NOTHING).get(name) or _OF_THE_PROCESS.get(name)


def declared_types() -> tuple[InstanceType, ...]:
    """Every type that was declared, in the order of the declarations."""
    return tuple({**_OF_THE_PROCESS, **_OF_THE_CHECK.get(_NOTHING)}.values())


def for_the_process(types: Mapping[str, InstanceType]) -> None:
    """Adds types that hold until the process ends."""
    _OF_THE_PROCESS.update(types)


@contextmanager
def for_one_check(types: Mapping[str, InstanceType]) -> Iterator[None]:
    """Adds types that hold within this context, after those of the check around it."""
    token = _OF_THE_CHECK.set({**types, **_OF_THE_CHECK.get(_NOTHING)})
    try:
        yield
    finally:
        _OF_THE_CHECK.reset(token)
