"""What is on each host of a packing: all copies, none twice, no more than the host has."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.placement.packed_hosts import Copies, packed_hosts
from gpu_constructs.placement.packing import Load, Need, pack
from tests.placement.test_packing import HOST, need

NEEDS = st.builds(
    lambda gpus, vcpus, memory, shared: need(gpus=0 if shared else gpus, vcpus=vcpus, memory=memory, shared=shared),
    st.integers(0, 4),
    st.integers(0, 20),
    st.integers(1, 60_000),
    st.sampled_from([0, 0, 0, 3_000, 9_000]),
)
LOADS = st.lists(st.builds(Load, need=NEEDS, copies=st.integers(0, 30), distinct=st.booleans()), max_size=7)


@given(LOADS)
def test_hosts_hold_what_was_packed_and_have_left_what_it_leaves(loads: list[Load]) -> None:
    packing = pack(loads, HOST)
    found = list(packed_hosts(packing))
    assert sum(each.hosts for each in found) == packing.hosts
    placed = Counter[int]()
    for each in found:
        placed.update({of.load: of.number * each.hosts for of in each.copies})
        taken = [sum(of.number * loads[of.load].need.units[unit] for of in each.copies) for unit in range(5)]
        taken[0] += len(each.shared)
        assert tuple(has - of for has, of in zip(HOST.units, taken, strict=True)) == each.free
        assert all(of.number == 1 for of in each.copies if loads[of.load].distinct)
        on_gpus = Counter[int]()
        for gpu, left in zip(each.shared, each.shared_free, strict=True):
            on_gpus.update({of.load: of.number for of in gpu})
            assert left == HOST.gpu_memory_mib - sum(of.number * loads[of.load].need.shared_mib for of in gpu)
        assert on_gpus == Counter({of.load: of.number for of in each.copies if loads[of.load].need.shared_mib})
    assert [placed[place] for place in range(len(loads))] == packing.placed


def test_copies_that_are_alike_are_told_apart_by_their_loads() -> None:
    one: Need = need(gpus=1)
    found = list(packed_hosts(pack([Load(need=one, copies=6), Load(need=one, copies=5)], HOST)))
    assert [(each.hosts, each.copies) for each in found] == [
        (1, (Copies(0, 4),)),
        (1, (Copies(0, 2), Copies(1, 2))),
        (1, (Copies(1, 3),)),
    ]


def test_a_million_copies_are_a_few_groups_of_hosts() -> None:
    found = list(packed_hosts(pack([Load(need=need(gpus=1), copies=1_000_001)], HOST)))
    assert [each.hosts for each in found] == [250_000, 1]


def test_gpus_that_are_left_for_want_of_memory_say_so() -> None:
    (found,) = packed_hosts(pack([Load(need=need(gpus=1, memory=100_000), copies=1)], HOST))
    assert (found.free[0], found.lacking) == (3, ("memory",))
