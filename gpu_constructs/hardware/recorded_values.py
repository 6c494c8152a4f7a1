"""The values that the rows of a catalogue can have, which are checked where another program may have written them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from gpu_constructs.errors import InvalidValueError, shown

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
