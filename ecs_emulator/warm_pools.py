"""Warm pools of Auto Scaling groups: hosts that booted once and wait, stopped or running.

moto 5.2.5 keeps the settings of a pool and no hosts. Here a pool holds as many as its formula says
(MaxGroupPreparedCapacity, or the group's maximum, less its desired capacity, and no fewer than MinSize), scaling out
takes from it first, and a pool is refused where AWS refuses it: with a mixed instances policy or Spot instances
(https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html). A host of a running pool whose
agent is not told ``ECS_WARM_POOLS_CHECK=true`` joins its cluster before it is in service. Not modelled: hibernation,
reuse on scale in, what a stopped host forgets.
"""

from __future__ import annotations

from typing import Any, cast

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import AutoScalingBackend, FakeWarmPool, autoscaling_backends
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult
from moto.ec2.models.instances import Instance

from . import lifecycle_hooks
from .autoscaling import EmulatedGroup
from .launch_settings import SPOT
from .launching import LaunchError, launch_one
from .resource import Properties, Region, Resource

__all__ = ["WarmPool", "agent_starts", "fill", "install"]

CHECK = "ECS_WARM_POOLS_CHECK=true"


def fill(group: EmulatedGroup) -> None:
    """Launch what the pool lacks, terminate what it has too much of; nothing for a group without a pool."""
    group.warm = [instance for instance in group.warm if instance.state in ("running", "stopped")]
    pool = group.warm_pool
    wanted = _size(group, pool) if pool else 0
    group.end(group.warm[wanted:])
    while pool and len(group.warm) < wanted:
        try:
            instance = launch_one(group, group.settings)
        except LaunchError as error:
            group.launch_failures.append(str(error))
            return
        instance.autoscaling_group = group  # type: ignore[attr-defined]
        if lifecycle_hooks.rejects(group, instance):
            group.end([instance])
            continue
        instance.warmed = pool.pool_state  # type: ignore[attr-defined]
        if pool.pool_state == "Stopped":
            instance.stop()
        group.warm.append(instance)


def agent_starts(instance: Instance) -> bool:
    """Whether the ECS agent of an instance registers it: not while it is warm and told to check."""
    group: EmulatedGroup | None = getattr(instance, "autoscaling_group", None)
    if group is None or instance not in group.warm:
        return True
    return CHECK not in (group.user_data.decode() if group.user_data else "")


def _size(group: EmulatedGroup, pool: FakeWarmPool) -> int:
    most = pool.max_group_prepared_capacity
    ceiling = int(group.max_size or 0) if most is None or int(most) < 0 else int(most)
    return max(ceiling - int(group.desired_capacity or 0), int(pool.min_size), 0)


def refuse_with(group: EmulatedGroup) -> None:
    """See that the group may have a warm pool.

    A mixed instances policy may stand beside one since November 2025, as long as nothing of it is spot:
    https://aws.amazon.com/about-aws/whats-new/2025/11/ec2-auto-scaling-warm-pool-mixed-instances-policies/

    Raises:
        ValidationError: It may not.
    """
    if group.settings.market == SPOT or buys_spot(group.mixed_instances_policy):
        raise ValidationError("You can't add a warm pool to an Auto Scaling group that requests Spot Instances")


def buys_spot(policy: Properties | None) -> bool:
    """Whether some hosts of a mixed instances policy are spot."""
    distribution = (policy or {}).get("InstancesDistribution") or {}
    return int(distribution.get("OnDemandPercentageAboveBaseCapacity", 100)) < 100


class WarmPool(Resource):
    """The resource type; there is one pool per group, and ``Ref`` gives the group's name."""

    type_name = "AWS::AutoScaling::WarmPool"
    create_only = frozenset({"AutoScalingGroupName"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> WarmPool:
        made = cls(properties["AutoScalingGroupName"])
        made.update(region, properties)
        return made

    def update(self, region: Region, properties: Properties) -> None:
        most, least = properties.get("MaxGroupPreparedCapacity"), properties.get("MinSize")
        _backend(region).put_warm_pool(
            self.physical_resource_id,
            int(most) if most is not None else None,
            int(least) if least is not None else None,
            properties.get("PoolState"),
            properties.get("InstanceReusePolicy"),
        )

    def remove(self, region: Region) -> None:
        _backend(region).delete_warm_pool(self.physical_resource_id)


def _backend(region: Region) -> AutoScalingBackend:
    return autoscaling_backends[region.account_id][region.name]


def _put(self: AutoScalingBackend, group_name: str, *settings: Any, **named: Any) -> None:
    group = self.autoscaling_groups.get(group_name)
    if not isinstance(group, EmulatedGroup):
        raise ValidationError(f"AutoScalingGroup name not found - {group_name}")
    refuse_with(group)
    group.put_warm_pool(*settings, **named)
    fill(group)


def _delete(self: AutoScalingBackend, group_name: str) -> None:
    group = cast("EmulatedGroup", self.autoscaling_groups[group_name])
    group.warm_pool = None
    group.end(list(group.warm))


def _describe(self: AutoScalingResponse) -> ActionResult:
    group = cast("EmulatedGroup", self.autoscaling_backend.autoscaling_groups[self._get_param("AutoScalingGroupName")])
    instances = [
        {
            "InstanceId": instance.id,
            "InstanceType": instance.instance_type,
            "AvailabilityZone": instance.availability_zone,
            "LifecycleState": f"Warmed:{instance.state.capitalize()}",
            "HealthStatus": "Healthy",
            "ProtectedFromScaleIn": False,
        }
        for instance in group.warm
    ]
    return ActionResult({"WarmPoolConfiguration": group.warm_pool, "Instances": instances})


def install() -> None:
    """Answer the operations on warm pools."""
    setattr(AutoScalingBackend, "put_warm_pool", _put)  # noqa: B010
    setattr(AutoScalingBackend, "delete_warm_pool", _delete)  # noqa: B010
    setattr(AutoScalingResponse, "describe_warm_pool", _describe)  # noqa: B010
