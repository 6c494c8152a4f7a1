"""Which Xid errors make a host unfit, and what each means."""

from __future__ import annotations

from gpu_constructs.facts.gpu_features import APPLICATION_XIDS, FATAL_XIDS, XIDS

# The lists of ECS, in its documentation and in its agent.
FATAL = "46 48 54 62 64 74 79 95 109 110 136 140 142 143 151 155 156 158"
COUNTED = [8, 11, 13, 25, 31, 32, 39, 40, 41, 60, *range(68, 73), *range(75, 78), 80, *range(82, 87), 88, 89, 94]
COUNTED += [*range(96, 106), *range(126, 136), 139]


def test_each_xid_is_on_the_list_that_ecs_has_it_on() -> None:
    assert list(FATAL_XIDS) == list(map(int, FATAL.split()))
    assert list(APPLICATION_XIDS) == COUNTED
    assert not set(FATAL_XIDS) & set(APPLICATION_XIDS)


def test_each_xid_has_a_meaning() -> None:
    assert all(each.meaning and each.number == number for number, each in XIDS.items())
    assert XIDS[79].meaning == "GPU has fallen off the bus"
    assert {*FATAL_XIDS, *APPLICATION_XIDS} < XIDS.keys()
    assert 63 in XIDS
