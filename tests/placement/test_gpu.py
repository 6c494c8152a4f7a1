"""Whole GPUs, parts of one, shares of one, and Neuron devices against what hosts carry."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN, Container, Pool, PoolKind, ResourceRequirement, Task
from gpu_constructs.placement.fit import fit
from gpu_constructs.placement.reasons import DoubtKind
from tests.placement.given import a_pool, a_task, neuron, shares


@pytest.mark.parametrize(
    ("value", "host", "answer", "words"),
    [
        ("0.125", "g6f.large", True, ""),
        ("0.25", "g6f.2xlarge", True, ""),
        ("0.125", "g6f.2xlarge", UNKNOWN, "is not documented"),
        ("ALL", "g6f.large", UNKNOWN, "whether a task that asks for ALL starts there"),
        ("1", "g6f.large", UNKNOWN, "asks for a whole GPU starts there; ask for 0.125"),
        ("2", "g6f.large", False, "has 0.125 of a GPU, and 2 whole GPUs are asked"),
        ("ALL", "c7i.large", False, "GPUs: 1 asked, c7i.large has 0"),
    ],
)
def test_parts_are_for_fractional_hosts_and_whole_gpus_for_the_others(
    value: str, host: str, answer: object, words: str
) -> None:
    found = fit(a_task(value), a_pool(host))
    assert found.answer is answer
    assert words in " ".join(found.reasons)


@pytest.mark.parametrize(("host", "answer"), [("g6.xlarge", UNKNOWN), ("g6.12xlarge", True), ("c7i.large", False)])
def test_whether_entries_of_one_container_add_up_is_a_doubt(host: str, answer: object) -> None:
    entry = ResourceRequirement.gpus(1)
    found = fit(Task(name="t", containers=(Container(name="c", requirements=(entry, entry)),)), a_pool(host))
    assert found.answer is answer
    assert [each.kind for each in found.doubts] == ([DoubtKind.ENTRIES] if answer is UNKNOWN else [])


@pytest.mark.parametrize(
    ("task", "pool", "answer"),
    [
        (shares(8000, 8000), a_pool("g6.xlarge"), True),
        (shares(8000, 13056), a_pool("g6.xlarge"), True),  # 22888 less 8 %
        (shares(8000, 13057), a_pool("g6.xlarge"), UNKNOWN),
        (shares(23035), a_pool("g6.xlarge"), False),
        (shares(None), a_pool("g6.xlarge"), True),  # what is missing a rule of its own tells
        (shares(1000), a_pool("p6e-gb200.36xlarge"), UNKNOWN),
        (neuron("/dev/neuron0", "/dev/neuron1"), a_pool("inf2.xlarge"), False),
        (neuron("/dev/neuron0"), a_pool("g6.xlarge"), False),
        (neuron(resource=True), a_pool("inf2.xlarge", kind=PoolKind.MANAGED_INSTANCES), True),
        (neuron(resource=True), a_pool("inf2.xlarge"), False),
    ],
)
def test_containers_that_share_are_on_one_gpu_and_neuron_devices_are_those_of_the_host(
    task: Task, pool: Pool, answer: object
) -> None:
    assert fit(task, pool).answer is answer
