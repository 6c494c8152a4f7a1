"""The cheapest hosts on which some copies of tasks have room: an exact search.

Each kind of host has a price, and copies of different tasks share hosts. One step opens one host: of some kind, with
a set of copies to which no further one can be added, the hardest of the copies that are left among them. Any best
solution can be brought into that form, because a copy that is moved to a host with room leaves no host dearer. The
steps are searched in the order of what they cost at least (A*: Hart, Nilsson and Raphael, A Formal Basis for the
Heuristic Determination of Minimum Cost Paths, 1968), so the first way to the end is a cheapest one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from functools import lru_cache

from gpu_constructs.placement.packing import Load, Need, Room, copies_per_host
from gpu_constructs.values import dataclass

_SCALE = 1000  # parts of a price in the rates of the bound
_STEPS_ON_A_HOST = 5_000

_State = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOffer:
    """A kind of host that can be had.

    Attributes:
        price: What one costs, in whole units of any currency.
        room: What it has for tasks.
        needs: What one copy of each load takes of it; None for one that it cannot run.
    """

    price: int
    room: Room
    needs: tuple[Need | None, ...]

    def takes_at_most(self, load: Load, place: int) -> int:
        """Copies of one load that it takes by itself."""
        need = self.needs[place]
        return 0 if need is None else min(load.most, load.copies, copies_per_host(need, self.room))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Hosts of each offer that take everything.

    Attributes:
        price: Of all hosts.
        hosts: How many of each offer, in their order.
    """

    price: int
    hosts: tuple[int, ...]


class _TooManySteps(Exception):  # noqa: N818 - it ends a search, and nothing is wrong
    """The search takes longer than it may."""


class _Steps:
    """Counts steps down."""

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self) -> None:
        """Takes one.

        Raises:
            _TooManySteps: There is none left.
        """
        self.left -= 1
        if self.left < 0:
            raise _TooManySteps


def cheapest_mix(
    offers: Sequence[HostOffer], loads: Sequence[Load], *, below: int | None = None, steps: int
) -> tuple[Mix | None, int]:
    """The cheapest hosts on which all copies have room.

    Args:
        offers: Kinds of hosts.
        loads: Copies of tasks; what one takes is said by each offer.
        below: A price that it has to be below; None for any.
        steps: Steps of the search at most.

    Returns:
        The mix, None where there is none below that price, and how many steps are left; fewer than none where the
        search was given up.
    """
    budget = _Steps(steps)
    try:
        return _search(offers, loads, below, budget), budget.left
    except _TooManySteps:
        return None, -1


def _search(offers: Sequence[HostOffer], loads: Sequence[Load], below: int | None, steps: _Steps) -> Mix | None:
    alone = [[offer.takes_at_most(load, place) for offer in offers] for place, load in enumerate(loads)]
    if any(load.copies and not any(most) for load, most in zip(loads, alone, strict=True)):
        return None
    # The copies of which the fewest go on a host first: they leave the fewest ways.
    order = sorted(range(len(loads)), key=lambda place: (max(alone[place], default=0), place))
    rates = _rates(offers, loads, alone)
    start = tuple(load.copies for load in loads)
    least: dict[_State, int] = {start: 0}
    came: dict[_State, tuple[_State, int]] = {}
    # Of those that cost the same at least, the one with the most hosts is nearest to the end.
    heap = [(_bound(rates, start), 0, start)]
    while heap:
        at_least, unspent, state = heapq.heappop(heap)
        spent = -unspent
        if below is not None and at_least >= below:
            return None
        if spent > least[state]:
            continue
        if not any(state):
            return Mix(price=spent, hosts=_hosts(came, state, len(offers)))
        for place, offer in enumerate(offers):
            for taken in _fillings(offer, loads, state, order, steps):
                left = tuple(have - here for have, here in zip(state, taken, strict=True))
                cost = spent + offer.price
                if cost < least.get(left, cost + 1):
                    least[left], came[left] = cost, (state, place)
                    heapq.heappush(heap, (cost + _bound(rates, left), -cost, left))
    return None


def _hosts(came: dict[_State, tuple[_State, int]], state: _State, offers: int) -> tuple[int, ...]:
    hosts = [0] * offers
    while state in came:
        state, place = came[state]
        hosts[place] += 1
    return tuple(hosts)


def _rates(offers: Sequence[HostOffer], loads: Sequence[Load], alone: list[list[int]]) -> list[tuple[int, ...]]:
    """For each thing that hosts have, the least that one copy of each load costs, were that all that hosts have."""
    units = range(len(offers[0].room.units))
    rates = [
        tuple(
            min(
                _SCALE * offer.price * need.units[unit] // offer.room.units[unit]
                for offer, most in zip(offers, alone[place], strict=True)
                if most and (need := offer.needs[place]) is not None and offer.room.units[unit]
            )
            if load.copies and all(offer.room.units[unit] for offer in offers)
            else 0
            for place, load in enumerate(loads)
        )
        for unit in units
    ]
    for place in range(len(loads)):
        known = [_SCALE * offer.price // most for offer, most in zip(offers, alone[place], strict=True) if most]
        rates.append(tuple(min(known, default=0) if at == place else 0 for at in range(len(loads))))
    return [each for each in dict.fromkeys(rates) if any(each)]


def _bound(rates: Sequence[tuple[int, ...]], state: _State) -> int:
    """What hosts for some copies cost at least."""
    return max((sum(map(int.__mul__, each, state)) for each in rates), default=0) // _SCALE


def _fillings(
    offer: HostOffer, loads: Sequence[Load], state: _State, order: Sequence[int], steps: _Steps
) -> Iterator[_State]:
    """Sets of copies that fill one host: the first of those that are left, and no room for one more of any."""
    waiting = [place for place in order if state[place]]
    taken = [0] * len(state)

    def fill(at: int, host: _Host) -> Iterator[_State]:
        steps.take()
        if at == len(waiting):
            if not any(
                taken[place] < state[place] and host.most(offer.needs[place], loads[place].most - taken[place])
                for place in waiting
            ):
                yield tuple(taken)
            return
        place = waiting[at]
        need = offer.needs[place]
        most = min(state[place], host.most(need, loads[place].most))
        # Of the last there are as many as go on it, and at least one of the first.
        fewest = max(most if at == len(waiting) - 1 else 0, 0 if at else 1)
        for copies in range(most, fewest - 1, -1):
            after = host if need is None else host.with_copies(need, copies)
            if after is not None:
                taken[place] = copies
                yield from fill(at + 1, after)
        taken[place] = 0

    yield from fill(0, _Host(offer.room, offer.room.units, (), offer.room.ports))


@dataclass(frozen=True, slots=True)
class _Host:
    """One host with copies on it.

    Attributes:
        room: What it has without any.
        free: What is left, GPUs that are shared not taken off.
        shares: Memory of the copies that share a GPU with others, and how many there are of each size.
        ports: Ports that are taken.
    """

    room: Room
    free: tuple[int, ...]
    shares: tuple[tuple[int, int], ...]
    ports: frozenset[tuple[int, str]]

    def most(self, need: Need | None, limit: int) -> int:
        """Copies that have room, `limit` at most."""
        if need is None or need.ports & self.ports:
            return 0
        most = min([limit, *(self.free[unit] // amount for unit, amount in need.asked)])
        most = min(most, 1) if need.ports else most
        if need.shared_mib:
            most = min(most, self.room.units[0] * (self.room.gpu_memory_mib // need.shared_mib))
        while most > 0 and (need.shared_mib or self.shares) and self.with_copies(need, most) is None:
            most -= 1
        return max(0, most)

    def with_copies(self, need: Need, copies: int) -> _Host | None:
        """The host with more copies; None where their GPUs have no room for all."""
        if not copies:
            return self
        free = tuple([left - copies * asked for left, asked in zip(self.free, need.units, strict=True)])
        shares = self.shares
        if need.shared_mib:
            shares = tuple(sorted((*shares, (need.shared_mib, copies)), reverse=True))
        if shares and free[0] < _gpus_shared(shares, self.room.gpu_memory_mib):
            return None
        return _Host(self.room, free, shares, self.ports | need.ports)


@lru_cache(maxsize=4096)
def _gpus_shared(shares: tuple[tuple[int, int], ...], memory_mib: int) -> int:
    """GPUs that copies share at least: the same search, with GPUs as hosts and memory as all that they have."""
    needs = tuple(Need(units=(size,)) for size, _ in shares)
    loads = tuple(Load(need=need, copies=copies) for need, (_, copies) in zip(needs, shares, strict=True))
    gpu = HostOffer(price=1, room=Room(units=(memory_mib,)), needs=needs)
    found = _search((gpu,), loads, None, _Steps(_STEPS_ON_A_HOST))
    return 1 << 30 if found is None else found.price
