"""Trainings over several hosts on the emulator: started together, ended by the main host, interrupted and destroyed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from botocore.exceptions import ClientError
from ecs_emulator.account import Account
from ecs_emulator.local import Local
from gpu_constructs import BatchRetries, CapacityChoice, GpuBatchQueue, HostNetwork, MultiNodeTraining, TrainingLauncher

from tests.synthesis import Properties, synthesized

from .deployed_jobs import submitted, until

STACK = "Training"
HOSTS = 3
LIMIT = cdk.Duration.minutes(6)


@cache
def _template(
    types: str = "g6.12xlarge",
    network: HostNetwork | None = None,
    nodes: str = "",
    **of_job: Any,
) -> Properties:
    return synthesized(STACK, lambda stack: _define(stack, types, network, nodes, of_job))


def _define(stack: cdk.Stack, types: str, network: HostNetwork | None, nodes: str, of_job: Mapping[str, Any]) -> None:
    queue = GpuBatchQueue(
        stack,
        "Queue",
        vpc=ec2.Vpc(stack, "Vpc", max_azs=1, restrict_default_security_group=False),
        environments=[
            CapacityChoice(
                "Hosts",
                instance_types=[types],
                max_instances=HOSTS,
                network=network or HostNetwork(placement_group=True),
            )
        ],
        start_within=cdk.Duration.minutes(15),
    )
    image = ecs.ContainerImage.from_registry("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime")
    training = MultiNodeTraining(stack, "Train", queue=queue, hosts=HOSTS, image=image, command=["train.py"], **of_job)
    if nodes:
        definition = cast("batch.CfnJobDefinition", training.job_definition.node.default_child)
        definition.add_property_override("NodeProperties.NodeRangeProperties.0.TargetNodes", nodes)
    cdk.CfnOutput(stack, "Submit", value=training.submit_command())


def _nodes(account: Account) -> list[tuple[str, str]]:
    """The host and the status of every task."""
    client = account.client("ecs")
    (cluster,) = client.list_clusters()["clusterArns"]
    arns = [
        each
        for status in ("RUNNING", "STOPPED")
        for each in client.list_tasks(cluster=cluster, desiredStatus=status)["taskArns"]
    ]
    tasks = client.describe_tasks(cluster=cluster, tasks=arns)["tasks"]
    return [(each["containerInstanceArn"], each["lastStatus"]) for each in tasks]


def test_a_training_runs_on_all_its_hosts_and_ends_with_the_main_one(cloud: Local) -> None:
    stack = cloud.deploy(_template(), STACK)
    job = submitted(cloud.account, stack.outputs)

    until(cloud.account, job, 10, "RUNNING")
    nodes = _nodes(cloud.account)
    described = until(cloud.account, job, 10)

    assert len({host for host, _ in nodes}) == len(nodes) == HOSTS
    assert (described["status"], len(described["attempts"])) == ("SUCCEEDED", 1)
    assert {status for _, status in _nodes(cloud.account)} == {"STOPPED"}
    cloud.destroy(stack)


@pytest.mark.parametrize("failed", ["2:1", "2:image"], ids=["its command fails", "its image is not pulled"])
def test_a_failed_node_neither_stops_nor_repeats_a_training_and_its_time_limit_does(cloud: Local, failed: str) -> None:
    stack = cloud.deploy(_template(timeout=LIMIT), STACK)
    cloud.switch("jobs/Train", "forever")
    cloud.switch("nodes/Train", failed)
    job = submitted(cloud.account, stack.outputs)

    until(cloud.account, job, 10, "RUNNING")
    for _ in range(3):
        assert until(cloud.account, job, 1)["status"] == "RUNNING"
    assert sorted(status for _, status in _nodes(cloud.account)) == ["RUNNING", "RUNNING", "STOPPED"]
    described = until(cloud.account, job, 20)
    assert (described["status"], len(described["attempts"])) == ("FAILED", 1)
    assert "timeout" in described["statusReason"]
    assert {status for _, status in _nodes(cloud.account)} == {"STOPPED"}
    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("main", "nodes", "end"),
    [
        ("image,0", "", ("SUCCEEDED", 2)),
        ("75,1", "1:image", ("FAILED", 2)),
        ("1", "1:1", ("FAILED", 1)),
    ],
    ids=[
        "the image of the main host is not pulled",
        "the image of another host is never pulled and the main one says so, then fails",
        "a mistake",
    ],
)
def test_a_training_is_tried_again_on_all_its_hosts_by_what_the_main_one_ends_with(
    cloud: Local, main: str, nodes: str, end: tuple[str, int]
) -> None:
    tried = BatchRetries(exit_codes=(75,))
    stack = cloud.deploy(_template(launcher=TrainingLauncher.jax(), retries=tried), STACK)
    cloud.switch("jobs/Train", main)
    if nodes:
        cloud.switch("nodes/Train", nodes)

    described = until(cloud.account, submitted(cloud.account, stack.outputs), 40)

    assert (described["status"], len(described["attempts"])) == end
    cloud.destroy(stack)


def test_the_number_of_hosts_is_that_of_the_definition(cloud: Local) -> None:
    stack = cloud.deploy(_template(), STACK)
    with pytest.raises(ClientError, match="NumNodes override can only be applied if"):
        submitted(cloud.account, stack.outputs, nodeOverrides={"numNodes": 2})
    cloud.destroy(stack)


def test_a_definition_with_an_open_range_takes_another_number(cloud: Local) -> None:
    stack = cloud.deploy(_template(nodes="0:"), STACK)
    job = submitted(cloud.account, stack.outputs, nodeOverrides={"numNodes": 2})
    until(cloud.account, job, 10, "RUNNING")
    assert len(_nodes(cloud.account)) == 2
    cloud.destroy(stack)


def test_without_a_host_for_each_node_none_starts_and_the_training_is_cancelled(cloud: Local) -> None:
    stack = cloud.deploy(_template(), STACK)
    cloud.switch("no-capacity", "g6.12xlarge")
    job = submitted(cloud.account, stack.outputs)

    described = until(cloud.account, job, 30)

    assert (described["status"], described["attempts"]) == ("FAILED", [])
    assert described["statusReason"] == "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"
    assert _nodes(cloud.account) == []
    cloud.destroy(stack)


def test_hosts_with_efa_start_in_one_placement_group(cloud: Local) -> None:
    stack = cloud.deploy(_template("p5.48xlarge", HostNetwork.efa()), STACK)

    job = submitted(cloud.account, stack.outputs)

    described = until(cloud.account, job, 10)
    assert (described["status"], described["statusReason"]) == ("SUCCEEDED", "Essential container in task exited")
    cloud.destroy(stack)
