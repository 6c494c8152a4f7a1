"""Every rule by id, and the check that asks all of them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from gpu_constructs.errors import UnknownNameError
from gpu_constructs.fleet import Fleet
from gpu_constructs.rules import (
    attributes,
    availability,
    batch,
    batch_jobs,
    boot_check,
    cluster_membership,
    constraints,
    container_lists,
    containers,
    counts,
    cpu_share,
    efa,
    efa_devices,
    elsewhere,
    fit,
    gpu_needs,
    group_settings,
    host_kinds,
    image_parameters,
    images,
    instance_requirements,
    instance_types,
    keys,
    launch,
    local_disks,
    managed,
    names,
    neuron,
    placing,
    platform,
    ports,
    provider_kinds,
    purchase,
    quotas,
    remarks,
    requests,
    reservations,
    room,
    scaling,
    service_settings,
    sharing,
    strategies,
    subnets,
    type_lists,
    unplaced,
    user_data,
    warm_pools,
    whole_fleet,
)
from gpu_constructs.rules.finding import Finding
from gpu_constructs.rules.rule import Rule

__all__ = ["RULES", "check", "find_rule"]

_MODULES = (
    attributes,
    availability,
    batch,
    batch_jobs,
    boot_check,
    cluster_membership,
    constraints,
    container_lists,
    containers,
    counts,
    cpu_share,
    efa,
    efa_devices,
    elsewhere,
    fit,
    gpu_needs,
    group_settings,
    host_kinds,
    image_parameters,
    images,
    instance_requirements,
    instance_types,
    keys,
    launch,
    local_disks,
    managed,
    names,
    neuron,
    placing,
    platform,
    ports,
    provider_kinds,
    purchase,
    quotas,
    remarks,
    requests,
    reservations,
    room,
    scaling,
    service_settings,
    sharing,
    strategies,
    subnets,
    type_lists,
    unplaced,
    user_data,
    warm_pools,
    whole_fleet,
)

RULES: tuple[Rule, ...] = tuple(
    sorted((each for module in _MODULES for each in module.RULES), key=lambda each: each.id)
)
"""Every rule, in the order of the ids."""


def check(fleet: Fleet, *, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Everything that the rules have to say about a fleet: errors first, then by rule, in the order of the fleet.

    Args:
        fleet: What was asked for.
        rules: Which rules to ask; by default all.
    """
    found = (finding for each in rules for finding in each.findings(fleet))
    return tuple(sorted(dict.fromkeys(found), key=lambda each: (each.severity.rank, each.rule)))


def find_rule(id: str) -> Rule:  # noqa: A002 - the word of the data
    """Looks a rule up.

    Args:
        id: Such as ``GPU001``, in any case.

    Raises:
        UnknownNameError: No rule has this id; carries the nearest ids.
    """
    by_id = {each.id: each for each in RULES}
    wanted = id.strip().upper()
    if wanted not in by_id:
        nearest = tuple(get_close_matches(wanted[:64], by_id, n=3, cutoff=0.6))
        raise UnknownNameError(f"no rule {id!r}", value=id, nearest=nearest)
    return by_id[wanted]
