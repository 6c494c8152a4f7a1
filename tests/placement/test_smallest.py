"""One task on the smallest of some hosts: everything that is short, and by how much."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.fleet import UNKNOWN, Container, GpuNeeds, ResourceRequirement, Task, Unknown
from gpu_constructs.hardware import InstanceType, accelerated, instance_type
from gpu_constructs.placement import Resource, shortfalls

G6 = instance_type("g6.xlarge")


def container(name: str, gpus: int | Unknown = 0, needs_mib: int | None = None, **changes: Any) -> Container:
    return Container(
        name=name,
        requirements=(ResourceRequirement.gpus(gpus),) if gpus else (),
        needs=None if needs_mib is None else GpuNeeds(memory_mib=needs_mib),
        cpu=changes.get("cpu", 0),
        memory_limit_mib=changes.get("memory_mib", 0),
    )


def task(**asked: Any) -> Task:
    return Task(name="task", containers=(container("c", **asked),))


@pytest.mark.parametrize(
    ("asked", "short"),
    [
        ({"gpus": 1, "needs_mib": 22888, "cpu": 4096, "memory_mib": 16128}, []),
        ({"gpus": 2}, [(Resource.GPU, 2, 1)]),
        ({"gpus": 1, "needs_mib": 22889}, [(Resource.GPU_MEMORY, 22889, 22888)]),
        ({"cpu": 4097}, [(Resource.CPU, 4097, 4096)]),
        ({"memory_mib": 16129}, [(Resource.MEMORY, 16129, 16128)]),
        ({"gpus": 3, "memory_mib": 99999}, [(Resource.GPU, 3, 1), (Resource.MEMORY, 99999, 16128)]),
    ],
)
def test_shortfalls_of_a_g6_xlarge(asked: dict[str, Any], short: list[tuple[Resource, int, int]]) -> None:
    assert [(each.resource, each.asked, each.available) for each in shortfalls(task(**asked), [G6])] == short


def test_the_smallest_type_counts_for_each_resource_by_itself() -> None:
    hosts = [instance_type("g5.xlarge"), instance_type("g6e.xlarge"), instance_type("g4dn.2xlarge")]
    short = shortfalls(task(needs_mib=20000, cpu=5000, memory_mib=20000), hosts)
    assert [(each.resource, each.instance_type.name) for each in short] == [
        (Resource.GPU_MEMORY, "g4dn.2xlarge"),
        (Resource.CPU, "g5.xlarge"),
        (Resource.MEMORY, "g5.xlarge"),
    ]


def test_gpu_memory_that_nobody_tells_never_satisfies_a_need() -> None:
    unknown = [each for each in accelerated() if each.gpus and each.gpu_memory_mib is None]
    assert [each.name for each in unknown] == ["p6e-gb200.36xlarge"]
    (short,) = shortfalls(task(gpus=1, needs_mib=1), unknown)
    assert (short.resource, short.available) == (Resource.GPU_MEMORY, None)
    assert "an unknown amount" in str(short)


def test_what_is_unknown_is_never_called_short() -> None:
    assert shortfalls(task(gpus=UNKNOWN, cpu=UNKNOWN, memory_mib=UNKNOWN), [G6]) == ()


def test_one_unknown_container_makes_the_sum_unknown() -> None:
    both = Task(name="both", containers=(container("a", gpus=1), container("b", gpus=UNKNOWN)))
    assert both.gpus is UNKNOWN
    assert both.cpu == 0


@given(
    st.sampled_from([each for each in accelerated() if each.gpus]),
    st.integers(min_value=0, max_value=20),
    st.integers(min_value=0, max_value=300_000),
    st.integers(min_value=0, max_value=5_000_000),
)
def test_a_task_fits_exactly_when_nothing_is_short(host: InstanceType, gpus: int, cpu: int, memory_mib: int) -> None:
    fits = gpus <= host.gpus and cpu <= host.vcpus * 1024 and memory_mib <= host.memory_mib - 256
    assert (shortfalls(task(gpus=gpus, cpu=cpu, memory_mib=memory_mib), [host]) == ()) is fits
