"""What users give, checked the same way everywhere: values, places and durations; ECS takes fewer of these than CDK."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from inspect import signature
from math import ceil, inf
from typing import SupportsIndex, TypeGuard, TypeVar, cast

import aws_cdk as cdk
from constructs import IConstruct
from typing_extensions import NotRequired, TypedDict, Unpack

from gpu_constructs.cdk.calls import translated
from gpu_constructs.cdk.tokens import is_text_token, is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown, unexpected
from gpu_constructs.facts.aws_limits import ECS_NAME, ECS_NAME_FORM, LARGEST_INTEGER
from gpu_constructs.fleet import UNKNOWN, Unknown, known

MAX_GPU_MEMORY_GIB = 1024
"""More than any GPU has (B300: 269 GiB); a larger number is MiB that were taken for GiB."""

_LARGEST_EXIT_CODE = 255
_MEANT = {**dict.fromkeys(("1", "on", "true", "yes"), True), **dict.fromkeys(("0", "off", "false", "no"), False)}
_NUL = "\0"

_Given = TypeVar("_Given")


class Limits(TypedDict):
    """What a whole number may be, and what is said of another.

    Attributes:
        unit: What it counts; without one it counts nothing, as a port.
        rule: The rule that has the same limits for templates.
    """

    smallest: int
    largest: NotRequired[int]
    unit: NotRequired[str]
    fix: str
    rule: NotRequired[str | None]


def whole_number(argument: str, value: object, **limits: Unpack[Limits]) -> int | Unknown:
    """A whole number within limits, or unknown where it is a token.

    ``True``, 1.0 and a token that is text are refused: the template would hold another value than the user wrote, or
    CDK would refuse them under another name.
    """
    smallest, largest, fix = limits["smallest"], limits.get("largest", LARGEST_INTEGER), limits["fix"]
    if is_token(value):
        if not isinstance(value, str):
            return UNKNOWN
        fix = "value_as_number of the parameter, or cdk.Token.as_number(…) of any other token"
    try:
        number = operator.index(value) if isinstance(value, SupportsIndex) and not isinstance(value, bool) else None
    except TypeError:
        number = None
    if number is None or not smallest <= number <= largest:
        written = value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else ""
        is_whole = not fix.endswith(("]", "}"))  # and no element of a list or a mapping, whose fix is that
        if is_whole and written.isdecimal() and smallest <= int(written[:20]) <= largest:
            fix = f"{argument}={int(written)}"
        if isinstance(value, float) and 0 < value < 1 and limits.get("unit") == "percent":
            fix = f"{argument}={min(round(value * 100), largest)}"
        is_large = number is not None and number > largest
        is_open = largest == LARGEST_INTEGER and not is_large
        within = f"{smallest} or more" if is_open else f"{smallest} to {largest}"
        if number and is_large and limits.get("unit", "").startswith("MiB") and smallest <= number >> 20 <= largest:
            fix = f"{argument}={number >> 20}, where {number} is in bytes"
        raise unexpected(
            argument,
            value,
            f"a whole number of {limits['unit']}" if limits.get("unit") else "a whole number",
            allowed=within,
            fix=fix,
            rule=limits.get("rule"),
        )
    return number


def number_of(value: object, argument: str, **limits: Unpack[Limits]) -> int | Unknown:
    """The same for the field of a frozen value that is named like the argument; keeps the number in it."""
    given = getattr(value, argument)
    number = whole_number(argument, given, **limits)
    object.__setattr__(value, argument, known_or(given, number))
    return number


def known_number(
    argument: str,
    value: object,
    *,
    why: str = "",
    problem: str = "",
    known_by: str = "take the number from context instead of a parameter",
    **limits: Unpack[Limits],
) -> int:
    """A whole number within limits that something is computed from at synth.

    `why` says what cannot be done with a number that is only known at deploy time, or `problem` says all of it, and
    `known_by` what to give instead.
    """
    number = whole_number(argument, value, **limits)
    if isinstance(number, Unknown):
        raise InvalidValueError(
            problem or f"a number that is only known at deploy time {why}",
            argument=argument,
            value=value,
            fix=known_by,
        )
    return number


def exit_code(argument: str, value: object, *, fix: str) -> int:
    """The exit code of a process that failed."""
    return known_number(argument, value, smallest=1, largest=_LARGEST_EXIT_CODE, fix=fix, why="is no exit code")


def whole(number: object) -> object:
    """A number as an integer where it is one: CDK's own signatures say float, and 256.0 reaches the template as 256."""
    return int(number) if isinstance(number, float) and number.is_integer() and not is_token(number) else number


def flag(argument: str, value: object) -> None:
    """Refuses what is neither ``True`` nor ``False``; 1 and a token would be taken for something else."""
    if type(value) is not bool:
        # A value from context is text.
        meant = _MEANT.get(shown(value).strip("' ").lower())
        fix = "leave it out" if meant is None else f"{argument}={meant}"
        raise unexpected(argument, value, "True or False", fix=fix)


def is_positive(value: object, largest: float = inf) -> TypeGuard[float]:
    """Whether this is a finite number above 0 that is known at synth."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and not is_token(value)
    return is_number and 0 < cast("float", value) <= largest and value != inf


def gpu_memory_mib(gib: float) -> int:
    """Memory in MiB that each GPU must have, from the argument ``gpu_memory_gib``."""
    if is_token(gib):
        raise InvalidValueError(
            "a need that is only known at deploy time cannot choose a host",
            argument="gpu_memory_gib",
            fix="gpu_memory_gib=16, known when the app is synthesized",
        )
    if not is_positive(gib, MAX_GPU_MEMORY_GIB):
        raise unexpected(
            "gpu_memory_gib",
            gib,
            "GiB for each GPU",
            allowed=f"a number above 0, up to {MAX_GPU_MEMORY_GIB}",
            fix="gpu_memory_gib=16; 22 for an L4, 44 for an L40S, 79 for an H100",
        )
    return ceil(Fraction(gib) * 1024)


def known_or(given: _Given, checked: _Given | Unknown) -> _Given:
    """The checked value, or what was given where only CDK can resolve it."""
    return given if isinstance(checked, Unknown) else checked


def name(argument: str, value: str, *, fix: str) -> None:
    """Refuses text that ECS does not accept as a name."""
    of_form(argument, value, ECS_NAME, "a name that ECS takes", allowed=ECS_NAME_FORM, fix=fix)


def of_form(
    argument: str, value: object, form: str, what: str, *, allowed: str, fix: str, at_synth: bool = False
) -> None:
    """Refuses text of another form; text that is only resolved at deploy time passes, unless it is needed at synth."""
    is_late = not at_synth and is_text_token(value)
    if not isinstance(value, str) or not (is_late or re.fullmatch(form, value)):
        raise InvalidValueError(
            f"{shown(value)} is not {what}", argument=argument, value=value, allowed=allowed, fix=fix
        )


def texts(argument: str, value: Sequence[str], *, example: str) -> list[str]:
    """A list of text; text alone would be taken letter by letter, and a set has no order."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(each, str) for each in value):
        split = value.split() if isinstance(value, str) and value[:1] != "[" else []
        raise unexpected(argument, value, "a list of text", fix=shown(split) if split else example)
    for each in value:
        _require_no_nul(argument, value, each, shown(each), fix=example)
    return list(value)


def _require_no_nul(argument: str, value: object, text: object, called: str, *, fix: str) -> None:
    if isinstance(text, str) and _NUL in text:
        problem = f"{called} has a NUL character, which no program is given"
        raise InvalidValueError(problem, argument=argument, value=value, fix=fix)


def variables(argument: str, value: Mapping[str, _Given] | None, *, of: type, example: str) -> dict[str, _Given]:
    """Environment variables: names with a value of one type."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise unexpected(argument, value, "a mapping", fix=f"{argument}={example}")
    for key, each in value.items():
        if not isinstance(key, str) or not key or "=" in key or _NUL in key:
            raise InvalidValueError(
                f"{shown(key)} is not the name of a variable", argument=argument, value=key, fix=f"{argument}={example}"
            )
        if not isinstance(each, of):
            kind = f"{of.__module__.rpartition('.')[2].removeprefix('aws_')}.{of.__name__}"
            raise InvalidValueError(
                f"{key} expects {'text' if of is str else kind}, got {shown(each)}",
                argument=argument,
                value=each,
                fix=f"{key!r}: {str(each)!r}" if of is str else f"{argument}={example}",
            )
        _require_no_nul(argument, each, each, key, fix=f"{argument}={example}")
    return dict(value)


def of_kind(argument: str, value: _Given | None, kind: type[_Given], *, example: str) -> _Given:
    """A part as given, or the default one."""
    if value is None:
        return kind()
    require_kind(argument, value, kind, example=example)
    return value


def require_kind(argument: str, value: object, kind: type, *, example: str) -> None:
    """Refuses a value of another class."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        if isinstance(value, Mapping) and value and value.keys() <= signature(kind).parameters.keys():
            example = f"{kind.__name__}({', '.join(f'{name}={shown(given)}' for name, given in value.items())})"
        raise unexpected(argument, value, f"{article} {kind.__name__}", fix=f"{argument}={example}")


def whole_seconds(
    argument: str, value: cdk.Duration, *, smallest: int = 0, largest: int = LARGEST_INTEGER
) -> int | Unknown:
    """A duration in seconds, unknown where it is a token; ECS takes whole ones only."""
    with translated():
        seconds = value.to_seconds(integral=False)
    if is_token(seconds):
        return UNKNOWN
    if seconds % 1 or seconds < smallest or seconds > largest:
        raise InvalidValueError(
            f"expects {'whole seconds' if seconds % 1 else 'a time within the limits'}, got {seconds:.15g} seconds",
            argument=argument,
            value=seconds,
            allowed=f"{smallest} to {largest} seconds",
            fix=f"cdk.Duration.seconds({min(max(ceil(seconds), smallest), largest)})",
        )
    return int(seconds)


def known_seconds(
    argument: str, value: cdk.Duration, *, smallest: int, largest: int = LARGEST_INTEGER, fix: str, why: str
) -> int:
    """A duration in whole seconds within limits; `why` says what one that is only known at deploy time cannot do."""
    if value.is_unresolved():
        raise InvalidValueError(f"a time that is only known at deploy time {why}", argument=argument, fix=fix)
    return known(whole_seconds(argument, value, smallest=smallest, largest=largest))


@cache  # nothing changes it, and it costs a call into Node
def seconds_of(number: int) -> cdk.Duration:
    """A duration as CDK takes it."""
    return cdk.Duration.seconds(number)


def in_words(seconds: int) -> str:
    """A time as a person says it, rounded up to minutes."""
    minutes = ceil(seconds / 60)
    for unit, of_minutes in (("day", 24 * 60), ("hour", 60)):
        if minutes >= 2 * of_minutes or minutes == of_minutes:
            count = minutes / of_minutes
            if count.is_integer():
                return f"{int(count)} {unit}{'s' if count > 1 else ''}"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def require_same_place(
    stack: cdk.Stack, argument: str, *, region: str, account: str | None = None, what: str, why: str
) -> None:
    """Refuses what is certain to be in another region or account than the stack that uses it.

    An `account` of None stands for any.
    """
    places = [("region", stack.region, region)]
    if account is not None:
        places.append(("account", stack.account, account))
    for kind, here, there in places:
        if here != there and not is_token(here) and not is_token(there):
            raise IncompatibleError(
                f"the {what} is in {kind} {there}, and stack {stack.node.path} in {here}, {why}",
                argument=argument,
                value=there,
                allowed=here,
                fix=f"a stack in {kind} {there}, or a {what} in {here}",
            )


def require_same_stage(scope: IConstruct, other: IConstruct, argument: str, *, what: str) -> None:
    """Refuses what another stage or app defines: CDK joins no stacks across them (``NoCrossStageDependency``)."""
    here, there = cdk.Stage.of(scope), cdk.Stage.of(other)
    # jsii gives out new objects for the same stage, and each writes to a directory of its own.
    if here is None or there is None or here is there or here.outdir == there.outdir:
        return
    places = [f"stage {path}" if (path := each.node.path) else "the app itself" for each in (here, there)]
    apart = f"{places[1]}, and is used in {places[0]}" if places[0] != places[1] else "another app"
    raise IncompatibleError(
        f"the {what} is in {apart}: CDK joins no stacks of different stages or apps",
        argument=argument,
        value=places[1],
        fix=f"a {what} in the same stage, or one that is imported there by its name",
    )
