"""Capacity providers of ECS Managed Instances: hosts of a type that satisfies the requirements, without a group."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from ecs_emulator.local import Local, NotDeployedError

from tests.e2e.templates import Template, cluster_template, resource

GPU = {"Type": "GPU", "Value": "1"}
NEURON = {"Type": "NeuronDevice", "Value": "ALL"}


def managed(
    requirement: Template = GPU, *, count: int | None = None, task: Template | None = None, **launch: Any
) -> Template:
    """A cluster with one provider.

    Args:
        requirement: What the task's container requires.
        count: Tasks of a service; none without it.
        task: More properties of the task definition.
        launch: More properties of the provider's launch template.
    """
    needs = {"VCpuCount": {"Min": 1}, "MemoryMiB": {"Min": 1}, "AllowedInstanceTypes": ["g6.*"]}
    container = {"Name": "serving", "Image": "cuda", "Memory": 512, "ResourceRequirements": [requirement]}
    definition = {"NetworkMode": "host", "RequiresCompatibilities": ["MANAGED_INSTANCES"], **(task or {})}
    resources = {
        "Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16"),
        "Subnet": resource("EC2::Subnet", VpcId={"Ref": "Vpc"}, CidrBlock="10.0.0.0/24", AvailabilityZone="us-east-1a"),
        "Mine": resource("EC2::SecurityGroup", GroupDescription="hosts", VpcId={"Ref": "Vpc"}),
        "Role": resource("IAM::Role", AssumeRolePolicyDocument={"Statement": []}),
        "Profile": resource("IAM::InstanceProfile", Roles=[{"Ref": "Role"}]),
        "Cluster": resource("ECS::Cluster"),
        "Provider": resource(
            "ECS::CapacityProvider",
            ClusterName={"Ref": "Cluster"},
            ManagedInstancesProvider={
                "InfrastructureRoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
                "InstanceLaunchTemplate": {
                    "Ec2InstanceProfileArn": {"Fn::GetAtt": ["Profile", "Arn"]},
                    "NetworkConfiguration": {
                        "Subnets": [{"Ref": "Subnet"}],
                        "SecurityGroups": [{"Fn::GetAtt": ["Mine", "GroupId"]}],
                    },
                    "InstanceRequirements": needs,
                    **launch,
                },
            },
        ),
        "Task": resource("ECS::TaskDefinition", ContainerDefinitions=[container], **definition),
    }
    if count is not None:
        resources["Service"] = resource(
            "ECS::Service",
            Cluster={"Ref": "Cluster"},
            TaskDefinition={"Ref": "Task"},
            DesiredCount=count,
            CapacityProviderStrategy=[{"CapacityProvider": {"Ref": "Provider"}, "Weight": 1}],
        )
    outputs = {name: {"Value": {"Ref": name}} for name in ("Cluster", "Provider", "Task")}
    return {"Resources": resources, "Outputs": outputs}


def requirements(**more: Any) -> dict[str, Any]:
    return {"InstanceRequirements": {"VCpuCount": {"Min": 1}, "MemoryMiB": {"Min": 1}, **more}}


def hosts(cloud: Local, cluster: str) -> list[str]:
    return [host.instance_type for host in cloud.account.hosts(cluster)]


def test_a_service_gets_hosts_of_a_type_that_fits_and_goes_in_one(cloud: Local) -> None:
    stack = cloud.deploy(managed(count=2))

    assert hosts(cloud, stack.outputs["Cluster"]) == ["g6.xlarge", "g6.xlarge"]
    assert {host.provider for host in cloud.account.hosts(stack.outputs["Cluster"])} == {stack.outputs["Provider"]}
    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("requirement", "needs", "name"),
    [
        ({"Type": "GPU", "Value": "4"}, {"AllowedInstanceTypes": ["g6.*"]}, "g6.12xlarge"),
        ({"Type": "GPU", "Value": "ALL"}, {"AllowedInstanceTypes": ["p6-b200.*"]}, "p6-b200.48xlarge"),
        (GPU, {"AcceleratorNames": ["l40s"], "AcceleratorCount": {"Min": 1, "Max": 1}}, "g6e.xlarge"),
        (GPU, {"AcceleratorManufacturers": ["nvidia"], "AcceleratorTotalMemoryMiB": {"Min": 80000}}, "g7e.2xlarge"),
        ({"Type": "GPU", "Value": "0.5"}, {"AllowedInstanceTypes": ["g6f.*"]}, "g6f.4xlarge"),
        (NEURON, {"AcceleratorTypes": ["inference"], "AllowedInstanceTypes": ["inf2.*", "trn1.*"]}, "inf2.xlarge"),
    ],
)
def test_the_smallest_type_that_takes_the_task_is_launched(
    cloud: Local, requirement: Template, needs: dict[str, Any], name: str
) -> None:
    stack = cloud.deploy(managed(requirement, **requirements(**needs)))
    outputs = stack.outputs

    assert cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"]) == "RUNNING"

    assert hosts(cloud, outputs["Cluster"]) == [name]
    cloud.account.stop_all(outputs["Cluster"])
    cloud.destroy(stack)


def test_a_task_that_no_type_takes_waits_and_launches_nothing(cloud: Local) -> None:
    stack = cloud.deploy(managed({"Type": "GPU", "Value": "16"}))
    outputs = stack.outputs

    assert cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"]) == "PROVISIONING"

    assert not hosts(cloud, outputs["Cluster"])
    cloud.account.stop_all(outputs["Cluster"])
    cloud.destroy(stack)


def test_a_provider_with_tasks_cannot_be_deleted_nor_its_cluster_before_it(cloud: Local) -> None:
    stack = cloud.deploy(managed())
    outputs = stack.outputs
    ecs = cloud.account.client("ecs")
    with pytest.raises(ClientError, match="ClusterContainsCapacityProviderException"):
        ecs.delete_cluster(cluster=outputs["Cluster"])
    cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"])

    with pytest.raises(NotDeployedError, match="capacity provider is in use"):
        cloud.destroy(stack)

    cloud.account.stop_all(outputs["Cluster"])
    cloud.destroy(stack)


def test_the_api_describes_it_and_does_not_list_it_among_the_associations(cloud: Local) -> None:
    stack = cloud.deploy(managed())
    ecs = cloud.account.client("ecs")

    (described,) = ecs.describe_capacity_providers(capacityProviders=[stack.outputs["Provider"]])["capacityProviders"]

    assert (described["cluster"], described["type"]) == (stack.outputs["Cluster"], "MANAGED_INSTANCES")
    assert "autoScalingGroupProvider" not in described
    needs = described["managedInstancesProvider"]["instanceLaunchTemplate"]["instanceRequirements"]
    assert needs["allowedInstanceTypes"] == ["g6.*"]
    with pytest.raises(ClientError, match="belongs to its cluster already"):
        ecs.put_cluster_capacity_providers(
            cluster=stack.outputs["Cluster"],
            capacityProviders=[stack.outputs["Provider"]],
            defaultCapacityProviderStrategy=[],
        )
    cloud.destroy(stack)


def test_an_update_of_the_requirements_keeps_the_provider_and_one_of_its_cluster_does_not(cloud: Local) -> None:
    stack = cloud.deploy(managed())

    updated = cloud.update(stack, managed(**requirements(AllowedInstanceTypes=["g5.*"])))
    outputs = updated.outputs
    cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"])

    assert updated.outputs["Provider"] == stack.outputs["Provider"]
    assert hosts(cloud, outputs["Cluster"]) == ["g5.xlarge"]
    cloud.account.stop_all(outputs["Cluster"])
    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        (managed(**requirements(AllowedInstanceTypes=["g9.*"])), "No instance type satisfies"),
        (managed(Ec2InstanceProfileArn="arn:aws:iam::1:instance-profile/x"), "instance profile .* does not exist"),
        (managed(CapacityOptionType="RESERVED"), "RESERVED needs capacity reservations"),
        (managed(NEURON, task={"RequiresCompatibilities": ["EC2"]}), "Managed Instances only"),
        (managed(task={"NetworkMode": "bridge"}), "do not support networkMode bridge"),
        (managed(task={"IpcMode": "host"}), "do not support ipcMode"),
        (managed(count=1, task={"RequiresCompatibilities": ["EC2"]}), "does not support launch_type MANAGED_INSTANCES"),
    ],
)
def test_what_managed_instances_do_not_take_is_refused(cloud: Local, template: Template, reason: str) -> None:
    with pytest.raises(NotDeployedError, match=reason):
        cloud.deploy(template)


def test_a_task_can_go_to_a_group_or_to_managed_instances(cloud: Local) -> None:
    template = managed(task={"RequiresCompatibilities": ["EC2", "MANAGED_INSTANCES"]})
    plain = cluster_template("g6.12xlarge", max_size=1)["Resources"]
    names = ("LaunchTemplate", "Group", "Associations")
    template["Resources"] |= {name: plain[name] for name in names} | {"Plain": plain["Provider"]}
    associations = template["Resources"]["Associations"]["Properties"]
    associations |= {"CapacityProviders": [{"Ref": "Plain"}], "DefaultCapacityProviderStrategy": []}
    template["Outputs"]["Plain"] = {"Value": {"Ref": "Plain"}}
    stack = cloud.deploy(template)
    outputs = stack.outputs

    states = [cloud.run(outputs["Cluster"], outputs["Task"], outputs[name]) for name in ("Plain", "Provider")]

    assert states == ["RUNNING", "RUNNING"]
    assert sorted(hosts(cloud, outputs["Cluster"])) == ["g6.12xlarge", "g6.xlarge"]
    cloud.account.stop_all(outputs["Cluster"])
    cloud.destroy(stack)


def interfaces(cloud: Local) -> list[Any]:
    found = cloud.account.client("ec2").describe_network_interfaces()["NetworkInterfaces"]
    return [each for each in found if each["Description"] == "moto ECS"]


def test_a_task_in_awsvpc_mode_has_an_interface_of_its_own(cloud: Local) -> None:
    template = managed(count=2, task={"NetworkMode": "awsvpc"})
    network = {"Subnets": [{"Ref": "Subnet"}], "SecurityGroups": [{"Fn::GetAtt": ["Mine", "GroupId"]}]}
    template["Resources"]["Service"]["Properties"]["NetworkConfiguration"] = {"AwsvpcConfiguration": network}

    stack = cloud.deploy(template)

    assert len(interfaces(cloud)) == 2
    cloud.destroy(stack)
    assert interfaces(cloud) == []
