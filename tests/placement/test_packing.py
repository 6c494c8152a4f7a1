"""Copies on hosts: what was packed fits, what no packing can beat is no more than what was packed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.placement.packing import Load, Need, Room, pack, room_beside
from gpu_constructs.placement.proof import _least_of_one_resource, least_hosts

HOST = Room(units=(4, 0, 48 * 1024, 180_000, 7), gpu_memory_mib=20_000, gpus=4)
HTTP = frozenset({(8080, "tcp")})


def need(
    *, gpus: int = 0, vcpus: int = 0, memory: int = 0, interfaces: int = 0, shared: int = 0, port: bool = False
) -> Need:
    ports = HTTP if port else frozenset[tuple[int, str]]()
    return Need(units=(gpus, 0, vcpus * 1024, memory, interfaces), shared_mib=shared, ports=ports)


@pytest.mark.parametrize(
    ("loads", "hosts"),
    [
        ([Load(need=need(gpus=1), copies=1_000_000)], 250_000),
        ([Load(need=need(gpus=3), copies=2), Load(need=need(gpus=1), copies=2)], 2),
        ([Load(need=need(gpus=2, vcpus=30), copies=2), Load(need=need(gpus=2, vcpus=18), copies=2)], 2),
        pytest.param([Load(need=need(shared=9_000), copies=3), Load(need=need(gpus=2), copies=1)], 1, id="shared"),
        pytest.param(
            [Load(need=need(shared=mib), copies=copies) for mib, copies in ((12_000, 1), (9_000, 2), (5_000, 10))],
            2,
            id="what a GPU has left is not taken twice",
        ),
    ],
)
def test_hosts_that_are_needed(loads: list[Load], hosts: int) -> None:
    packing = pack(loads, HOST)
    assert packing.hosts == hosts
    assert packing.placed == [load.copies for load in loads]


def test_what_finds_no_host_is_not_placed() -> None:
    packing = pack([Load(need=need(gpus=5), copies=2), Load(need=need(gpus=1), copies=9)], HOST, most_hosts=2)
    assert packing.placed == [0, 8]
    assert packing.hosts == 2


@pytest.mark.parametrize(
    ("loads", "hosts", "of"),
    [
        ([Load(need=need(gpus=1), copies=9)], 3, "GPUs"),
        ([Load(need=need(gpus=3), copies=2), Load(need=need(gpus=2), copies=1)], 3, "GPUs"),
        ([Load(need=need(shared=9_000), copies=1), Load(need=need(gpus=4), copies=1)], 2, "GPU memory"),
    ],
)
def test_no_packing_needs_fewer_hosts_and_why_is_said(loads: list[Load], hosts: int, of: str) -> None:
    bound = least_hosts(loads, HOST)
    assert bound is not None
    assert (bound.hosts, bound.of) == (hosts, of)


def test_what_fits_on_no_host_has_no_number_of_hosts() -> None:
    assert least_hosts([Load(need=need(gpus=5), copies=1)], HOST) is None
    assert least_hosts([Load(need=need(gpus=5), copies=0)], HOST) is not None


def test_a_daemon_leaves_the_rest_of_its_host() -> None:
    beside = room_beside(HOST, need(gpus=1, vcpus=2, port=True))
    assert beside is not None
    assert beside.units == (3, 0, 46 * 1024, 180_000, 7)
    assert (beside.ports, beside.gpus) == (HTTP, 4)
    assert room_beside(beside, need(port=True)) is None
    shared = room_beside(HOST, need(shared=1_000))
    assert shared is not None
    assert shared.units[0] == 3


needs = st.builds(
    need,
    gpus=st.integers(0, 4),
    vcpus=st.integers(0, 48),
    memory=st.integers(0, 180_000),
    interfaces=st.integers(0, 2),
    port=st.booleans(),
) | st.builds(need, shared=st.integers(1, 20_000), vcpus=st.integers(0, 12))
loads_of_all_kinds = st.lists(
    st.builds(Load, need=needs, copies=st.integers(0, 30), distinct=st.booleans()), max_size=6
)


@given(loads_of_all_kinds)
def test_nothing_is_lost_and_no_host_is_overfull(loads: list[Load]) -> None:
    packing = pack(loads, HOST)
    assert packing.placed == [load.copies for load in loads]
    assert packing.hosts == sum(group.hosts for group in packing.groups)
    assert all(left >= 0 for group in packing.groups for left in (*group.free, *group.shared))
    memory = sum(group.hosts * sum(HOST.gpu_memory_mib - left for left in group.shared) for group in packing.groups)
    assert memory == sum(load.copies * load.need.shared_mib for load in loads)
    for index, available in enumerate(HOST.units):
        asked = sum(load.copies * load.need.units[index] for load in loads)
        used = sum(group.hosts * (available - group.free[index]) for group in packing.groups)
        shared = sum(group.hosts * len(group.shared) for group in packing.groups) if index == 0 else 0
        assert used == asked + shared


@given(loads_of_all_kinds, st.integers(0, 8))
def test_the_bound_is_never_above_a_packing_and_a_limit_is_kept(loads: list[Load], most: int) -> None:
    bound = least_hosts(loads, HOST)
    assert bound is not None
    assert bound.hosts <= pack(loads, HOST).hosts
    assert pack(loads, HOST, most_hosts=most).hosts <= most


class Counted(dict[int, int]):
    """Sizes that count how often they are looked up."""

    lookups = 0

    def __getitem__(self, size: int) -> int:
        self.lookups += 1
        return super().__getitem__(size)


@pytest.mark.parametrize("sizes", [100, 10_000])
def test_a_bound_looks_at_each_size_a_few_times_however_many_there_are(sizes: int) -> None:
    counted = Counted(dict.fromkeys(range(1, sizes + 1), 1))
    # Each copy goes with the one that it leaves room for.
    assert _least_of_one_resource(counted, sizes + 1) == sizes // 2
    assert counted.lookups <= 2 * sizes
