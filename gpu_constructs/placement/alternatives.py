"""Instance types on which a task does fit, for the fix of one that does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from gpu_constructs.fleet import Pool, PoolKind, Task
from gpu_constructs.hardware import Architecture, InstanceType, accelerated, general
from gpu_constructs.hardware.catalogue import by_size, is_offered
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.fit import on_host
from gpu_constructs.placement.memo import by_identity
from gpu_constructs.placement.needs import unmet_needs
from gpu_constructs.placement.pool_profile import PoolProfile, profile_of

_ANY_POOL = PoolProfile()
_KINDS = (PoolProfile(reserved_mib=0), PoolProfile(reserved_mib=0, kind=PoolKind.MANAGED_INSTANCES))


def alternatives(task: Task, *, like: Pool | None = None) -> tuple[InstanceType, ...]:
    """Instance types on which a task fits and which serve its needs, smallest first.

    Those of the families of `like` come first. Only types that a region offered when the catalogue was recorded are
    among them, the region of `like` where that is known. Placement constraints do not count, because a list of types
    excludes every other, nor do values that are only known at deploy time.

    Args:
        task: What is to run.
        like: The pool that it does not fit: the architecture of its types, its agents' settings and its kind count.
    """
    demand = _in_numbers(demand_of(task))
    offer = _ANY_POOL if like is None else profile_of(like)
    needs = any(container.needs is not None for container in task.containers)
    fitting = [
        each
        for each in _fitting(demand, offer, None if like is None else like.region)
        if not needs or not unmet_needs(task, each)
    ]
    families = {each.family for each in offer.instance_types}
    return tuple(sorted(fitting, key=lambda each: each.family not in families))


def runs_somewhere(task: Task) -> bool:
    """Whether any instance type of the catalogue, offered or not, may run a task that asks for accelerators."""
    return _may_run(demand_of(task))


@by_identity(maxsize=1024)
def _may_run(demand: Demand) -> bool:
    return _runs_somewhere(_in_numbers(demand))


def _in_numbers(demand: Demand) -> Demand:
    return replace(demand, expressions=(), unknown=(), windows=False)


@lru_cache(maxsize=1024)
def _runs_somewhere(demand: Demand) -> bool:
    return any(on_host(demand, each, offer).answer is not False for each in _largest_first() for offer in _KINDS)


@lru_cache(maxsize=1)
def _largest_first() -> tuple[InstanceType, ...]:
    return tuple(sorted(accelerated(), key=lambda each: (-each.gpus, -each.memory_mib)))


@lru_cache(maxsize=1024)
def _fitting(demand: Demand, offer: PoolProfile, region: str | None) -> tuple[InstanceType, ...]:
    among = (each for each in _candidates(demand, offer, region) if on_host(demand, each, offer).answer is True)
    return tuple(sorted(among, key=by_size))


def _candidates(demand: Demand, offer: PoolProfile, region: str | None) -> Iterator[InstanceType]:
    architectures = {each.architecture for each in offer.instance_types}
    for each in accelerated() if demand.wants_accelerator else general():
        # What says nothing of its architecture is built for x86_64, unless its hosts are arm64.
        alike = demand.architecture is not None or each.architecture in (architectures or {Architecture.X86_64})
        if alike and is_offered(each, region):
            yield each
