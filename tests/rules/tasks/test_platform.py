"""GPU tasks run on Linux hosts, not on Fargate, and on Managed Instances with settings that are valid there."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.fleet import Container, Fleet, ResourceRequirement, Scheduler, StrategyItem, Task, Workload
from gpu_constructs.rules import Rule, Severity
from gpu_constructs.rules.tasks.platform import manageable, on_hosts
from tests.rules.changed import changed
from tests.rules.given import a_pool, container, fleet_of, gpu, managed_pool, only, said, service, task_of

TASK = task_of(container(gpu("1"), name="cuda"), container(name="logs"))


def _given(device: str) -> Container:
    return replace(container(name="cuda"), devices=(device,))


@pytest.mark.parametrize(
    "asking",
    [
        container(gpu("ALL"), name="cuda"),
        container(ResourceRequirement(type="gpu"), name="cuda"),
        _given("/dev/neuron0"),
    ],
)
def test_a_task_with_accelerators_for_fargate_is_an_error_that_names_the_container(asking: Container) -> None:
    task = replace(task_of(asking), compatibilities=("EC2", "FARGATE"))
    finding = only(on_hosts, fleet_of(task))
    assert finding.rule == "GPU028"
    assert "(cuda) and is for EC2 and FARGATE; Fargate has no " in finding.message
    assert finding.fix.startswith("RequiresCompatibilities without FARGATE, and hosts with accelerators")
    assert said(on_hosts, fleet_of(replace(task, containers=(_given("/dev/fuse"),)))) == []


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (Workload(name="web", task=TASK, launch_type="FARGATE"), "launch type FARGATE"),
        (Workload(name="web", task=TASK, strategy=(StrategyItem(provider="FARGATE"),)), "capacity provider FARGATE;"),
    ],
)
def test_a_service_that_sends_gpus_to_fargate_is_an_error(workload: Workload, words: str) -> None:
    finding = only(on_hosts, fleet_of(TASK, workloads=(workload,)))
    assert finding.subject == "web"
    assert words in finding.message


@pytest.mark.parametrize(
    ("follows", "fix"),
    [
        (True, "a CapacityProviderStrategy with gpu"),
        (False, "hosts with accelerators behind a capacity provider, such as"),
    ],
)
def test_a_default_strategy_of_fargate_leaves_hosts_of_the_cluster_to_one_of_its_own(
    *, follows: bool, fix: str
) -> None:
    hosts = replace(a_pool(name="gpu"), cluster="main")
    strategy = (StrategyItem(provider="FARGATE_SPOT", weight=1),)
    web = Workload(name="web", task=TASK, cluster="main", strategy=strategy, follows_cluster=follows)
    finding = only(on_hosts, replace(fleet_of(TASK, workloads=(web,)), pools=(hosts,)))
    assert finding.fix.startswith(fix)
    assert finding.changes == ("CapacityProviderStrategy" if follows else "RequiresCompatibilities")


def test_a_gpu_that_only_a_run_or_a_submission_asks_for_is_an_error_on_fargate_too() -> None:
    plain = replace(task_of(container(), name="train"), compatibilities=("FARGATE",))
    with_gpu = replace(plain, containers=(container(gpu()),))
    run = Workload(name="nightly", task=with_gpu, launch_type="FARGATE")
    assert only(on_hosts, fleet_of(plain, workloads=(run,))).subject == "nightly"
    submitted = replace(with_gpu, name="r")
    assert only(on_hosts, fleet_of(replace(plain, submissions=(submitted,)))).subject == "r"


@pytest.mark.parametrize(("launch_type", "expected"), [("FARGATE", ["GPU028"]), ("EC2", [])])
def test_a_run_whose_task_definition_is_in_no_file_asks_fargate_for_a_gpu(
    launch_type: str, expected: list[str]
) -> None:
    asking = {"name": "embedding", "resourceRequirements": [{"type": "GPU", "value": "1"}]}
    run = {"taskDefinition": "embedding", "launchType": launch_type, "overrides": {"containerOverrides": [asking]}}
    found = check_files(["-"], stdin=json.dumps({"cluster": "c", **run}).encode()).findings
    assert [each.rule for each in found if each.severity is Severity.ERROR] == expected


PLAIN = task_of(container(gpu()))
MANAGED = replace(PLAIN, compatibilities=("MANAGED_INSTANCES",))
LINKED = replace(container(gpu()), shared_memory_mib=1024, used_keys=("LinuxParameters.SharedMemorySize", "Links"))


@pytest.mark.parametrize(
    ("task", "word"),
    [
        (replace(MANAGED, network_mode="none"), "network mode none"),
        (replace(MANAGED, containers=(LINKED,)), "sharedMemorySize and links are not valid"),
    ],
)
def test_settings_that_managed_instances_refuse_are_an_error(task: Task, word: str) -> None:
    finding = only(manageable, fleet_of(task))
    assert (finding.rule, finding.severity) == ("GPU047", "error")
    assert word in finding.message


@pytest.mark.parametrize(
    ("platforms", "form", "expected"),
    [
        (None, "ContainerProperties", ["PlatformCapabilities"]),
        (["MANAGED_INSTANCES"], "ContainerProperties", ["ContainerProperties"]),
        (["MANAGED_INSTANCES"], "EcsProperties", []),
        ({"Ref": "Subnets"}, "ContainerProperties", []),
    ],
)
def test_batch_takes_jobs_on_managed_instances_in_one_form(platforms: Any, form: str, expected: list[str]) -> None:
    container = {"Image": "a", "ResourceRequirements": [{"Type": "GPU", "Value": "1"}]}
    ecs = {"TaskProperties": [{"Containers": [container]}]}
    job = {"PlatformCapabilities": platforms, "ContainerProperties": None, form: ecs if form[0] == "E" else container}
    launch = {"InstanceRequirements": {"AllowedInstanceTypes": ["g6.xlarge", "inf2.xlarge"]}}
    hosts = {"Type": "ECS_MANAGED_INSTANCES", "ManagedInstancesProvider": {"InstanceLaunchTemplate": launch}}
    properties = {"Job": job, "Environment": {"ComputeResources": hosts}}
    assert [each.property_name for each in changed("GPU047", properties, of="GPU107")] == expected
    (of_types,) = changed("GPU101", properties, of="GPU107")
    assert of_types.fix == "AllowedInstanceTypes with NVIDIA GPUs only"


@pytest.mark.parametrize(
    "task", [replace(PLAIN, ipc_mode="host"), replace(MANAGED, used_keys=("Volumes.Host.SourcePath",))]
)
def test_a_service_counts_as_well_and_a_path_of_the_host_may_be_valid(task: Task) -> None:
    finding = only(manageable, fleet_of(task, workloads=(service(task, managed_pool()),)))
    assert (finding.subject, finding.severity) == ("train", "warning")


@pytest.mark.parametrize(
    ("rule", "fleet"),
    [
        (on_hosts, fleet_of(workloads=(service(TASK, a_pool()),))),
        (manageable, fleet_of(replace(MANAGED, network_mode="host", used_keys=("PidMode",)))),
        (manageable, fleet_of(replace(MANAGED, ipc_mode="host", scheduler=Scheduler.BATCH))),
    ],
)
def test_what_is_valid_where_the_task_runs_is_silent(rule: Rule, fleet: Fleet) -> None:
    assert said(rule, fleet) == []
