"""The launch template of a capacity, that every host is made from, and its Auto Scaling group: how many, bought how."""

from __future__ import annotations

from functools import cache
from typing import cast

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from gpu_constructs.cluster.capacity.network import NetworkResources
from gpu_constructs.cluster.capacity.plan import CapacityPlan
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts.own_image import image_metadata
from gpu_constructs.fleet import DECLARED_IMAGE, METADATA_KEY


def launch_template(
    scope: Construct,
    hosts: ClusterHosts,
    plan: CapacityPlan,
    user_data: ec2.UserData,
    network: NetworkResources,
) -> ec2.LaunchTemplate:
    """Defines the launch template of a capacity.

    Raises:
        IncompatibleError: The image is of Windows.
    """
    made = ec2.LaunchTemplate(
        scope,
        "LaunchTemplate",
        machine_image=plan.machine_image.to_machine_image(),
        instance_type=instance_type_named(plan.choice.instance_types[0]),
        instance_profile=hosts.instance_profile,
        security_group=hosts.security_group,
        user_data=user_data,
        block_devices=plan.storage.volumes(plan.machine_image.host_image.image, hosts.encryption_key),
        associate_public_ip_address=plan.pool.interfaces[0].public_address is True,
        require_imdsv2=True,
        http_put_response_hop_limit=1,
        placement_group=network.placement_group,
    )
    custom = plan.machine_image.machine_image
    if custom is not None and made.os_type is ec2.OperatingSystemType.WINDOWS:
        raise IncompatibleError(
            "the image is of Windows, which reads no user data for Linux, so its hosts never join the cluster",
            argument="image",
            value=custom,
            fix="GpuMachineImage.custom(…) with an AMI of Amazon Linux or Bottlerocket",
        )
    if plan.machine_image.host_image.is_own:
        cast("ec2.CfnLaunchTemplate", made.node.default_child).add_override(
            f"Metadata.{METADATA_KEY}.{DECLARED_IMAGE}", image_metadata(plan.machine_image.host_image.image)
        )
    data = {**plan.adds.launch_template, **network.launch_template_data(hosts.security_group)}
    if data:
        # Into the value that CDK's construct writes, which has no argument for it.
        resource = cast("ec2.CfnLaunchTemplate", made.node.default_child)
        resource.add_property_override("LaunchTemplateData", data)
    return made


@cache  # nothing changes it, and it costs a call into Node
def instance_type_named(name: str) -> ec2.InstanceType:
    """An instance type as CDK takes it."""
    return ec2.InstanceType(name)


def auto_scaling_group(
    scope: Construct, hosts: ClusterHosts, plan: CapacityPlan, launch_template: ec2.LaunchTemplate
) -> autoscaling.AutoScalingGroup:
    """Defines the Auto Scaling group of a capacity, its warm pool and its schedule."""
    mixed = _mixed(plan, launch_template)
    made = autoscaling.AutoScalingGroup(
        scope,
        "Group",
        vpc=hosts.vpc,
        vpc_subnets=plan.subnets.selection,
        launch_template=None if mixed else launch_template,
        mixed_instances_policy=mixed,
        min_capacity=plan.choice.min_instances,
        max_capacity=plan.choice.max_instances,
        update_policy=plan.scaling.update_policy(plan.pool),
    )
    node, adds = made.node, plan.adds
    # Hosts without a way out get no packages at their first boot, and those that are deleted before it stop no task, so
    # that the deletion of their service never ends (CDK issues 21348 and 18179).
    node.add_dependency(*plan.subnets.way_out)
    if adds.group or adds.update_policy or adds.metadata:
        resource = cast("autoscaling.CfnAutoScalingGroup", node.default_child)
        for name, property_value in adds.group.items():
            setattr(resource, name, property_value)
        for key, value in adds.update_policy.items():
            resource.add_override(f"UpdatePolicy.{key}", value)
        for key, value in adds.metadata.items():
            # An override, since add_metadata would replace what others say about the group under this key.
            resource.add_override(f"Metadata.{METADATA_KEY}.{key}", value)
    if plan.purchase.schedule is not None:
        plan.purchase.schedule.add_to(scope, made, max_instances=plan.choice.max_instances)
    if plan.scaling.warm_hosts is not None:
        plan.scaling.warm_hosts.add_to(scope, made)
    return made


def _mixed(plan: CapacityPlan, launch_template: ec2.LaunchTemplate) -> autoscaling.MixedInstancesPolicy | None:
    """Several types need a mixed instances policy, and so does spot, whose allocation has no other place."""
    types = plan.choice.instance_types
    distribution = plan.purchase.instances_distribution()
    if distribution is None and len(types) == 1:
        return None
    return autoscaling.MixedInstancesPolicy(
        launch_template=launch_template,
        # Weights are left out, since ECS managed scaling does not know them.
        launch_template_overrides=[
            autoscaling.LaunchTemplateOverrides(instance_type=instance_type_named(each)) for each in types
        ],
        instances_distribution=distribution
        or autoscaling.InstancesDistribution(
            on_demand_percentage_above_base_capacity=100,
            on_demand_allocation_strategy=autoscaling.OnDemandAllocationStrategy.PRIORITIZED,
        ),
    )
