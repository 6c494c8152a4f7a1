"""Few combinations that have every pair of choices that any legal combination has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from tests.matrix.choices import Choice, Combination

__all__ = ["Pair", "covering", "one_of_each", "pairs_of"]

Pair = frozenset[Choice]


def pairs_of(chosen: Iterable[Combination]) -> set[Pair]:
    """Every two choices that stand together somewhere."""
    return {frozenset(pair) for each in chosen for pair in combinations(each.choices, 2)}


def covering(legal: Sequence[Combination], chosen: Sequence[Combination] = ()) -> list[Combination]:
    """Those that are chosen already, and more until every pair is there: the one with the most new pairs comes next."""
    masks = _masks(legal)
    missing = _joined(masks.values())
    found = list(chosen)
    for each in found:
        missing &= ~masks[each]
    while missing:
        best = max(legal, key=lambda each: (masks[each] & missing).bit_count())
        missing &= ~masks[best]
        found.append(best)
    return found


def one_of_each(legal: Sequence[Combination], dimensions: int) -> list[Combination]:
    """One for every legal combination of the first dimensions, in which the others take turns; every pair is there."""
    masks = _masks(legal)
    alike: dict[tuple[Choice, ...], list[Combination]] = {}
    for each in legal:
        alike.setdefault(each.choices[:dimensions], []).append(each)
    missing = _joined(masks.values())
    found: list[Combination] = []
    for number, several in enumerate(alike.values()):
        turned = several[number % len(several) :] + several[: number % len(several)]
        best = max(turned, key=lambda each: (masks[each] & missing).bit_count())
        missing &= ~masks[best]
        found.append(best)
    return covering(legal, found)


def _masks(legal: Sequence[Combination]) -> dict[Combination, int]:
    """A bit for each pair: sets are too slow for thousands of combinations."""
    bits: dict[tuple[Choice, Choice], int] = {}
    return {
        each: _joined(1 << bits.setdefault(pair, len(bits)) for pair in combinations(each.choices, 2)) for each in legal
    }


def _joined(masks: Iterable[int]) -> int:
    joined = 0
    for mask in masks:
        joined |= mask
    return joined
