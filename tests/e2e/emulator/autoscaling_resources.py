"""The ``AWS::AutoScaling::*`` types. moto 5.2.5 replaces a group on every update and skips lifecycle hooks."""

from __future__ import annotations

from typing import Any

from moto.autoscaling.models import AutoScalingBackend, FakeAutoScalingGroup, autoscaling_backends

from . import autoscaling
from .resource import Properties, Region, Resource

__all__ = ["AutoScalingGroup", "LifecycleHook"]


def _backend(region: Region) -> AutoScalingBackend:
    return autoscaling_backends[region.account_id][region.name]


class AutoScalingGroup(Resource):
    """An update changes what is launched next; the instances that run stay, as on AWS without an update policy."""

    type_name = "AWS::AutoScaling::AutoScalingGroup"
    name_property = "AutoScalingGroupName"
    attribute_names = frozenset({"AutoScalingGroupARN"})
    create_only = frozenset({"AutoScalingGroupName"})

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
            autoscaling.sample_hosts(
                group
            )  # a type that EC2 does not have is an error here, not a host that is missing
        except ValueError:
            made.remove(region)
            raise
        first = int(properties.get("DesiredCapacity") or properties["MinSize"])
        if first:
            autoscaling.launch(group, first)
        return made

    def update(self, region: Region, properties: Properties) -> None:
        group = self._group(region)
        zones = properties.get("VPCZoneIdentifier", [])
        group.max_size, group.min_size = int(properties["MaxSize"]), int(properties["MinSize"])
        group.new_instances_protected_from_scale_in = _flag(properties.get("NewInstancesProtectedFromScaleIn"))
        group.mixed_instances_policy = properties.get("MixedInstancesPolicy")
        group._set_azs_and_vpcs([], ",".join(zones), update=True)
        group._set_launch_configuration(
            properties.get("LaunchConfigurationName", ""),
            properties.get("LaunchTemplate", {}),
            group.mixed_instances_policy,
        )
        running = autoscaling.instances(group)
        if len(running) > group.max_size:
            autoscaling.terminate(group, running[group.max_size :])
        elif len(running) < group.min_size:
            autoscaling.launch(group, group.min_size - len(running))

    def remove(self, region: Region) -> None:
        group = self._group(region)
        protected = [state.instance.id for state in group.instance_states if state.protected_from_scale_in]
        if protected:
            # https://github.com/aws/containers-roadmap/issues/2862
            raise TimeoutError(
                f"Group did not stabilize: instances {', '.join(protected)} are protected from scale-in and are "
                "never terminated by the deletion of their Auto Scaling group"
            )
        autoscaling.terminate(group, autoscaling.instances(group))
        _backend(region).delete_auto_scaling_group(group.name)

    def _group(self, region: Region) -> FakeAutoScalingGroup:
        return _backend(region).autoscaling_groups[self.physical_resource_id]


class LifecycleHook(Resource):
    """Kept and described, never waited for."""

    type_name = "AWS::AutoScaling::LifecycleHook"
    name_property = "LifecycleHookName"
    create_only = frozenset({"AutoScalingGroupName", "LifecycleHookName"})

    def __init__(self, name: str, group: str) -> None:
        super().__init__(name)
        self._group = group

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> LifecycleHook:
        hook = cls(name, properties["AutoScalingGroupName"])
        hook.update(region, properties)
        return hook

    def update(self, region: Region, properties: Properties) -> None:
        _backend(region).create_lifecycle_hook(
            self.physical_resource_id,
            self._group,
            properties["LifecycleTransition"],
            properties.get("HeartbeatTimeout"),
            properties.get("DefaultResult", "ABANDON"),
        )

    def remove(self, region: Region) -> None:
        _backend(region).delete_lifecycle_hook(self._group, self.physical_resource_id)


def _flag(value: Any) -> bool:
    return str(value).lower() == "true"
