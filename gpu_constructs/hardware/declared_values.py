"""The values that the fields of a declaration can have, and how files write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches

from gpu_constructs.budget import ENTRIES, NAME
from gpu_constructs.errors import InvalidValueError, UnknownNameError, shown
from gpu_constructs.hardware.model import Architecture

MOST_DEVICES = 1000
"""More GPUs or Neuron devices than any host has."""

_CAPABILITY = re.compile(r"([1-9][0-9]?)\.([0-9])")
_MODEL = re.compile(rf"[A-Za-z0-9][A-Za-z0-9 ._-]{{0,{NAME - 1}}}")


Fields = Mapping[str, tuple[str, Callable[[object], object | None]]]
"""By field of a declaration: the values that it can have, in words, and what it keeps of one, None of a wrong one."""


def checked_value(field: str, value: object, fields: Fields) -> object:
    """The value that a field keeps, such as a tuple for a list.

    Args:
        field: Its name.
        value: As given.
        fields: The fields of the declaration.

    Raises:
        InvalidValueError: The field cannot have it.
    """
    allowed, kept = fields[field]
    found = kept(value)
    if found is None:
        raise InvalidValueError(f"got {shown(value)}", argument=field, value=value, allowed=allowed)
    return found


def fields_by_key(written: Mapping[str, object], fields: Iterable[str], of: str) -> dict[str, str]:
    """The key of each field that a file writes, as ``memory_mib`` or ``MemoryMib``.

    Args:
        written: Values by key.
        fields: Every field.
        of: Whose fields they are, in words.

    Raises:
        UnknownNameError: There is no such field.
        InvalidValueError: Two keys are one field.
    """
    known = {each.replace("_", ""): each for each in fields}
    keys: dict[str, str] = {}
    for key in written:
        field = known.get(key[:NAME].replace("_", "").lower())
        if field is None:
            near = tuple(get_close_matches(key[:NAME].lower(), known.values(), n=2))
            raise UnknownNameError(f"{of} has no {shown(key)}", argument=key, value=key, nearest=near)
        if field in keys:
            raise InvalidValueError(
                f"{shown(keys[field])} and {shown(key)} are the same fact", argument=key, fix="leave one out"
            )
        keys[field] = key
    return keys


def as_properties(facts: Mapping[str, object]) -> dict[str, object]:
    """Facts as templates write them, those that are known: ``{"MemoryMib": 4096}``."""
    known = {name: value for name, value in facts.items() if value is not None}
    return {"".join(map(str.capitalize, name.split("_"))): value for name, value in known.items()}


def whole_number(smallest: int, largest: int) -> Callable[[object], int | None]:
    """What keeps a whole number between two others."""

    def kept(value: object) -> int | None:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return value if isinstance(value, int) and is_number and smallest <= value <= largest else None

    return kept


def _numbers(smallest: int, largest: int) -> Callable[[object], tuple[int, ...] | None]:
    one = whole_number(smallest, largest)

    def kept(value: object) -> tuple[int, ...] | None:
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) or len(value) > ENTRIES:
            return None
        found = [one(each) for each in value]
        return tuple(each for each in found if each is not None) if None not in found else None

    return kept


def _different(smallest: int, largest: int) -> Callable[[object], tuple[int, ...] | None]:
    every = _numbers(smallest, largest)

    def kept(value: object) -> tuple[int, ...] | None:
        found = every(value)
        return found if found is not None and len(set(found)) == len(found) else None

    return kept


def _architecture(value: object) -> str | None:
    return next((each.value for each in Architecture if value in (each, each.value)), None)


def _model(value: object) -> str | None:
    return value if isinstance(value, str) and _MODEL.fullmatch(value) else None


def _capability(value: object) -> tuple[int, int] | None:
    match value:
        case [int(major), int(minor)] if whole_number(1, 99)(major) and whole_number(0, 9)(minor) is not None:
            return major, minor
    written = _CAPABILITY.fullmatch(str(value)) if isinstance(value, (str, float)) else None
    return (int(written[1]), int(written[2])) if written else None


_MODELS = "a name of letters, digits, blanks, dots and hyphens, such as R200"
TYPE_FIELDS: Fields = {
    "vcpus": ("a whole number from 1 to 10000", whole_number(1, 10_000)),
    "memory_mib": ("MiB as a whole number from 1 to 1000000000", whole_number(1, 10**9)),
    "architecture": ("x86_64 or arm64", _architecture),
    "gpus": (f"a whole number from 0 to {MOST_DEVICES}", whole_number(0, MOST_DEVICES)),
    "gpu_model": (_MODELS, _model),
    "gpu_memory_mib": ("MiB as a whole number from 1 to 100000000", whole_number(1, 10**8)),
    "compute_capability": ("major and minor of one digit, such as (10, 3), or the string '10.3'", _capability),
    "neuron_devices": (f"a whole number from 0 to {MOST_DEVICES}", whole_number(0, MOST_DEVICES)),
    "neuron_model": (_MODELS, _model),
    "neuron_cores": ("a whole number from 1 to 1000", whole_number(1, 1000)),
    "max_interfaces": ("a whole number from 1 to 1000", whole_number(1, 1000)),
    "efa_cards": ("a list of indexes of network cards from 0, each once, such as [0]", _different(0, 1000)),
    "local_disks_gb": ("a list with the GB of each disk, such as [1900, 1900]", _numbers(1, 10**6)),
}
"""The fields of a declared type but its name."""
