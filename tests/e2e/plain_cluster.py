"""A cluster that somebody made with plain CDK before, for what is added to it."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

from tests.synthesis import app_in

__all__ = ["CLUSTER", "THEIRS", "plain_cluster"]

CLUSTER = "production"
THEIRS = "Production"
"""The stack."""


def plain_cluster(directory: Path) -> Path:
    """A cluster with a CPU provider, which is its default strategy, and a service: no line is this library's."""
    app = app_in(directory)
    stack = cdk.Stack(app, THEIRS)
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2, nat_gateways=1, restrict_default_security_group=False)
    cluster = ecs.Cluster(stack, "Cluster", vpc=vpc, cluster_name=CLUSTER)
    template = ec2.LaunchTemplate(
        stack,
        "Hosts",
        machine_image=ec2.MachineImage.from_ssm_parameter(
            "/aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id"
        ),
        instance_type=ec2.InstanceType("c7i.large"),
        user_data=ec2.UserData.for_linux(),
        role=iam.Role(
            stack,
            "Role",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[
                iam.ManagedPolicy.from_aws_managed_policy_name("service-role/AmazonEC2ContainerServiceforEC2Role")
            ],
        ),
        security_group=ec2.SecurityGroup(stack, "HostSecurityGroup", vpc=vpc),
    )
    group = autoscaling.AutoScalingGroup(stack, "Group", vpc=vpc, launch_template=template, max_capacity=2)
    provider = ecs.AsgCapacityProvider(
        stack,
        "Cpu",
        auto_scaling_group=group,
        capacity_provider_name="cpu",
        enable_managed_termination_protection=False,
        enable_managed_draining=True,
    )
    cluster.add_asg_capacity_provider(provider)
    strategy = [ecs.CapacityProviderStrategy(capacity_provider=provider.capacity_provider_name, weight=1)]
    cluster.add_default_capacity_provider_strategy(strategy)
    web = ecs.Ec2TaskDefinition(stack, "Web", family="web")
    web.add_container("web", image=ecs.ContainerImage.from_registry("nginx"), memory_limit_mib=256)
    service = ecs.Ec2Service(
        stack,
        "Service",
        cluster=cluster,
        task_definition=web,
        capacity_provider_strategies=strategy,
        desired_count=1,
        min_healthy_percent=100,
    )
    service.node.add_dependency(cluster, provider)
    for name, value in (
        ("Network", vpc.vpc_id),
        ("First", vpc.private_subnets[0].subnet_id),
        ("Second", vpc.private_subnets[1].subnet_id),
    ):
        cdk.CfnOutput(stack, name, value=value)
    app.synth()
    return directory
