"""How a service replaces its tasks with the GPUs there are."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.hardware.aws_limits import MAX_PERCENT
from gpu_constructs.placement import rollout_percentages
from gpu_constructs.placement.rollout import percent_for_one_less

_PERCENTAGES = "GPU283"


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentages:
    """The percentages of a rolling deployment.

    Attributes:
        least: Tasks that keep running; of a token any number, since the token is written.
        most: Tasks that may run at once; likewise.
        are_tokens: Which of them are only known at deploy time.
    """

    least: int
    most: int
    are_tokens: tuple[bool, bool]


def percentages(
    count: int | Unknown, room: int | Unknown, *, min_healthy_percent: int | None, max_healthy_percent: int | None
) -> Percentages:
    """Percentages that let a deployment go on.

    Raises:
        InvalidValueError: One is wrong by itself, or they leave a deployment nothing to do.
    """
    low, high = given_percentages(min_healthy_percent, max_healthy_percent)
    least, most = rollout_percentages(count, room, low, high)
    return Percentages(least=least, most=most, are_tokens=(isinstance(low, Unknown), isinstance(high, Unknown)))


def given_percentages(
    min_healthy_percent: int | None, max_healthy_percent: int | None
) -> tuple[int | Unknown | None, int | Unknown | None]:
    """The percentages of a deployment as far as they are known.

    Raises:
        InvalidValueError: One is wrong by itself, or they leave a deployment nothing to do.
    """
    low = _percent("min_healthy_percent", min_healthy_percent)
    high = _percent("max_healthy_percent", max_healthy_percent)
    if isinstance(low, int) and isinstance(high, int) and low >= high:
        raise InvalidValueError(
            f"{low} % that keep running and {high} % at most leave a deployment nothing to do",
            argument="min_healthy_percent",
            value=low,
            allowed=f"less than {high}",
            fix="leave both out for percentages that let a deployment go on",
        )
    return low, high


def scaled_percentages(
    most: int, room: int | Unknown, *, min_healthy_percent: int | None, max_healthy_percent: int | None
) -> Percentages:
    """Percentages that let a deployment go on at every number of tasks up to the most."""
    if min_healthy_percent is None and max_healthy_percent is None and not isinstance(room, Unknown):
        # Twice one task is one more, at every number below the room; at the room itself, one stops first.
        least = MAX_PERCENT if most < room else percent_for_one_less(most)
        return Percentages(least=least, most=2 * MAX_PERCENT, are_tokens=(False, False))
    return percentages(UNKNOWN, room, min_healthy_percent=min_healthy_percent, max_healthy_percent=max_healthy_percent)


def _percent(argument: str, value: int | None) -> int | Unknown | None:
    if value is None:
        return None
    fix = "leave it out for one that lets a deployment go on"
    if argument.startswith("max"):
        return whole_number(argument, value, smallest=MAX_PERCENT, unit="percent", fix=fix, rule=_PERCENTAGES)
    return whole_number(argument, value, smallest=0, largest=MAX_PERCENT, unit="percent", fix=fix, rule=_PERCENTAGES)
