"""Durations as ECS takes them: CDK takes any, and fails at synth over those that ECS does not."""

from __future__ import annotations

from math import ceil

import aws_cdk as cdk

from gpu_constructs.cdk.calls import translated
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.aws_limits import LARGEST_INTEGER
from gpu_constructs.fleet import UNKNOWN, Unknown


def whole_seconds(
    argument: str, value: cdk.Duration, *, smallest: int = 0, largest: int = LARGEST_INTEGER
) -> int | Unknown:
    """A duration in seconds, unknown where it is a token; ECS takes whole ones only.

    Raises:
        InvalidValueError: It has a part of a second, or is out of the limits.
    """
    with translated():
        seconds = value.to_seconds(integral=False)
    if is_token(seconds):
        return UNKNOWN
    if seconds % 1 or seconds < smallest or seconds > largest:
        raise InvalidValueError(
            f"expects whole seconds, got {seconds:.15g} seconds",
            argument=argument,
            value=seconds,
            allowed=f"{smallest} to {largest} seconds",
            fix=f"cdk.Duration.seconds({min(max(ceil(seconds), smallest), largest)})",
        )
    return int(seconds)


def in_words(seconds: int) -> str:
    """A time as a person says it, rounded up to minutes."""
    minutes = ceil(seconds / 60)
    for unit, of_minutes in (("day", 24 * 60), ("hour", 60)):
        if minutes >= 2 * of_minutes or minutes == of_minutes:
            count = minutes / of_minutes
            if count.is_integer():
                return f"{int(count)} {unit}{'s' if count > 1 else ''}"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
