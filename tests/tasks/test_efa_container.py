"""What a container gets that uses EFA, and on which capacity it cannot."""

from __future__ import annotations

import pytest

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import NetworkInterface, Pool, PoolKind
from gpu_constructs.fleet.host import efa_layout
from gpu_constructs.tasks.host_share import efa_devices, efa_variables
from tests.rules.given import a_pool


def efa_pool(*types: str, name: str = "Hosts") -> Pool:
    return a_pool(*types, name=name, interfaces=efa_layout(instance_type(types[0])), placement_group=True, zones=1)


@pytest.mark.parametrize(
    ("name", "number"),
    [("g6.8xlarge", 1), ("p4d.24xlarge", 4), ("p5.48xlarge", 32), ("p6-b200.48xlarge", 8), ("p6-b300.48xlarge", 16)],
)
def test_each_adapter_is_one_device(name: str, number: int) -> None:
    expected = tuple(f"/dev/infiniband/uverbs{index}" for index in range(number))
    assert efa_devices([efa_pool(name)]) == expected


@pytest.mark.parametrize(
    ("types", "environment"),
    [
        (("p4d.24xlarge",), {"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1"}),
        (("p5.48xlarge", "p5e.48xlarge"), {"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1"}),
        # libfabric aborts where the variable is set and the device has no RDMA.
        (("g5.48xlarge",), {"FI_PROVIDER": "efa"}),
        (("p5.4xlarge",), {"FI_PROVIDER": "efa"}),
    ],
)
def test_rdma_is_asked_for_where_the_types_have_it(types: tuple[str, ...], environment: dict[str, str]) -> None:
    assert efa_variables([efa_pool(*types)]) == environment


def test_rdma_is_not_asked_for_where_one_of_several_capacities_has_none() -> None:
    pools = [efa_pool("p4d.24xlarge"), efa_pool("g6e.48xlarge", name="Others")]
    assert (len(efa_devices(pools)), efa_variables(pools)) == (4, {"FI_PROVIDER": "efa"})


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        (a_pool("p5.48xlarge", interfaces=(NetworkInterface(),)), "the capacity with network=HostNetwork.efa()"),
        (a_pool("g6.xlarge", interfaces=(NetworkInterface(),)), "such as p5en.48xlarge"),
        (a_pool("g6.xlarge"), "g6.xlarge has none"),
        (a_pool("p5.48xlarge", kind=PoolKind.MANAGED_INSTANCES), "the hosts of Hosts have no Elastic Fabric Adapter"),
    ],
)
def test_hosts_without_efa_have_nothing_to_give(pool: Pool, words: str) -> None:
    with pytest.raises(IncompatibleError) as raised:
        efa_devices([efa_pool("p5.48xlarge", name="Good"), pool])
    assert raised.value.argument == "efa"
    assert raised.value.value == pool.name
    assert words in str(raised.value)


def test_capacities_with_different_numbers_are_refused() -> None:
    pools = [efa_pool("p4d.24xlarge", name="A"), efa_pool("p5.48xlarge", name="B"), efa_pool("p5e.48xlarge", name="C")]
    with pytest.raises(IncompatibleError, match=r"different numbers of Elastic Fabric Adapters \(A: 4, B, C: 32\)"):
        efa_devices(pools)
