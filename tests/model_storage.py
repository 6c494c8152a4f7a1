"""Where models are kept, for tests of what mounts it, serves from it and reaches it."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_s3 as s3

from gpu_constructs import (
    GpuTaskDefinition,
    ModelCache,
    ModelServer,
)
from tests.reaching import Estate
from tests.synthesis import Site


def files_of(site: Site, name: str = "Models") -> efs.FileSystem:
    return efs.FileSystem(site.stack, name, vpc=site.vpc)


def lustre_of(site: Site) -> fsx.LustreFileSystem:
    return fsx.LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        vpc_subnet=site.vpc.private_subnets[0],
        storage_capacity_gib=1200,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
    )


def imported_lustre(site: Site, dns_name: str) -> fsx.IFileSystem:
    group = ec2.SecurityGroup(site.stack, "Group", vpc=site.vpc)
    return fsx.LustreFileSystem.from_lustre_file_system_attributes(
        site.stack, "Files", dns_name=dns_name, file_system_id="fs-1", security_group=group
    )


def bucket_of(site: Site) -> s3.IBucket:
    return s3.Bucket.from_bucket_name(site.stack, "Weights", "weights")


def serve(task: GpuTaskDefinition, cache: ModelCache, name: str = "Vllm") -> GpuTaskDefinition:
    task.add_model_server(name, server=ModelServer.vllm("Qwen/Qwen2.5-7B-Instruct"), cache=cache)
    return task


def into(site: Site, group: str) -> set[tuple[str, int, int]]:
    """Who reaches a security group on which ports; names are cut to what the test has chosen."""
    estate = Estate({each.stack_name: dict(each.template) for each in site.app.synth().stacks})
    named = ("ClusterHostSecurityGroup", "ServiceSecurityGroup", "Models", "Lustre")
    return {
        (next(each for each in named if each in way.source), way.first, way.last)
        for way in estate.ingress
        if f".{group}" in way.target
    }
