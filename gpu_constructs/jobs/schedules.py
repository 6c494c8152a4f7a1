"""When a job is started: expressions as EventBridge Scheduler takes them, which CDK passes on unseen.

https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html and, for the fields of a cron expression,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-cron-expressions.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from zoneinfo import available_timezones

from aws_cdk import aws_scheduler as scheduler

from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError, shown

_FIELDS: Mapping[str, tuple[int, int]] = {
    "minutes": (0, 59),
    "hours": (0, 23),
    "day-of-month": (1, 31),
    "month": (1, 12),
    "day-of-week": (1, 7),
    "year": (1970, 2199),
}
# https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html
_SCHEDULE_NAME = re.compile(r"[0-9A-Za-z_.-]{1,64}", re.ASCII)
_AT = re.compile(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)")
_CRON = re.compile(r"cron\((.*)\)")
_RATE = re.compile(r"rate\(0*[1-9]\d* (minute|hour|day)s?\)")
# A number by itself: neither how far it is to the next one (1/15), nor which of them (6#3).
_NUMBER = re.compile(r"(?<![\d/#])\d+")


def require_schedule(schedule: scheduler.ScheduleExpression, name: str | None) -> None:
    """Refuses what EventBridge Scheduler does not take as an expression or as a name.

    Raises:
        InvalidValueError: It does not take one of them.
    """
    text = schedule.expression_string
    wrong = None if is_token(text) else _wrong(text)
    if wrong is not None:
        raise InvalidValueError(
            f"{shown(text)} is not a schedule: {wrong}",
            argument="schedule",
            value=text,
            allowed="cron(0 2 * * ? *), rate(3 hours), at(2030-01-31T02:00:00)",
            fix="scheduler.ScheduleExpression.cron(hour='2', minute='0')",
        )
    if name is not None and not is_token(name) and not _SCHEDULE_NAME.fullmatch(name):
        raise InvalidValueError(
            f"{shown(name)} is not a name that EventBridge Scheduler takes",
            argument="schedule_name",
            value=name,
            allowed="letters, digits, _, - and ., up to 64",
            fix="leave it out, and CloudFormation makes one",
        )


def like_time_zone(name: str) -> tuple[str, ...] | None:
    """Time zones that are written like one that the IANA database lacks; None for one that it has."""
    known = available_timezones()
    return None if name in known or not known else tuple(get_close_matches(name, sorted(known), n=3))


def _wrong(text: str) -> str | None:
    """What EventBridge Scheduler does not take of an expression; None for one that it does."""
    cron = _CRON.fullmatch(text)
    if cron is None:
        fits = _AT.fullmatch(text) or _RATE.fullmatch(text)
        return None if fits else "expects cron(…), rate(3 hours) or at(2030-01-31T02:00:00)"
    fields = cron[1].split()
    if len(fields) != len(_FIELDS):
        return f"a cron expression has {len(_FIELDS)} fields, {', '.join(_FIELDS)}; it has {len(fields)}"
    for value, (name, (smallest, largest)) in zip(fields, _FIELDS.items(), strict=True):
        if any(not smallest <= int(each) <= largest for each in _NUMBER.findall(value)):
            return f"{name} is from {smallest} to {largest}, got {value}"
    if "?" not in (fields[2], fields[4]):
        return "one of day-of-month and day-of-week has to be ?"
    return None
