"""Jobs and gangs that lose hosts: what is lost is run again, in bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from ecs_emulator.account import Account
from ecs_emulator.local import Local
from gpu_constructs import (
    CapacityChoice,
    GpuBatchQueue,
    GpuCluster,
    GpuJob,
    GpuTaskDefinition,
    JobData,
    JobRetries,
    MultiNodeTraining,
    Purchase,
)
from gpu_constructs.facts.names import HOST_LOG
from gpu_constructs.jobs.batch.job_options import LOST_NODE

from tests.synthesis import app_in

from .deployed_jobs import Jobs, submitted, until

IMAGE = ecs.ContainerImage.from_registry("example/train:1")
GANG = 4


def _define_job(stack: cdk.Stack, vpc: ec2.Vpc) -> None:
    cluster = GpuCluster(stack, "Cluster", vpc=vpc)
    spot = cluster.add_capacity("Spot", instance_types=["g6.xlarge"], max_instances=1, purchase=Purchase.spot())
    train = GpuTaskDefinition(stack, "Train", capacity=[spot], family="train")
    train.add_gpu_container("train", image=IMAGE, gpus=1)
    job = GpuJob(
        stack,
        "Job",
        cluster=cluster,
        task_definition=train,
        timeout=cdk.Duration.hours(6),
        retries=JobRetries(lost_host=3),
        checkpoints=JobData.directory("/checkpoints"),
    )
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)
    cdk.CfnOutput(stack, "Start", value=job.start_command())


def _define_gang(stack: cdk.Stack, vpc: ec2.Vpc) -> None:
    within = cdk.Duration.minutes(6)
    hosts = CapacityChoice("H100", instance_types=["p5.48xlarge"], max_instances=GANG, join_within=within)
    queue = GpuBatchQueue(stack, "Queue", vpc=vpc, environments=[hosts])
    gang = MultiNodeTraining(stack, "Train", queue=queue, hosts=GANG, image=IMAGE, command=["train.py"])
    cdk.CfnOutput(stack, "Submit", value=gang.submit_command())


_STACKS = {"Job": _define_job, "Gang": _define_gang}


@dataclass(frozen=True)
class World:
    """The stacks.

    Args:
        cloud: Where they are.
        outputs: Their outputs, by stack.
    """

    cloud: Local
    outputs: dict[str, Mapping[str, str]]

    @property
    def account(self) -> Account:
        return self.cloud.account

    def switch(self, name: str, value: str) -> None:
        """Tells the emulator what happens."""
        self.cloud.switch(name, value)

    def hosts(self, state: str) -> set[str]:
        """Those in a state."""
        wanted = {"Name": "instance-state-name", "Values": [state]}
        found = self.account.client("ec2").describe_instances(Filters=[wanted])["Reservations"]
        return {each["InstanceId"] for one in found for each in one["Instances"]}

    def reasons(self) -> dict[str, str]:
        """What hosts wrote as they ended into a log group that nothing else deletes."""
        logs, name = self.account.client("logs"), {"logGroupName": HOST_LOG}
        streams = [each["logStreamName"] for each in logs.describe_log_streams(**name)["logStreams"]]
        said = {each: logs.get_log_events(**name, logStreamName=each)["events"][0]["message"] for each in streams}
        logs.delete_log_group(**name)
        return said

    def gang(self) -> dict[str, Any]:
        """Submits the gang; what AWS Batch says of it at its end."""
        return until(self.account, submitted(self.account, self.outputs["Gang"]), 60)


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    app = app_in(tmp_path_factory.mktemp("bounded"))
    for name, define in _STACKS.items():
        stack = cdk.Stack(app, name)
        define(stack, ec2.Vpc(stack, "Vpc", max_azs=1, restrict_default_security_group=False))
    return Path(app.synth().directory)


@pytest.fixture
def world(cloud: Local, assembly: Path) -> Iterator[World]:
    made = {name: cloud.deploy_assembly(assembly, name) for name in _STACKS}
    yield World(cloud, {name: each.outputs for name, each in made.items()})
    for each in made.values():
        cloud.destroy(each)


def test_a_gang_whose_hosts_never_join_has_as_many_as_it_needs_until_somebody_ends_it(world: World) -> None:
    world.switch("never-joins", ",".join(["1"] * 40))
    before, job = world.hosts("terminated"), submitted(world.account, world.outputs["Gang"])
    for _ in range(40):
        assert until(world.account, job, 1)["status"] == "RUNNABLE"
        assert len(world.hosts("running")) <= GANG
    assert len(world.hosts("terminated") - before) >= 4 * GANG
    world.account.client("batch").terminate_job(jobId=job, reason="no host joins")
    for _ in range(20):  # minutes, until its last hosts are gone
        until(world.account, job, 1)
    assert set(world.reasons().values()) == {"this host is not in its ECS cluster after 360 seconds"}


def test_a_host_of_a_gang_that_never_joins_ends_and_another_takes_its_place(world: World) -> None:
    world.switch("never-joins", "0,1")
    before = world.hosts("terminated")
    assert world.gang()["status"] == "SUCCEEDED"
    ended = world.hosts("terminated") - before
    assert (len(ended), len(world.hosts("running"))) == (1, GANG)
    assert world.reasons() == dict.fromkeys(ended, "this host is not in its ECS cluster after 360 seconds")
    world.switch("never-joins", "0")


def test_a_gang_that_loses_each_of_its_hosts_in_turn_runs_again_within_its_budget(world: World) -> None:
    for lost in range(GANG):
        # What the launcher ends the main host with is in test_launcher.py.
        world.switch("jobs/Train", f"{LOST_NODE if lost else 'lost'},0")
        world.switch("nodes/Train", f"{lost}:lost")
        described = world.gang()
        assert (described["status"], len(described["attempts"])) == ("SUCCEEDED", 2), lost
    world.switch("jobs/Train", str(LOST_NODE))
    described = world.gang()
    assert (described["status"], len(described["attempts"])) == ("FAILED", 3)


def test_a_job_survives_a_reclaim_by_each_exit_code_and_resumes_after_its_last_retry(world: World) -> None:
    outputs = world.outputs["Job"]
    jobs = Jobs(world.account, outputs["ClusterName"])
    world.switch("ends/train", "spot-143,spot-137,spot-none,0")
    assert jobs.end(jobs.start_as(outputs["Start"]))["status"] == "SUCCEEDED"
    assert [each["containers"][0].get("exitCode") for each in jobs.tasks()] == [143, 137, None, 0]
    world.switch("ends/train", "spot")
    assert jobs.end(jobs.start_as(outputs["Start"]))["error"] == "LostHost"
    world.switch("ends/train", "0")
    assert jobs.end(jobs.start_as(outputs["Start"]))["status"] == "SUCCEEDED"
    seen = [jobs.environment(each) for each in jobs.tasks()]
    assert [each["JOB_ATTEMPT"] for each in seen] == ["0", "1", "2", "3"] * 2 + ["0"]
    assert len({each["JOB_CHECKPOINTS"] for each in seen}) == 1
    world.switch("ends/train", "memory")
    assert jobs.end(jobs.start_as(outputs["Start"]))["error"] == "OtherExitCode"
