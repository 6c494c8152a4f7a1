"""What the arguments of assertions stand for."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TypeVar

from gpu_constructs.configuration_files import CONFIGURATION_FILES
from gpu_constructs.errors import InvalidValueError, UnknownNameError, argument_named, shown
from gpu_constructs.hardware import InstanceType, family, instance_type, may_exist
from gpu_constructs.hardware.catalogue import for_one_check

_Kind = TypeVar("_Kind", bound=Enum)


def name_of(value: str, argument: str) -> str:
    """A name.

    Raises:
        InvalidValueError: It is not text, or empty, which would match everything.
    """
    if not isinstance(value, str) or not value:
        raise InvalidValueError(f"got {shown(value)}", argument=argument, value=value, allowed="a name")
    return value


def count(value: int, argument: str) -> int:
    """A number of things.

    Raises:
        InvalidValueError: It is not a whole number, or a negative one.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidValueError(
            f"got {shown(value)}", argument=argument, value=value, allowed="a whole number, 0 or more"
        )
    return value


def types_named(
    names: str | Iterable[str] | None, argument: str, declared: Iterable[InstanceType] = ()
) -> frozenset[str] | None:
    """Names of all types of some types and families; None for None.

    Raises:
        InvalidValueError: They are not names.
        UnknownNameError: None is called so.
    """
    if names is None:
        return None
    with for_one_check({each.name: each for each in declared}), argument_named(argument):
        return frozenset(each.name for name in names_in(names, argument) for each in _types_of(name))


def _types_of(name: str) -> tuple[InstanceType, ...]:
    if "." not in name:
        return family(name)
    try:
        return (instance_type(name),)
    except UnknownNameError as error:
        if error.fix is not None and may_exist(name):
            error.fix += f", and gpus(…, configuration={CONFIGURATION_FILES[0]!r}) for a test"
        raise


def one_of(kind: type[_Kind], value: _Kind | str, argument: str) -> _Kind:
    """What has this name, of all ways of buying or of all severities.

    Raises:
        InvalidValueError: Nothing has it.
    """
    try:
        return kind(value)
    except (TypeError, ValueError):
        allowed = ", ".join(map(str, kind))
        raise InvalidValueError(f"got {shown(value)}", argument=argument, value=value, allowed=allowed) from None


def names_in(names: str | Iterable[str], argument: str) -> tuple[str, ...]:
    """One name or several.

    Raises:
        InvalidValueError: They are not names.
    """
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (None,)
    if not all(isinstance(each, str) for each in found):
        raise InvalidValueError(
            f"got {shown(names)}", argument=argument, value=names, allowed="a name, or a list of names"
        )
    return tuple(str(each) for each in found)
