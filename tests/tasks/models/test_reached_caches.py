"""File systems with models are reached by the hosts or tasks that mount them, and by nothing else."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_fsx as fsx

from gpu_constructs import (
    GpuCluster,
    GpuService,
    GpuTaskDefinition,
    HostMount,
    HostStorage,
    IncompatibleError,
    ModelCache,
)
from tests.model_storage import files_of, into, serve
from tests.synthesis import Site

_MODES = {"Bridge": ecs.NetworkMode.BRIDGE, "Host": ecs.NetworkMode.HOST, "Own": ecs.NetworkMode.AWS_VPC}


@pytest.mark.parametrize("whose", ["of this stack", "of another stack", "imported"])
def test_a_file_system_is_reached_in_every_mode_and_from_every_stack(site: Site, whose: str) -> None:
    stack, cluster = site.stack, site.cluster
    if whose == "of another stack":
        stack = cdk.Stack(site.app, "Gpu")
        cluster = GpuCluster(stack, "Cluster", vpc=site.vpc)
    l4 = cluster.add_capacity("L4", instance_types=["g6.2xlarge"], max_instances=6)
    for name, mode in _MODES.items():
        files: efs.IFileSystem
        if whose == "imported":
            group = ec2.SecurityGroup(stack, f"ModelsOf{name}", vpc=site.vpc)
            files = efs.FileSystem.from_file_system_attributes(
                stack, f"Files{name}", file_system_id="fs-0123456789abcdef0", security_group=group
            )
        else:
            files = files_of(site, name=f"ModelsOf{name}")
        task = GpuTaskDefinition(stack, f"Task{name}", capacity=[l4], network_mode=mode)
        GpuService(stack, f"{name}Service", cluster=cluster, task_definition=serve(task, ModelCache.efs(files)))
    for name in _MODES:
        mounted = "ServiceSecurityGroup" if name == "Own" else "ClusterHostSecurityGroup"
        assert into(site, f"ModelsOf{name}") == {(mounted, 2049, 2049)}, name
    assert not into(site, "ClusterHost")
    assert whose == "of another stack" or site.warnings(unchanged=True) == []


@pytest.mark.parametrize("place", ["Network", "Hosts", "Tasks", "Files"])
def test_stacks_of_hosts_tasks_and_files_have_no_cycle_and_each_rule_once(site: Site, place: str) -> None:
    stacks = {name: cdk.Stack(site.app, name) for name in ("Network", "Hosts", "Tasks", "Files")}
    vpc = ec2.Vpc(stacks["Network" if place == "Network" else "Hosts"], "Vpc")
    cluster = GpuCluster(stacks["Hosts"], "Cluster", vpc=vpc)
    l4 = cluster.add_capacity("L4", instance_types=["g6.2xlarge"], max_instances=6)
    for name, mode in _MODES.items():
        files = efs.FileSystem(stacks[place], f"ModelsOf{name}", vpc=vpc)
        for each in "AB":
            task = GpuTaskDefinition(stacks["Tasks"], f"Task{each}{name}", capacity=[l4], network_mode=mode)
            serve(task, ModelCache.efs(files))
            GpuService(stacks["Tasks"], f"Service{each}{name}", cluster=cluster, task_definition=task)
    rules = [
        each["Properties"]
        for stack in site.app.synth().stacks
        for each in stack.template.get("Resources", {}).values()
        if each["Type"] == "AWS::EC2::SecurityGroupIngress"
    ]
    for name in _MODES:
        of_files = [each["FromPort"] for each in rules if f"ModelsOf{name}" in str(each["GroupId"])]
        # EC2 refuses a rule that is there already.
        assert of_files == [2049] * (2 if name == "Own" else 1), name


def test_storage_of_another_vpc_is_refused(site: Site) -> None:
    other = ec2.Vpc(site.stack, "Other")
    files, lustre = (
        efs.FileSystem(site.stack, "Far", vpc=other),
        fsx.LustreFileSystem(
            site.stack,
            "FarLustre",
            vpc=other,
            vpc_subnet=other.private_subnets[0],
            storage_capacity_gib=1200,
            lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
        ),
    )
    task, cluster = site.task(), site.cluster
    before = site.children()
    for mode in (task, site.task(name="Own", network_mode=ecs.NetworkMode.AWS_VPC)):
        with pytest.raises(IncompatibleError, match="cache: the file system is in VPC Stack/Other, and .*vpc-12"):
            serve(mode, ModelCache.efs(files))
    mounts = HostStorage(mounts=[HostMount.fsx_lustre(lustre)])
    with pytest.raises(IncompatibleError, match="mounts: the file system is in VPC Stack/Other"):
        cluster.add_capacity("Far", instance_types=["g6.xlarge"], max_instances=1, storage=mounts)
    assert [each for each in site.children() if "Own" not in each] == before


def test_a_server_that_comes_after_the_service_reaches_its_cache_too(site: Site) -> None:
    capacity = site.capacity("g6.12xlarge")
    task = site.task(capacity, network_mode=ecs.NetworkMode.AWS_VPC)
    task.add_gpu_container("main", image=site.image)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    serve(task, ModelCache.efs(files_of(site)))
    assert into(site, "Models") == {("ServiceSecurityGroup", 2049, 2049)}
