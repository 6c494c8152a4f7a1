"""What each pool of a fleet offers to a task beside the daemons that run on its hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from gpu_constructs.fleet import INSTANCE_ATTRIBUTES, Fleet, Pool, Unknown, Workload
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.fit import beside
from gpu_constructs.placement.memo import by_identity
from gpu_constructs.placement.pool_profile import Daemon, PoolProfile, profile_of
from gpu_constructs.placement.reach import pools_of, unjudged
from gpu_constructs.placement.reasons import listed

_MOST_DAEMONS = 50
"""Daemons of one cluster that are told apart; with more it is not known what they leave."""


def offer_of(fleet: Fleet, pool: Pool, workload: Workload | None = None) -> PoolProfile:
    """What a pool offers to tasks of a workload beside the daemons of the fleet; to daemons what there is without."""
    found = None if workload is not None and workload.daemon is True else _with_daemons(fleet).get(pool.name)
    offer = profile_of(pool) if found is None else found
    apart = "" if workload is None else _apart(workload, pool)
    return _with_interfaces_apart(offer, apart) if apart else offer


@lru_cache(maxsize=1024)
def _with_interfaces_apart(offer: PoolProfile, apart: str) -> PoolProfile:
    return replace(offer, apart=apart)


def _apart(workload: Workload, pool: Pool) -> str:
    """Why no host can attach a network interface of its tasks, which must be in its zone; empty where one may.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-eni.html
    """
    pairs = [(one, other) for one in workload.subnets for other in pool.subnets]
    if not pairs or not all(one.is_apart(other) for one, other in pairs):
        return ""
    zones = tuple(dict.fromkeys(each.zone for each in workload.subnets if each.zone))
    return f"is in no zone of the subnets of its tasks{f' ({listed(zones)})' if zones else ''}"


@by_identity(maxsize=4)
def _with_daemons(fleet: Fleet) -> Mapping[str, PoolProfile]:
    """The offers of pools with daemons, by their names."""
    daemons = [each for each in fleet.workloads if each.daemon is True and id(each) not in unjudged(fleet)]
    if not daemons:
        return {}
    sent = _sent_to(fleet)
    somewhere = {each.name: each for each in fleet.pools if isinstance(each.cluster, Unknown)}
    told = {name for pool in fleet.pools for name, _ in profile_of(pool).attributes}
    found: dict[str, tuple[Pool, list[Daemon]]] = {}
    met = Counter[str | Unknown | None]()
    for each in daemons:
        met[each.cluster] += 1
        if met[each.cluster] > _MOST_DAEMONS:
            continue
        is_known = each.task is not None and met[each.cluster] < _MOST_DAEMONS
        demand = demand_of(each.task, each.constraints) if each.task is not None and is_known else None
        certain, possible = {pool.name: pool for pool in pools_of(fleet, each)}, dict[str, Pool]()
        if isinstance(each.cluster, Unknown):
            possible = {} if each.strategy else somewhere  # what has no cluster that is known may be together
        elif each.cluster is not None and not each.strategy:
            certain |= sent.get(each.cluster, {})
        for name, pool in (possible | certain).items():
            absent = frozenset[str]() if demand is None or not demand.expressions else _absent(pool, told)
            daemon = Daemon(name=each.name, demand=demand, is_certain=name in certain, absent=absent)
            found.setdefault(name, (pool, []))[1].append(daemon)
    return {name: beside(profile_of(pool), there) for name, (pool, there) in found.items()}


def _absent(pool: Pool, told: Iterable[str]) -> frozenset[str]:
    """Attributes of other pools that no user data of this one sets."""
    written = pool.user_data.get(INSTANCE_ATTRIBUTES) or ""
    is_whole = pool.user_data.complete and isinstance(written, str)
    return frozenset([name for name in told if is_whole and f'"{name}"' not in str(written)])


def _sent_to(fleet: Fleet) -> Mapping[str, Mapping[str, Pool]]:
    """Pools by cluster and name: hosts that a strategy names are in the cluster of the service."""
    found: dict[str, dict[str, Pool]] = {}
    for each in fleet.workloads:
        if isinstance(each.cluster, str):
            found.setdefault(each.cluster, {}).update({pool.name: pool for pool in pools_of(fleet, each)})
    return found
