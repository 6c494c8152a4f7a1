"""The catalogue's files on disk and how a line of them becomes an `InstanceType`.

``data/accelerated.json`` and ``data/general.json`` hold one instance type a line and what many lines share once: the
quotas, and per family the regions of most of its types. ``make catalogue`` writes them; they are not edited.
`CATALOGUE` names a folder with newer ones, such as ``gpu-constructs catalog refresh`` writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from gpu_constructs.errors import InvalidValueError, brief, shown
from gpu_constructs.facts.budget import BYTES, MESSAGE
from gpu_constructs.facts.model import (
    Accelerators,
    Architecture,
    FamilyTraits,
    InstanceType,
    LocalDisk,
    Network,
    PurchaseClass,
    Quota,
    Vendor,
)

DATA = Path(__file__).with_name("data")
"""Where the files of this package are."""

CATALOGUE = "GPU_CONSTRUCTS_CATALOG"
"""The environment variable that names a folder with newer files; those that it lacks are the package's own."""

Row: TypeAlias = "Mapping[str, Any]"
"""A row of a file: fields of the class that it becomes by their names; a missing one is empty or unknown."""


@cache
def read(name: str) -> Row:
    """One file of the data, which is read once.

    Raises:
        InvalidValueError: If the folder that `CATALOGUE` names does not exist, the file there cannot be read, or it
            has a value that cannot be.
    """
    newer = os.environ.get(CATALOGUE)
    if not newer:
        return parsed(DATA / f"{name}.json")
    if not Path(newer).is_dir():
        raise InvalidValueError(f"{CATALOGUE}: there is no folder {shown(newer)}", value=newer)
    file = Path(newer) / f"{name}.json"
    if not file.exists():
        return parsed(DATA / file.name)
    found = parsed(file)
    with as_written(name):
        require_values(name, found)
    return found


def parsed(file: Path) -> Row:
    """A file of the data, wherever it is.

    Raises:
        InvalidValueError: If it cannot be read, or is too large.
    """
    try:
        if file.stat().st_size > BYTES:
            raise InvalidValueError(f"{shown(str(file))} is larger than {BYTES} bytes", value=str(file))
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InvalidValueError(f"{shown(str(file))} cannot be read: {problem.strerror}", value=str(file)) from problem
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, InvalidValueError):
            raise
        raise InvalidValueError(f"{shown(str(file))} is not JSON", value=str(file)) from problem
    with as_written(file.stem):
        return dict(content)


@contextmanager
def as_written(name: str) -> Iterator[None]:
    """Says which file is wrong where it lacks what is read.

    Raises:
        InvalidValueError: In the place of the errors that values of other types and missing keys raise.
    """
    try:
        yield
    except InvalidValueError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise InvalidValueError(
            f"{name}.json is not as gpu-constructs catalog refresh writes it: {brief(repr(problem), MESSAGE)}",
            value=name,
        ) from problem


def decode(file: Row) -> dict[str, InstanceType]:
    """Turn a file into frozen values, by name and in the file's order."""
    no_traits = FamilyTraits()
    traits = {family: FamilyTraits(**row) for family, row in file["families"].items()}
    quotas = {key: Quota(**row) for key, row in file["quotas"].items()}
    regions = {family: tuple(names) for family, names in file["regions"].items()}
    return {
        name: InstanceType(
            name=name,
            vcpus=row["vcpus"],
            memory_mib=row["memory_mib"],
            architecture=Architecture(row["architecture"]),
            accelerators=_devices(row["accelerators"]) if "accelerators" in row else None,
            network=_network(row.get("network", {})),
            local_disks=tuple(LocalDisk(count=count, size_gb=size) for count, size in row.get("local_disks", ())),
            purchase_classes=tuple(PurchaseClass(value) for value in row.get("purchase_classes", ())),
            regions=tuple(row["regions"]) if "regions" in row else regions[name.partition(".")[0]],
            quota=quotas[row["quota"]] if "quota" in row else None,
            current_generation=row.get("current_generation"),
            bare_metal=row.get("bare_metal", False),
            burstable=row.get("burstable", False),
            traits=traits.get(name.partition(".")[0], no_traits),
            note=row.get("note"),
            replaced_by=row.get("replaced_by"),
        )
        for name, row in file["instance_types"].items()
    }


def _devices(row: Row) -> Accelerators:
    return Accelerators(**{"logical_count": row["count"], **_frozen(row), "vendor": Vendor(row["vendor"])})


def _network(row: Row) -> Network:
    # Where something of a network is recorded and nothing of Elastic Fabric Adapters, it takes none.
    takes_efa = row.get("efa_supported", False if row else None)
    return Network(
        **{"efa_supported": takes_efa, "max_efa_interfaces": 0 if takes_efa is False else None, **_frozen(row)}
    )


def _frozen(row: Row) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


_Form: TypeAlias = "tuple[str, Callable[[object], bool]]"
"""What is allowed, in words, and whether a value is."""

_MOST = 10**9
_PART = "a number above 0, up to 1"
_DOLLARS = "US dollars an hour, above 0"


def require_values(name: str, file: Mapping[str, Any]) -> None:
    """Refuses a file with a value that no instance type and no price can have.

    Raises:
        InvalidValueError: A value is wrong; the message has the file, what it is about and the field.
    """
    for subject, field, value, (allowed, is_allowed) in _values(name, file):
        if not is_allowed(value):
            raise InvalidValueError(f"{name}.json: {subject} has {field} {shown(value)}", value=value, allowed=allowed)


def _values(name: str, file: Mapping[str, Any]) -> Iterator[tuple[str, str, object, _Form]]:
    """What is checked: what it is about, the field, its value and the form of that."""
    if name == "prices":
        for region, lists in file["regions"].items():
            for prices in lists.values():
                yield from ((subject, f"the price in {region}", usd, _PRICE) for subject, usd in prices.items())
    for subject, row in file["instance_types"].items() if name in _WITH_TYPES else ():
        parts = {"": row, **{f"{part}.": row.get(part, {}) for part in ("accelerators", "network")}}
        for start, fields in parts.items():
            yield from (
                (subject, f"{start}{field}", value, _FIELDS[f"{start}{field}"])
                for field, value in fields.items()
                if f"{start}{field}" in _FIELDS
            )


def _whole(least: int) -> _Form:
    return f"a whole number from {least} to {_MOST}", lambda value: _is_whole(value) and _number(value) >= least


def _list_of(words: str, form: Callable[[object], bool], length: int | None = None) -> _Form:
    return (
        words,
        lambda value: isinstance(value, list) and length in {None, len(value)} and all(form(each) for each in value),
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST


def _number(value: object) -> float:
    """A number as it is, and anything else as one that no field allows."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else -1


_PRICE: _Form = (_DOLLARS, lambda value: 0 < _number(value) <= _MOST)
_TEXT: _Form = ("a text", lambda value: isinstance(value, str))
_INDEXES = _list_of("a list of whole numbers from 0", _is_whole)
_WITH_TYPES = ("accelerated", "general")
_FIELDS: Mapping[str, _Form] = {
    "vcpus": _whole(1),
    "memory_mib": _whole(1),
    "local_disks": _list_of(
        "a list of how many and their GB, such as [[2, 900]]",
        lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value)),  # noqa: PLR2004 - a pair
    ),
    "regions": _list_of("a list of regions", _TEXT[1]),
    "accelerators.model": _TEXT,
    "accelerators.count": _whole(0),
    "accelerators.logical_count": _whole(1),
    "accelerators.partition": (_PART, lambda value: 0 < _number(value) <= 1),
    "accelerators.memory_mib": _whole(1),
    "accelerators.compute_capability": _list_of("major and minor, such as [8, 9]", _is_whole, length=2),
    "accelerators.cores": _whole(1),
    "network.cards": _whole(0),
    "network.max_interfaces": _whole(0),
    "network.max_interfaces_card_0": _whole(0),
    "network.max_efa_interfaces": _whole(0),
    "network.efa_cards": _INDEXES,
    "network.efa_only_cards": _INDEXES,
}
