"""A capacity provider strategy: which provider each task of a request goes to.

The split depends on the strategy alone, not on where there is room: a task meant for a full provider waits for it
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Share", "distribute"]


@dataclass(frozen=True)
class Share:
    """One provider of a strategy.

    Args:
        provider: Its name.
        weight: Its part of the tasks beyond every base.
        base: How many tasks go to it first.
    """

    provider: str
    weight: int = 0
    base: int = 0


def distribute(count: int, strategy: Sequence[Share]) -> tuple[str, ...]:
    """Name the provider of each of `count` tasks: the bases first, then by weight.

    Raises:
        ValueError: The strategy is one that ECS refuses.
    """
    if not strategy or not any(share.weight for share in strategy):
        raise ValueError("at least one capacity provider must have a weight above 0")
    if sum(1 for share in strategy if share.base) > 1:
        raise ValueError("only one capacity provider of a strategy can have a base")
    names = [share.provider for share in strategy for _ in range(share.base)][:count]
    beyond: Counter[str] = Counter()
    weighted = [share for share in strategy if share.weight]
    while len(names) < count:
        least = min(weighted, key=lambda share: (beyond[share.provider] + 1) / share.weight)
        beyond[least.provider] += 1
        names.append(least.provider)
    return tuple(names)
