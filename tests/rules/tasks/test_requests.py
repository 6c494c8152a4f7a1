"""Requests for GPUs: what ECS cannot read is refused with the right form, and what it can read stays silent."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    Fleet,
    GpuNeeds,
    NvidiaMps,
    PoolKind,
    ResourceRequirement,
    Scheduler,
    Task,
)
from gpu_constructs.rules import check, rules_of
from gpu_constructs.rules.tasks import requests
from gpu_constructs.rules.tasks.containers import asked_of_ecs
from gpu_constructs.rules.tasks.requests import RIGHT_FORM, one_entry, one_option, taken
from tests.rules.given import FIT_RULES, a_pool, container, fleet_of, gpu, mps, only, said, task_of

RULES = rules_of(requests)


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("banana", RIGHT_FORM),
        ("one", RIGHT_FORM),
        ("", RIGHT_FORM),
        ("1.5", RIGHT_FORM),
        ("1e3", RIGHT_FORM),
        ("0x1", RIGHT_FORM),
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


@pytest.mark.parametrize("value", ["1", "8", "16", "ALL", "0.25", ".5", "0.125", UNKNOWN])
def test_a_value_that_ecs_takes_is_silent(value: str | None) -> None:
    assert said(taken, fleet_of(task_of(container(gpu(value))))) == []


def test_more_gpus_than_any_host_has_are_said_so() -> None:
    finding = only(taken, fleet_of(task_of(container(gpu("9" * 5000)))))
    assert finding.message.startswith("container main asks for 99999")
    assert finding.message.endswith("… GPUs; no host has that many")
    million = only(taken, fleet_of(task_of(container(gpu("1000000")))))
    assert million.message == "container main asks for 1000000 GPUs; no host has that many"


def test_a_part_of_a_gpu_in_a_job_of_batch_is_said_once() -> None:
    job = replace(task_of(container(gpu("0.5"))), scheduler=Scheduler.BATCH)
    assert "hands out whole GPUs by number" in only(taken, fleet_of(job)).message
    assert said(FIT_RULES, Fleet(pools=(a_pool(kind=PoolKind.BATCH),), tasks=(job,))) == []


def test_neuron_devices_of_a_job_are_given_by_their_path() -> None:
    entry = ResourceRequirement(type="NeuronDevice", value="ALL")
    job = replace(task_of(container(entry)), scheduler=Scheduler.BATCH)
    assert only(taken, fleet_of(job)).fix.startswith("in a job, LinuxParameters.Devices")


def test_a_value_of_another_type_is_no_number_of_gpus() -> None:
    asked = container(ResourceRequirement(type="InferenceAccelerator", value="device_1"))
    assert said(taken, fleet_of(task_of(asked))) == []


def test_the_wrong_form_of_a_tutorial_is_answered_with_the_right_one() -> None:
    asked = container(ResourceRequirement(type="gpu", unknown_keys=("count", "capabilities")))
    fleet = fleet_of(task_of(asked))
    finding = only(taken, fleet)
    assert finding.rule == "GPU020"
    for words in ("'gpu' does not exist, it is written GPU", "no key count", "Value says how many", "capabilities"):
        assert words in finding.message
    assert finding.fix.startswith('"ResourceRequirements": [{"Type": "GPU", "Value": "1"}]')
    assert '"NVIDIA_DRIVER_CAPABILITIES"' in finding.fix
    assert [each.rule for each in check(fleet, rules=RULES)] == ["GPU020"]


@pytest.mark.parametrize("key", ["gpuCount", "GpuCount", "gpu_count", "gpus", "Gpus", "gpu", "num-gpus"])
def test_a_key_of_the_container_for_gpus_is_answered_with_the_right_form(key: str) -> None:
    finding = only(taken, fleet_of(task_of(replace(container(), unknown_keys=(key,)))))
    assert f"a container has no key {key}" in finding.message
    assert finding.fix == RIGHT_FORM


def test_gpus_that_the_task_asks_for_belong_to_a_container() -> None:
    finding = only(taken, fleet_of(replace(task_of(container()), unknown_keys=("gpuCount",))))
    assert "gpuCount is not a key of a task definition" in finding.message
    assert RIGHT_FORM in finding.fix


@pytest.mark.parametrize(
    ("requirement", "words", "fix"),
    [
        (ResourceRequirement(type="Gpu", value="1"), "it is written GPU", RIGHT_FORM),
        (ResourceRequirement(type="nvidia.com/gpu", value="1"), "the types are GPU, NeuronDevice", RIGHT_FORM),
        (ResourceRequirement(type="neuron", value="1"), "'neuron' does not exist", '"NeuronDevice", "Value": "ALL"'),
        (ResourceRequirement(type="", value="1"), "has no type", RIGHT_FORM),
        (ResourceRequirement(type="", unknown_keys=("type", "value")), "type is written Type", RIGHT_FORM),
        (
            ResourceRequirement(unknown_keys=("SharingStrategy.nvidiaMps",)),
            "SharingStrategy.nvidiaMps is written SharingStrategy.NvidiaMps",
            RIGHT_FORM,
        ),
        (ResourceRequirement(value="1", unknown_keys=("devices",)), "ECS chooses the devices", RIGHT_FORM),
    ],
)
def test_a_form_that_ecs_does_not_know_is_an_error(requirement: ResourceRequirement, words: str, fix: str) -> None:
    finding = only(taken, fleet_of(task_of(container(requirement))))
    assert words in finding.message
    assert fix in finding.fix


@pytest.mark.parametrize(
    "task",
    [
        task_of(container(gpu("1"))),
        task_of(container(mps())),
        task_of(container(ResourceRequirement(type="NeuronDevice", value="ALL"))),
        task_of(container(ResourceRequirement(type=UNKNOWN, value=UNKNOWN))),
        replace(task_of(container(ResourceRequirement(type="VCPU", value="4"))), scheduler=Scheduler.BATCH),
    ],
)
def test_the_right_form_and_other_mistakes_are_silent(task: Task) -> None:
    assert said(taken, fleet_of(task)) == []


def test_neither_a_number_nor_a_share_is_an_error() -> None:
    finding = only(taken, fleet_of(task_of(container(gpu(None)))))
    assert finding.rule == "GPU020"
    assert "neither how many (Value) nor how one is shared (SharingStrategy)" in finding.message


def test_a_number_and_a_share_in_one_entry_is_an_error() -> None:
    both = ResourceRequirement(value="2", nvidia_mps=NvidiaMps(memory_mib=1))
    finding = only(taken, fleet_of(task_of(container(both))))
    assert "asks for whole GPUs (Value '2') and for a share" in finding.message
    assert finding.fix.startswith("leave out Value")


@pytest.mark.parametrize(
    "requirement",
    [
        gpu("1"),
        mps(),
        gpu(UNKNOWN),
        ResourceRequirement(value=UNKNOWN, nvidia_mps=NvidiaMps(memory_mib=1)),  # may be AWS::NoValue
        ResourceRequirement(type="NeuronDevice"),
        *(mps(1), mps(4096, 1), mps(4096, 100), mps(UNKNOWN, UNKNOWN)),
    ],
)
def test_one_amount_is_silent(requirement: ResourceRequirement) -> None:
    assert said(taken, fleet_of(task_of(container(requirement)))) == []


@pytest.mark.parametrize(
    ("requirement", "words"),
    [
        (mps(None), "without a size"),
        (mps(0), "of 0 MiB"),
        (mps(-5), "of -5 MiB"),
        (mps(4096, 0), "0 % of a GPU"),
        (mps(4096, 101), "101 % of a GPU"),
    ],
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


def test_containers_of_one_task_that_share_and_own_gpus_disagree() -> None:
    task = task_of(container(gpu("1"), name="train"), container(mps(), name="serve"))
    finding = only(one_option, fleet_of(task))
    assert finding.rule == "GPU023"
    assert "serve shares a GPU through MPS, and train asks for GPUs without sharing" in finding.message


@pytest.mark.parametrize("second", ["1", "ALL"])
def test_all_gpus_leave_none_for_another_container(second: str) -> None:
    task = task_of(container(gpu("ALL"), name="greedy"), container(gpu(second), name="other"))
    finding = only(one_option, fleet_of(task))
    assert "greedy asks for ALL GPUs of the host, which leaves none for other" in finding.message


def test_the_one_part_of_a_host_serves_one_container() -> None:
    finding = only(one_option, fleet_of(task_of(container(gpu("0.25"), name="a"), container(gpu("0.125"), name="b"))))
    assert finding.rule == "GPU023"
    assert "a and b ask for a part of a GPU each" in finding.message


@pytest.mark.parametrize(
    "containers",
    [
        (container(gpu("0.25"), name="a"), container(name="sidecar")),
        (container(gpu("1"), name="a"), container(gpu("2"), name="b")),
        (container(mps(), name="a"), container(mps(1024), name="b")),
        (container(gpu("ALL"), name="a"), container(name="sidecar")),
        (container(gpu("1"), name="a"), container(gpu(None), name="b")),
    ],
)
def test_containers_that_ask_alike_are_silent(containers: tuple[Container, ...]) -> None:
    assert said(one_option, fleet_of(task_of(*containers))) == []


def test_two_entries_of_one_container_are_a_warning_with_their_sum() -> None:
    finding = only(one_entry, fleet_of(task_of(container(gpu("1"), gpu("2")))))
    assert (finding.rule, finding.severity) == ("GPU024", "warning")
    assert "2 entries of type GPU (1 and 2)" in finding.message
    assert '"Value": "3"' in finding.fix


def test_one_entry_for_each_container_is_silent() -> None:
    assert said(one_entry, fleet_of(task_of(container(gpu(), name="a"), container(gpu(), name="b")))) == []


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
    assert "places it on any host" in finding.message
    assert finding.fix == RIGHT_FORM


@pytest.mark.parametrize(
    "containers",
    [
        (container(),),
        (replace(container(gpu()), needs=GpuNeeds(memory_mib=16384)),),
        (container(gpu()), replace(container(name="b"), environment=(("NVIDIA_DRIVER_CAPABILITIES", "utility"),))),
        (replace(container(), needs=GpuNeeds(), devices=("/dev/neuron0",)),),
        (replace(container(), needs=GpuNeeds(), unknown_keys=("gpuCount",)),),
    ],
)
def test_a_container_that_asks_or_has_no_need_is_silent(containers: tuple[Container, ...]) -> None:
    assert said(asked_of_ecs, fleet_of(task_of(*containers))) == []


def test_a_good_task_gets_no_finding_of_this_topic() -> None:
    fleet = fleet_of(task_of(container(gpu("1")), container(name="logs")))
    assert check(fleet, rules=RULES) == ()


def test_an_empty_fleet_gets_none_either() -> None:
    assert check(Fleet(), rules=RULES) == ()
