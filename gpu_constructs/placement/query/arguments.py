"""What an argument can say: its characters, and the counts, versions and dates among them."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from gpu_constructs.placement.query.subjects import Field, Operator, Subject

__all__ = ["Moment", "argument_problem", "count_of", "moment_of", "text_problem", "version_of"]

_COUNT = re.compile(r"[0-9]{1,9}")
_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,9}")

# The page's "valid date formats": 2018-06-18T22:28:28+00:00, 2018-06-18T22:28:28Z, 2018-06-18T22:28:28, 2018-06-18
# (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html).
_DATE = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:T(?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_EASTMOST, _WESTMOST = dt.timedelta(hours=14), dt.timedelta(hours=-12)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date of an expression: the instants it can stand for.

    A date without a zone is one of a day's instants, because the documentation does not say in which zone it is read.

    Attributes:
        earliest: The first instant it can stand for.
        latest: The last one; the same if the zone is written.
        width: How long the written moment lasts: a second or a day.
    """

    earliest: dt.datetime
    latest: dt.datetime
    width: dt.timedelta


def moment_of(argument: str) -> Moment | None:
    """Read a date in one of the four documented formats.

    Args:
        argument: Such as ``2018-06-18T22:28:28Z`` or ``2018-06-18``.

    Returns:
        The date, or None if it is none.
    """
    found = _DATE.fullmatch(argument)
    if found is None:
        return None
    try:
        written = dt.datetime.fromisoformat(f"{found['day']}T{found['time'] or '00:00:00'}+00:00")
        if found["zone"]:
            zone = dt.datetime.fromisoformat(f"2000-01-01T00:00:00{found['zone'].replace('Z', '+00:00')}").utcoffset()
            earliest = latest = written - (zone or dt.timedelta())
        else:
            earliest, latest = written - _EASTMOST, written - _WESTMOST
        width = dt.timedelta(seconds=1) if found["time"] else dt.timedelta(days=1)
        _ = latest + width
    except (ValueError, OverflowError):
        return None
    return Moment(earliest, latest, width)


def count_of(argument: str) -> int | None:
    """Read a number of tasks; None if it is none."""
    return int(argument) if _COUNT.fullmatch(argument) else None


def version_of(argument: str) -> tuple[int, ...] | None:
    """Read a version of the agent; None if it is none."""
    return tuple(map(int, argument.split("."))) if _VERSION.fullmatch(argument) else None


def text_problem(text: str) -> str | None:
    """What keeps a text from being written as an argument, in words; None if nothing does."""
    if not text:
        return "an argument has at least one character"
    odd = next((each for each in text if not each.isprintable()), None)
    if odd is not None:
        return f"the character {odd!r} cannot be written in an expression"
    if "'" in text and '"' in text:
        return "a text with both kinds of quotes cannot be written in an expression"
    return None


def argument_problem(subject: Subject, operator: Operator, argument: str) -> str | None:
    """What is wrong with an argument, in words; None if it can be compared with the subject."""
    problem = text_problem(argument)
    if problem is None and subject is Field.RUNNING_TASKS_COUNT and count_of(argument) is None:
        problem = f"`{argument}` is not a number of tasks"
    if problem is None and subject is Field.REGISTERED_AT and moment_of(argument) is None:
        problem = f"`{argument}` is not a date such as 2018-06-18 or 2018-06-18T22:28:28Z"
    if problem is None and subject is Field.AGENT_VERSION and operator.is_order and version_of(argument) is None:
        problem = f"`{argument}` is not a version such as 1.14.5"
    return problem
