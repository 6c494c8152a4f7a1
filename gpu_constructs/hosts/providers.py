"""A capacity provider in the words of ECS: its name, and its place in a strategy."""

from __future__ import annotations

from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.arguments import known_or, whole_number
from gpu_constructs.cdk.tokens import is_text_token
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.hardware.aws_limits import ECS_NAME_FORM, MAX_BASE, MAX_WEIGHT, is_ecs_name, reserved_prefix

__all__ = ["require_provider_name", "strategy_item"]


def require_provider_name(value: str | None) -> None:
    """Refuses a name that ECS takes for no capacity provider.

    Args:
        value: As given; None where CloudFormation makes one.

    Raises:
        InvalidValueError: It is no such name.
    """
    if value is None or (is_text_token(value) and not reserved_prefix(value)):
        return
    if not isinstance(value, str) or not is_ecs_name(value) or reserved_prefix(value):
        raise InvalidValueError(
            f"ECS takes no capacity provider called {shown(value)}",
            argument="capacity_provider_name",
            value=value,
            allowed=f"{ECS_NAME_FORM}, not beginning with aws, ecs or fargate",
            fix="leave it out, and CloudFormation makes a name that is never taken",
        )


def strategy_item(provider: str, *, weight: int, base: int | None) -> ecs.CapacityProviderStrategy:
    """A provider as an item of a capacity provider strategy.

    Args:
        provider: Its name.
        weight: Relative share of the tasks above every base, 0 to 1000.
        base: Tasks that run there before any other provider gets one, 0 to 100000; None for none.

    Raises:
        InvalidValueError: A number is not within these limits.
    """
    share = whole_number("weight", weight, smallest=0, largest=MAX_WEIGHT, unit="shares", fix="weight=1")
    first = (
        None if base is None else whole_number("base", base, smallest=0, largest=MAX_BASE, unit="tasks", fix="base=1")
    )
    return ecs.CapacityProviderStrategy(
        capacity_provider=provider,
        weight=known_or(weight, share),
        base=None if base is None or first is None else known_or(base, first),
    )
