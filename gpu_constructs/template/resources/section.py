"""An object of a template, read key by key: a wrong type is noted and becomes unknown, never an exception."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeGuard, TypeVar

from gpu_constructs.errors import brief, shown
from gpu_constructs.facts.budget import DIGITS
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Origin, Remark, Unknown
from gpu_constructs.template.model import Resource, Value, is_open

_T = TypeVar("_T")

# As many digits as a number may have in a file; a larger one that is certainly too much stays one.
_LARGEST = 10**DIGITS
_NUMBER = re.compile(rf"\s*(-?[0-9]{{1,{DIGITS}}})(?:\.0{{1,15}})?\s*")
_LARGEST_EXACT = 10**15
_TWO = 2
_FLAGS: Final = {"true": True, "false": False}
# Below these keys a text may be a password or a token, so that reports never quote what is there.
_CONFIDENTIAL: Final = frozenset(
    {
        "Command",
        "EntryPoint",
        "Environment",
        "LogConfiguration",
        "RepositoryCredentials",
        "Secrets",
        "UserData",
    }
)

Notes = list[Remark]
"""Where readers put what they could not read."""


def given(value: _T | Unknown | None, default: _T | Unknown) -> _T | Unknown:
    """The value, or the default that CloudFormation or the service has for it."""
    return default if value is None else value


def is_off(value: Value) -> bool:
    """Whether a flag is certainly off: left out, or false."""
    return value in (None, False, "false")


def is_list(value: Value) -> TypeGuard[Sequence[Value]]:
    """Whether a value is a list that is known."""
    return isinstance(value, (list, Sequence)) and not isinstance(value, (str, bytes))


def overrides_of(group: Section) -> tuple[Section, ...]:
    """The overrides of a group with a mixed instances policy."""
    return group.section("MixedInstancesPolicy").section("LaunchTemplate").sections("Overrides")


class _Nothing(Mapping[str, Value]):
    """The keys of an object that is only known at deploy time: every one may be there, and none is known."""

    def __getitem__(self, key: str) -> Value:
        raise KeyError(key)

    def get(self, key: str, default: object = None) -> Value:  # noqa: ARG002 - nothing is missing
        return UNKNOWN

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


_NOTHING: Final = _Nothing()
_EMPTY: Final[Mapping[str, Value]] = {}


@dataclass(frozen=True, slots=True)
class Section:
    """One object of a template.

    An object or a list that is only known at deploy time reads as one of which every value is unknown, so that readers
    have no special case for it.

    Attributes:
        resource: Where the resource was written that it is part of.
        path: Keys and indexes from the resource to it.
        notes: Where to put what could not be read.
    """

    values: Mapping[str, Value]
    resource: Origin
    path: tuple[str | int, ...] = ()
    notes: Notes = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, resource: Resource, notes: Notes) -> Section:
        """The properties of a resource."""
        return cls(resource.properties, resource.origin, resource.below, notes)

    @property
    def origin(self) -> Origin:
        """Where it was written."""
        return self.resource.at(*self.path)

    @property
    def is_unknown(self) -> bool:
        """Whether nothing about it is known before the deploy."""
        return self.values is _NOTHING

    @property
    def keys(self) -> tuple[str, ...]:
        """Its keys that have a value."""
        return tuple(key for key, value in self.values.items() if isinstance(key, str) and value is not None)

    def has(self, key: str) -> bool:
        """Whether a key has a value, be it an unknown one."""
        return not self.is_unknown and self.values.get(key) is not None

    def get(self, key: str) -> Value:
        """The value as it is, of any kind; None if there is none.

        For a look-up in a table there is `text`: a list or an object has no hash.
        """
        return self.values.get(key)

    def note(self, problem: str, value: object, *path: str | int) -> None:
        """Notes that something could not be read, with its value, or the kind of it where that may be a secret."""
        steps = (*self.path, *path)
        hidden = isinstance(value, (Mapping, list, tuple)) or not _CONFIDENTIAL.isdisjoint(steps)
        self._note(problem, _kind_of(value) if hidden else shown(value), steps)

    def _note(self, problem: str, got: str, steps: tuple[str | int, ...]) -> None:
        text = f"{brief('.'.join(map(str, steps)))}: {problem}, got {got}"
        self.notes.append(Remark(text=text, origin=self.resource.at(*steps)))

    def text(self, key: str) -> str | Unknown | None:
        """A text, or a number or flag as CloudFormation turns it into one; None if there is none."""
        value = self.values.get(key)
        return value if value is None or isinstance(value, str) else self._text_of(value, key)

    def one_of(self, key: str, allowed: Collection[str]) -> str | Unknown | None:
        """A text, which is noted if it is not one of those allowed."""
        value = self.text(key)
        self.note_unless(value, allowed, key)
        return value

    def looked_up(self, key: str, table: Mapping[str, _T]) -> _T | Unknown | None:
        """What a text stands for; a text that is not in the table is noted and unknown."""
        value = self.one_of(key, table)
        return value if value is None or isinstance(value, Unknown) else table.get(value, UNKNOWN)

    def note_unless(self, value: str | Unknown | None, allowed: Collection[str], key: str) -> None:
        """Notes a text that is not one of those allowed."""
        if isinstance(value, str) and value not in allowed:
            self.note(f"expects {(' or ' if len(allowed) == _TWO else ', ').join(allowed)}", value, key)

    def texts(self, key: str) -> tuple[str | Unknown, ...]:
        """A list of texts; empty if there is none."""
        return tuple(
            [
                each if isinstance(each, str) else self._text_of(each, key, index)
                for index, each in enumerate(self._list(key))
                if each is not None
            ]
        )

    def known_texts(self, key: str, below: str | None = None) -> tuple[str, ...]:
        """The texts of a list that are known; those of one key below, where the list is one of objects."""
        found = self.texts(key) if below is None else (each.text(below) for each in self.sections(key))
        return tuple(each for each in found if isinstance(each, str))

    def integer(self, key: str) -> int | Unknown | None:
        """A whole number, or a text that is one; None if there is none."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST:
            return value
        if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST:
            return int(value)
        if isinstance(value, str):
            number = _NUMBER.fullmatch(value)
            if number:
                return int(number[1])
        return self._unreadable("a whole number", value, key)

    def flag(self, key: str) -> bool | Unknown | None:
        """True or false; None if there is none."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in _FLAGS:
            return _FLAGS[value.lower()]
        return self._unreadable("true or false", value, key)

    def section(self, key: str) -> Section:
        """An object below this one; an empty one if there is none."""
        return self._section(self.values.get(key), key)

    def sections(self, key: str) -> tuple[Section, ...]:
        """A list of objects; empty if there is none."""
        if not (listed := self._list(key)):
            return ()
        return tuple([self._section(each, key, index) for index, each in enumerate(listed) if each is not None])

    def _section(self, value: Value, *path: str | int) -> Section:
        values = _EMPTY if value is None else value
        # To ask for an abstract class costs ten times as much as to ask for a type, so the usual type stands first.
        if not isinstance(values, (dict, Mapping)):
            self._misplaced("an object", value, *path)
            values = _NOTHING
        return Section(values, self.resource, (*self.path, *path), self.notes)

    def _list(self, key: str) -> Sequence[Value]:
        value = self.values.get(key)
        if value is None:
            return ()
        if is_list(value):
            return value
        return (self._misplaced("a list", value, key),)

    def _text_of(self, value: Value, *path: str | int) -> str | Unknown:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)) and abs(value) < _LARGEST:
            return str(int(value) if float(value).is_integer() and abs(value) >= _LARGEST_EXACT else value)
        return self._unreadable("a text", value, *path)

    def _unreadable(self, expected: str, value: Value, *path: str | int) -> Unknown:
        """Unknown, and noted unless the deploy may well make it what is expected."""
        if not is_open(value):
            self.note(f"expects {expected}", value, *path)
        return UNKNOWN

    def _misplaced(self, expected: str, value: Value, *path: str | int) -> Unknown:
        """Unknown, and noted without a text that stands where another kind of thing belongs: it may be anything."""
        if isinstance(value, str):
            self._note(f"expects {expected}", _kind_of(value), (*self.path, *path))
            return UNKNOWN
        return self._unreadable(expected, value, *path)


def _kind_of(value: object) -> str:
    kinds = ((str, "a text"), (bool, "true or false"), ((int, float), "a number"), (Mapping, "an object"))
    return next((kind for types, kind in kinds if isinstance(value, types)), "nothing" if value is None else "a list")
