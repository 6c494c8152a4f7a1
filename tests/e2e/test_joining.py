"""Hosts that start and never join their cluster: they end themselves, and what waits for them goes on."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from emulator.local import Deployed, Local
from gpu_constructs import CapacityChoice, GpuBatchQueue, GpuCluster, GpuService, GpuTaskDefinition, MultiNodeTraining
from gpu_constructs.facts.names import HOST_LOG

from tests.synthesis import app_in

STACK = "Joining"
HOSTS = 4
WITHIN = cdk.Duration.minutes(6)


def _deployed(cloud: Local, folder: Path, define: Callable[[cdk.Stack, ec2.Vpc], str]) -> Deployed:
    app = app_in(folder)
    stack = cdk.Stack(app, STACK)
    cdk.CfnOutput(stack, "Out", value=define(stack, ec2.Vpc(stack, "Vpc", max_azs=1)))
    app.synth()
    return cloud.deploy_assembly(folder, STACK)


def _hosts(cloud: Local, state: str) -> set[str]:
    reservations = cloud.account.client("ec2").describe_instances()["Reservations"]
    return {i["InstanceId"] for r in reservations for i in r["Instances"] if i["State"]["Name"] == state}


def _reasons(cloud: Local) -> dict[str, str]:
    """What hosts wrote as they ended, which stays after their stack."""
    logs, name = cloud.account.client("logs"), {"logGroupName": HOST_LOG}
    streams = [each["logStreamName"] for each in logs.describe_log_streams(**name)["logStreams"]]
    said = {each: logs.get_log_events(**name, logStreamName=each)["events"][0]["message"] for each in streams}
    logs.delete_log_group(**name)
    return said


def _training(stack: cdk.Stack, vpc: ec2.Vpc) -> str:
    hosts = CapacityChoice("H100", instance_types=["p5.48xlarge"], max_instances=HOSTS, join_within=WITHIN)
    queue = GpuBatchQueue(stack, "Queue", vpc=vpc, environments=[hosts])
    image = ecs.ContainerImage.from_registry("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime")
    return MultiNodeTraining(
        stack, "Train", queue=queue, hosts=HOSTS, image=image, command=["train.py"]
    ).submit_command()


@pytest.mark.parametrize("forever", [False, True], ids=["one host of four", "every host"])
def test_a_gang_gets_another_host_for_one_that_never_joins(cloud: Local, tmp_path: Path, *, forever: bool) -> None:
    stack = _deployed(cloud, tmp_path, _training)
    cloud.switch("never-joins", ",".join(["1"] * 40) if forever else "0,1")
    words = shlex.split(stack.outputs["Out"])
    given = dict(zip(words[3::2], words[4::2], strict=True))
    batch = cloud.account.client("batch")
    job = batch.submit_job(
        jobName=given["--job-name"], jobQueue=given["--job-queue"], jobDefinition=given["--job-definition"]
    )["jobId"]
    minutes = 0
    while batch.describe_jobs(jobs=[job])["jobs"][0]["status"] not in {"RUNNING", "SUCCEEDED"} and minutes < 40:
        minutes += 1
        assert len(_hosts(cloud, "running")) <= HOSTS
    ended = _hosts(cloud, "terminated")
    if forever:
        # It costs what four hosts cost, each for its time, until somebody acts on the job that waits.
        assert (minutes, len(ended) >= 4 * HOSTS) == (40, True)
    else:
        assert (minutes < 12, len(ended)) == (True, 1)
    cloud.destroy(stack)
    said = _reasons(cloud)
    assert ended <= set(said)
    assert set(said.values()) == {"this host is not in its ECS cluster after 360 seconds"}


def _service(stack: cdk.Stack, vpc: ec2.Vpc) -> str:
    cluster = GpuCluster(stack, "Cluster", vpc=vpc)
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1, join_within=WITHIN)
    task = GpuTaskDefinition(stack, "Chat", capacity=[l4])
    task.add_gpu_container("chat", image=ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04"))
    GpuService(stack, "Service", cluster=cluster, task_definition=task, desired_count=1)
    return cluster.cluster.cluster_name


def test_a_group_replaces_a_host_that_never_joins(cloud: Local, tmp_path: Path) -> None:
    cloud.switch("never-joins", "1")
    stack = _deployed(cloud, tmp_path, _service)
    assert [each.status for each in cloud.account.tasks(stack.outputs["Out"])] == ["RUNNING"]
    ended = _hosts(cloud, "terminated")
    assert (len(ended), len(_hosts(cloud, "running"))) == (1, 1)
    cloud.destroy(stack)
    assert set(_reasons(cloud)) == ended
