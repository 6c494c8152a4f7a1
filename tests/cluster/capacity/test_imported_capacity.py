"""Capacity of another app runs tasks like capacity of one's own, and nothing is made for it."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_iam as iam

from gpu_constructs import (
    DoesNotFitError,
    GpuCapacity,
    GpuCluster,
    GpuConstructsError,
    GpuService,
    ImportedGpuCapacity,
    IncompatibleError,
    ModelCache,
    ModelServer,
)
from tests.synthesis import Site, unwritten


def theirs(site: Site, **of_cluster: Any) -> GpuCluster:
    cluster = ecs.Cluster.from_cluster_attributes(
        site.stack, "Theirs", cluster_name="theirs", vpc=site.vpc, **of_cluster
    )
    return GpuCluster(site.stack, "Gpu", cluster=cluster)


def of_others(site: Site, **arguments: Any) -> ImportedGpuCapacity:
    given = {"capacity_provider_name": "l4", "instance_types": ["g6.xlarge"], "max_instances": 2, **arguments}
    cluster = given.pop("cluster", None) or theirs(site)
    return GpuCapacity.from_attributes(site.stack, "L4", cluster=cluster, **given)


def test_capacity_of_another_app_runs_a_service_and_nothing_is_made_for_it(site: Site) -> None:
    gpu = theirs(site)
    task = site.task(of_others(site, cluster=gpu))
    task.add_gpu_container("chat", image=site.image, gpus=1)
    GpuService(site.stack, "Service", cluster=gpu, task_definition=task, desired_count=2)
    assert site.warnings() == []
    service = site.only("AWS::ECS::Service")
    assert service["CapacityProviderStrategy"] == [{"CapacityProvider": "l4", "Weight": 1}]
    assert service["DeploymentConfiguration"]["MinimumHealthyPercent"] == 50
    made = {each["Type"] for each in site.template()["Resources"].values()}
    assert (
        not {"AWS::ECS::ClusterCapacityProviderAssociations", "AWS::EC2::SecurityGroup", "AWS::IAM::InstanceProfile"}
        & made
    )


def test_its_connections_are_those_of_the_cluster_that_was_imported(site: Site) -> None:
    hosts = ec2.SecurityGroup.from_security_group_id(site.stack, "Hosts", "sg-0123456789abcdef0")
    gpu = theirs(site, security_groups=[hosts])
    task = site.task(of_others(site, cluster=gpu))
    task.add_gpu_container("chat", image=site.image, port_mappings=[ecs.PortMapping(container_port=8000)])
    service = GpuService(site.stack, "Service", cluster=gpu, task_definition=task)
    service.connections.allow_from_any_ipv4(ec2.Port.tcp(8000))
    assert site.only("AWS::EC2::SecurityGroupIngress")["GroupId"] == "sg-0123456789abcdef0"


@pytest.mark.parametrize("has_hosts_here", [False, True])
def test_hosts_of_another_app_without_security_groups_are_refused_where_they_are_to_be_reached(
    site: Site, *, has_hosts_here: bool
) -> None:
    gpu = theirs(site)
    if has_hosts_here:
        gpu.add_capacity("Ours", instance_types=["g6.xlarge"], max_instances=1)
    capacity = of_others(site, cluster=gpu)
    files = efs.FileSystem(site.stack, "Models", vpc=site.vpc)
    server, cache = ModelServer.vllm("Qwen/Qwen2.5-7B-Instruct"), ModelCache.efs(files)
    refusal = r"capacity: the security groups of the hosts of L4 are not known.*fix: security_groups=\["
    task = site.task(capacity)
    with site.refuses(IncompatibleError, match=refusal):
        task.add_model_server("Cached", server=server, cache=cache)
    task.add_model_server("Vllm", server=server)
    service = GpuService(site.stack, "Service", cluster=gpu, task_definition=task)
    with site.refuses(IncompatibleError, match=refusal):
        service.add_application_load_balancer("Http", protocol=elbv2.ApplicationProtocol.HTTP)
    with site.refuses(IncompatibleError, match=refusal):
        service.add_network_load_balancer("Tcp", protocol=elbv2.Protocol.TCP)
    # Tasks with interfaces of their own have a security group that is known.
    inside = site.task(capacity, name="Inside", network_mode=ecs.NetworkMode.AWS_VPC)
    inside.add_model_server("Vllm", server=server, cache=cache)
    of_tasks = GpuService(site.stack, "OfTasks", cluster=gpu, task_definition=inside)
    of_tasks.add_application_load_balancer("Http", protocol=elbv2.ApplicationProtocol.HTTP)


def test_hosts_of_plain_cdk_get_requests_once_their_groups_are_known(site: Site) -> None:
    plain = ecs.Cluster(site.stack, "Plain", vpc=site.vpc)
    machine = ecs.EcsOptimizedImage.amazon_linux2023(ecs.AmiHardwareType.GPU)
    template = ec2.LaunchTemplate(
        site.stack,
        "Template",
        instance_type=ec2.InstanceType("g6.xlarge"),
        machine_image=machine,
        user_data=ec2.UserData.for_linux(),
        role=iam.Role(site.stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")),
        security_group=ec2.SecurityGroup(site.stack, "Hosts", vpc=site.vpc),
    )
    group = autoscaling.AutoScalingGroup(site.stack, "Group", vpc=site.vpc, launch_template=template, max_capacity=4)
    provider = ecs.AsgCapacityProvider(site.stack, "Provider", auto_scaling_group=group)
    plain.add_asg_capacity_provider(provider)
    gpu = GpuCluster(site.stack, "Gpu", cluster=plain)
    task = site.task(of_others(site, cluster=gpu, capacity_provider_name=provider.capacity_provider_name))
    task.add_model_server("Vllm", server=ModelServer.vllm("Qwen/Qwen2.5-7B-Instruct"))
    early = GpuService(site.stack, "Early", cluster=gpu, task_definition=task)
    with (
        unwritten(),
        pytest.raises(IncompatibleError, match=r"fix: cluster.connections.add_security_group"),
    ):
        early.add_application_load_balancer("Http", protocol=elbv2.ApplicationProtocol.HTTP)
    plain.connections.add_security_group(*group.connections.security_groups)
    service = GpuService(site.stack, "Service", cluster=gpu, task_definition=task)
    service.add_application_load_balancer("Http", protocol=elbv2.ApplicationProtocol.HTTP)
    opened = [each["GroupId"]["Fn::GetAtt"][0] for each in site.properties("AWS::EC2::SecurityGroupIngress")]
    assert any(each.startswith("Hosts") for each in opened)


def test_capacity_of_another_app_is_checked_as_ones_own(site: Site) -> None:
    with pytest.raises(DoesNotFitError, match="g6.xlarge"):
        site.task(of_others(site)).add_gpu_container("chat", image=site.image, gpus=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cluster": "theirs"}, "cluster: expects a GpuCluster, got 'theirs'"),
        ({"capacity_provider_name": "aws-l4"}, "GPU046"),
        ({"instance_types": ["g6.xlrge"]}, "instance_types"),
        ({"instance_types": ["g6.xlarge", "g6.12xlarge"]}, "GPU053"),
        ({"max_instances": -1}, "max_instances"),
        ({"max_instance": 1}, "max_instance: GpuCapacity.from_attributes has no such argument"),
        ({"capacity_provider_name": 100}, "100 cannot be the name .*fix: capacity_provider_name='gpu-l4'"),
    ],
)
def test_capacity_that_cannot_be_there_is_refused(site: Site, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(GpuConstructsError, match=message):
        of_others(site, **arguments)
    assert "Stack/L4" not in site.children()
