"""What is on each host of a packing: copies of which loads, on which GPUs, and why GPUs are left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpu_constructs.placement.packing import (
    UNITS,
    HostGroup,
    Load,
    Need,
    Packing,
    Room,
    Units,
    copies_on_gpus,
    more_fit,
)
from gpu_constructs.values import dataclass


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of one load.

    Attributes:
        load: The place of the load in `Packing.loads`.
        number: How many.
    """

    load: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedHosts:
    """Hosts with the same copies on them.

    Attributes:
        hosts: How many.
        copies: What is on each.
        free: What is left of each, in the order of `Room.units`.
        shared: The copies on each GPU in sharing mode.
        shared_free: What is left of its memory in MiB.
        lacking: What a host has too little of for one more task that would take the GPUs that are left, in words.
    """

    hosts: int
    copies: tuple[Copies, ...]
    free: Units
    shared: tuple[tuple[Copies, ...], ...]
    shared_free: tuple[int, ...]
    lacking: tuple[str, ...]


def packed_hosts(packing: Packing) -> Iterator[PackedHosts]:
    """The hosts of a packing, those that are alike and follow each other as one.

    Copies of loads that are alike were packed as one: the first hosts get those of the first load.
    """
    left = list(packing.placed)
    lacking_on = lacking_for_gpus(packing)
    for group in packing.groups:
        lacking, hosts = lacking_on(group), group.hosts
        while hosts:
            alike = min([hosts, *(_alike(load, number, left) for load, number in group.taken)])
            copies = tuple([each for load, number in group.taken for each in _dealt(load, number, alike, left)])
            yield PackedHosts(
                hosts=alike,
                copies=copies,
                free=group.free,
                shared=_on_gpus(copies, packing.loads, packing.room),
                shared_free=group.shared,
                lacking=lacking,
            )
            hosts -= alike


def lacking_for_gpus(packing: Packing) -> Callable[[HostGroup], tuple[str, ...]]:
    """What hosts lack, in words, so that GPUs are left though a task of the packing would take them.

    The answer is empty for a host that has no GPU left, that takes one more of these tasks, or that has too few GPUs
    left for any.
    """
    of_gpus = list(dict.fromkeys(each.need for each in packing.loads if each.copies and each.need.units[0]))

    def lacking(group: HostGroup) -> tuple[str, ...]:
        idle = group.free[0]
        if not idle or any(more_fit(need, group, packing.room) for need in of_gpus):
            return ()
        # The smallest of those that the idle GPUs were enough for says what is missing.
        enough = min((need for need in of_gpus if need.units[0] <= idle), key=lambda need: need.units, default=None)
        return () if enough is None else _exhausted(enough, group)

    return lacking


def _exhausted(need: Need, group: HostGroup) -> tuple[str, ...]:
    """What a host with tasks on it has too little of for one more, in words."""
    return tuple(unit for unit, free, asked in zip(UNITS, group.free, need.units, strict=True) if asked > free)


def _alike(load: Load, number: int, left: Sequence[int]) -> int:
    """Hosts in a row that get their copies from the same loads."""
    for place in load.stands_for:
        if left[place]:
            return max(1, left[place] // number)
    return 1


def _dealt(load: Load, number: int, hosts: int, left: list[int]) -> Iterator[Copies]:
    """The copies on each of some hosts that are alike, taken from what is left of each load."""
    for place in load.stands_for:
        here = min(number, left[place] // hosts)
        if here:
            left[place] -= here * hosts
            number -= here
            yield Copies(place, here)


def _on_gpus(copies: Sequence[Copies], loads: Sequence[Load], room: Room) -> tuple[tuple[Copies, ...], ...]:
    free = list(room.shared)
    gpus: list[list[Copies]] = [[] for _ in free]
    for each in copies:
        need = loads[each.load].need
        if not need.shared_mib:
            continue
        for place, here in enumerate(copies_on_gpus(need, each.number, free, room)):
            if place == len(gpus):
                gpus.append([])
                free.append(room.gpu_memory_mib)
            if here:
                gpus[place].append(Copies(each.load, here))
                free[place] -= here * need.shared_mib
    return tuple(map(tuple, gpus))
