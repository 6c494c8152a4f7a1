"""Queues of AWS Batch on the emulator: deployed, jobs run on hosts from zero, interrupted, retried and destroyed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from gpu_constructs import CapacityChoice, GpuBatchQueue, Purchase

from .account import Account
from .stage import Stage

STACK = "Batch"


def _assembly(folder: Path, **options: Any) -> Path:
    app = cdk.App(outdir=str(folder))
    stack = cdk.Stack(app, STACK)
    queue = GpuBatchQueue(
        stack,
        "Queue",
        vpc=ec2.Vpc(stack, "Vpc", restrict_default_security_group=False),
        environments=[
            CapacityChoice("Spot", instance_types=["g6.xlarge"], max_instances=2, purchase=Purchase.spot()),
            CapacityChoice("OnDemand", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=2),
        ],
        **options,
    )
    image = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
    job = queue.add_job("Train", image=image, command=["nvidia-smi"])
    cdk.CfnOutput(stack, "Submit", value=job.submit_command())
    app.synth()
    return folder


def _submitted(account: Account, outputs: Any) -> str:
    """What `aws batch submit-job` does with the words of an output."""
    words = shlex.split(outputs["Submit"])
    assert words[:3] == ["aws", "batch", "submit-job"]
    given = dict(zip(words[3::2], words[4::2], strict=True))
    names = {"--job-name": "jobName", "--job-queue": "jobQueue", "--job-definition": "jobDefinition"}
    names["--share-identifier"] = "shareIdentifier"
    submitted = account.client("batch").submit_job(**{names[key]: value for key, value in given.items()})
    return str(submitted["jobId"])


def _after(account: Account, job: str, minutes: int) -> dict[str, Any]:
    for _ in range(minutes):
        (described,) = account.client("batch").describe_jobs(jobs=[job])["jobs"]
        if described["status"] in {"FAILED", "SUCCEEDED"}:
            break
    return dict(described)


def test_the_command_line_deploys_a_queue_whose_job_starts_a_host_from_zero(stage: Stage, tmp_path: Path) -> None:
    assembly = _assembly(tmp_path)
    outputs = stage.cdk.deploy(assembly, STACK)
    job = _submitted(stage.account, outputs)

    described = _after(stage.account, job, 10)

    assert (described["status"], len(described["attempts"])) == ("SUCCEEDED", 1)
    stage.cdk.destroy(assembly, STACK)
