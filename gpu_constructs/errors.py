"""Every error this library raises about what a user wrote.

::

    GpuConstructsError (ValueError)
    ├── UnknownNameError          no such instance type, family or image; carries the nearest names
    ├── InvalidValueError         one argument is wrong by itself
    ├── IncompatibleError         two things that cannot work together; both are named
    ├── DoesNotFitError           more is asked for than the smallest host has
    ├── RefusedByCdkError         CDK itself refuses it, in its own words
    └── QuerySyntaxError          a placement expression cannot be read (in `gpu_constructs.placement.query`)

The text always says what is wrong in the user's words, the value, what is allowed and the likely fix; the same
pieces are attributes, so that a program can use them. Where a rule decides, the command that explains it follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

__version__ = "0.1.0"
"""The release, as ``pyproject.toml`` has it. Reading installed metadata takes as long as a whole first check."""

QUOTE = 120
"""Characters of a value in a message."""

# How Python writes an object without its own text, a class, and a member of an enumeration.
_OBJECT = re.compile(r"<(?:\w+\.)*(?:<locals>\.)?(\w+) object at 0x[0-9a-f]+>")
_CLASS = re.compile(r"<class '(?:\w+\.)*(\w+)'>")
_MEMBER = re.compile(r"<(\w+\.\w+): [^<>]*>")


class GpuConstructsError(ValueError):
    """What the user wrote cannot work.

    Args:
        problem: What is wrong, in the user's words, with the value in it.
        argument: The argument to change, as the user spells it.
        value: The value that was given.
        allowed: What is allowed instead, in words.
        fix: The change that most likely does what the user meant.
        rule: Id of the rule that says so, where one does.
    """

    def __init__(
        self,
        problem: str,
        *,
        argument: str | None = None,
        value: object = None,
        allowed: str | None = None,
        fix: str | None = None,
        rule: str | None = None,
    ) -> None:
        self.problem = problem
        self.argument = argument
        self.value = value
        self.allowed = allowed
        self.fix = fix
        self.rule = rule
        super().__init__(problem)

    def __str__(self) -> str:
        text = f"{self.argument}: {self.problem}" if self.argument else self.problem
        text += f"; allowed: {self.allowed}" if self.allowed else ""
        text += f"; fix: {self.fix}" if self.fix else ""
        return text + (f" ({more_about(self.rule)})" if self.rule else "")


def more_about(rule: str) -> str:
    """Where a rule is explained, for somebody who has this library installed."""
    return f"gpu-constructs rules {rule}"


class UnknownNameError(GpuConstructsError):
    """No instance type, family, image or argument has this name.

    Args:
        problem: What was looked up, with the name in it.
        argument: The argument to change, where the look-up came from one.
        value: The name that was given.
        nearest: Names that exist and look alike, most alike first.
        otherwise: What to do where none of these is meant.
    """

    def __init__(
        self,
        problem: str,
        *,
        argument: str | None = None,
        value: object = None,
        nearest: tuple[str, ...] = (),
        otherwise: str = "",
    ) -> None:
        self.nearest = nearest
        meant = f"did you mean {' or '.join(nearest)}?" if nearest else ""
        fix = f"{meant} Or, {otherwise}" if meant and otherwise else meant or otherwise
        super().__init__(problem, argument=argument, value=value, fix=fix or None)


class InvalidValueError(GpuConstructsError):
    """One argument is wrong by itself, whatever the others say.

    Every constructor and method refuses such an argument before it makes anything. A docstring lists an error only
    where it says more than this page.
    """


class IncompatibleError(GpuConstructsError):
    """Two things were asked for that cannot work together."""


class DoesNotFitError(GpuConstructsError):
    """More is asked for than the smallest host of the capacity has."""


class RefusedByCdkError(GpuConstructsError):
    """CDK refuses it for a reason that this library did not foresee; the words are CDK's."""


def shown(value: object) -> str:
    """A value as an error quotes it: as Python writes it, and short whatever it is."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more than 4300 digits
        return "a very large number"
    except Exception:  # noqa: BLE001 - what somebody else's class does when it is asked
        return f"a {type(value).__name__}"
    return brief(_CLASS.sub(r"the class \1", _OBJECT.sub(r"\1(…)", _MEMBER.sub(r"\1", text))))


def unexpected(
    argument: str, value: object, expected: str, *, fix: str | None, allowed: str | None = None, rule: str | None = None
) -> InvalidValueError:
    """The error for a value that is not what is expected, such as ``a list of text``."""
    problem = f"expects {expected}, got {shown(value)}"
    return InvalidValueError(problem, argument=argument, value=value, allowed=allowed, fix=fix, rule=rule)


@contextmanager
def argument_named(argument: str) -> Iterator[None]:
    """Names the argument in errors of rooms that do not know where their value came from."""
    try:
        yield
    except GpuConstructsError as error:
        error.argument = error.argument or argument
        raise


@contextmanager
def arguments_written(names: Mapping[str, str]) -> Iterator[None]:
    """Names arguments in errors as whoever gave them wrote them, by the names that their reader has for them."""
    try:
        yield
    except GpuConstructsError as error:
        error.argument = names.get(error.argument or "", error.argument)
        raise


def brief(text: str, most: int = QUOTE) -> str:
    """A text for a message, cut where it is too long.

    Args:
        text: What the user wrote, or what is said about it.
        most: Characters that are kept.
    """
    return text if len(text) <= most else f"{text[:most]}…"


def counted(count: int, noun: str) -> str:
    """``1 host``, or ``3 hosts``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def clean(text: str) -> str:
    """A text that moves no cursor and starts no line: names in a template must not harm the reader of a report."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)
