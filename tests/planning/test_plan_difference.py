"""What a change does to a plan."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN, Pool, PurchaseOption
from gpu_constructs.planning.plan_difference import Status, difference
from tests.planning.given import planned, pool, service


def test_the_same_is_no_difference() -> None:
    found = difference(planned(service(pool())), planned(service(pool())))
    assert found.is_empty


def test_pools_are_found_by_name() -> None:
    old = planned(pools=(pool(), pool("g6.xlarge", name="Gone")))
    new = planned(pools=(pool(max_instances=4), pool("p5.48xlarge", name="New")))
    found = difference(old, new)
    assert [(each.name, each.status) for each in found.pools] == [
        ("L4", Status.CHANGED),
        ("New", Status.ADDED),
        ("Gone", Status.REMOVED),
    ]
    assert [(row.what, row.old, row.new) for row in found.pools[0].rows] == [
        ("hosts at MaxSize", "10", "4"),
        ("an hour at MaxSize", "$46.02", "$18.41"),
    ]


@pytest.mark.parametrize(
    ("one", "shown", "change"),
    [
        (pool(max_instances=UNKNOWN), "not known", "not known"),
        (pool("p5.48xlarge", purchase=PurchaseOption.CAPACITY_BLOCK), "paid in advance", "not known"),
        (pool("g6.xlarge", purchase=PurchaseOption.SPOT), "at most $8.05", "-$37.97"),
    ],
)
def test_what_is_not_known_has_a_word(one: Pool, shown: str, change: str) -> None:
    rows = {each.what: each for each in difference(planned(pools=(pool(),)), planned(pools=(one,))).totals}
    hour = rows["an hour at MaxSize"]
    assert (hour.old, hour.new, hour.change) == ("$46.02", shown, change)


def test_stranded_gpus_come_and_go() -> None:
    found = difference(planned(service(pool(), copies=2)), planned(service(pool(), copies=2, vcpus=24)))
    assert ("stranded GPUs", "0", "2") in [(row.what, row.old, row.new) for row in found.pools[0].rows]
