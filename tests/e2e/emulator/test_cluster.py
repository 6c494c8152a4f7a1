"""What runs in a cluster of the emulator: hosts of its groups, tasks that fit them, services."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from botocore.exceptions import ClientError
from ecs_emulator.account import Account
from ecs_emulator.inventory import inventory
from ecs_emulator.local import Local

from tests.e2e.deployed import Stacks, run
from tests.e2e.templates import Template, cluster_template, service, task_definition


def test_a_service_runs_its_tasks_on_its_provider_and_replaces_them(stacks: Stacks, account: Account) -> None:
    template = cluster_template()
    template["Resources"]["Service"] = service(count=2)
    stack = stacks.create(template)
    outputs = stacks.outputs(stack)
    first = account.tasks(outputs["Cluster"])

    changed = copy.deepcopy(template)
    changed["Resources"]["Task"]["Properties"]["ContainerDefinitions"][0]["Memory"] = 1024
    stacks.update(stack, changed)
    second = account.tasks(outputs["Cluster"])

    assert stacks.end(stack)[0] == "UPDATE_COMPLETE"
    for tasks in (first, second):
        assert [task.status for task in tasks] == ["RUNNING"] * 2
        assert len({gpu for task in tasks for gpu in task.gpus}) == 2
    assert not {task.arn for task in first} & {task.arn for task in second}
    stacks.delete(stack)
    assert stacks.end(stack)[0] == "DELETE_COMPLETE"


def test_what_stands_is_in_the_inventory_and_only_services_that_hold_nothing_are_not_asked(cloud: Local) -> None:
    stack = cloud.deploy(cluster_template())
    cloud.run(stack.outputs["Cluster"], stack.outputs["Task"], stack.outputs["Provider"])

    found = cloud.inventory()

    assert found == inventory(cloud.account.client)
    assert {kind for kind, _ in found} == {
        "auto scaling group",
        "capacity provider",
        "cluster",
        "instance",
        "launch template",
        "network interface",
        "route table",
        "security group",
        "stack",
        "subnet",
        "task definition",
        "volume",
        "vpc",
    }
    cloud.account.stop_all(stack.outputs["Cluster"])
    cloud.destroy(stack)


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(task_definition(gpus=8), id="more GPUs than a host has"),
        pytest.param(
            task_definition(gpus=1, expression="attribute:ecs.instance-type in [g5.xlarge]"), id="no host is that type"
        ),
    ],
)
def test_a_service_whose_tasks_fit_no_host_never_gets_stable(stacks: Stacks, task: Template) -> None:
    template = cluster_template()
    template["Resources"] |= {"Task": task, "Service": service(count=1)}

    stack = stacks.create(template)

    assert "service not stable" in stacks.end(stack)[1]
    stacks.delete(stack)


def test_hosts_without_a_gpu_image_register_no_gpu(stacks: Stacks, account: Account) -> None:
    parameter = "/aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id"
    image = account.client("ssm").get_parameter(Name=parameter)["Parameter"]["Value"]
    stack = stacks.create(cluster_template(image=image))
    outputs = stacks.outputs(stack)

    run(account, outputs)

    assert account.tasks(outputs["Cluster"])[0].status == "PROVISIONING"
    account.stop_all(outputs["Cluster"])
    stacks.delete(stack)


def test_an_image_does_not_boot_on_another_architecture(stacks: Stacks, account: Account) -> None:
    parameter = "/aws/service/bottlerocket/aws-ecs-2-nvidia/x86_64/latest/image_id"
    image = account.client("ssm").get_parameter(Name=parameter)["Parameter"]["Value"]
    stack = stacks.create(cluster_template("g5g.xlarge", image=image))
    outputs = stacks.outputs(stack)

    run(account, outputs)

    assert not account.hosts(outputs["Cluster"])
    account.stop_all(outputs["Cluster"])
    stacks.delete(stack)


def test_a_group_of_several_types_launches_the_first_and_scales_for_the_smallest(
    stacks: Stacks, account: Account
) -> None:
    template = cluster_template()
    group = template["Resources"]["Group"]["Properties"]
    group["MixedInstancesPolicy"] = {
        "LaunchTemplate": {
            "LaunchTemplateSpecification": group.pop("LaunchTemplate"),
            "Overrides": [{"InstanceType": "g6.12xlarge"}, {"InstanceType": "g6.xlarge"}],
        },
        "InstancesDistribution": {"OnDemandPercentageAboveBaseCapacity": 50},
    }
    stack = stacks.create(template)
    outputs = stacks.outputs(stack)

    run(account, outputs)

    assert [host.instance_type for host in account.hosts(outputs["Cluster"])] == ["g6.12xlarge"] * 2
    account.stop_all(outputs["Cluster"])
    stacks.delete(stack)


def test_idle_hosts_are_terminated_after_a_quarter_of_an_hour(stacks: Stacks, account: Account) -> None:
    stack = stacks.create(cluster_template())
    outputs = stacks.outputs(stack)
    run(account, outputs)
    account.stop_all(outputs["Cluster"])

    counts = [len(account.hosts(outputs["Cluster"])) for _ in range(20)]

    assert counts[0] == 2
    assert counts[-1] == 0
    stacks.delete(stack)


def test_a_launch_type_needs_a_host_and_a_strategy_does_not(stacks: Stacks, account: Account) -> None:
    stack = stacks.create(cluster_template())
    outputs = stacks.outputs(stack)
    where = {"cluster": outputs["Cluster"], "taskDefinition": outputs["Task"]}

    with pytest.raises(ClientError, match="No Container Instances were found in your cluster"):
        account.run(**where, launchType="EC2")
    with pytest.raises(ClientError, match="not associated with the cluster"):
        account.run(**where, capacityProviderStrategy=[{"capacityProvider": "gone", "weight": 1}])
    with pytest.raises(ClientError, match="Invalid expression"):
        account.run(**where, placementConstraints=[{"type": "memberOf", "expression": "gpus > 1"}])
    assert account.run(**where).tasks
    account.stop_all(outputs["Cluster"])
    stacks.delete(stack)


@pytest.mark.parametrize("value", ["0", "one", "1.5"])
def test_a_task_definition_that_ecs_refuses_is_not_registered(account: Account, value: str) -> None:
    container = {"name": "c", "image": "i", "memory": 1, "resourceRequirements": [{"type": "GPU", "value": value}]}

    with pytest.raises(ClientError, match="Invalid GPU resource requirement"):
        account.client("ecs").register_task_definition(family="refused", containerDefinitions=[container])


_EFS = {"fileSystemId": "fs-1", "authorizationConfig": {"iam": "ENABLED"}}


@pytest.mark.parametrize(
    ("container", "volumes", "said"),
    [
        ({"mountPoints": [{"sourceVolume": "gone", "containerPath": "/m"}]}, [], "Unknown volume 'gone'."),
        (
            {"dependsOn": [{"containerName": "first", "condition": "SUCCESS"}]},
            [],
            "A dependency container with SUCCESS or COMPLETE condition cannot be an essential container",
        ),
        ({"dependsOn": [{"containerName": "gone", "condition": "START"}]}, [], "'gone' because it does not exist"),
        ({}, [{"name": "home", "efsVolumeConfiguration": _EFS}], "requires TransitEncryption to be enabled"),
    ],
    ids=["volume", "essential", "container", "transit encryption"],
)
def test_a_task_definition_whose_parts_do_not_go_together_is_refused(
    account: Account, container: dict[str, Any], volumes: list[dict[str, Any]], said: str
) -> None:
    register = account.client("ecs").register_task_definition
    first = {"name": "first", "image": "i", "memory": 1}
    second = {**first, "name": "second", **container}

    with pytest.raises(ClientError, match=said):
        register(family="refused", containerDefinitions=[first, second], volumes=volumes)


def test_a_task_definition_whose_parts_go_together_is_registered(account: Account) -> None:
    waits = {"dependsOn": [{"containerName": "first", "condition": "SUCCESS"}]}
    first = {"name": "first", "image": "i", "memory": 1, "essential": False}
    second = {**first, "name": "second", "essential": True, **waits, "mountPoints": [{"sourceVolume": "home"}]}
    encrypted = {"name": "home", "efsVolumeConfiguration": {**_EFS, "transitEncryption": "ENABLED"}}

    ecs = account.client("ecs")
    taken = ecs.register_task_definition(family="taken", containerDefinitions=[first, second], volumes=[encrypted])

    ecs.deregister_task_definition(taskDefinition=taken["taskDefinition"]["taskDefinitionArn"])
