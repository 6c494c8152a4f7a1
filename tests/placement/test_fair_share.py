"""A host of N GPUs takes N one-GPU tasks, whatever the type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.hardware import InstanceType, accelerated
from gpu_constructs.placement import ASSUMED_RESERVE_MIB, expected_memory_mib, fair_share, most_memory_mib

GPU_TYPES = [each for each in accelerated() if each.gpus]


@pytest.mark.parametrize("host", GPU_TYPES, ids=str)
def test_every_type_takes_as_many_one_gpu_tasks_as_it_has_gpus(host: InstanceType) -> None:
    share = fair_share([host], gpus=1)
    cpu, memory_mib, gpus, tasks = host.vcpus * 1024, expected_memory_mib(host), host.gpus, 0
    while gpus >= 1 and cpu >= share.cpu and memory_mib >= share.memory_mib:
        cpu, memory_mib, gpus, tasks = cpu - share.cpu, memory_mib - share.memory_mib, gpus - 1, tasks + 1
    assert tasks == host.gpus
    assert share.cpu >= 1
    assert share.memory_mib >= 1024


@given(st.sampled_from(GPU_TYPES), st.lists(st.integers(min_value=1, max_value=16), min_size=1, max_size=16))
def test_tasks_that_fit_by_gpus_fit_by_their_shares(host: InstanceType, sizes: list[int]) -> None:
    taken: list[int] = []
    for size in sizes:
        if sum(taken) + size <= host.gpus:
            taken.append(size)
    shares = [fair_share([host], gpus=size) for size in taken]
    assert sum(share.cpu for share in shares) <= host.vcpus * 1024
    assert sum(share.memory_mib for share in shares) <= expected_memory_mib(host)


@given(st.lists(st.sampled_from(GPU_TYPES), min_size=1, max_size=5), st.integers(min_value=1, max_value=16))
def test_the_share_of_several_types_is_no_larger_than_that_of_any(hosts: list[InstanceType], gpus: int) -> None:
    together = fair_share(hosts, gpus=gpus)
    for host in hosts:
        alone = fair_share([host], gpus=gpus)
        assert together.cpu <= alone.cpu
        assert together.memory_mib <= alone.memory_mib


@pytest.mark.parametrize("host", GPU_TYPES, ids=str)
def test_a_host_is_expected_to_register_less_than_it_may(host: InstanceType) -> None:
    assert 0 < expected_memory_mib(host) < most_memory_mib(host) == host.memory_mib - ASSUMED_RESERVE_MIB
