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
from gpu_constructs.check.report import report_in
from gpu_constructs.rules import Severity
from tests.synthesis import Ground, Properties, Site, warned

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
    return site.capacity(*types, name=name, **{"vpc_subnets": site.one_zone, **arguments})


def train(site: Site, capacity: Any = None, name: str = "Train", **arguments: Any) -> ClusterTraining:
    given: dict[str, Any] = {"hosts": 4, "image": site.image, "command": ["train.py"]}
    return ClusterTraining(
        site.stack,
        name,
        cluster=site.cluster,
        capacity=hosts(site) if capacity is None else capacity,
        **{**given, **arguments},
    )


@pytest.fixture(scope="module")
def made(shared_site: Site) -> Properties:
    """The task definitions of a training with defaults and of one with everything, by their names."""
    site = shared_site
    files = efs.FileSystem(site.stack, "Files", vpc=site.vpc)
    shared = batch.EcsVolume.efs(
        name="files", container_path="/files", file_system=files, use_job_role=True, enable_transit_encryption=True
    )
    bucket = s3.Bucket.from_bucket_name(site.stack, "Data", "data-bucket")
    train(site, name="Plain")
    train(
        site,
        hosts(site, ["p5.48xlarge"], name="Efa", network=HostNetwork.efa()),
        name="Chosen",
        checkpoints=JobData.s3(bucket, prefix="tune/"),
        volumes=[SHARED, shared],
        start_within=cdk.Duration.hours(6),
        log_group=logs.LogGroup.from_log_group_name(site.stack, "Given", "trainings"),
    )
    resources = site.template()["Resources"]
    return {
        prefix: each["Properties"]
        for prefix in ("Plain", "Chosen")
        for name, each in resources.items()
        if name.startswith(prefix) and each["Type"] == "AWS::ECS::TaskDefinition"
    }


@pytest.fixture(scope="module")
def chosen(made: Properties) -> Properties:
    """The container of the training with everything."""
    (container,) = made["Chosen"]["ContainerDefinitions"]
    assert isinstance(container, dict)
    return container


def test_each_task_has_a_whole_host_and_an_interface_that_the_others_reach(shared_site: Site, made: Properties) -> None:
    (container,) = made["Plain"]["ContainerDefinitions"]
    assert made["Plain"]["NetworkMode"] == "awsvpc"
    assert container["ResourceRequirements"] == [{"Type": "GPU", "Value": "4"}]
    assert container["Command"][:2] == ["/bin/sh", "-c"]
    of_each = [
        each
        for each in shared_site.properties("AWS::EC2::SecurityGroupIngress")
        if each["GroupId"]["Fn::GetAtt"][0].startswith(("Plain", "Chosen"))
    ]
    assert len(of_each) == len(made)
    assert all(each["GroupId"] == each["SourceSecurityGroupId"] for each in of_each)


def test_hosts_with_efa_give_their_adapters_to_the_container(chosen: Properties) -> None:
    assert len(chosen["LinuxParameters"]["Devices"]) == 32


def test_checkpoints_are_one_directory_to_which_the_launcher_adds_the_execution(
    shared_site: Site, chosen: Properties
) -> None:
    variables = {each["Name"]: each["Value"] for each in chosen["Environment"]}
    assert variables["JOB_CHECKPOINTS"] == "s3://data-bucket/tune/"
    assert "JOB_CHECKPOINTS" not in json.dumps(shared_site.properties("AWS::StepFunctions::StateMachine"))


def test_its_hosts_share_a_file_system_and_a_directory(made: Properties, chosen: Properties) -> None:
    host, of_efs = made["Chosen"]["Volumes"]
    assert host == {"Name": "shared", "Host": {"SourcePath": "/mnt/lustre"}}
    configuration = of_efs["EFSVolumeConfiguration"]
    assert (configuration["TransitEncryption"], configuration["AuthorizationConfig"]) == ("ENABLED", {"IAM": "ENABLED"})
    mounted = {each["SourceVolume"]: each["ContainerPath"] for each in chosen["MountPoints"]}
    assert mounted == {"shared": "/shared", "files": "/files"}


def test_the_main_host_waits_as_long_as_the_others_may_take_to_come(chosen: Properties) -> None:
    assert "JOIN_SECONDS=21600" in chosen["Command"][2]


def test_what_was_made_is_found_good(shared_site: Site, made: Properties) -> None:
    assert list(made) == ["Plain", "Chosen"]
    found = report_in([shared_site.app.outdir]).findings
    assert [each for each in found if each.severity is not Severity.INFO] == []


def test_a_shorter_wait_than_hosts_may_take_is_said(ground: Ground) -> None:
    made = train(ground, launcher=TrainingLauncher.torchrun(join_within=cdk.Duration.minutes(10)))
    assert any("come within 30 minutes, and the first waits 10 minutes" in each for each in warned(made))


def test_attempts_that_may_be_too_many_for_one_execution_are_said(ground: Ground) -> None:
    made = train(ground, hosts(ground, max_instances=40), hosts=40, retries=JobRetries(lost_host=20))
    assert any("which about 28 attempts on 40 hosts have, and retries allow 34" in each for each in warned(made))


def test_tasks_in_public_subnets_have_no_way_out_which_is_said(ground: Ground) -> None:
    public = ec2.SubnetSelection(subnets=[ground.vpc.public_subnets[0]])
    made = train(ground, hosts(ground, vpc_subnets=public))
    assert any("has no public address, also where its host has one" in each for each in warned(made))


def test_its_input_has_the_room_that_the_variables_of_a_gang_leave(ground: Ground) -> None:
    made = train(ground)
    made.start_command(job_input={"x": "y" * 7500})
    with pytest.raises(GpuConstructsError, match="fewer than 7,7") as refused:
        made.start_command(job_input={"x": "y" * 7800})
    assert refused.value.argument == "job_input"


@pytest.mark.parametrize(
    ("of_hosts", "arguments", "argument", "said"),
    [
        ({}, {"hosts": 5}, "hosts", "has 4 hosts at most, and the training runs on 5 at once"),
        ({}, {"hosts": 1}, "hosts", "GpuJob"),
        ({"vpc_subnets": None}, {}, "capacity", "are in 2"),
        ({}, {"capacity": object()}, "capacity", "Auto Scaling group"),
        ({}, {"hosts": 0}, "hosts", "fix: hosts=2"),
        ({}, {"hosts": 41}, "hosts", "fix: hosts=40, or a MultiNodeTraining for more"),
        (
            {},
            {"launcher": TrainingLauncher.torchrun(join_within=cdk.Duration.hours(25))},
            "join_within",
            "ends after 86400",
        ),
        ({}, {"command": ["python", "train.py"]}, "command", "fix: command=['train.py']"),
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
        (
            {},
            {"start_within": cdk.Duration.days(2)},
            "start_within",
            "take 2 days until all run, and an attempt ends after 1 day",
        ),
        ({}, {"gpu_memory_gib": 80}, "gpu_memory_gib", ": Train needs 80 GiB"),
        (BLOCK, {"timeout": cdk.Duration.hours(24)}, "timeout", " is there for 1395"),
        ({}, {"environment": {"JOB_NAME": "1"}}, "environment", "another name"),
        ({}, {"start_within": cdk.Duration.seconds(5)}, "start_within", "60"),
        ({}, {"timeout": cdk.Duration.days(365)}, "timeout", "cdk.Duration"),
        ({"max_instances": 40}, {"hosts": 40, "retries": JobRetries(lost_host=100)}, "retries", "up to 91 together"),
        ({}, {"state_machine_name": "a b"}, "state_machine_name", "leave it out"),
    ],
)
def test_what_cannot_start_is_refused(
    ground: Ground, of_hosts: dict[str, Any], arguments: dict[str, Any], argument: str, said: str
) -> None:
    with pytest.raises(GpuConstructsError) as refused:
        train(ground, **{"capacity": hosts(ground, **of_hosts), **arguments})
    assert refused.value.argument == argument
    assert said in str(refused.value)


def test_capacity_with_different_gpus_is_refused(ground: Ground) -> None:
    with pytest.raises(GpuConstructsError, match="the same whole GPUs"):
        train(ground, hosts(ground, ["g6.12xlarge", "g5.12xlarge"]))
    with pytest.raises(GpuConstructsError, match=r"^capacity: .* fix: capacity of one instance type with GPUs"):
        train(ground, hosts(ground, ["trn1.32xlarge"], name="Neuron"))
    with pytest.raises(GpuConstructsError, match="Auto Scaling group"):
        train(ground, ground.managed(instance_types=["g6.12xlarge"]))
