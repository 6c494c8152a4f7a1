"""Auto Scaling groups and launch configurations; moto 5.2.5 replaces a group on every update.

The group's other types have modules of their own: `lifecycle_hooks`, `scheduled_actions`, `warm_pools`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import AutoScalingBackend, autoscaling_backends
from moto.core.types import Base64EncodedString
from moto.ecs.models import ecs_backends

from . import autoscaling, host_updates, launch_settings, lifecycle_hooks, warm_pools
from .autoscaling import EmulatedGroup
from .resource import Properties, Region, Resource

if TYPE_CHECKING:
    from .running import RunningEcs

__all__ = ["AutoScalingGroup", "LaunchConfiguration"]


def _backend(region: Region) -> AutoScalingBackend:
    return autoscaling_backends[region.account_id][region.name]


class LaunchConfiguration(Resource):
    """What a group without a launch template launches; moto 5.2.5 decodes no user data of it."""

    type_name = "AWS::AutoScaling::LaunchConfiguration"
    name_property = "LaunchConfigurationName"
    create_only = frozenset({"*"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> LaunchConfiguration:
        user_data, spot = properties.get("UserData"), properties.get("SpotPrice")
        # "For Amazon EC2 Auto Scaling, the default value is true", of DeleteOnTermination in AWS's documentation.
        disks = [
            {**each, "Ebs": {"DeleteOnTermination": True, **each["Ebs"]}} if "Ebs" in each else each
            for each in properties.get("BlockDeviceMappings", [])
        ]
        made = _backend(region).create_launch_configuration(
            name,
            properties["ImageId"],
            properties.get("KeyName"),
            "",
            "",
            properties.get("SecurityGroups", []),
            Base64EncodedString(user_data) if user_data else None,
            properties["InstanceType"],
            instance_monitoring=False,
            instance_profile_name=properties.get("IamInstanceProfile"),
            spot_price=None if spot is None else str(spot),
            ebs_optimized=_flag(properties.get("EbsOptimized")),
            associate_public_ip_address=_flag(properties.get("AssociatePublicIpAddress")),
            block_device_mappings=disks,
        )
        return cls(made.name)

    def remove(self, region: Region) -> None:
        _backend(region).delete_launch_configuration(self.physical_resource_id)


class AutoScalingGroup(Resource):
    """An update changes what is launched next; running instances stay, unless its policy is an instance refresh."""

    type_name = "AWS::AutoScaling::AutoScalingGroup"
    name_property = "AutoScalingGroupName"
    attribute_names = frozenset({"AutoScalingGroupARN"})
    create_only = frozenset({"AutoScalingGroupName", "InstanceId"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> AutoScalingGroup:
        group = _backend(region).create_auto_scaling_group(
            name=name,
            availability_zones=properties.get("AvailabilityZones", []),
            desired_capacity=0,
            max_size=properties["MaxSize"],
            min_size=properties["MinSize"],
            launch_config_name=properties.get("LaunchConfigurationName", ""),
            launch_template=properties.get("LaunchTemplate", {}),
            vpc_zone_identifier=",".join(properties.get("VPCZoneIdentifier", [])) or None,
            default_cooldown=properties.get("Cooldown"),
            health_check_period=properties.get("HealthCheckGracePeriod"),
            health_check_type=properties.get("HealthCheckType"),
            load_balancers=properties.get("LoadBalancerNames", []),
            target_group_arns=properties.get("TargetGroupARNs", []),
            placement_group=properties.get("PlacementGroup"),
            termination_policies=properties.get("TerminationPolicies", []),
            tags=[dict(tag) for tag in properties.get("Tags", [])],
            capacity_rebalance=_flag(properties.get("CapacityRebalance")),
            new_instances_protected_from_scale_in=_flag(properties.get("NewInstancesProtectedFromScaleIn")),
            mixed_instances_policy=properties.get("MixedInstancesPolicy"),
        )
        made = cls(group.name, {"AutoScalingGroupARN": group.arn})
        try:
            made._settle(region, properties)
        except Exception:
            made._end(region)
            raise
        return made

    def _settle(self, region: Region, properties: Properties) -> None:
        """Check what is launched, and launch what is wanted at first."""
        group = self._group(region)
        group.reservations = properties.get("CapacityReservationSpecification")
        for hook in properties.get("LifecycleHookSpecificationList", []):
            lifecycle_hooks.put(region, group.name, hook["LifecycleHookName"], hook)
        _check(group)
        first = int(properties.get("DesiredCapacity") or properties["MinSize"])
        if first:
            autoscaling.launch(group, first)
        if len(autoscaling.instances(group)) < int(properties["MinSize"]):
            reason = group.launch_failures[-1] if group.launch_failures else "no instance came up"
            raise TimeoutError(f"Group did not stabilize. Last scaling activity: {reason}")

    def update(self, region: Region, properties: Properties) -> None:
        group = self._group(region)
        before = group.blueprint
        zones = properties.get("VPCZoneIdentifier", [])
        if group.warm_pool and warm_pools.buys_spot(properties.get("MixedInstancesPolicy")):
            raise ValidationError("You can't request Spot Instances for an Auto Scaling group that has a warm pool")
        group.max_size, group.min_size = int(properties["MaxSize"]), int(properties["MinSize"])
        group.new_instances_protected_from_scale_in = _flag(properties.get("NewInstancesProtectedFromScaleIn"))
        group.mixed_instances_policy = properties.get("MixedInstancesPolicy")
        group.placement_group = properties.get("PlacementGroup")
        group.reservations = properties.get("CapacityReservationSpecification")
        group.capacity_rebalance = _flag(properties.get("CapacityRebalance"))
        group._set_azs_and_vpcs([], ",".join(zones), update=True)
        group._set_launch_configuration(
            properties.get("LaunchConfigurationName", ""),
            properties.get("LaunchTemplate", {}),
            group.mixed_instances_policy,
        )
        _check(group)
        running = autoscaling.instances(group)
        if len(running) > group.max_size:
            autoscaling.terminate(group, running[group.max_size :])
        elif len(running) < group.min_size:
            autoscaling.launch(group, group.min_size - len(running))
        warm_pools.fill(group)
        policy = self.update_policy.get(host_updates.REFRESH)
        if policy is not None and group.blueprint != before:
            ecs = cast("RunningEcs", ecs_backends[region.account_id][region.name])
            host_updates.refresh(ecs, group, policy.get("Preferences") or {})

    def remove(self, region: Region) -> None:
        group = self._group(region)
        protected = [state.instance.id for state in group.instance_states if state.protected_from_scale_in]
        if protected:
            # https://github.com/aws/containers-roadmap/issues/2862
            raise TimeoutError(
                f"Group did not stabilize: instances {', '.join(protected)} are protected from scale-in and are "
                "never terminated by the deletion of their Auto Scaling group"
            )
        if group.warm_pool:
            raise ValidationError("You cannot delete an AutoScalingGroup while it has a warm pool")
        self._end(region)

    def _end(self, region: Region) -> None:
        group = self._group(region)
        autoscaling.terminate(group, autoscaling.instances(group))
        _backend(region).delete_auto_scaling_group(group.name)
        for action in _backend(region).describe_scheduled_actions(group.name):
            _backend(region).delete_scheduled_action(group.name, action.scheduled_action_name)
        for hook in _backend(region).describe_lifecycle_hooks(group.name):
            _backend(region).delete_lifecycle_hook(group.name, hook.name)

    def _group(self, region: Region) -> EmulatedGroup:
        return cast("EmulatedGroup", _backend(region).autoscaling_groups[self.physical_resource_id])


def _check(group: EmulatedGroup) -> None:
    """See that the group can launch what it says, whatever the capacity.

    Raises:
        ValueError: EC2 has no such type.
        ValidationError: Auto Scaling refuses the group.
    """
    autoscaling.sample_hosts(group)
    if reasons := list(dict.fromkeys(launch_settings.refusals(group.settings))):
        raise ValidationError("; ".join(reasons))


def _flag(value: object) -> bool:
    return str(value).lower() == "true"
