"""Whole GPUs, parts of one, shares of one, and Neuron devices against what hosts carry."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN, Container, PoolKind, ResourceRequirement, Task
from gpu_constructs.placement import DoubtKind, HostResource, ObstacleKind, fit
from tests.placement.given import a_pool, a_task, neuron, shares


@pytest.mark.parametrize(
    ("value", "host", "answer", "words"),
    [
        ("0.125", "g6f.large", True, ""),
        ("0.25", "g6f.2xlarge", True, ""),
        (".5", "gr6f.4xlarge", True, ""),
        ("0.125", "g6f.2xlarge", UNKNOWN, "is not documented"),
        ("0.5", "g6f.2xlarge", False, "has 0.25 of a GPU, and 0.5 of one is asked"),
        ("0.25", "g6.xlarge", False, "has whole GPUs, and 0.25 of one is placed on fractional hosts only"),
        ("0.25", "c7i.large", False, "has no GPU"),
        ("1", "g6f.large", False, "has 0.125 of a GPU, and whole GPUs are asked"),
        ("ALL", "g6f.large", UNKNOWN, "what ALL means there is not documented"),
        ("ALL", "p5.48xlarge", True, ""),
        ("ALL", "c7i.large", False, "GPUs: 1 asked, c7i.large has 0"),
        ("1", "inf2.xlarge", False, "GPUs: 1 asked, inf2.xlarge has 0"),
        ("1", "g4ad.xlarge", False, "GPUs: 1 asked, g4ad.xlarge has 0"),
    ],
)
def test_parts_are_for_fractional_hosts_and_whole_gpus_for_the_others(
    value: str, host: str, answer: object, words: str
) -> None:
    found = fit(a_task(value), a_pool(host))
    assert found.answer is answer
    assert words in " ".join(found.reasons)


def test_parts_of_several_containers_add_up() -> None:
    assert fit(a_task("0.125", "0.125"), a_pool("g6f.large")).answer is False
    assert fit(a_task("0.125", "0.125"), a_pool("g6f.2xlarge")).answer is True


@pytest.mark.parametrize(("host", "answer"), [("g6.xlarge", UNKNOWN), ("g6.12xlarge", True), ("c7i.large", False)])
def test_whether_entries_of_one_container_add_up_is_a_doubt(host: str, answer: object) -> None:
    entry = ResourceRequirement.gpus(1)
    found = fit(Task(name="t", containers=(Container(name="c", requirements=(entry, entry)),)), a_pool(host))
    assert found.answer is answer
    assert [each.kind for each in found.doubts] == ([DoubtKind.ENTRIES] if answer is UNKNOWN else [])


def test_no_gpu_is_left_beside_a_container_that_takes_all() -> None:
    (short,) = fit(a_task("ALL", "2"), a_pool("g6.12xlarge")).shortfalls
    assert (short.resource, short.asked, short.available) == (HostResource.GPU, 6, 4)


@pytest.mark.parametrize(
    ("task", "host", "answer"),
    [
        (shares(8000, 8000), "g6.xlarge", True),
        (shares(8000, 13056), "g6.xlarge", True),  # 22888 less 8 %
        (shares(8000, 13057), "g6.xlarge", UNKNOWN),
        (shares(22888), "g6.xlarge", UNKNOWN),
        (shares(23034), "g6.xlarge", UNKNOWN),  # as the driver shows it
        (shares(23035), "g6.xlarge", False),
        (shares(23028), "g5.xlarge", UNKNOWN),
        (shares(23029), "g5.xlarge", False),
        (shares(16385), "g4dn.xlarge", False),
        (shares(12000, 12000), "g6.48xlarge", False),  # on one GPU, however many there are
        (shares(12000, 12000), "g6e.xlarge", True),
        (shares(8000, UNKNOWN), "g6.xlarge", UNKNOWN),
        (shares(30000, UNKNOWN), "g6.xlarge", False),
        (shares(None), "g6.xlarge", True),  # what is missing a rule of its own tells
        (shares(1000), "g6f.large", False),
        (shares(1000), "c7i.large", False),
        (shares(1000), "p6e-gb200.36xlarge", UNKNOWN),
    ],
)
def test_containers_that_share_are_on_one_gpu_together(task: Task, host: str, answer: object) -> None:
    assert fit(task, a_pool(host)).answer is answer


def test_too_much_memory_to_share_is_told_with_the_sum() -> None:
    (short,) = fit(shares(12000, 12000), a_pool("g6.xlarge")).shortfalls
    assert str(short) == "memory of one GPU, shared through MPS: 24000 MiB asked, g6.xlarge has 22888 MiB"


def test_a_part_of_a_gpu_is_not_shared() -> None:
    assert [each.kind for each in fit(shares(1000), a_pool("g6f.large")).obstacles] == [ObstacleKind.SHARING]


def test_memory_that_may_not_be_there_to_share_is_a_doubt_with_the_number_that_is_safe() -> None:
    (doubt,) = fit(shares(16000), a_pool("g4dn.xlarge")).doubts
    assert doubt.kind is DoubtKind.MEMORY
    assert doubt.fix == "ask for no more than 15073 MiB"


@pytest.mark.parametrize(
    ("task", "host", "kind", "answer"),
    [
        (neuron("/dev/neuron0"), "inf2.xlarge", PoolKind.AUTO_SCALING_GROUP, True),
        (neuron("/dev/neuron0", "/dev/neuron1"), "inf2.xlarge", PoolKind.AUTO_SCALING_GROUP, False),
        (neuron("/dev/neuron15"), "trn1.32xlarge", PoolKind.AUTO_SCALING_GROUP, True),
        (neuron("/dev/neuron16"), "trn1.32xlarge", PoolKind.AUTO_SCALING_GROUP, False),
        (neuron("/dev/neuron0"), "g6.xlarge", PoolKind.AUTO_SCALING_GROUP, False),
        (neuron("/dev/fuse", "/dev/neuronx"), "c7i.large", PoolKind.AUTO_SCALING_GROUP, True),
        (neuron(resource=True), "inf2.xlarge", PoolKind.MANAGED_INSTANCES, True),
        (neuron(resource=True), "inf2.xlarge", PoolKind.AUTO_SCALING_GROUP, False),
        (neuron(resource=True), "g6.xlarge", PoolKind.MANAGED_INSTANCES, False),
    ],
)
def test_neuron_devices_are_those_of_the_host(task: Task, host: str, kind: PoolKind, answer: bool) -> None:
    assert fit(task, a_pool(host, kind=kind)).answer is answer


def test_too_few_neuron_devices_are_told_with_both_numbers() -> None:
    (short,) = fit(neuron("/dev/neuron1"), a_pool("inf2.xlarge")).shortfalls
    assert str(short) == "Neuron devices: 2 asked, inf2.xlarge has 1"
