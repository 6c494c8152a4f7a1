"""What ``cdk synth`` writes is read whole: stages, nested stacks, and references of every kind between stacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs.template import Stacks
from gpu_constructs.template.model import Reference, Resource
from tests.template.written import only_stack, read_stacks, stack


class Network(cdk.Stack):
    """A cluster, and a security group in a nested stack."""

    def __init__(self, scope: Any, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.vpc = ec2.Vpc(self, "Vpc", restrict_default_security_group=False, max_azs=1, nat_gateways=0)
        self.cluster = ecs.CfnCluster(self, "Cluster")
        inner = cdk.NestedStack(self, "Inner")
        self.group = ec2.SecurityGroup(inner, "Group", vpc=self.vpc)


class Service(cdk.Stack):
    """A service that refers to everything in the other stack."""

    def __init__(self, scope: Any, construct_id: str, network: Network) -> None:
        super().__init__(scope, construct_id)
        task = ecs.Ec2TaskDefinition(self, "Task")
        image = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
        task.add_container("main", image=image, memory_limit_mib=512, gpu_count=1)
        awsvpc = ecs.CfnService.AwsVpcConfigurationProperty(
            subnets=[subnet.subnet_id for subnet in network.vpc.public_subnets],
            security_groups=[network.group.security_group_id],
        )
        weak = cdk.Stack.consume_reference(network.cluster.ref, cdk.ReferenceStrength.WEAK)
        for name, cluster in (("Strong", network.cluster.ref), ("Weak", weak)):
            ecs.CfnService(
                self,
                name,
                cluster=cluster,
                task_definition=task.task_definition_arn,
                network_configuration=ecs.CfnService.NetworkConfigurationProperty(awsvpc_configuration=awsvpc),
            )


@pytest.fixture(scope="module")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    app = cdk.App(outdir=str(tmp_path_factory.mktemp("cdk.out")))
    stage = cdk.Stage(app, "Prod", env=cdk.Environment(account="111111111111", region="eu-west-1"))
    for scope in (app, stage):
        Service(scope, "Service", Network(scope, "Network"))
    return Path(app.synth().directory)


@pytest.fixture(scope="module")
def stacks(synthesized: Path) -> Stacks:
    return read_stacks([synthesized])


def only(stacks: Stacks, stack_name: str, resource_type: str) -> Resource:
    (found,) = [each for each in stack(stacks, stack_name).resources.values() if each.type == resource_type]
    return found


def service(stacks: Stacks, stack_name: str, name: str) -> dict[str, Any]:
    return dict(stack(stacks, stack_name).resources[name].properties)


@pytest.mark.parametrize("stage", ["", "Prod-"])
@pytest.mark.parametrize("name", ["Strong", "Weak"])
def test_a_reference_to_another_stack_leads_to_its_resource(stacks: Stacks, stage: str, name: str) -> None:
    assert service(stacks, f"{stage}Service", name)["Cluster"] == Reference(f"{stage}Network", "Cluster")


@pytest.mark.parametrize("stage", ["", "Prod-"])
def test_a_reference_into_a_nested_stack_leads_to_its_resource(stacks: Stacks, stage: str) -> None:
    network = service(stacks, f"{stage}Service", "Strong")["NetworkConfiguration"]
    (reference,) = network["AwsvpcConfiguration"]["SecurityGroups"]
    group = stack(stacks, reference.stack).resources[reference.logical_id]
    assert (group.type, reference.attribute) == ("AWS::EC2::SecurityGroup", "GroupId")
    assert reference.stack.startswith(f"{stage}Network/")
    vpc = only(stacks, f"{stage}Network", "AWS::EC2::VPC")
    assert group.properties["VpcId"] == vpc.reference


def test_constructs_are_named_though_the_templates_do_not(stacks: Stacks) -> None:
    assert (
        only(stacks, "Prod-Service", "AWS::ECS::TaskDefinition").origin.construct_path == "Prod/Service/Task/Resource"
    )


def test_a_place_in_a_synthesized_template_has_its_line(stacks: Stacks) -> None:
    task = only(stacks, "Service", "AWS::ECS::TaskDefinition")
    place = stacks.locate(task.origin.at("Properties", "ContainerDefinitions", 0, "Memory"))
    assert place.file is not None
    assert place.line is not None
    assert Path(place.file).read_text().splitlines()[place.line - 1].strip() == '"Memory": 512,'


def test_one_template_of_the_app_is_read_alone(synthesized: Path, stacks: Stacks) -> None:
    alone = only_stack(read_stacks([synthesized / "Service.template.json"]))
    assert list(alone.resources) == list(stack(stacks, "Service").resources)


def test_a_stage_of_the_app_is_read_alone(synthesized: Path) -> None:
    stage = read_stacks([synthesized / "assembly-Prod"])
    assert service(stage, "Prod-Service", "Strong")["Cluster"] == Reference("Prod-Network", "Cluster")
