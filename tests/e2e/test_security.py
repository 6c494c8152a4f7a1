"""Hosts without NAT, with endpoints and a key of their own, are deployed and destroyed on the emulator."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from ecs_emulator.local import Local
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition

from tests.synthesis import app_in

_ISOLATED = ec2.SubnetType.PRIVATE_ISOLATED


def test_isolated_hosts_with_a_key_run_tasks_and_leave_nothing(cloud: Local, tmp_path: Path) -> None:
    app = app_in(tmp_path)
    stack = cdk.Stack(app, "Isolated")
    hosts = ec2.SubnetConfiguration(name="Hosts", subnet_type=_ISOLATED)
    vpc = ec2.Vpc(stack, "Vpc", nat_gateways=0, subnet_configuration=[hosts], restrict_default_security_group=False)
    vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
    for name in ("ecs", "ecs-agent", "ecs-telemetry", "ecr.api", "ecr.dkr", "logs"):
        vpc.add_interface_endpoint(name, service=ec2.InterfaceVpcEndpointAwsService(name))
    key = kms.Key(stack, "Key", removal_policy=cdk.RemovalPolicy.DESTROY)
    isolated = ec2.SubnetSelection(subnet_type=_ISOLATED)
    cluster = GpuCluster(stack, "Cluster", vpc=vpc, vpc_subnets=isolated, encryption_key=key)
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=2)
    cluster.host_role.node.add_dependency(vpc)
    task = GpuTaskDefinition(stack, "Task", capacity=[l4])
    task.add_gpu_container("gpu", image=ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04"))
    GpuService(stack, "Service", cluster=cluster, task_definition=task)
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)
    app.synth()

    deployed = cloud.deploy_assembly(tmp_path, "Isolated")
    running = cloud.account.client("ecs").list_tasks(cluster=deployed.outputs["ClusterName"], desiredStatus="RUNNING")
    assert len(running["taskArns"]) == 1
    cloud.destroy(deployed)
