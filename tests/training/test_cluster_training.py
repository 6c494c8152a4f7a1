"""Trainings on the hosts of a cluster: what a template gets, and which no capacity can hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3

from gpu_constructs import (
    ClusterTraining,
    GpuCapacity,
    GpuConstructsError,
    HostNetwork,
    JobData,
    JobRetries,
    Purchase,
    TrainingLauncher,
)
from gpu_constructs.checking.report import findings_in
from gpu_constructs.rules import Severity
from tests.batch.queues import one_zone
from tests.synthesis import Ground, Site

SHARED = batch.EcsVolume.host(name="shared", container_path="/shared", host_path="/mnt/lustre")
READ_ONLY = batch.EcsVolume.host(name="shared", container_path="/shared", host_path="/mnt/lustre", readonly=True)
PLACE = JobData.directory("/shared/data")
LATE = cdk.Token.as_list({"Ref": "Words"})
STARTS, ENDS = (datetime(2030, 1, day, 11, 30, tzinfo=timezone.utc) for day in (7, 8))
OPEN_BLOCK: dict[str, Any] = {
    "types": ("p5.48xlarge",),
    "purchase": Purchase.capacity_block("cr-0123456789abcdef0", instances=4, ends=ENDS),
}
BLOCK: dict[str, Any] = {
    **OPEN_BLOCK,
    "purchase": Purchase.capacity_block("cr-0123456789abcdef0", instances=4, starts=STARTS, ends=ENDS),
}


def hosts(site: Site, types: Sequence[str] = ("g6.12xlarge",), name: str = "Hosts", **arguments: Any) -> GpuCapacity:
    return site.capacity(*types, name=name, **{"vpc_subnets": one_zone(site), **arguments})


def train(site: Site, capacity: Any = None, **arguments: Any) -> ClusterTraining:
    given: dict[str, Any] = {"hosts": 4, "image": site.image, "command": ["train.py"]}
    return ClusterTraining(
        site.stack,
        "Train",
        cluster=site.cluster,
        capacity=hosts(site) if capacity is None else capacity,
        **{**given, **arguments},
    )


def warnings(site: Site) -> list[str]:
    found = cdk.assertions.Annotations.from_stack(site.stack).find_warning("*", cdk.assertions.Match.any_value())
    return [str(each.entry.data) for each in found]


def test_each_task_has_a_whole_host_and_an_interface_that_the_others_reach(site: Site) -> None:
    train(site)
    task = site.only("AWS::ECS::TaskDefinition")
    (container,) = task["ContainerDefinitions"]
    assert task["NetworkMode"] == "awsvpc"
    assert container["ResourceRequirements"] == [{"Type": "GPU", "Value": "4"}]
    assert container["Command"][:2] == ["/bin/sh", "-c"]
    (rule,) = site.properties("AWS::EC2::SecurityGroupIngress")
    assert rule["GroupId"] == rule["SourceSecurityGroupId"]


def test_hosts_with_efa_give_their_adapters_to_the_container(site: Site) -> None:
    train(site, hosts(site, ["p5.48xlarge"], network=HostNetwork.efa()))
    assert len(site.container()["LinuxParameters"]["Devices"]) == 32


def test_checkpoints_are_one_directory_to_which_the_launcher_adds_the_execution(site: Site) -> None:
    bucket = s3.Bucket.from_bucket_name(site.stack, "Data", "data-bucket")
    train(site, checkpoints=JobData.s3(bucket, prefix="tune/"))
    variables = {each["Name"]: each["Value"] for each in site.container()["Environment"]}
    assert variables["JOB_CHECKPOINTS"] == "s3://data-bucket/tune/"
    assert "JOB_CHECKPOINTS" not in json.dumps(site.only("AWS::StepFunctions::StateMachine"))


def test_its_hosts_share_a_file_system_and_a_directory(site: Site) -> None:
    files = efs.FileSystem(site.stack, "Files", vpc=site.vpc)
    shared = batch.EcsVolume.efs(
        name="files", container_path="/files", file_system=files, use_job_role=True, enable_transit_encryption=True
    )
    train(site, volumes=[SHARED, shared], checkpoints=JobData.directory("/files/checkpoints"))
    host, of_efs = site.only("AWS::ECS::TaskDefinition")["Volumes"]
    assert host == {"Name": "shared", "Host": {"SourcePath": "/mnt/lustre"}}
    configuration = of_efs["EFSVolumeConfiguration"]
    assert (configuration["TransitEncryption"], configuration["AuthorizationConfig"]) == ("ENABLED", {"IAM": "ENABLED"})
    mounted = {each["SourceVolume"]: each["ContainerPath"] for each in site.container()["MountPoints"]}
    assert mounted == {"shared": "/shared", "files": "/files"}


def test_its_logs_go_to_the_group_that_is_given(site: Site) -> None:
    train(site, log_group=logs.LogGroup.from_log_group_name(site.stack, "Given", "trainings"))
    assert site.container()["LogConfiguration"]["Options"]["awslogs-group"] == "trainings"
    assert site.properties("AWS::Logs::LogGroup") == []


def test_a_block_whose_end_alone_is_known_is_said_with_its_end(site: Site) -> None:
    train(site, hosts(site, **OPEN_BLOCK), timeout=cdk.Duration.hours(12))
    said = "leave with their Capacity Block at 2030-01-08T10:45:00Z: one that starts after 2030-01-07T22:45:00Z may"
    assert any(said in each for each in warnings(site))


def test_the_main_host_waits_as_long_as_the_others_may_take_to_come(site: Site) -> None:
    train(site, start_within=cdk.Duration.hours(6))
    assert "JOIN_SECONDS=21600" in site.container()["Command"][2]


def test_a_shorter_wait_than_hosts_may_take_is_said(site: Site) -> None:
    train(site, launcher=TrainingLauncher.torchrun(join_within=cdk.Duration.minutes(10)))
    assert any("come within 30 minutes, and the first waits 10 minutes" in each for each in warnings(site))


def test_attempts_that_may_be_too_many_for_one_execution_are_said(site: Site) -> None:
    train(site, hosts(site, max_instances=40), hosts=40, retries=JobRetries(lost_host=20))
    assert any("which about 28 attempts on 40 hosts have, and retries allow 34" in each for each in warnings(site))


def test_tasks_in_public_subnets_have_no_way_out_which_is_said(site: Site) -> None:
    public = ec2.SubnetSelection(subnets=[site.vpc.public_subnets[0]])
    train(site, hosts(site, vpc_subnets=public))
    assert any("has no public address, also where its host has one" in each for each in warnings(site))


def test_its_input_has_the_room_that_the_variables_of_a_gang_leave(site: Site) -> None:
    made = train(site)
    made.start_command(job_input={"x": "y" * 7500})
    with pytest.raises(GpuConstructsError, match="fewer than 7,7") as refused:
        made.start_command(job_input={"x": "y" * 7800})
    assert refused.value.argument == "job_input"


def test_what_was_made_is_found_good(site: Site) -> None:
    train(site)
    directory = site.app.synth().directory
    assert [each for each in findings_in([directory]) if each.severity is not Severity.INFO] == []


def test_spot_hosts_are_taken_with_a_warning(site: Site) -> None:
    train(site, hosts(site, purchase=Purchase.spot()))
    assert any("one interrupted Spot host ends the training on all 4" in each for each in warnings(site))


@pytest.mark.parametrize(
    ("of_hosts", "arguments", "argument", "said"),
    [
        ({}, {"hosts": 5}, "hosts", "has 4 hosts at most, and the training runs on 5 at once"),
        ({}, {"hosts": 1}, "hosts", "GpuJob"),
        ({"max_instances": 100}, {"hosts": 41}, "hosts", "40"),
        ({"vpc_subnets": None}, {}, "capacity", "are in 2"),
        ({}, {"capacity": object()}, "capacity", "Auto Scaling group"),
        ({}, {"hosts": 0}, "hosts", "fix: hosts=2"),
        ({}, {"hosts": 41}, "hosts", "fix: hosts=40, or a MultiNodeTraining for more"),
        ({}, {"launcher": "torchrun"}, "launcher", "TrainingLauncher"),
        ({}, {"launcher": TrainingLauncher.torchrun(processes_per_host=8)}, "processes_per_host", "has 4 GPUs"),
        (
            {},
            {"launcher": TrainingLauncher.torchrun(join_within=cdk.Duration.hours(25))},
            "join_within",
            "ends after 86400",
        ),
        ({}, {"command": ["python", "train.py"]}, "command", "fix: command=['train.py']"),
        ({}, {"command": []}, "command", "names nothing to start"),
        ({}, {"command": "train.py --epochs 3"}, "command", "fix: ['train.py', '--epochs', '3']"),
        ({}, {"command": None}, "command", "fix: ['train.py', '--epochs', '3']"),
        ({}, {"retries": JobRetries(exit_codes={75: 2})}, "exit_codes", "torchrun ends with 1"),
        ({}, {"volumes": [SHARED, SHARED]}, "volumes", "two volumes have the name 'shared'"),
        ({}, {"volumes": ["/shared"]}, "volumes", "batch.EcsVolume"),
        ({}, {"volumes": [SHARED], "checkpoints": JobData.directory("/other")}, "checkpoints", "allowed: /shared"),
        ({}, {"volumes": [READ_ONLY], "checkpoints": JobData.directory("/shared/a")}, "checkpoints", "read-only"),
        (
            {},
            {"reads": {"DATA": PLACE}, "environment": {"DATA": "x"}},
            "reads",
            "DATA is an environment variable",
        ),
        ({}, {"command": ["train.py", "a\0"]}, "command", "NUL"),
        ({}, {"environment": {"DATA": "a\0"}}, "environment", "DATA has a NUL character"),
        ({}, {"command": LATE}, "command", "a list that is only known at deploy time"),
        ({}, {"log_group": "training"}, "log_group", "logs.LogGroup("),
        ({}, {"timeout": "6h"}, "timeout", "fix: cdk.Duration.hours(6)"),
        (
            {},
            {"start_within": cdk.Duration.days(2)},
            "start_within",
            "take 2 days until all run, and an attempt ends after 1 day",
        ),
        ({}, {"start_within": 5}, "start_within", "fix: cdk.Duration.minutes(40)"),
        ({}, {"gpu_memory_gib": 80}, "gpu_memory_gib", ": Train needs 80 GiB"),
        (BLOCK, {"timeout": cdk.Duration.hours(24)}, "timeout", " is there for 1395"),
        ({}, {"environment": {"AWS_BATCH_JOB_ID": "1"}}, "environment", "another name"),
        ({}, {"environment": {"JOB_NAME": "1"}}, "environment", "another name"),
        ({}, {"start_within": cdk.Duration.seconds(5)}, "start_within", "60"),
        ({}, {"timeout": cdk.Duration.days(365)}, "timeout", "cdk.Duration"),
        ({}, {"retries": 3}, "retries", "JobRetries("),
        ({"max_instances": 40}, {"hosts": 40, "retries": JobRetries(lost_host=100)}, "retries", "up to 91 together"),
        ({}, {"state_machine_name": "a b"}, "state_machine_name", "leave it out"),
    ],
)
def test_what_cannot_start_is_refused_before_anything_is_made(
    ground: Ground, of_hosts: dict[str, Any], arguments: dict[str, Any], argument: str, said: str
) -> None:
    with pytest.raises(GpuConstructsError) as refused:
        train(ground, **{"capacity": hosts(ground, **of_hosts), **arguments})
    assert refused.value.argument == argument
    assert said in str(refused.value)
    assert ground.stack.node.try_find_child("Train") is None


def test_capacity_with_different_gpus_is_refused(site: Site) -> None:
    with pytest.raises(GpuConstructsError, match="the same whole GPUs"):
        train(site, hosts(site, ["g6.12xlarge", "g5.12xlarge"]))
    with pytest.raises(GpuConstructsError, match=r"^capacity: .* fix: capacity of one instance type with GPUs"):
        train(site, hosts(site, ["trn1.32xlarge"], name="Neuron"))
    with pytest.raises(GpuConstructsError, match="Auto Scaling group"):
        train(site, site.managed(instance_types=["g6.12xlarge"]))
