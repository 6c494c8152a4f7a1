"""Numbers that users give, checked the same way everywhere."""

from __future__ import annotations

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.tokens import is_token

__all__ = ["whole_number"]


def whole_number(
    argument: str, value: int, *, smallest: int, largest: int | None = None, unit: str, fix: str
) -> int | Unknown:
    """A whole number within limits, or unknown where it is a token.

    ``True`` and 1.0 are refused: both would reach the template as something else than the user wrote.

    Args:
        argument: The argument, as the user spells it.
        value: What was given.
        smallest: The smallest number allowed.
        largest: The largest number allowed; None for no limit.
        unit: What is counted, such as ``hosts`` or ``MiB``.
        fix: The likely fix.

    Raises:
        InvalidValueError: It is not a whole number, or out of the limits.
    """
    if is_token(value):
        return UNKNOWN
    if type(value) is int and smallest <= value and (largest is None or value <= largest):
        return value
    raise InvalidValueError(
        f"expects a whole number of {unit}, got {value!r}",
        argument=argument,
        value=value,
        allowed=f"{smallest} or more" if largest is None else f"{smallest} to {largest}",
        fix=fix,
    )
