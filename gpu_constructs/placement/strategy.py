"""How a capacity provider strategy splits the tasks of a service over its providers.

The base goes to its provider first, the rest by weight; the split does not look at where there is room, and a task that
was meant for a full provider waits for it
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html). How a number that
the weights do not divide is rounded is written nowhere, so each provider has a least and a most.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_constructs.fleet import StrategyItem, Unknown, Workload, known
from gpu_constructs.placement.memo import by_identity
from gpu_constructs.values import dataclass

_ROUNDED_UP = 0.1
"""Part of a copy from which on rounding may make it one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Copies that go to one provider.

    Attributes:
        item: The provider.
        least: Copies at least.
        most: Copies at most; None if that is not known.
        rest: The part of a copy that its weight gives it besides `least`.
    """

    item: StrategyItem
    least: int
    most: int | None
    rest: float = 0.0

    @property
    def may_be_rounded_up(self) -> bool:
        """Whether rounding may make its rest a copy; the weights of our fallback orders, 1 beside 1,000, leave less."""
        return self.rest >= _ROUNDED_UP


def readings(strategy: Sequence[StrategyItem], copies: int) -> tuple[tuple[Share, ...], ...]:
    """How copies are split, once with the base of providers with a weight of 0 and once without these providers."""
    weighted = tuple(each for each in strategy if each.weight != 0)
    honoured = split(strategy, copies, copies, counts_every_base=True)
    is_one = not weighted or all(each.weight != 0 or each.base == 0 for each in strategy)
    return (honoured,) if is_one else (honoured, split(weighted, copies, copies))


def split(
    strategy: Sequence[StrategyItem], least: int, most: int | None, *, counts_every_base: bool = False
) -> tuple[Share, ...]:
    """Copies of a service that go to each provider of its strategy.

    Args:
        strategy: The providers.
        least: Copies at least.
        most: Copies at most; None if that is not known.
        counts_every_base: Whether the base of a provider with a weight of 0 certainly counts; else it may.
    """
    if len(strategy) == 1:  # a single provider takes all of them, its weight of 0 among them
        return (Share(item=strategy[0], least=least, most=most),)
    weights = [item.weight for item in strategy]
    bases = [item.base for item in strategy]
    known_weights = [each for each in weights if not isinstance(each, Unknown)]
    known_bases = [each for each in bases if not isinstance(each, Unknown)]
    total = sum(known_weights)
    is_known = len(known_weights) + len(known_bases) == 2 * len(strategy)
    if not is_known or total <= 0 or min(*known_weights, *known_bases) < 0:
        return tuple(Share(item=item, least=0, most=most) for item in strategy)
    # "Capacity providers with a weight of 0 can't be used to place tasks" and "the base is satisfied first": of a base
    # on such a provider the page says both, so it may come or go.
    of_none = sum(base for base, weight in zip(known_bases, known_weights, strict=True) if not weight)
    doubtful = 0 if counts_every_base else of_none
    base = sum(known_bases)
    return tuple(
        Share(
            item=item,
            least=0 if doubtful and not weight else min(own, least) + max(0, least - base) * weight // total,
            most=None if most is None else min(most, own + -(-max(0, most - base + doubtful) * weight // total)),
            rest=max(0, least - base) * weight % total / total,
        )
        for item, weight, own in zip(strategy, known_weights, known_bases, strict=True)
    )


def spared_by(workload: Workload) -> frozenset[str]:
    """Names of pools that get no copy while there are as many as are wanted, because the base of another comes first.

    Where none is wanted one counts; where the number is only known at deploy time no pool is spared.
    """
    wanted = workload.desired_count
    if isinstance(wanted, Unknown) or not any(each.base for each in workload.strategy):
        return frozenset()
    copies = max(1, wanted, known(workload.min_count or 0))
    shares = [(each.item.pool, each.most) for each in split(workload.strategy, copies, copies)]
    used = {pool.name for pool, most in shares if pool is not None and most != 0}
    return frozenset([pool.name for pool, _ in shares if pool is not None]) - used


@by_identity(maxsize=1 << 12)
def items_with_tasks(strategy: Sequence[StrategyItem]) -> tuple[StrategyItem, ...]:
    """Items of a strategy that may get tasks: without those that have neither weight nor base while others have one."""
    weighted = any(item.weight != 0 for item in strategy)
    return tuple(item for item in strategy if not weighted or item.weight != 0 or item.base != 0)
