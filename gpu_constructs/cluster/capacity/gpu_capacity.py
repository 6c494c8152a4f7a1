"""Capacity of a cluster: defined here, or of an Auto Scaling group that another stack or app has made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct
from typing_extensions import Unpack

from gpu_constructs.cdk.calls import stack_of, written_if_refused
from gpu_constructs.cdk.kinds import checked, names_checked
from gpu_constructs.cdk.validation import announce, warn
from gpu_constructs.cluster.capacity.host_mounts import HostMount
from gpu_constructs.cluster.capacity.join_deadline import shutdown_of
from gpu_constructs.cluster.capacity.network import interfaces_data, network_resources
from gpu_constructs.cluster.capacity.plan import (
    CapacityChoice,
    CapacityOptions,
    CapacityPlan,
    naming_options,
    plan_capacity,
)
from gpu_constructs.cluster.capacity.purchase import schedule_block
from gpu_constructs.cluster.capacity.user_data import host_lines
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.hosts.given_cluster import AsCluster, require_gpu_cluster
from gpu_constructs.cluster.hosts.network import HostSubnets
from gpu_constructs.cluster.hosts.providers import ProviderCapacity
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts.own_image import image_metadata
from gpu_constructs.fleet import DECLARED_IMAGE, METADATA_KEY, UNKNOWN, Pool, known
from gpu_constructs.rules import check_alone

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms


class ImportedGpuCapacity(ProviderCapacity):
    """Capacity that another stack or app has made, and that tasks and services here use; it defines no resource.

    Made by `GpuCapacity.from_attributes`, where the arguments are explained. It has the attributes of
    `ProviderCapacity` too.

    Attributes:
        mounts: Shared storage that every host mounts; see `HostStorage`.
    """

    @checked
    def __init__(self, scope: Construct, construct_id: str, *, hosts: ClusterHosts, choice: CapacityChoice) -> None:
        stack_of(scope)
        plan = plan_capacity(choice, hosts)
        super().__init__(
            scope,
            construct_id,
            hosts=hosts,
            pool=plan.pool,
            instance_type_names=plan.instance_types,
        )
        self.mounts: tuple[HostMount, ...] = tuple(plan.storage.mounts)
        self.capacity_provider_name = cast("str", choice.capacity_provider_name)


def require_known_groups(capacity: Iterable[Construct]) -> None:
    """Refuses capacity whose hosts are in security groups that are not known, so that no rule could be made for them.

    Its cluster was imported without them, or is of this stack, where CDK adds none for a capacity provider.
    """
    for each in capacity:
        if isinstance(each, ImportedGpuCapacity) and not each.hosts.groups_are_known:
            raise IncompatibleError(
                f"the security groups of the hosts of {each.pool.name} are not known, and no rule can name them",
                argument="capacity",
                value=each.pool.name,
                fix="cluster.connections.add_security_group(*hosts.connections.security_groups), with the ecs.Cluster "
                "and the Auto Scaling group of the hosts, before the service is defined"
                if each.hosts.association.is_written_by_cdk
                else "security_groups=[…] in ecs.Cluster.from_cluster_attributes, those of the hosts",
            )


class GpuCapacity(ProviderCapacity):
    """Defines a launch template, an Auto Scaling group and an ECS capacity provider over it.

    Hosts run in private subnets without public addresses, take metadata requests with IMDSv2 tokens only and not from
    containers in bridge mode (hop limit 1), keep container images on an encrypted gp3 volume, and are reached through
    Session Manager. ECS managed scaling moves the group with the tasks, and managed draining lets the tasks of a
    leaving host end first. A changed AMI or type is for hosts that start later; running ones are only replaced by a
    `HostReplacement`, or when hosts become spot or on demand, which Auto Scaling then changes one by one
    (https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_UpdateAutoScalingGroup.html). Serves CPU pools as
    well.

    Made by `GpuCluster.add_capacity`, where the arguments are explained. It has the attributes of `ProviderCapacity`
    too.

    Attributes:
        subnets: Where its hosts run.
        encryption_key: Of its hosts' volumes and of the default log groups of tasks; None for keys of AWS.
        launch_template: The launch template; its user data may be added to.
        auto_scaling_group: The Auto Scaling group.
        placement_group: The placement group of its hosts; None without.
        efa_security_group: Through which its hosts reach each other by EFA; None without EFA.
        mounts: Shared storage that every host mounts; see `HostStorage`.
        comes_first: Whether services fill it before they use any other capacity; see `GpuCluster.add_fallback`.
    """

    def __init__(self, scope: Construct, construct_id: str, *, hosts: ClusterHosts, plan: CapacityPlan) -> None:
        super().__init__(
            scope,
            construct_id,
            hosts=hosts,
            pool=plan.pool,
            instance_type_names=plan.instance_types,
        )
        before_join, after_join = host_lines(
            plan.machine_image.host_image.image.operating_system,
            cluster_name=None if hosts.association.is_written_by_cdk else hosts.cluster_name,
            settings=plan.adds.agent,
            prepare=plan.adds.boot_commands,
        )
        user_data = ec2.UserData.custom("\n".join(before_join))
        self.subnets: HostSubnets = plan.subnets
        self.encryption_key: kms.IKey | None = hosts.encryption_key
        near, of_efa = network_resources(self, network=plan.network, pool=plan.pool, vpc=hosts.vpc)
        self.placement_group: ec2.IPlacementGroup | None = near
        self.efa_security_group: ec2.ISecurityGroup | None = of_efa
        self.comes_first = plan.comes_first
        self.mounts: tuple[HostMount, ...] = tuple(plan.storage.mounts)
        self.launch_template: ec2.LaunchTemplate = _launch_template(self, hosts, plan, user_data)
        group = _auto_scaling_group(self, hosts, plan, self.launch_template)
        self.auto_scaling_group: autoscaling.AutoScalingGroup = group
        for each in self.mounts:
            each.let_in(hosts)
        name = plan.capacity_provider_name
        self.provider: ecs.AsgCapacityProvider = plan.scaling.provider(
            self, group, plan.pool, name=name or hosts.provider_name(self)
        )
        hosts.association.attach(self.provider, name)
        if last := (*after_join, *plan.adds.last_commands):
            user_data.add_commands(*last)
        announce_zones(self, self.pool)
        bought, most = self.pool.bought.distribution, self.pool.max_instances
        base = 0 if bought is None else known(bought.on_demand_base, otherwise=0)
        if base > known(most, otherwise=base):
            text = f"no host is ever a Spot host: on_demand_base is {base}, and max_instances is {most}"
            warn(self, "on-demand-base", f"{text}; a lower on_demand_base, or Purchase.on_demand()")

    @staticmethod
    @naming_options
    @written_if_refused
    @names_checked
    def from_attributes(
        scope: Construct,
        construct_id: str,
        *,
        cluster: AsCluster,
        capacity_provider_name: str,
        instance_types: Sequence[str],
        max_instances: int,
        **options: Unpack[CapacityOptions],
    ) -> ImportedGpuCapacity:
        """Capacity of an Auto Scaling group that another stack or app has made, for tasks and services here.

        Tasks are checked against what is said here as against capacity of `GpuCluster.add_capacity`, whose arguments
        these are; hosts are taken to be set up as those are. Nothing is made, and the cluster's list of capacity
        providers is left alone.

        Args:
            scope: Where it is defined.
            construct_id: Its id in that scope.
            cluster: The cluster that it belongs to, such as ``GpuCluster(self, "Gpu", cluster=imported)``.
            capacity_provider_name: Name of its capacity provider, which may be an export or a parameter.
            instance_types: What it may launch.
            max_instances: Hosts at most.
            **options: The other arguments, explained at `CapacityOptions`: what the hosts are.
        """
        require_gpu_cluster(cluster)
        choice = CapacityChoice(
            construct_id,
            instance_types=instance_types,
            max_instances=max_instances,
            capacity_provider_name=capacity_provider_name,
            **options,
        )
        return ImportedGpuCapacity(scope, construct_id, hosts=cluster.hosts, choice=choice)


def announce_zones(scope: Construct, pool: Pool) -> None:
    """Shows at hosts what their subnets may mean for them."""
    if pool.way_out.lacks_public_address is True or pool.zones_are_open:
        # Whether its user wants a placement group is for the user to say.
        announce(scope, check_alone(replace(pool, placement_group=UNKNOWN), rules=("GPU095", "GPU228")))


def launch_template_of(
    scope: Construct,
    plan: CapacityPlan,
    user_data: ec2.UserData,
    *,
    group: ec2.ISecurityGroup,
    of_efa: ec2.ISecurityGroup | None,
    key: kms.IKey | None,
    arguments: Mapping[str, Any] | None = None,
) -> ec2.LaunchTemplate:
    """Defines the launch template of hosts of a cluster or of AWS Batch, which are in the security group `group`.

    `arguments` are those of CDK's launch template that hosts of AWS Batch do not have.
    """
    image = plan.machine_image.host_image.image
    made = ec2.LaunchTemplate(
        scope,
        "LaunchTemplate",
        user_data=user_data,
        block_devices=plan.storage.volumes(image, key),
        require_imdsv2=True,
        http_put_response_hop_limit=1,
        instance_initiated_shutdown_behavior=shutdown_of(image.operating_system),
        **plan.adds.launch_arguments,
        **(arguments or {}),
    )
    data = {**plan.adds.launch_template, **interfaces_data(plan.pool, group, of_efa)}
    if data:
        # Into the value that CDK's construct writes, which has no argument for it.
        cast("ec2.CfnLaunchTemplate", made.node.default_child).add_property_override("LaunchTemplateData", data)
    return made


def _launch_template(
    scope: GpuCapacity, hosts: ClusterHosts, plan: CapacityPlan, user_data: ec2.UserData
) -> ec2.LaunchTemplate:
    made = launch_template_of(
        scope,
        plan,
        user_data,
        group=hosts.security_group,
        of_efa=scope.efa_security_group,
        key=hosts.encryption_key,
        arguments={
            "machine_image": plan.machine_image.to_machine_image(),
            "instance_type": _instance_type_named(plan.instance_types[0]),
            "instance_profile": hosts.instance_profile,
            "security_group": hosts.security_group,
            "associate_public_ip_address": plan.pool.interfaces[0].public_address is True,
            "placement_group": scope.placement_group,
        },
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
    return made


@cache  # nothing changes it, and it costs a call into Node
def _instance_type_named(name: str) -> ec2.InstanceType:
    return ec2.InstanceType(name)


def _auto_scaling_group(
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
        min_capacity=plan.min_instances,
        max_capacity=plan.max_instances,
        **plan.adds.group_arguments,
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
    if plan.purchase.block is not None:
        schedule_block(scope, made, plan.purchase.block, max_instances=plan.max_instances)
    if plan.scaling.warm_hosts is not None:
        plan.scaling.warm_hosts.add_to(scope, made)
    return made


def _mixed(plan: CapacityPlan, launch_template: ec2.LaunchTemplate) -> autoscaling.MixedInstancesPolicy | None:
    """Several types need a mixed instances policy, and so does spot, whose allocation has no other place."""
    types = plan.instance_types
    distribution = plan.purchase.instances_distribution()
    if distribution is None and len(types) == 1:
        return None
    return autoscaling.MixedInstancesPolicy(
        launch_template=launch_template,
        # Weights are left out, since ECS managed scaling does not know them.
        launch_template_overrides=[
            autoscaling.LaunchTemplateOverrides(instance_type=_instance_type_named(each)) for each in types
        ],
        instances_distribution=distribution
        or autoscaling.InstancesDistribution(
            on_demand_percentage_above_base_capacity=100,
            on_demand_allocation_strategy=autoscaling.OnDemandAllocationStrategy.PRIORITIZED,
        ),
    )
