"""What a change does to a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.planning import plan
from gpu_constructs.check.planning.plan_difference import Compared, Status, difference
from gpu_constructs.fleet import (
    UNKNOWN,
    ComputeEnvironment,
    Fleet,
    Origin,
    Place,
    Pool,
    PoolKind,
    Workload,
)
from tests.check.planning.given import job, planned, pool, service

_NONE = "0 at minimum, 0 at the desired counts, "
MANAGED = pool("g6e.xlarge", name="Managed", kind=PoolKind.MANAGED_INSTANCES, max_instances=UNKNOWN)


def changes(old: tuple[Workload, ...], new: tuple[Workload, ...]) -> dict[str, str]:
    """How much more there is of everything, of the whole fleet and of the quotas."""
    found = difference(planned(*old), planned(*new))
    return {each.what: each.change for each in (*found.totals, *found.quotas)}


def test_hosts_that_batch_chooses_are_a_change_of_no_known_cost() -> None:
    chosen = plan(Fleet(environments=(ComputeEnvironment(name="Optimal"),)))
    found = difference(planned(), chosen)
    assert not found.is_empty
    assert found.totals[-1] == Compared(what="not planned", old="none", new="Optimal", change="not known")
    assert difference(chosen, chosen).is_empty


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
        ("hosts", f"{_NONE}10 at MaxSize", f"{_NONE}4 at MaxSize"),
        ("GPUs", "0, 0, 40", "0, 0, 16"),
        ("an hour", "$0.00, $0.00, $46.02; one host $4.60", "$0.00, $0.00, $18.41; one host $4.60"),
    ]


def test_a_service_that_goes_is_a_change_also_where_it_has_no_copies_until_it_is_scaled() -> None:
    kept, gone = service(pool(), name="kept"), service(pool(), name="worker", copies=0)
    (l4,) = difference(planned(kept, gone, job(pool())), planned(kept, job(pool()))).pools
    (row,) = l4.rows
    assert row.old == "kept: 4 on a host, 1 wanted; worker: 4 on a host, 0 wanted; tune: 4 on a host"
    assert row.new == "kept: 4 on a host, 1 wanted; tune: 4 on a host"
    assert plan(Fleet(pools=(pool(),), workloads=(gone,))).pools[0].deploying is None


def placed(name: str, stack: str, *, account: str | None = None, **changes: Any) -> Pool:
    place = Place(region="us-east-1", account=account)
    origin = Origin(resource="CP", stack=stack, place=place)
    return pool("g6.xlarge", name=name, origin=origin, **changes)


def test_another_stack_renames_no_pool() -> None:
    old = placed("CP", "Gpu")
    new = placed("Gpu/CP", "Gpu"), placed("X/CP", "X")
    before = planned(service(old, name="Svc", origin=old.origin))
    after = planned(service(new[0], name="Gpu/Svc", origin=old.origin), pools=new[1:])
    assert [(each.name, each.status) for each in difference(before, after).pools] == [("X/CP", Status.ADDED)]
    assert [(each.name, each.status) for each in difference(after, before).pools] == [("X/CP", Status.REMOVED)]


def test_a_stack_of_the_same_name_in_another_account_is_another_one() -> None:
    both = placed("1/CP", "Gpu", account="111111111111"), placed("2/CP", "Gpu", account="222222222222")
    found = difference(planned(pools=both), planned(pools=(both[0], replace(both[1], max_instances=4))))
    assert [each.name for each in found.pools] == ["2/CP"]
    assert [(each.what, each.old, each.new) for each in found.quotas] == [
        ("L-DB2E81BA (on-demand G/VT, us-east-1, 222222222222), vCPUs at MaxSize", "40", "16")
    ]


def test_what_is_not_known_and_stays_as_it_is_cancels_out() -> None:
    art = service(MANAGED, name="art")
    found = changes((service(pool()), art), (service(pool(max_instances=12)), art))
    assert found["hosts at MaxSize"] == "+2"
    assert found["GPUs at MaxSize"] == "+8"
    assert found["an hour at MaxSize"] == "+$9.20"
    assert found["hosts at the desired counts"] == "+0"
    assert found["L-DB2E81BA (on-demand G/VT, us-east-1), vCPUs at MaxSize"] == "+96"


@pytest.mark.parametrize("changed", [{"copies": 2}, {"gpus": 2}])
def test_what_is_not_known_and_changes_is_not_known(changed: dict[str, int]) -> None:
    chat = service(pool())
    found = changes((chat, service(MANAGED, name="art")), (chat, service(MANAGED, name="art", **changed)))
    assert found["hosts at MaxSize"] == "not known"
