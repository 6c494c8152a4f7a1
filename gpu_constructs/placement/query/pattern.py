r"""Regular expressions as Java reads them, as far as they are regular.

"The matches and not_matches operators expect an argument that conforms to the Java regular expression syntax"
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html, which links
java.util.regex.Pattern, https://docs.oracle.com/javase/8/docs/api/java/util/regex/Pattern.html). Read here are literal
characters, ``.``, classes, the escapes ``\d \w \s`` and those of single characters, ``^`` and ``$``, groups, ``|`` and
every greedy or lazy repetition. What Java reads beyond that (look-around, back references, possessive repetition,
flags, set operations in classes) is named as unsupported, and what Java refuses as malformed; both were compared with
java.util.regex of OpenJDK 17.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from enum import Enum

from gpu_constructs.placement.query.limits import MAX_NESTING

__all__ = [
    "Characters",
    "Choice",
    "Edge",
    "MalformedPatternError",
    "Node",
    "Ranges",
    "Repetition",
    "Sequence",
    "UnsupportedPatternError",
    "read_pattern",
]

Ranges = tuple[tuple[int, int], ...]
"""Code points as inclusive ranges, in order and apart from each other."""


class MalformedPatternError(Exception):
    """Java does not read the pattern.

    Args:
        problem: What is wrong, in words.
        position: Where, counted from 0.
    """

    def __init__(self, problem: str, position: int) -> None:
        self.problem = problem
        self.position = position
        super().__init__(problem)


class UnsupportedPatternError(Exception):
    """The pattern uses what is not judged here.

    Args:
        reason: What, in words.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Edge(Enum):
    """A place rather than a character."""

    START = "^"
    END = "$"


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; empty, it matches the empty text."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """The same, between `least` and `most` times; without an end where `most` is None."""

    item: Node
    least: int
    most: int | None


Node = Characters | Sequence | Choice | Repetition | Edge

_EMPTY = Sequence(())
_LAST = 0x10FFFF
_LARGEST_COUNT = 2**31 - 1


def _union(ranges: Ranges) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Ranges) -> Ranges:
    gaps, free = [], 0
    for low, high in _union(ranges):
        if free < low:
            gaps.append((free, low - 1))
        free = high + 1
    return (*gaps, (free, _LAST)) if free <= _LAST else tuple(gaps)


def _set_of(characters: str) -> Ranges:
    return _union(tuple((ord(each), ord(each)) for each in characters))


# The predefined classes of java.util.regex.Pattern; all of them are ASCII without the flag UNICODE_CHARACTER_CLASS.
_DIGIT = _set_of(string.digits)
_WORD = _set_of(string.ascii_letters + string.digits + "_")
_SPACE = _set_of(" \t\n\x0b\f\r")
_SETS = {
    "d": _DIGIT,
    "D": _complement(_DIGIT),
    "w": _WORD,
    "W": _complement(_WORD),
    "s": _SPACE,
    "S": _complement(_SPACE),
}
# "Line terminators" of java.util.regex.Pattern, which `.` does not match.
_ANY = Characters(_complement(_set_of("\n\r\x85\u2028\u2029")))
_SINGLE = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_HEXADECIMAL = {"x": 2, "u": 4}
_UNSUPPORTED_ESCAPES = frozenset("0123456789cpPkQbBAGzZRXNhHvV")
_GROUP_KINDS = {"=": "look-ahead", "!": "look-ahead", ">": "a group that keeps what it took"}


def read_pattern(pattern: str) -> Node:
    """Read a pattern.

    Args:
        pattern: As Java would be given it.

    Raises:
        MalformedPatternError: If Java does not read it.
        UnsupportedPatternError: If it uses what is not judged here.
    """
    return _Reader(pattern).whole()


class _Reader:
    """Recursive descent, one method per rule; the depth is bounded."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._names: set[str] = set()

    def whole(self) -> Node:
        node = self._choice()
        if self._at < len(self._text):
            raise MalformedPatternError("`)` closes no group", self._at)
        return node

    def _choice(self) -> Node:
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        items: list[Node] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            item = self._repeated(self._atom())
            if item != _EMPTY:
                items.append(item)
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _atom(self) -> Node:
        at, each = self._at, self._text[self._at]
        if each in "*+?":
            raise MalformedPatternError(f"`{each}` repeats nothing", at)
        if each == "{":
            # Java reads {2} here as a repetition of the empty text, and refuses { alone.
            raise UnsupportedPatternError("`{` after nothing that it repeats")
        self._at += 1
        if each == "(":
            return self._group(at)
        if each == "[":
            return Characters(self._class(at))
        if each == "\\":
            escaped = self._escape()
            return Characters(((escaped, escaped),) if isinstance(escaped, int) else escaped)
        if each == ".":
            return _ANY
        if each in "^$":
            return Edge(each)
        return Characters(((ord(each), ord(each)),))

    def _group(self, start: int) -> Node:
        if self._take("?"):
            self._group_kind()
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise UnsupportedPatternError(f"groups nested deeper than {MAX_NESTING}")
        node = self._choice()
        self._depth -= 1
        if not self._take(")"):
            raise MalformedPatternError("`(` is not closed", start)
        return node

    def _group_kind(self) -> None:
        kind = self._peek()
        if kind == ":":
            self._at += 1
            return
        if kind != "<":
            raise UnsupportedPatternError(_GROUP_KINDS.get(kind, "a flag"))
        end = self._text.find(">", self._at)
        name = self._text[self._at + 1 : end]
        if self._text[self._at + 1 : self._at + 2] in {"=", "!"}:
            raise UnsupportedPatternError("look-behind")
        if end < 0 or not (name.isascii() and name.isalnum() and name[0].isalpha()):
            raise MalformedPatternError("a group's name is letters and digits between `<` and `>`", self._at)
        if name in self._names:
            raise MalformedPatternError(f"two groups are named {name}", self._at)
        self._names.add(name)
        self._at = end + 1

    def _repeated(self, item: Node) -> Node:
        start, sign = self._at, self._peek()
        if sign not in {"*", "+", "?", "{"}:
            return item
        self._at += 1
        least, most = self._counts(start) if sign == "{" else {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        # A lazy repetition tries its lengths in another order; a whole match is the same.
        if not self._take("?") and self._peek() == "+":
            raise UnsupportedPatternError("a possessive repetition")
        if self._peek() in {"*", "+", "?"}:
            raise MalformedPatternError(f"`{self._peek()}` repeats a repetition", self._at)
        if self._peek() == "{":
            raise UnsupportedPatternError("a repetition of a repetition")  # Java passes over the second one
        return _EMPTY if most == 0 or item == _EMPTY else Repetition(item, least, most)

    def _counts(self, start: int) -> tuple[int, int | None]:
        least = self._number()
        if least is None:
            raise MalformedPatternError("`{` begins a repetition such as {2} or {2,4}", start)
        most: int | None = least
        if self._take(","):
            most = self._number()
        if not self._take("}"):
            raise MalformedPatternError("`{` is not closed", start)
        if max(least, most or 0) > _LARGEST_COUNT or (most is not None and most < least):
            raise MalformedPatternError(f"{self._text[start : self._at]} is no range", start)
        return least, most

    def _number(self) -> int | None:
        start = self._at
        while self._peek() and self._peek() in string.digits:
            self._at += 1
        # Longer numbers are out of range in any case, and slow to read.
        return int(self._text[start : self._at][:12]) if self._at > start else None

    def _class(self, start: int) -> Ranges:
        negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        first = self._at
        while self._peek() != "]" or self._at == first:
            if not self._peek():
                raise MalformedPatternError("`[` is not closed", start)
            low = self._class_item(start)
            if isinstance(low, int):
                ranges.append((low, self._range_end(low, start)))
            else:
                ranges.extend(low)
        self._at += 1
        return _complement(tuple(ranges)) if negated else _union(tuple(ranges))

    def _range_end(self, low: int, start: int) -> int:
        at = self._at
        if self._peek() != "-" or self._text[at + 1 : at + 2] == "]":
            return low
        self._at += 1
        high = self._class_item(start)
        if not isinstance(high, int):
            raise UnsupportedPatternError("a range that ends in a class")
        if high < low:
            raise MalformedPatternError(f"{self._text[at - 1 : self._at]} is no range", at)
        return high

    def _class_item(self, start: int) -> int | Ranges:
        each = self._peek()
        if not each:
            raise MalformedPatternError("`[` is not closed", start)
        if each == "[" or self._text.startswith("&&", self._at):
            raise UnsupportedPatternError("a class made of other classes")
        self._at += 1
        return self._escape() if each == "\\" else ord(each)

    def _escape(self) -> int | Ranges:
        at, each = self._at - 1, self._peek()
        if not each:
            raise MalformedPatternError("`\\` escapes nothing", at)
        self._at += 1
        if each in _SETS:
            return _SETS[each]
        if each in _SINGLE:
            return ord(_SINGLE[each])
        if each in _HEXADECIMAL:
            return self._hexadecimal(each, at)
        if each in _UNSUPPORTED_ESCAPES:
            raise UnsupportedPatternError(f"the escape \\{each}")
        # "It is an error to use a backslash prior to any alphabetic character that does not denote an escaped
        # construct" (java.util.regex.Pattern).
        if each in string.ascii_letters:
            raise MalformedPatternError(f"\\{each} is no escape of Java", at)
        return ord(each)

    def _hexadecimal(self, kind: str, at: int) -> int:
        digits = self._text[self._at : self._at + _HEXADECIMAL[kind]]
        if digits.startswith("{"):
            raise UnsupportedPatternError("a character by its number in braces")
        if len(digits) < _HEXADECIMAL[kind] or not set(string.hexdigits).issuperset(digits):
            raise MalformedPatternError(f"\\{kind} takes {_HEXADECIMAL[kind]} hexadecimal digits", at)
        self._at += len(digits)
        number = int(digits, 16)
        if 0xD800 <= number <= 0xDFFF:  # noqa: PLR2004 # the surrogates of UTF-16
            raise UnsupportedPatternError("half a character")
        return number

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, character: str) -> bool:
        taken = self._peek() == character
        self._at += taken
        return taken
