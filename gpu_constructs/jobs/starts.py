"""What a job is started with and when: JSON for which ECS has room, and expressions of EventBridge Scheduler.

CDK passes expressions on unseen: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html and, for
the fields of a cron expression,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-cron-expressions.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from zoneinfo import available_timezones

from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_stepfunctions as sfn

from gpu_constructs.cdk.arguments import require_kind
from gpu_constructs.cdk.calls import translated
from gpu_constructs.cdk.tokens import is_text_token, is_token, known_parts
from gpu_constructs.errors import InvalidValueError, argument_named, shown
from gpu_constructs.jobs.job_run import JobRun, variables_by_hand

# https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html
_MOST_CHARACTERS = 8192


def text_of(job_input: Mapping[str, object]) -> str:
    """The input of a job as JSON.

    Raises:
        InvalidValueError: It cannot be written as JSON, or has values that no job gets.
    """
    require_kind("job_input", job_input, Mapping, example="{'epochs': 3}")
    try:
        text = json.dumps(job_input, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidValueError(
            f"expects what can be written as JSON, got {shown(job_input)}",
            argument="job_input",
            value=job_input,
            fix="job_input={'epochs': 3}",
        ) from None
    late = next((each for each in _leaves(job_input) if is_token(each) and not is_text_token(each)), None)
    if late is not None:
        raise InvalidValueError(
            "has a number or a list that is only known at deploy time, and JSON that is written at synth takes text",
            argument="job_input",
            fix="value_as_string of the parameter, or cdk.Token.as_string(…) of any other token",
        )
    # A field that is not the whole of its text, CDK refuses itself.
    with translated(), argument_named("job_input"):
        paths = sfn.FieldUtils.find_referenced_paths(dict(job_input)) if is_token(text) else ()
    if paths:
        raise InvalidValueError(
            f"{paths[0]} is a field of the input of a state, and here no state has one",
            argument="job_input",
            value=paths[0],
            allowed="values that are known at synth or at deploy time",
            fix="step(job_input=sfn.TaskInput.from_object(…)) in a state machine of your own",
        )
    return text


def require_input_fits(job_input: Mapping[str, object], run: JobRun, more: Sequence[str]) -> None:
    """Refuses an input that ECS never takes, also with a job whose name has one letter.

    What only a deploy knows is not counted, and neither is what JSON puts before a quote.

    Raises:
        InvalidValueError: It has too many characters.
    """
    told = {**variables_by_hand(run, name="x", job_input=""), **dict.fromkeys(more, "x")}
    environment = [{"name": name, "value": value} for name, value in told.items()]
    overrides = {"containerOverrides": [{"name": run.container, "environment": environment}]}
    # As Step Functions writes them.
    taken, size = (
        len(known_parts(json.dumps(each, separators=(",", ":"), ensure_ascii=False))) for each in (overrides, job_input)
    )
    if taken + size > _MOST_CHARACTERS:
        raise InvalidValueError(
            f"has {size} characters, and ECS takes {_MOST_CHARACTERS:,} for all that an attempt overrides, of which "
            f"the job's own variables are {taken}",
            argument="job_input",
            value=job_input,
            allowed=f"fewer than {_MOST_CHARACTERS - taken:,} characters",
            fix="keep it in Amazon S3, and give its place",
        )


def _leaves(value: object) -> Iterator[object]:
    """The values in a JSON document that is not too deep for JSON."""
    if isinstance(value, Mapping):
        yield from chain.from_iterable(map(_leaves, value.values()))
    elif isinstance(value, (list, tuple)):
        yield from chain.from_iterable(map(_leaves, value))
    else:
        yield value


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
