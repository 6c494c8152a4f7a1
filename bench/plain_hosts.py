"""The hosts of the measured apps by hand, in plain aws-cdk-lib L2 constructs.

What the hosts of a cluster have in common is made once and shared, everything else is the straightforward call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from bench.plain_deadline import join_deadline
from bench.workloads import Hosts

__all__ = ["Capacity", "ManagedRoles", "Shared", "capacity", "host_policy"]

_GPU_WARMUP_SECONDS = 600


@dataclass(frozen=True, slots=True)
class ManagedRoles:
    """Who the Managed Instances of one cluster are, and who starts them."""

    instance_profile: iam.InstanceProfile
    infrastructure_role: iam.Role


@dataclass
class Shared:
    """What the hosts of one cluster have in common."""

    vpc: ec2.Vpc
    cluster: ecs.Cluster
    role: iam.Role
    instance_profile: iam.InstanceProfile
    security_group: ec2.SecurityGroup
    images: dict[str, ec2.IMachineImage]
    selected: dict[bool, ec2.SelectedSubnets] = field(default_factory=dict)
    managed_roles: ManagedRoles | None = None

    @classmethod
    def define(cls, scope: Construct, suffix: str, vpc: ec2.Vpc) -> Shared:
        """A cluster with what its hosts have in common."""
        cluster = ecs.Cluster(
            scope,
            f"Cluster{suffix}",
            vpc=cast("ec2.IVpc", vpc),
            container_insights_v2=ecs.ContainerInsights.ENHANCED,
        )
        role = iam.Role(
            scope,
            f"HostRole{suffix}",
            assumed_by=cast("iam.IPrincipal", iam.ServicePrincipal("ec2.amazonaws.com")),
            description="Hosts of an ECS cluster: ECS agent and Session Manager",
            inline_policies={"Host": host_policy(cluster.cluster_arn)},
        )
        return cls(
            vpc=vpc,
            cluster=cluster,
            role=role,
            # Without the policy updates that every capacity provider would add for the agent, a second time.
            instance_profile=iam.InstanceProfile(scope, f"HostProfile{suffix}", role=role.without_policy_updates()),
            security_group=ec2.SecurityGroup(
                scope,
                f"HostSecurityGroup{suffix}",
                vpc=cast("ec2.IVpc", vpc),
                description="Hosts of an ECS cluster: no way in, any way out",
            ),
            images={},
        )

    def image(self, parameter: str) -> ec2.IMachineImage:
        """The image that an SSM parameter names."""
        if parameter not in self.images:
            self.images[parameter] = ec2.MachineImage.from_ssm_parameter(parameter, os=ec2.OperatingSystemType.LINUX)
        return self.images[parameter]

    def subnets(self, *, in_one_zone: bool = False) -> ec2.SelectedSubnets:
        """The private subnets, or the one in the first zone."""
        if in_one_zone not in self.selected:
            self.selected[in_one_zone] = self.vpc.select_subnets(
                subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS,
                availability_zones=[self.vpc.availability_zones[0]] if in_one_zone else None,
            )
        return self.selected[in_one_zone]


_LOG_GROUP = f"arn:{cdk.Aws.PARTITION}:logs:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:log-group"
_SELF_TEST, _HOSTS = "gpu-constructs-self-test", "gpu-constructs-hosts"


def host_policy(cluster_arn: str) -> iam.PolicyDocument:
    """What the hosts of a cluster may do."""
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(
                sid="RegisterWithTheCluster",
                actions=[
                    "ecs:DeregisterContainerInstance",
                    "ecs:RegisterContainerInstance",
                    "ecs:SubmitAttachmentStateChanges",
                    "ecs:SubmitContainerStateChange",
                    "ecs:SubmitTaskStateChange",
                ],
                resources=[cluster_arn],
            ),
            iam.PolicyStatement(
                sid="TalkToTheCluster",
                actions=["ecs:Poll", "ecs:StartTelemetrySession", "ecs:UpdateContainerInstancesState"],
                resources=["*"],
                conditions={"ArnEquals": {"ecs:cluster": cluster_arn}},
            ),
            iam.PolicyStatement(sid="FindTheEndpoint", actions=["ecs:DiscoverPollEndpoint"], resources=["*"]),
            iam.PolicyStatement(
                sid="SessionManager",
                actions=[
                    "ssm:UpdateInstanceInformation",
                    "ssmmessages:CreateControlChannel",
                    "ssmmessages:CreateDataChannel",
                    "ssmmessages:OpenControlChannel",
                    "ssmmessages:OpenDataChannel",
                ],
                resources=["*"],
            ),
            iam.PolicyStatement(
                sid="LogOfTheSelfTest",
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                resources=[f"{_LOG_GROUP}:{_SELF_TEST}:*"],
            ),
            iam.PolicyStatement(
                sid="LogOfHosts",
                actions=[
                    "logs:CreateLogGroup",
                    "logs:CreateLogStream",
                    "logs:PutLogEvents",
                    "logs:PutRetentionPolicy",
                ],
                resources=[f"{_LOG_GROUP}:{_HOSTS}", f"{_LOG_GROUP}:{_HOSTS}:*"],
            ),
        ]
    )


@dataclass(frozen=True, slots=True)
class Capacity:
    """One capacity provider with what it is made of."""

    launch_template: ec2.LaunchTemplate
    group: autoscaling.AutoScalingGroup
    provider: ecs.AsgCapacityProvider


def capacity(
    scope: Construct,
    name: str,
    shared: Shared,
    hosts: Hosts,
    *,
    max_instances: int,
    warmup_seconds: int = _GPU_WARMUP_SECONDS,
    distribution: autoscaling.InstancesDistribution | None = None,
    agent_settings: Sequence[str] = (),
    boot_commands: Sequence[str] = (),
    placement_group: ec2.IPlacementGroup | None = None,
    in_one_zone: bool = False,
) -> Capacity:
    """A launch template, an Auto Scaling group, and a capacity provider of the cluster over it.

    Args:
        scope: The stack.
        name: What the ids begin with.
        shared: What the hosts of the cluster have in common.
        hosts: The hosts.
        max_instances: Hosts at most.
        warmup_seconds: How long a new host counts as on its way.
        distribution: What of it is spot. By default nothing.
        agent_settings: More lines for the ECS agent.
        boot_commands: More lines of user data.
        placement_group: Keeps the hosts near each other.
        in_one_zone: Whether they are in the first zone of the VPC.
    """
    user_data = ec2.UserData.for_linux()
    user_data.add_commands(
        "cat <<'EOF' >> /etc/ecs/ecs.config",
        "ECS_RESERVED_MEMORY=256",
        "ECS_AWSVPC_BLOCK_IMDS=true",
        "ECS_ENABLE_SPOT_INSTANCE_DRAINING=true",
        *agent_settings,
        f"ECS_INSTANCE_ATTRIBUTES={hosts.attributes}",
        "EOF",
        *join_deadline(warm="ECS_WARM_POOLS_CHECK=true" in agent_settings),
        *boot_commands,
    )
    launch_template = ec2.LaunchTemplate(
        scope,
        f"{name}LaunchTemplate",
        machine_image=shared.image(hosts.image_parameter),
        instance_type=ec2.InstanceType(hosts.instance_types[0]),
        instance_profile=cast("iam.IInstanceProfile", shared.instance_profile),
        security_group=cast("ec2.ISecurityGroup", shared.security_group),
        user_data=user_data,
        instance_initiated_shutdown_behavior=ec2.InstanceInitiatedShutdownBehavior.TERMINATE,
        block_devices=[
            ec2.BlockDevice(
                device_name=hosts.device,
                volume=ec2.BlockDeviceVolume.ebs(
                    100, encrypted=True, volume_type=ec2.EbsDeviceVolumeType.GP3, delete_on_termination=True
                ),
            )
        ],
        associate_public_ip_address=False,
        require_imdsv2=True,
        http_put_response_hop_limit=1,
        placement_group=placement_group,
    )
    subnets = shared.subnets(in_one_zone=in_one_zone)
    selection = ec2.SubnetSelection(subnets=subnets.subnets)
    if len(hosts.instance_types) == 1 and distribution is None:
        group = autoscaling.AutoScalingGroup(
            scope,
            f"{name}Group",
            vpc=cast("ec2.IVpc", shared.vpc),
            vpc_subnets=selection,
            launch_template=cast("ec2.ILaunchTemplate", launch_template),
            min_capacity=0,
            max_capacity=max_instances,
        )
    else:
        group = autoscaling.AutoScalingGroup(
            scope,
            f"{name}Group",
            vpc=cast("ec2.IVpc", shared.vpc),
            vpc_subnets=selection,
            mixed_instances_policy=autoscaling.MixedInstancesPolicy(
                launch_template=cast("ec2.ILaunchTemplate", launch_template),
                launch_template_overrides=[
                    autoscaling.LaunchTemplateOverrides(instance_type=ec2.InstanceType(each))
                    for each in hosts.instance_types
                ],
                instances_distribution=distribution
                or autoscaling.InstancesDistribution(
                    on_demand_percentage_above_base_capacity=100,
                    on_demand_allocation_strategy=autoscaling.OnDemandAllocationStrategy.PRIORITIZED,
                ),
            ),
            min_capacity=0,
            max_capacity=max_instances,
        )
    # Hosts need their routes as long as they are there.
    group.node.add_dependency(subnets.internet_connectivity_established)
    provider = ecs.AsgCapacityProvider(
        scope,
        f"{name}Provider",
        auto_scaling_group=cast("autoscaling.IAutoScalingGroup", group),
        enable_managed_scaling=True,
        enable_managed_draining=True,
        enable_managed_termination_protection=False,
        instance_warmup_period=warmup_seconds,
    )
    shared.cluster.add_asg_capacity_provider(provider)
    return Capacity(launch_template, group, provider)
