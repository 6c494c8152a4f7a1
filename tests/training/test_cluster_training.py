"""Trainings on the hosts of a cluster: what a template gets, and which no capacity can hold."""

from __future__ import annotations

import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3

from gpu_constructs import ClusterTraining, GpuCapacity, GpuConstructsError, HostNetwork, JobData, Purchase
from gpu_constructs.checking.report import findings_in
from gpu_constructs.rules import Severity
from tests.batch.queues import one_zone
from tests.synthesis import Site


def hosts(site: Site, *types: str, name: str = "Hosts", **arguments: Any) -> GpuCapacity:
    return site.capacity(*(types or ("g6.12xlarge",)), name=name, **{"vpc_subnets": one_zone(site), **arguments})


def train(site: Site, capacity: Any = None, **arguments: Any) -> ClusterTraining:
    given: dict[str, Any] = {"hosts": 4, "image": site.image, "command": ["train.py"]}
    return ClusterTraining(
        site.stack,
        "Train",
        cluster=site.cluster,
        capacity=hosts(site) if capacity is None else capacity,
        **{**given, **arguments},
    )


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
    train(site, hosts(site, "p5.48xlarge", network=HostNetwork.efa()))
    assert len(site.container()["LinuxParameters"]["Devices"]) == 32


def test_checkpoints_are_one_directory_to_which_the_launcher_adds_the_execution(site: Site) -> None:
    bucket = s3.Bucket.from_bucket_name(site.stack, "Data", "data-bucket")
    train(site, checkpoints=JobData.s3(bucket, prefix="tune/"))
    variables = {each["Name"]: each["Value"] for each in site.container()["Environment"]}
    assert variables["JOB_CHECKPOINTS"] == "s3://data-bucket/tune/"
    assert "JOB_CHECKPOINTS" not in json.dumps(site.only("AWS::StepFunctions::StateMachine"))


def test_what_was_made_is_found_good(site: Site) -> None:
    train(site)
    directory = site.app.synth().directory
    assert [each for each in findings_in([directory]) if each.severity is not Severity.INFO] == []


def test_spot_hosts_are_taken_with_a_warning(site: Site) -> None:
    train(site, hosts(site, purchase=Purchase.spot()))
    found = cdk.assertions.Annotations.from_stack(site.stack).find_warning("*", cdk.assertions.Match.any_value())
    assert any("one interrupted spot host ends the training on all 4" in str(each.entry.data) for each in found)


@pytest.mark.parametrize(
    ("of_hosts", "arguments", "argument", "said"),
    [
        ({}, {"hosts": 5}, "hosts", "has 4 hosts at most, and the training runs on 5 at once"),
        ({}, {"hosts": 1}, "hosts", "GpuJob"),
        ({"max_instances": 100}, {"hosts": 41}, "hosts", "40"),
        ({"vpc_subnets": None}, {}, "capacity", "are in 2"),
        ({}, {"capacity": object()}, "capacity", "Auto Scaling group"),
        ({}, {"launcher": "torchrun"}, "launcher", "TrainingLauncher"),
        ({}, {"environment": {"AWS_BATCH_JOB_ID": "1"}}, "environment", "another name"),
        ({}, {"environment": {"JOB_NAME": "1"}}, "environment", "another name"),
        ({}, {"start_within": cdk.Duration.seconds(5)}, "start_within", "60"),
        ({}, {"timeout": cdk.Duration.days(365)}, "timeout", "cdk.Duration"),
        ({}, {"retries": 3}, "retries", "JobRetries("),
        ({}, {"state_machine_name": "a b"}, "state_machine_name", "leave it out"),
    ],
)
def test_what_cannot_start_is_refused_before_anything_is_made(
    site: Site, of_hosts: dict[str, Any], arguments: dict[str, Any], argument: str, said: str
) -> None:
    with pytest.raises(GpuConstructsError) as refused:
        train(site, **{"capacity": hosts(site, **of_hosts), **arguments})
    assert refused.value.argument == argument
    assert said in str(refused.value)
    assert site.stack.node.try_find_child("Train") is None


def test_capacity_with_different_gpus_is_refused(site: Site) -> None:
    with pytest.raises(GpuConstructsError, match="the same whole GPUs"):
        train(site, hosts(site, "g6.12xlarge", "g5.12xlarge"))
    with pytest.raises(GpuConstructsError, match="Auto Scaling group"):
        train(site, site.managed(instance_types=["g6.12xlarge"]))
