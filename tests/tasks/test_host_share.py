"""A host of N GPUs takes N one-GPU tasks, whatever the type: the share that the constructs give a container."""

from __future__ import annotations

import pytest

from gpu_constructs.facts import InstanceType, accelerated, instance_type
from gpu_constructs.fleet import UNKNOWN, Container, Pool, ResourceRequirement, Task
from gpu_constructs.placement.pool_profile import ASSUMED_RESERVE_MIB, FairShare, most_memory_mib, planned_memory_mib
from gpu_constructs.tasks.host_share import share_of_host

GPU_TYPES = tuple(each for each in accelerated() if each.gpus)


def share(gpus: int, *types: InstanceType) -> FairShare:
    pool = Pool(name="Pool", instance_types=types, image=UNKNOWN, min_instances=0, max_instances=1)
    asks = Container(name="main", requirements=(ResourceRequirement.gpus(gpus),))
    return share_of_host(Task(name="Task", containers=(asks,)), [pool], least_memory_mib=1)


def test_every_type_takes_as_many_tasks_as_their_gpus_allow() -> None:
    for host in GPU_TYPES:
        for gpus in range(1, host.gpus + 1):
            each, tasks = share(gpus, host), host.gpus // gpus
            assert each.cpu * tasks <= host.vcpus * 1024, host
            assert each.memory_mib * tasks <= planned_memory_mib(host), host
        one = share(1, host)
        assert one.cpu >= 1
        assert one.memory_mib >= 1024, host


def test_of_several_types_the_smallest_share_counts() -> None:
    small, large = instance_type("g6.xlarge"), instance_type("g6.16xlarge")
    assert share(1, small, large) == share(1, small)


@pytest.mark.parametrize("name", ["g6.xlarge", "p5.48xlarge"])
def test_a_host_is_expected_to_register_less_than_it_may(name: str) -> None:
    host = instance_type(name)
    assert 0 < planned_memory_mib(host) < most_memory_mib(host) == host.memory_mib - 1 - ASSUMED_RESERVE_MIB
