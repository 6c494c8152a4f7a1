"""Things that several pools use, such as subnets: who has to share what, so that nothing is promised twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Pool, Unknown
from gpu_constructs.placement.reasons import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Things, and the pools that have no others.

    Attributes:
        ids: The ids of the things; they have to be enough for all of these pools.
        pools: The pools.
    """

    ids: frozenset[str]
    pools: tuple[Pool, ...]

    @property
    def unknown(self) -> tuple[str, ...]:
        """The pools of which it is not known how many hosts they can have."""
        return tuple(each.name for each in self.pools if isinstance(each.max_instances, Unknown))

    @property
    def hosts(self) -> int:
        """Hosts at MaxSize of all pools of which that is known."""
        return sum(0 if isinstance(each.max_instances, Unknown) else each.max_instances for each in self.pools)

    @property
    def names(self) -> str:
        """Whose they are, such as `` of A and B``; empty for one pool."""
        return "" if len(self.pools) == 1 else f" of {listed([each.name for each in self.pools])}"


def shares(own: Iterable[str], used: Sequence[tuple[Pool, frozenset[str]]]) -> Iterator[Share]:
    """What a pool has for itself, then with all pools that share something with it, or with one that does.

    Args:
        own: What it can use.
        used: All pools with what they can use, this one among them.
    """
    ids, before = frozenset(own), frozenset[str]()
    found = ids
    while found != before:
        before = found
        found = found.union(*(each for _, each in used if each & found))
    for of in dict.fromkeys((ids, found)):
        yield Share(ids=of, pools=tuple(pool for pool, each in used if each and each <= of))
