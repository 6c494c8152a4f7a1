"""What AWS answered, read key by key: another shape than the API has is an answer that says nothing."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from gpu_constructs.values import dataclass

_Plain = TypeVar("_Plain", str, bool)
_LARGEST = 10**12
_NEXT = ("NextToken", "nextToken")


class UnansweredError(Exception):
    """AWS did not answer a call, or in a form that is not known.

    Args:
        why: What happened, in words.
        code: The error code of AWS; empty where it sent none.
        fix: What to do about it.
    """

    def __init__(self, why: str, *, code: str = "", fix: str = "") -> None:
        self.why = why
        self.code = code
        self.fix = fix
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class Row:
    """An object of an answer. What is of another kind than is asked for, or is missing, raises `UnansweredError`.

    Attributes:
        call: The call that was answered, for errors.
        values: Its values as they came.
    """

    call: str
    values: Mapping[str, object]

    def text(self, key: str) -> str:
        """A text; empty where there is none."""
        return self._of(key, str, otherwise="")

    def flag(self, key: str) -> bool:
        """A flag; false where there is none."""
        return self._of(key, bool, otherwise=False)

    def number(self, key: str) -> float:
        """A number, 0 or more."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._odd()
        if not math.isfinite(value) or not 0 <= value < _LARGEST:
            raise self._odd()
        return value

    def time(self, key: str) -> dt.datetime | None:
        """A time in UTC; None where there is none."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dt.datetime):
            raise self._odd()
        try:
            return value.astimezone(dt.timezone.utc) if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)
        except (OverflowError, ValueError):
            raise self._odd() from None

    def row(self, key: str) -> Row:
        """An object."""
        return _row(self.call, self.values.get(key))

    def rows(self, key: str) -> tuple[Row, ...]:
        """The objects of a list; none where there is no list."""
        return tuple(_row(self.call, each) for each in self._list(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of a list; none where there is no list."""
        found = self._list(key)
        if not all(isinstance(each, str) for each in found):
            raise self._odd()
        return tuple(str(each) for each in found)

    def _list(self, key: str) -> Sequence[object]:
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, (list, tuple)):
            raise self._odd()
        return value

    def _of(self, key: str, kind: type[_Plain], *, otherwise: _Plain) -> _Plain:
        value = self.values.get(key)
        if value is None:
            return otherwise
        if not isinstance(value, kind):
            raise self._odd()
        return value

    def _odd(self) -> UnansweredError:
        return _odd(self.call)


@dataclass(frozen=True, slots=True)
class Answer:
    """The pages of an answer. Those of another form than the API has raise `UnansweredError`.

    Attributes:
        call: The call that was answered, for errors.
        pages: Its pages as they came.
    """

    call: str
    pages: Sequence[object]

    @property
    def first(self) -> Row:
        """The first page."""
        return _row(self.call, self.pages[0] if self.pages else None)

    @property
    def has_more(self) -> bool:
        """Whether there are more pages than were read."""
        last = _row(self.call, self.pages[-1] if self.pages else {})
        return any(last.text(each) for each in _NEXT)

    def rows(self, key: str, *, whole: bool = True) -> Iterator[Row]:
        """The objects of the lists of all pages.

        Args:
            key: The key of the lists.
            whole: Whether they say something only if these are all.

        Raises:
            UnansweredError: They have another shape, or are not all.
        """
        if whole and self.has_more:
            raise UnansweredError(f"AWS answered {self.call} with more than the {len(self.pages)} pages that are read")
        for page in self.pages:
            yield from _row(self.call, page).rows(key)


def _row(call: str, value: object) -> Row:
    if not isinstance(value, Mapping):
        raise _odd(call)
    return Row(call, value)


def _odd(call: str) -> UnansweredError:
    return UnansweredError(f"AWS answered {call} in an unknown form")
