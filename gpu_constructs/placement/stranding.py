"""GPUs that no task can have though they are free, because something else of their host is used up first."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_constructs.placement.packing import UNITS, HostGroup, Need, Packing, more_fit
from gpu_constructs.placement.proof import Stranded

__all__ = ["stranded_in"]


def stranded_in(packing: Packing, needs: Sequence[Need]) -> tuple[Stranded, ...]:
    """GPUs that stay idle on hosts with tasks, though one of these tasks would take them if the host had more else."""
    of_gpus = list(dict.fromkeys(need for need in needs if need.units[0]))
    found: dict[tuple[int, tuple[str, ...]], int] = {}
    for group in packing.groups:
        idle = group.free[0]
        if not idle or any(more_fit(need, group, packing.room) for need in of_gpus):
            continue
        # The smallest of those that the idle GPUs were enough for says what is missing.
        enough = min((need for need in of_gpus if need.units[0] <= idle), key=lambda need: need.units, default=None)
        missing = _exhausted(enough, group) if enough is not None else ()
        if missing:
            found[idle, missing] = found.get((idle, missing), 0) + group.hosts
    return tuple(
        Stranded(hosts=hosts, gpus=idle, gpus_per_host=packing.room.units[0], exhausted=missing)
        for (idle, missing), hosts in found.items()
    )


def _exhausted(need: Need, group: HostGroup) -> tuple[str, ...]:
    """What a host with tasks on it has too little of for one more, in words."""
    return tuple(unit for unit, free, asked in zip(UNITS, group.free, need.units, strict=True) if asked > free)
