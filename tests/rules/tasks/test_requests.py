"""Requests for GPUs and Neuron devices: what ECS cannot read is refused with the right form, the rest is silent."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    Fleet,
    GpuNeeds,
    PoolKind,
    ResourceRequirement,
    Scheduler,
    StrategyItem,
    Workload,
)
from gpu_constructs.rules import Rule
from gpu_constructs.rules.tasks.containers import asked_of_ecs
from gpu_constructs.rules.tasks.devices import apart, neuron
from gpu_constructs.rules.tasks.requests import RIGHT_FORM, taken
from tests.rules.given import (
    FIT_RULES,
    a_pool,
    container,
    fleet_of,
    gpu,
    managed_pool,
    mps,
    of_image,
    only,
    said,
    service,
    task_of,
)


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("banana", RIGHT_FORM),
        ("", RIGHT_FORM),
        ("1.5", RIGHT_FORM),
        ("0", "leave the entry out"),
        ("0.0", RIGHT_FORM),
        ("-1", "leave the entry out"),
        (" 2", 'write it "2"'),
        ("+2", 'write it "2"'),
        ("all", 'write it "ALL"'),
        ("٣", RIGHT_FORM),  # a digit, but none that ECS reads
    ],
)
def test_a_value_that_is_no_number_of_gpus_is_an_error_with_the_value_in_it(value: str, fix: str) -> None:
    finding = only(taken, fleet_of(task_of(container(gpu(value)))))
    assert finding.rule == "GPU020"
    assert repr(value)[:20] in finding.message
    assert "ALL" in finding.message
    assert finding.fix.startswith(fix)
    assert len(finding.message) < 500


def test_more_gpus_than_any_host_has_are_said_so() -> None:
    finding = only(taken, fleet_of(task_of(container(gpu("9" * 5000)))))
    assert finding.message.startswith("container main asks for 99999")
    assert finding.message.endswith("… GPUs; no host has that many")
    million = only(taken, fleet_of(task_of(container(gpu("1000000")))))
    assert million.message == "container main asks for 1000000 GPUs; no host has that many"


def test_a_part_of_a_gpu_in_a_job_of_batch_is_said_once() -> None:
    job = replace(task_of(container(gpu("0.5"))), scheduler=Scheduler.BATCH)
    assert said(FIT_RULES, Fleet(pools=(a_pool(kind=PoolKind.BATCH),), tasks=(job,))) == []


def test_neuron_devices_of_a_job_are_given_by_their_path() -> None:
    entry = ResourceRequirement(type="NeuronDevice", value="ALL")
    job = replace(task_of(container(entry)), scheduler=Scheduler.BATCH)
    assert only(taken, fleet_of(job)).fix.startswith("in a job, LinuxParameters.Devices")


def test_gpus_that_the_task_asks_for_belong_to_a_container() -> None:
    finding = only(taken, fleet_of(replace(task_of(container()), unknown_keys=("gpuCount",))))
    assert "gpuCount is not a key of a task definition" in finding.message
    assert RIGHT_FORM in finding.fix


@pytest.mark.parametrize(
    ("requirement", "words", "fix"),
    [
        (ResourceRequirement(type="neuron", value="1"), "'neuron' does not exist", '"NeuronDevice", "Value": "ALL"'),
        (ResourceRequirement(type="", value="1"), "has no type", RIGHT_FORM),
        (ResourceRequirement(type="", unknown_keys=("type", "value")), "has no key type", RIGHT_FORM),
    ],
)
def test_a_form_that_ecs_does_not_know_is_an_error(requirement: ResourceRequirement, words: str, fix: str) -> None:
    finding = only(taken, fleet_of(task_of(container(requirement))))
    assert words in finding.message
    assert fix in finding.fix


@pytest.mark.parametrize(
    ("requirement", "words"),
    [(mps(0), "of 0 MiB"), (mps(4096, 0), "0 % of a GPU"), (mps(4096, 101), "101 % of a GPU")],
)
def test_a_share_that_the_api_refuses_is_an_error(requirement: ResourceRequirement, words: str) -> None:
    finding = only(taken, fleet_of(task_of(container(requirement))))
    assert finding.rule == "GPU020"
    assert words in finding.message


@pytest.mark.parametrize(("value", "words"), [(1, ["the API takes a string"]), ("1", []), (True, [])])
def test_the_api_takes_no_number_for_a_text(value: object, words: list[str]) -> None:
    requirement = {"type": "GPU", "value": value}
    main = {"name": "vllm", "image": "vllm", "memory": 8192, "resourceRequirements": [requirement]}
    written = json.dumps({"family": "chat", "containerDefinitions": [main]}).encode()
    messages = [each.message for each in check_files(["-"], stdin=written).findings if "a string" in each.message]
    assert [each.rpartition(", and ")[2] for each in messages] == words


@pytest.mark.parametrize(
    "asking",
    [
        replace(container(), needs=GpuNeeds(memory_mib=16384)),
        replace(container(), environment=(("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"),)),
    ],
)
def test_a_container_set_up_for_a_gpu_that_asks_for_none_is_a_warning(asking: Container) -> None:
    finding = only(asked_of_ecs, fleet_of(task_of(asking)))
    assert (finding.rule, finding.severity) == ("GPU025", "warning")
    assert "is placed on any host" in finding.message
    assert finding.fix == RIGHT_FORM


VCPU = ResourceRequirement(type="VCPU", value="4")
ALL = ResourceRequirement(type="NeuronDevice", value="ALL")
TASK = replace(task_of(container(ALL)), compatibilities=("MANAGED_INSTANCES",))


@pytest.mark.parametrize(("value", "words"), [("1", "'1'"), ("all", "'all'"), (None, "no value")])
def test_another_value_than_all_is_an_error(value: str | None, words: str) -> None:
    finding = only(neuron, fleet_of(task_of(container(ResourceRequirement(type="NeuronDevice", value=value)))))
    assert finding.rule == "GPU027"
    assert words in finding.message
    assert "must be ALL" in finding.message


def test_two_containers_cannot_both_have_them() -> None:
    finding = only(neuron, fleet_of(task_of(container(ALL, name="a"), container(ALL, name="b"))))
    assert "a and b ask for NeuronDevice; only one container" in finding.message


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (service(TASK, a_pool("inf2.xlarge", name="Inf", image=of_image("al2023-neuron"))), "Inf (Auto Scaling group)"),
        (Workload(name="s", task=TASK, launch_type="EC2"), "launch type EC2"),
        (Workload(name="s", task=TASK, strategy=(StrategyItem(provider="FARGATE"),)), "capacity provider FARGATE"),
    ],
)
def test_hosts_that_are_not_managed_instances_cannot_give_them(workload: Workload, words: str) -> None:
    finding = only(neuron, fleet_of(TASK, workloads=(workload,)))
    assert finding.subject == workload.name
    assert words in finding.message


INF = a_pool("inf2.xlarge", name="Inf", image=of_image("al2023-neuron"))
SMALL = Container(name="infer", devices=("/dev/neuron0",), memory_limit_mib=1024)


def infers(cpu: int = 512, **changes: Any) -> Fleet:
    task = replace(task_of(replace(SMALL, cpu=cpu)), compatibilities=("EC2",))
    return fleet_of(task, workloads=(service(task, INF, **changes),))


@pytest.mark.parametrize(
    ("rule", "fleets"),
    [
        (taken, [fleet_of(task_of(container(gpu(each)))) for each in ("1", "16", "ALL", "0.25", ".5", UNKNOWN)]),
        (taken, [fleet_of(task_of(container(mps()))), fleet_of(task_of(container(ALL)))]),
        (taken, [fleet_of(task_of(container(ResourceRequirement(type=UNKNOWN, value=UNKNOWN))))]),
        (taken, [fleet_of(replace(task_of(container(VCPU)), scheduler=Scheduler.BATCH))]),
        (neuron, [fleet_of(TASK, workloads=(service(TASK, managed_pool("inf2.xlarge")),))]),
        (neuron, [fleet_of(TASK, workloads=(Workload(name="s", task=TASK, launch_type="MANAGED_INSTANCES"),))]),
        (neuron, [fleet_of(task_of(container(ALL), container(name="logs")))]),
        (neuron, [fleet_of(task_of(container(ResourceRequirement(type="NeuronDevice", value=UNKNOWN))))]),
        # copies that cannot meet
        (apart, [infers(desired_count=1), infers(desired_count=2, daemon=True), infers(cpu=2049, desired_count=2)]),
    ],
)
def test_what_ecs_takes_and_what_is_another_mistake_are_silent(rule: Rule, fleets: list[Fleet]) -> None:
    assert [each for fleet in fleets for each in said(rule, fleet)] == []
