"""Trainings over several hosts on the emulator: started together, ended by the main host, interrupted and destroyed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from gpu_constructs import CapacityChoice, GpuBatchQueue, HostNetwork, MultiNodeTraining

from .account import Account
from .stage import Stage

STACK = "Training"
HOSTS = 3


def _assembly(folder: Path, types: str = "g6.12xlarge", network: HostNetwork | None = None, **of_job: Any) -> Path:
    app = cdk.App(outdir=str(folder))
    stack = cdk.Stack(app, STACK)
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
    cdk.CfnOutput(stack, "Submit", value=training.submit_command())
    app.synth()
    return folder


def _submitted(account: Account, outputs: Any) -> str:
    words = shlex.split(outputs["Submit"])
    given = dict(zip(words[3::2], words[4::2], strict=True))
    submitted = account.client("batch").submit_job(
        jobName=given["--job-name"], jobQueue=given["--job-queue"], jobDefinition=given["--job-definition"]
    )
    return str(submitted["jobId"])


def _look(account: Account, job: str) -> dict[str, Any]:
    (described,) = account.client("batch").describe_jobs(jobs=[job])["jobs"]
    return dict(described)


def _until(account: Account, job: str, minutes: int, *statuses: str) -> dict[str, Any]:
    for _ in range(minutes):
        described = _look(account, job)
        if described["status"] in statuses:
            break
    return described


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


def test_the_command_line_deploys_a_training_that_runs_on_all_its_hosts_and_ends_with_the_main_one(
    stage: Stage, tmp_path: Path
) -> None:
    assembly = _assembly(tmp_path)
    outputs = stage.cdk.deploy(assembly, STACK)
    job = _submitted(stage.account, outputs)

    _until(stage.account, job, 10, "RUNNING")
    nodes = _nodes(stage.account)
    described = _until(stage.account, job, 10, "SUCCEEDED", "FAILED")

    assert len({host for host, _ in nodes}) == len(nodes) == HOSTS
    assert (described["status"], len(described["attempts"])) == ("SUCCEEDED", 1)
    assert {status for _, status in _nodes(stage.account)} == {"STOPPED"}
    stage.cdk.destroy(assembly, STACK)
