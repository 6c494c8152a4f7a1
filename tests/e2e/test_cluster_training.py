"""Trainings on the hosts of a cluster, on the emulator: hosts come from zero, all run, one fails, and all end."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from emulator.account import Account
from emulator.local import Local
from gpu_constructs import ClusterTraining, GpuCluster, JobRetries, TrainingLauncher

from tests.synthesis import Properties, synthesized

from .deployed_jobs import Jobs

HOSTS = 3
RETRIES = JobRetries(no_host=1, not_started=1, lost_host=2, exit_codes={75: 1})


@functools.cache
def _template(**arguments: Any) -> Properties:
    return synthesized("Training", functools.partial(_define, **arguments))


def _define(stack: cdk.Stack, **arguments: Any) -> None:
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=1))
    hosts = cluster.add_capacity("Hosts", instance_types=["g6.12xlarge"], max_instances=HOSTS)
    image = ecs.ContainerImage.from_registry("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime")
    training = ClusterTraining(
        stack,
        "Train",
        cluster=cluster,
        capacity=hosts,
        hosts=HOSTS,
        image=image,
        command=["train.py"],
        launcher=TrainingLauncher.jax(),
        retries=RETRIES,
        **arguments,
    )
    cdk.CfnOutput(stack, "Start", value=training.start_command())
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)
    cdk.CfnOutput(stack, "Family", value=training.task_definition.family)


def _jobs(account: Account, outputs: Mapping[str, str]) -> Jobs:
    return Jobs(account, outputs["ClusterName"])


def _ended(account: Account, outputs: Mapping[str, str]) -> dict[str, Any]:
    """What an execution says when it is over."""
    jobs = _jobs(account, outputs)
    return jobs.end(jobs.start_as(outputs["Start"]))


def _tasks(jobs: Jobs) -> list[dict[str, str]]:
    """Every task that ever ran: its host, its status, and its variables without the beginning that AWS Batch has."""
    return [
        {
            "host": each.get("containerInstanceArn", ""),
            "status": each["lastStatus"],
            **{name.removeprefix("AWS_BATCH_JOB_"): value for name, value in jobs.environment(each).items()},
        }
        for each in jobs.tasks()
    ]


def test_the_hosts_of_a_training_start_from_zero_and_end_with_the_main_one(cloud: Local) -> None:
    stack = cloud.deploy(_template())
    outputs = stack.outputs
    assert cloud.account.hosts(outputs["ClusterName"]) == ()
    cloud.switch(f"ends/{outputs['Family']}", "9*0,late")

    end = _ended(cloud.account, outputs)

    assert end["status"] == "SUCCEEDED", end.get("cause")
    tasks = _tasks(_jobs(cloud.account, outputs))
    assert sorted(each["NODE_INDEX"] for each in tasks) == ["0", "1", "2"]
    assert {each["NUM_NODES"] for each in tasks} == {"3"}
    assert len({each["host"] for each in tasks}) == HOSTS
    assert {each["status"] for each in tasks} == {"STOPPED"}
    (address,) = {each["MAIN_NODE_PRIVATE_IPV4_ADDRESS"] for each in tasks if each["NODE_INDEX"] != "0"}
    assert address.startswith("10.")
    assert json.loads(end["output"])["Containers"][0]["ExitCode"] == 0
    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("ends", "end", "tasks"),
    [
        ("late,75,late,9*0,0", "SUCCEEDED", 6),
        ("late,spot,late,9*0,late", "SUCCEEDED", 6),
        ("3*1,spot,late,9*0,late", "SUCCEEDED", 6),
        ("9*0,7*1", "SUCCEEDED", 3),
        ("late,1", "OtherExitCode", 3),
        ("late,start,late,late,start", "NotStarted", 6),
    ],
    ids=[
        "an exit code",
        "a lost host",
        "a lost host, and the main one fails of it",
        "an end that the others take for a failure",
        "a mistake",
        "an image that is not there",
    ],
)
def test_a_host_that_fails_ends_the_training_on_all_and_it_is_tried_again_within_a_budget(
    cloud: Local, ends: str, end: str, tasks: int
) -> None:
    stack = cloud.deploy(_template())
    cloud.switch(f"ends/{stack.outputs['Family']}", ends)

    said = _ended(cloud.account, stack.outputs)

    assert said.get("error", said["status"]) == end, said.get("cause")
    found = _tasks(_jobs(cloud.account, stack.outputs))
    assert (len(found), {each["status"] for each in found}) == (tasks, {"STOPPED"})
    cloud.destroy(stack)


def test_hosts_that_came_are_given_back_where_the_others_do_not_come_in_time(cloud: Local) -> None:
    stack = cloud.deploy(_template(start_within=cdk.Duration.minutes(12)))
    jobs = _jobs(cloud.account, stack.outputs)
    execution = jobs.start_as(stack.outputs["Start"])
    while not cloud.account.hosts(jobs.cluster):
        pass
    cloud.switch("no-capacity", "g6.12xlarge")

    said = jobs.end(execution)

    assert (said["error"], said["cause"]) == ("NotTogether", "not all 3 hosts ran 2 times within 12 minutes")
    tasks = _tasks(jobs)
    assert {each["status"] for each in tasks} == {"STOPPED"}
    assert {each["host"] != "" for each in tasks} == {True, False}
    cloud.destroy(stack)


def test_a_time_limit_ends_a_training_on_all_its_hosts(cloud: Local) -> None:
    stack = cloud.deploy(_template(timeout=cdk.Duration.minutes(20)))

    said = _ended(cloud.account, stack.outputs)

    assert (said["error"], said["cause"]) == ("TimeLimit", "it passed its time limit of 20 minutes")
    tasks = _tasks(_jobs(cloud.account, stack.outputs))
    assert (len(tasks), {each["status"] for each in tasks}) == (HOSTS, {"STOPPED"})
    cloud.destroy(stack)
