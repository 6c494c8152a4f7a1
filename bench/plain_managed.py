"""ECS Managed Instances by hand: L2 constructs, and overrides where aws-cdk-lib 2.275 has no word."""

from __future__ import annotations

from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from bench.plain_hosts import ManagedRoles, Shared
from bench.plain_tasks import add_container, role_of
from bench.workloads import Pair

__all__ = ["add_managed", "gpu_task", "neuron_task"]

_ANY_PRICE = 999_999  # lifts the price protection of EC2
_REGION = cdk.Aws.REGION
_PLATFORM = ecs.RuntimePlatform(
    cpu_architecture=ecs.CpuArchitecture.X86_64, operating_system_family=ecs.OperatingSystemFamily.LINUX
)


def add_managed(scope: Construct, shared: Shared, pair: Pair) -> None:
    """A capacity provider of Managed Instances, with the roles that all of its cluster share."""
    roles = shared.managed_roles = shared.managed_roles or _roles(scope, shared.cluster)
    private = shared.subnets()
    neuron = not pair.hosts.gpus
    provider = ecs.ManagedInstancesCapacityProvider(
        scope,
        f"Managed{pair.number}",
        ec2_instance_profile=cast("iam.IInstanceProfile", roles.instance_profile),
        infrastructure_role=cast("iam.IRole", roles.infrastructure_role),
        subnets=private.subnets,
        security_groups=[cast("ec2.ISecurityGroup", shared.security_group)],
        capacity_option_type=ecs.CapacityOptionType.ON_DEMAND,
        instance_requirements=ec2.InstanceRequirementsConfig(
            v_cpu_count_min=1,
            memory_min=cdk.Size.mebibytes(1),
            accelerator_count_min=None if neuron else pair.hosts.gpus,
            accelerator_count_max=None if neuron else pair.hosts.gpus,
            accelerator_manufacturers=[
                ec2.AcceleratorManufacturer.AWS if neuron else ec2.AcceleratorManufacturer.NVIDIA
            ],
            allowed_instance_types=list(pair.hosts.instance_types),
            on_demand_max_price_percentage_over_lowest_price=_ANY_PRICE,
        ),
        task_volume_storage=cdk.Size.gibibytes(100),
        propagate_tags=ecs.PropagateManagedInstancesTags.CAPACITY_PROVIDER,
    )
    node = provider.node
    resource = cast("ecs.CfnCapacityProvider", node.default_child)
    resource.add_property_override(
        "ManagedInstancesProvider.InstanceLaunchTemplate.InstanceMetadataTagsPropagation", value=False
    )
    resource.add_property_override("ManagedInstancesProvider.AutoRepairConfiguration", {"ActionsStatus": "ENABLED"})
    # Hosts that drain need their routes until they have gone.
    node.add_dependency(private.internet_connectivity_established)
    shared.cluster.add_managed_instances_capacity_provider(provider)


def _roles(scope: Construct, cluster: ecs.Cluster) -> ManagedRoles:
    instances = cdk.Stack.of(scope).format_arn(
        service="ecs", resource="container-instance", resource_name=f"{cluster.cluster_name}/*"
    )
    host_role = iam.Role(
        scope,
        "ManagedHostRole",
        assumed_by=cast("iam.IPrincipal", iam.ServicePrincipal("ec2.amazonaws.com")),
        description="ECS Managed Instances of one cluster: ECS agent",
        inline_policies={
            "Host": iam.PolicyDocument(
                statements=[
                    iam.PolicyStatement(sid="FindTheEndpoint", actions=["ecs:DiscoverPollEndpoint"], resources=["*"]),
                    iam.PolicyStatement(
                        sid="RegisterWithTheCluster",
                        actions=[
                            "ecs:RegisterContainerInstance",
                            "ecs:SubmitAttachmentStateChanges",
                            "ecs:SubmitTaskStateChange",
                        ],
                        resources=[cluster.cluster_arn],
                    ),
                    iam.PolicyStatement(
                        sid="TalkToTheCluster",
                        actions=["ecs:Poll", "ecs:PutSystemLogEvents", "ecs:StartTelemetrySession"],
                        resources=[instances],
                    ),
                ]
            )
        },
    )
    infrastructure_role = iam.Role(
        scope,
        "InfrastructureRole",
        assumed_by=cast("iam.IPrincipal", iam.ServicePrincipal("ecs.amazonaws.com")),
        description="Amazon ECS, to start and end the Managed Instances of one cluster",
        managed_policies=[
            iam.ManagedPolicy.from_aws_managed_policy_name("AmazonECSInfrastructureRolePolicyForManagedInstances")
        ],
        inline_policies={
            "PassHostRole": iam.PolicyDocument(
                statements=[
                    iam.PolicyStatement(
                        actions=["iam:PassRole"],
                        resources=[host_role.role_arn],
                        conditions={
                            "StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}
                        },
                    )
                ]
            )
        },
    )
    profile = iam.InstanceProfile(scope, "ManagedHostProfile", role=host_role.without_policy_updates())
    return ManagedRoles(instance_profile=profile, infrastructure_role=infrastructure_role)


def gpu_task(
    scope: Construct,
    pair: Pair,
    image: ecs.ContainerImage,
    *,
    compatibility: ecs.Compatibility = ecs.Compatibility.MANAGED_INSTANCES,
) -> None:
    """A task with all GPUs of a host.

    Args:
        scope: The stack.
        pair: Where it runs.
        image: Its image.
        compatibility: What else it may run on.
    """
    name = f"Task{pair.number}"
    task = _task(scope, name, pair, compatibility)
    if compatibility is not ecs.Compatibility.MANAGED_INSTANCES:
        # Which CDK leaves out where a task may run on Managed Instances.
        types = ", ".join(pair.hosts.instance_types)
        cast("ecs.CfnTaskDefinition", task.node.default_child).placement_constraints = [
            ecs.CfnTaskDefinition.TaskDefinitionPlacementConstraintProperty(
                type="memberOf", expression=f"attribute:ecs.instance-type in [{types}]"
            )
        ]
    environment = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "AWS_REGION": _REGION}
    add_container(
        scope,
        name,
        task,
        pair.hosts.shares[-1],
        image=image,
        gpus=pair.hosts.gpus,
        environment=environment,
        command=["nvidia-smi"],
    )


def neuron_task(scope: Construct, pair: Pair, image: ecs.ContainerImage) -> None:
    """A task with all Neuron devices of a host.

    Args:
        scope: The stack.
        pair: Where it runs.
        image: Its image.
    """
    name = f"Task{pair.number}"
    task = _task(scope, name, pair, ecs.Compatibility.MANAGED_INSTANCES)
    add_container(
        scope,
        name,
        task,
        pair.hosts.shares[-1],
        image=image,
        ulimits=[],
        environment={"AWS_REGION": _REGION},
        command=["neuron-ls"],
    )
    cast("ecs.CfnTaskDefinition", task.node.default_child).add_property_override(
        "ContainerDefinitions.0.ResourceRequirements", [{"Type": "NeuronDevice", "Value": "ALL"}]
    )


def _task(
    scope: Construct,
    name: str,
    pair: Pair,
    compatibility: ecs.Compatibility,
) -> ecs.TaskDefinition:
    return ecs.TaskDefinition(
        scope,
        name,
        compatibility=compatibility,
        family=f"gpu-task-{pair.number}",
        network_mode=ecs.NetworkMode.AWS_VPC,
        runtime_platform=_PLATFORM,
        task_role=role_of(scope, name),
    )
