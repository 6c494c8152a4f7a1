"""Keys that ECS Managed Instances refuse, that are spelled wrong, or that ECS does not have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.budget import one_call
from gpu_constructs.fleet import Fleet, ResourceRequirement, Scheduler, Task
from gpu_constructs.rules import check, rules_of
from gpu_constructs.rules.tasks import keys
from gpu_constructs.rules.tasks.keys import known_keys, manageable, spelled
from tests.rules.given import a_pool, container, fleet_of, gpu, managed_pool, only, said, service, task_of

RULES = rules_of(keys)

TASK = task_of(container(gpu()))
MANAGED = replace(TASK, compatibilities=("MANAGED_INSTANCES",))


@pytest.mark.parametrize(
    ("task", "word"),
    [
        (replace(MANAGED, ipc_mode="host"), "ipcMode is not valid"),
        (replace(MANAGED, network_mode="none"), "network mode none"),
        (replace(MANAGED, network_mode="bridge", names_network_mode=True), "network mode bridge is not valid"),
        (replace(MANAGED, used_keys=("Volumes.Host.SourcePath",)), "sourcePath"),
        (replace(MANAGED, used_keys=("IpcMode",), ipc_mode="task"), "ipcMode is not valid"),
        (
            replace(
                MANAGED,
                containers=(
                    replace(
                        container(gpu()),
                        shared_memory_mib=1024,
                        used_keys=("LinuxParameters.SharedMemorySize", "Links"),
                    ),
                ),
            ),
            "sharedMemorySize and links are not valid",
        ),
    ],
)
def test_settings_that_managed_instances_refuse_are_an_error(task: Task, word: str) -> None:
    finding = only(manageable, fleet_of(task))
    assert (finding.rule, finding.severity) == ("GPU047", "error")
    assert word in finding.message


def test_a_service_on_managed_instances_counts_as_well() -> None:
    task = replace(TASK, ipc_mode="host")
    finding = only(manageable, fleet_of(task, workloads=(service(task, managed_pool()),)))
    assert (finding.subject, finding.severity) == ("train", "warning")


@pytest.mark.parametrize(
    "fleet",
    [
        fleet_of(MANAGED),
        fleet_of(replace(MANAGED, network_mode="host", used_keys=("PidMode",))),
        fleet_of(replace(MANAGED, network_mode="bridge")),
        fleet_of(replace(MANAGED, containers=(replace(container(gpu()), used_keys=("DockerLabels",)),))),
        fleet_of(replace(TASK, ipc_mode="host")),
        fleet_of(replace(TASK, ipc_mode="host"), workloads=(service(replace(TASK, ipc_mode="host"), a_pool()),)),
        fleet_of(replace(MANAGED, ipc_mode="host", scheduler=Scheduler.BATCH)),
    ],
)
def test_settings_that_are_valid_where_the_task_runs_are_silent(fleet: Fleet) -> None:
    assert said(manageable, fleet) == []


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("version", "leave it out: ECS counts the revisions"),
        ("networkMode", "write it NetworkMode"),
        ("Network_mode", "write it NetworkMode (in a task definition of the ECS API: networkMode)"),
        ("NetworkMode", "write it networkMode"),
        ("Environment", "it belongs to each container"),
        ("status", "DescribeTaskDefinition returns it"),
        ("containers", "ContainerDefinitions"),
    ],
)
def test_a_key_of_a_task_that_is_certainly_another_is_an_error_with_the_right_one(key: str, fix: str) -> None:
    finding = only(spelled, fleet_of(replace(TASK, unknown_keys=(key,))))
    assert (finding.rule, finding.severity) == ("GPU048", "error")
    assert f"a task definition has no key {key}" in finding.message
    assert fix in finding.fix
    assert said(known_keys, fleet_of(replace(TASK, unknown_keys=(key,)))) == []


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("memory_reservation", "MemoryReservation"),
        ("environment", "write it Environment"),
        ("env", "Environment"),
        ("ports", "PortMappings"),
        ("shmSize", "LinuxParameters.SharedMemorySize"),
        ("runtime", "ECS sets the NVIDIA runtime"),
        ("LinuxParameters.initProcessEnabled", "LinuxParameters.InitProcessEnabled"),
        ("IpcMode", "it belongs to the task definition"),
    ],
)
def test_a_key_of_a_container_that_is_certainly_another_is_an_error_with_the_right_one(key: str, fix: str) -> None:
    finding = only(spelled, fleet_of(task_of(replace(container(), unknown_keys=(key,)))))
    assert f"a container (main) has no key {key}" in finding.message
    assert fix in finding.fix


@pytest.mark.parametrize(
    ("key", "fix"),
    [("Memry", "did you mean Memory"), ("Quux", "leave it out"), ("EnableTimeTravel", "leave it out")],
)
def test_a_key_that_nobody_knows_may_be_new_and_is_a_warning(key: str, fix: str) -> None:
    finding = only(known_keys, fleet_of(task_of(replace(container(), unknown_keys=(key,)))))
    assert (finding.rule, finding.severity) == ("GPU049", "warning")
    assert key in finding.message
    assert fix in finding.fix
    with one_call(0):
        assert only(known_keys, fleet_of(task_of(replace(container(), unknown_keys=(key,))))).fix == "leave it out"


def test_an_unknown_key_of_a_requirement_is_a_warning() -> None:
    asked = container(ResourceRequirement(value="1", unknown_keys=("Partition",)))
    finding = only(known_keys, fleet_of(task_of(asked)))
    assert "Partition is not a known key of a resource requirement of container main" in finding.message


@pytest.mark.parametrize(
    "task",
    [
        TASK,
        replace(TASK, unknown_keys=("gpuCount",)),
        task_of(replace(container(), unknown_keys=("gpus",))),
        task_of(container(ResourceRequirement(unknown_keys=("count", "type")))),
        replace(TASK, unknown_keys=("JobRoleArn",), scheduler=Scheduler.BATCH),
    ],
)
def test_known_keys_and_those_of_other_rules_are_silent(task: Task) -> None:
    assert check(fleet_of(task), rules=RULES) == ()


def test_a_huge_key_is_cut_short() -> None:
    assert len(only(known_keys, fleet_of(replace(TASK, unknown_keys=("x" * 100_000,)))).message) < 400


def test_a_type_at_a_capacity_provider_is_an_error_and_another_key_is_not() -> None:
    pool = replace(a_pool(), unknown_keys=("InstanceType", "ManagedRepair"))
    finding = only(spelled, fleet_of(TASK, workloads=(service(TASK, pool),)))
    assert (finding.rule, finding.severity) == ("GPU048", "error")
    assert "a capacity provider has no key InstanceType" in finding.message
