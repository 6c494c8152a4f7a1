"""How many hosts of one kind some tasks need at least, however they are packed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from gpu_constructs.placement.packing import UNITS, Load, Room, copies_per_host
from gpu_constructs.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Hosts that no packing can do without.

    Attributes:
        hosts: How many.
        of: What it is that they are needed for, in words.
    """

    hosts: int
    of: str


def least_hosts(loads: Sequence[Load], room: Room) -> Bound | None:
    """Hosts that any packing needs at least; None if no number of them is enough."""
    if any(load.copies and not copies_per_host(load.need, room) for load in loads):
        return None
    return max(_bounds([each for each in loads if each.copies], room), key=lambda bound: bound.hosts)


def _bounds(loads: Sequence[Load], room: Room) -> Iterator[Bound]:
    yield Bound(hosts=0, of="nothing")
    for index, available in enumerate(room.units):
        sizes: dict[int, int] = {}
        for load in loads:
            size = load.need.units[index]
            if size:
                sizes[size] = sizes.get(size, 0) + load.copies
        if sizes:
            yield Bound(hosts=_least_of_one_resource(sizes, available), of=UNITS[index])
    for load in loads:
        yield Bound(
            hosts=-(-load.copies // min(load.most, copies_per_host(load.need, room))), of="a host for each copy"
        )
    memory = room.gpu_memory_mib
    if any(load.need.shared_mib for load in loads):
        asked = sum(load.copies * (load.need.units[0] * memory + load.need.shared_mib) for load in loads)
        yield Bound(hosts=-(-asked // (room.units[0] * memory + sum(room.shared))), of="GPU memory")
    by_port: dict[tuple[int, str], int] = {}
    for load in loads:
        for port in load.need.ports:
            by_port[port] = by_port.get(port, 0) + load.copies
    for (number, protocol), copies in by_port.items():
        yield Bound(hosts=copies, of=f"host port {number}/{protocol}")


def _least_of_one_resource(sizes: Mapping[int, int], available: int) -> int:
    """Hosts that copies of these sizes need at least, were there no other resource.

    Bound L2 of Martello and Toth (Lower bounds and reduction procedures for the bin packing problem, 1990): next to a
    copy that takes more than all but `small`, nothing of `small` or more has room, and no two large ones share a host.
    Sums up to each size answer for every `small`, so the time grows with the sizes and hardly faster.

    Args:
        sizes: What one copy takes to how many there are; none takes more than a host has.
        available: What a host has.
    """
    ordered = sorted(sizes)
    copies = (0, *accumulate(sizes[size] for size in ordered))
    volume = (0, *accumulate(size * sizes[size] for size in ordered))
    half = bisect_right(ordered, available // 2)
    least = 0
    for begin, small in ((0, 0), *enumerate(ordered[:half])):
        large = bisect_right(ordered, available - small)
        beside_large = (copies[large] - copies[half]) * available - (volume[large] - volume[half])
        more = max(0, -(-(volume[half] - volume[begin] - beside_large) // available))
        least = max(least, copies[-1] - copies[half] + more)
    return least
