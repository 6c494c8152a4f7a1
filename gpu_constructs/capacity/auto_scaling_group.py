"""The Auto Scaling group of a capacity: how many hosts, of which types, bought how."""

from __future__ import annotations

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from gpu_constructs.capacity.launch_template import instance_type_named
from gpu_constructs.capacity.part import HostGroup
from gpu_constructs.capacity.plan import CapacityPlan
from gpu_constructs.fleet import METADATA_KEY
from gpu_constructs.hosts.cluster_hosts import ClusterHosts


def auto_scaling_group(
    scope: Construct, hosts: ClusterHosts, plan: CapacityPlan, launch_template: ec2.LaunchTemplate
) -> HostGroup:
    """Defines the Auto Scaling group of a capacity, and what its parts need besides it."""
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
        update_policy=plan.parts.scaling.update_policy(plan.pool),
    )
    group = HostGroup(made, plan.choice.max_instances, hosts)
    # Hosts without a way out get no packages at their first boot, and those that are deleted before it stop no task, so
    # that the deletion of their service never ends (CDK issues 21348 and 18179).
    group.node.add_dependency(*plan.subnets.way_out)
    for name, property_value in plan.adds.group.items():
        setattr(group.resource, name, property_value)
    for key, value in plan.adds.update_policy.items():
        group.resource.add_override(f"UpdatePolicy.{key}", value)
    for key, value in plan.adds.metadata.items():
        # An override, since add_metadata would replace what others say about the group under this key.
        group.resource.add_override(f"Metadata.{METADATA_KEY}.{key}", value)
    for part in plan.parts:
        part.add_to(scope, group)
    return group


def _mixed(plan: CapacityPlan, launch_template: ec2.LaunchTemplate) -> autoscaling.MixedInstancesPolicy | None:
    """Several types need a mixed instances policy, and so does spot, whose allocation has no other place."""
    types = plan.choice.instance_types
    distribution = plan.parts.purchase.instances_distribution()
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
