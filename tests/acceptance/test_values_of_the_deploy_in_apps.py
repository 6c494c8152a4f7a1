"""Constructors take any text from a value of the deploy, and the check at synth finds no error in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_ssm as ssm

from gpu_constructs import GpuCluster, GpuMachineImage, GpuService, GpuTaskDefinition, Purchase
from gpu_constructs.errors import InvalidValueError
from tests.synthesis import Site, app_in

NAME = "/my/text"
SOURCES: dict[str, Callable[[cdk.Stack], str]] = {
    "parameter store": lambda stack: ssm.StringParameter.value_for_string_parameter(stack, NAME),
    "looked up": lambda stack: ssm.StringParameter.value_from_lookup(stack, NAME),
    "secret": lambda _: cdk.SecretValue.secrets_manager("mine").unsafe_unwrap(),
    "secure": lambda _: cdk.SecretValue.ssm_secure(NAME).unsafe_unwrap(),
    "import": lambda _: cdk.Fn.import_value("other"),
    "parameter": lambda stack: cdk.CfnParameter(stack, "Given").value_as_string,
    "reference": lambda _: cdk.CfnDynamicReference(cdk.CfnDynamicReferenceService.SSM, NAME).to_string(),
    "by hand": lambda _: f"{{{{resolve:ssm:{NAME}}}}}",
    "a part by hand": lambda _: f"a-{{{{resolve:ssm:{NAME}}}}}",
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_text_may_be_a_value_of_the_deploy(source: str) -> None:
    app = app_in()
    stack = cdk.Stack(app, "Stack", env=cdk.Environment(account="123456789012", region="us-east-1"))
    value = SOURCES[source](stack)
    vpc = ec2.Vpc(stack, "Vpc", restrict_default_security_group=False)
    one_zone = ec2.SubnetSelection(subnets=vpc.private_subnets[:1])
    cluster = GpuCluster(stack, "Gpu", cluster=ecs.Cluster(stack, "Named", vpc=vpc, cluster_name=value))
    elsewhere = ecs.Cluster.from_cluster_attributes(stack, "Imported", vpc=vpc, cluster_name=value)
    GpuCluster(stack, "There", cluster=elsewhere).add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    image = GpuMachineImage.pinned("al2023-gpu")
    cluster.add_capacity("Type", instance_types=[value], max_instances=1, image=image)
    cluster.add_capacity("Types", instance_types=["g6.xlarge", value], max_instances=1, image=image)
    cluster.add_managed_capacity("Managed", instance_types=["g6.xlarge"], capacity_provider_name=f"{value}-2")
    reserved = Purchase.reservations(reservation_id=value)
    cluster.add_capacity("Reserved", instance_types=["g6.xlarge"], max_instances=1, purchase=reserved)
    grouped = Purchase.reservations(resource_group_arn=value)
    cluster.add_capacity("Grouped", instance_types=["g6.xlarge"], max_instances=1, purchase=grouped)
    block = Purchase.capacity_block(value, instances=1, ends=datetime(2027, 12, 1, 11, 30, tzinfo=timezone.utc))
    cluster.add_capacity("Block", instance_types=["p5.48xlarge"], max_instances=1, purchase=block, vpc_subnets=one_zone)
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1, capacity_provider_name=value)
    task = GpuTaskDefinition(stack, "Task", capacity=[l4], family=value)
    task.add_gpu_container(
        "work",
        image=ecs.ContainerImage.from_registry(value),
        environment={"MODE": value},
        command=[value],
        entry_point=[value],
        user=value,
        working_directory=value,
    )
    GpuService(stack, "Service", cluster=cluster, task_definition=task, service_name=value)
    app.synth()


def test_a_number_that_is_written_as_a_reference_is_told_how_to_be_one(site: Site) -> None:
    with pytest.raises(InvalidValueError, match="as_number"):
        site.capacity("g6.xlarge", max_instances="{{resolve:ssm:/my/hosts}}")
