"""A role without a statement that it needs makes what uses it fail, in words; the self-test passes."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from ecs_emulator.local import Local
from gpu_constructs import CapacityChoice, GpuBatchQueue, GpuJob
from gpu_constructs.account.live.self_test import FAMILY
from gpu_constructs.account.self_test import Request, SelfTestEnd, run_self_test

from tests.synthesis import Site, app_in

REGISTERS, LOG = "ecs:RegisterContainerInstance", "LogOfTheSelfTest"

_OTHER = [{"Effect": "Allow", "Action": "sts:GetCallerIdentity", "Resource": "*"}]


def without(template: dict[str, Any], what: str) -> dict[str, Any]:
    """A template whose policies lack the statements that name something."""
    template = deepcopy(template)
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        for policy in (*properties.get("Policies", ()), properties):
            if document := policy.get("PolicyDocument"):
                kept = [each for each in document["Statement"] if what not in str(each)]
                document["Statement"] = kept or _OTHER
    return template


@cache
def app() -> dict[str, Any]:
    site = Site(app_in(context=Site.recommended_context()))
    site.make_vpc()
    l4 = site.cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1, min_instances=1)
    train = site.task(l4, name="Train", family="train")
    train.add_gpu_container("train", image=site.image, gpus=1)
    job = GpuJob(site.stack, "Job", cluster=site.cluster, task_definition=train, timeout=cdk.Duration.hours(1))
    cdk.CfnOutput(site.stack, "Machine", value=job.state_machine.state_machine_arn)
    cdk.CfnOutput(site.stack, "In", value=site.cluster.cluster.cluster_name)
    return site.template()


def self_test(cloud: Local, cluster: str) -> SelfTestEnd:
    time = [0.0]

    def sleep(seconds: float) -> None:
        time[0] += seconds

    request = Request(cluster=cluster)
    return run_self_test(lambda service, _: cloud.account.client(service), request, sleep=sleep, clock=lambda: time[0])


@pytest.mark.parametrize(
    ("missing", "hosts", "ends", "said"),
    [
        ("nothing", 1, "SUCCEEDED", ""),
        ("'ecs:RunTask'", 1, "FAILED", "not authorized to perform: ecs:RunTask"),
        ("iam:PassRole", 1, "FAILED", "not authorized to perform: iam:PassRole"),
        ("'logs:CreateLogStream'", 1, "FAILED", "not authorized to perform: logs:CreateLogStream"),
        (REGISTERS, 0, "RUNNING", ""),
    ],
)
def test_a_job(cloud: Local, missing: str, hosts: int, ends: str, said: str) -> None:
    cloud.switch("ends/train", "0")
    stack = cloud.deploy(without(app(), missing))
    states = cloud.account.client("stepfunctions")
    name = states.start_execution(stateMachineArn=stack.outputs["Machine"])["executionArn"]
    for _ in range(12):
        described = states.describe_execution(executionArn=name)
    assert len(cloud.account.hosts(stack.outputs["In"])) == hosts
    assert described["status"] == ends
    assert said in described.get("cause", "")
    if ends == "RUNNING":
        states.stop_execution(executionArn=name)
    cloud.destroy(stack)


@pytest.mark.parametrize("missing", ["nothing", LOG])
def test_the_self_test_on_hosts_of_this_library(cloud: Local, missing: str) -> None:
    cloud.switch(f"ends/{FAMILY}", "0")
    stack = cloud.deploy(without(app(), missing))
    cloud.minutes(stack.outputs["In"], 3)
    end = self_test(cloud, stack.outputs["In"])
    assert end.succeeded == (missing == "nothing")
    if missing != "nothing":
        (check,) = end.checks
        assert "logs:CreateLogStream" in check.text
    cloud.account.client("logs").delete_log_group(logGroupName=FAMILY)
    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("missing", "ends"), [("nothing", "SUCCEEDED"), ("TrainLogs", "FAILED"), (REGISTERS, "RUNNABLE")]
)
def test_a_job_of_aws_batch(cloud: Local, missing: str, ends: str) -> None:
    site = Site(app_in(context=Site.recommended_context()))
    site.make_vpc()
    hosts = CapacityChoice("L4", instance_types=["g6.xlarge"], max_instances=1)
    queue = GpuBatchQueue(site.stack, "Queue", vpc=site.vpc, environments=[hosts])
    image = ecs.ContainerImage.from_registry("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime")
    job = queue.add_job("Train", image=image)
    cdk.CfnOutput(site.stack, "Definition", value=job.job_definition.job_definition_arn)
    cdk.CfnOutput(site.stack, "Where", value=queue.job_queue.job_queue_arn)
    stack = cloud.deploy(without(site.template(), missing))
    batch = cloud.account.client("batch")
    named = {"jobQueue": stack.outputs["Where"], "jobDefinition": stack.outputs["Definition"]}
    name = batch.submit_job(jobName="one", **named)["jobId"]
    for _ in range(12):
        (described,) = batch.describe_jobs(jobs=[name])["jobs"]
    assert described["status"] == ends
    if ends == "RUNNABLE":
        batch.terminate_job(jobId=name, reason="the test has ended")
    cloud.destroy(stack)
