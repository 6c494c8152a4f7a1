"""Warm pools: the hosts that Auto Scaling groups keep prepared."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.fleet import UNKNOWN, WarmPool
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Notes, Section, given

__all__ = ["GroupKey", "warm_pools"]

_WARM_POOL = "AWS::AutoScaling::WarmPool"
_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_NO_LIMIT = -1  # of MaxGroupPreparedCapacity: takes a limit away

GroupKey = tuple[str, str]
"""Stack and logical id of an Auto Scaling group."""


def warm_pools(index: Index, notes: Notes) -> Mapping[GroupKey, WarmPool]:
    """The warm pool of each group that has one."""
    found: dict[GroupKey, WarmPool] = {}
    for resource in index.all(_WARM_POOL):
        properties = Section.of(resource, notes)
        group = index.find(properties.get("AutoScalingGroupName"), _GROUP)
        if group is not None:
            found[group.stack, group.logical_id] = _warm_pool(properties)
    return found


def _warm_pool(properties: Section) -> WarmPool:
    if properties.is_unknown:
        return WarmPool(state=UNKNOWN, min_size=UNKNOWN, max_prepared=UNKNOWN, reuse_on_scale_in=UNKNOWN)
    most = properties.integer("MaxGroupPreparedCapacity")
    reuse = properties.section("InstanceReusePolicy")
    return WarmPool(
        state=given(properties.text("PoolState"), "Stopped"),
        min_size=properties.integer("MinSize") or 0,
        max_prepared=None if most == _NO_LIMIT else most,
        reuse_on_scale_in=UNKNOWN if reuse.is_unknown else reuse.flag("ReuseOnScaleIn") or False,
    )
