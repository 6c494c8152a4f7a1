"""The cheapest hosts are as cheap as those that trying every way finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_constructs.placement.packing import Load, Need, Room
from gpu_constructs.planning.host_mix import HostOffer, cheapest_mix
from tests.examples import times

STEPS = 200_000
PORT = (8080, "tcp")


def need(gpus: int = 0, cpu: int = 0, *, shared: int = 0, port: bool = False) -> Need:
    return Need(units=(gpus, 0, cpu, 0, 0), shared_mib=shared, ports=frozenset({PORT} if port else ()))


def offer(price: int, gpus: int, cpu: int, *needs: Need | None, memory: int = 0) -> HostOffer:
    return HostOffer(price=price, room=Room(units=(gpus, 0, cpu, 0, 0), gpu_memory_mib=memory), needs=needs)


@dataclass
class Opened:
    """A host of the search that tries every way, which shares nothing with the one of the library."""

    gpus: int
    cpu: int
    memory: int
    shared: list[int] = field(default_factory=list)
    ports: int = 0
    loads: list[int] = field(default_factory=list)


def placed(host: Opened, load: Load, place: int, one: Need) -> list[Opened]:
    """The host after one copy, once for each GPU that it may share."""
    gpus, cpu = host.gpus - one.units[0], host.cpu - one.units[2]
    if gpus < 0 or cpu < 0 or (one.ports and host.ports) or (load.distinct and place in host.loads):
        return []
    after = [(gpus, host.shared)]
    if one.shared_mib:
        after = [
            (gpus, [*host.shared[:at], left - one.shared_mib, *host.shared[at + 1 :]])
            for at, left in enumerate(host.shared)
            if left >= one.shared_mib
        ]
        if gpus and host.memory >= one.shared_mib:
            after.append((gpus - 1, [*host.shared, host.memory - one.shared_mib]))
    return [
        Opened(left, cpu, host.memory, shared, host.ports + len(one.ports), [*host.loads, place])
        for left, shared in after
    ]


def by_every_way(offers: list[HostOffer], loads: list[Load]) -> int | None:
    """The least price of hosts for all copies, placed one after the other wherever they may be."""
    copies = [place for place, load in enumerate(loads) for _ in range(load.copies)]
    best: int | None = None

    def place_next(at: int, hosts: list[tuple[HostOffer, Opened]], price: int) -> None:
        nonlocal best
        if best is not None and price >= best:
            return
        if at == len(copies):
            best = price
            return
        place = copies[at]
        for index, (of, host) in enumerate(hosts):
            one = of.needs[place]
            for after in placed(host, loads[place], place, one) if one is not None else ():
                place_next(at + 1, [*hosts[:index], (of, after), *hosts[index + 1 :]], price)
        for of in offers:
            one = of.needs[place]
            empty = Opened(of.room.units[0], of.room.units[2], of.room.gpu_memory_mib)
            for after in placed(empty, loads[place], place, one) if one is not None else ():
                place_next(at + 1, [*hosts, (of, after)], price + of.price)

    place_next(0, [], 0)
    return best


NEEDS = st.builds(need, st.integers(0, 3), st.integers(0, 4), shared=st.sampled_from((0, 0, 3, 5)), port=st.booleans())
LOADS = st.lists(st.tuples(NEEDS, st.integers(0, 2), st.booleans()), min_size=1, max_size=3)
HOSTS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 6)), min_size=1, max_size=3)


@given(LOADS, HOSTS, st.data())
@settings(max_examples=times(50))
def test_it_is_as_cheap_as_trying_every_way(
    loads: list[tuple[Need, int, bool]], hosts: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    runs = [[data.draw(st.integers(0, 5)) > 0 for _ in loads] for _ in hosts]
    offers = [
        offer(price, gpus, cpu, *(one if can else None for (one, _, _), can in zip(loads, of, strict=True)), memory=8)
        for (price, gpus, cpu), of in zip(hosts, runs, strict=True)
    ]
    wanted = [Load(need=one, copies=copies, distinct=distinct) for one, copies, distinct in loads]
    found, left = cheapest_mix(offers, wanted, steps=STEPS)
    assert left >= 0
    best = by_every_way(offers, wanted)
    assert (None if found is None else found.price) == best
    if found is not None:
        assert sum(number * each.price for number, each in zip(found.hosts, offers, strict=True)) == found.price
        assert cheapest_mix(offers, wanted, below=found.price, steps=STEPS)[0] is None


def test_a_host_need_not_take_as_many_of_the_hardest_as_it_can() -> None:
    large, small = need(0, 4), need(0, 3)  # two times 4 + 3 + 3, and not 4 + 4 first
    loads = [Load(need=large, copies=2), Load(need=small, copies=4)]
    found, _ = cheapest_mix([offer(1, 1, 10, large, small)], loads, steps=STEPS)
    assert found is not None
    assert found.hosts == (2,)


def test_many_copies_of_one_task_take_no_longer_than_hosts_there_are() -> None:
    one = need(1, 2)
    offers = [offer(10, 1, 4, one), offer(36, 4, 48, one), offer(90, 8, 96, one)]
    found, left = cheapest_mix(offers, [Load(need=one, copies=1003)], steps=STEPS)
    assert found is not None
    assert found.hosts == (3, 250, 0)
    assert Fraction(found.price, 1003) < 10
    assert left > 0


def test_a_search_that_takes_too_long_has_no_answer() -> None:
    needs = [need(gpus, cpu) for gpus in (1, 2, 3) for cpu in (1, 2, 3)]
    offers = [offer(7, 5, 11, *needs), offer(11, 8, 17, *needs)]
    found, left = cheapest_mix(offers, [Load(need=each, copies=9) for each in needs], steps=500)
    assert found is None
    assert left < 0


@pytest.mark.parametrize("loads", [[], [Load(need=need(1), copies=0)]])
def test_nothing_takes_no_host(loads: list[Load]) -> None:
    found, _ = cheapest_mix([offer(7, 1, 1, *(each.need for each in loads))], loads, steps=10)
    assert found is not None
    assert found.hosts == (0,)
