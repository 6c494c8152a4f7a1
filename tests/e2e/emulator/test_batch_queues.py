"""Which compute environments a job queue of AWS Batch takes."""

from __future__ import annotations

import copy

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from ecs_emulator.local import Local, NotDeployedError
from gpu_constructs import CapacityChoice, GpuBatchQueue, GpuConstructsError

from tests.e2e.templates import Template
from tests.synthesis import synthesized


def _of(*names: str) -> Template:
    def define(stack: cdk.Stack) -> None:
        choices = [CapacityChoice(each, instance_types=["g6.xlarge"], max_instances=1) for each in names]
        GpuBatchQueue(stack, "Queue", vpc=ec2.Vpc(stack, "Vpc", max_azs=2), environments=choices)

    return synthesized("Queues", define)


def test_an_update_changes_which_environments_a_queue_has(cloud: Local) -> None:
    stack = cloud.deploy(_of("A", "B"))
    cloud.update(stack, _of("A", "C"))

    (queue,) = cloud.account.client("batch").describe_job_queues()["jobQueues"]
    names = [each["computeEnvironment"].rpartition("/")[2] for each in queue["computeEnvironmentOrder"]]
    assert [each for name in names for each in ("QueueA", "QueueB", "QueueC") if each in name] == ["QueueA", "QueueC"]
    cloud.destroy(stack)


def test_a_queue_has_three_environments_at_most(cloud: Local) -> None:
    with pytest.raises(GpuConstructsError, match="environments, got 4; allowed: 1 to 3"):
        _of("A", "B", "C", "D")
    template = copy.deepcopy(_of("A", "B", "C"))
    (queue,) = (each for each in template["Resources"].values() if each["Type"] == "AWS::Batch::JobQueue")
    order = queue["Properties"]["ComputeEnvironmentOrder"]
    stack = cloud.deploy(template)

    order.append({**order[0], "Order": 4})
    with pytest.raises(NotDeployedError, match="You can associate up to three compute environments"):
        cloud.update(stack, template)
    cloud.destroy(stack)
    with pytest.raises(NotDeployedError, match="You can associate up to three compute environments"):
        cloud.deploy(template)
