"""Gangs on hosts of ECS, whose tasks wait for each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Bought,
    Fleet,
    Gang,
    GangMember,
    PurchaseOption,
    Reservation,
    Starter,
)
from gpu_constructs.rules import Severity, check
from gpu_constructs.rules.jobs.runs import ends_together, runs_at_once
from tests.rules.given import GPU_TASK, a_pool, a_task, container, on_launch_type, only, running_on, said, task_of

MEMBER = GangMember(workload="Train[Host]", count=5)


def _gang(*members: GangMember, can_stop: bool = False, **changes: Any) -> Fleet:
    """A gang whose tasks take a host of one GPU each, of which there are four."""
    given = {"starter": Starter.STATE_MACHINE, "name": "Train[Host]", **changes}
    fleet = running_on(a_pool(max_instances=4), **given)
    return replace(fleet, gangs=(Gang(name="Train[Run]", members=members or (MEMBER,), can_stop=can_stop),))


def test_what_is_reserved_alone_holds_no_more_than_that() -> None:
    reserved = Bought(option=PurchaseOption.CAPACITY_BLOCK, reservation=Reservation(id="cr-1", instances=4))
    pool = a_pool(max_instances=9, bought=reserved)
    fleet = running_on(pool, starter=Starter.STATE_MACHINE, name="Train[Host]")
    finding = only(runs_at_once, replace(fleet, gangs=_gang().gangs))
    assert "Hosts holds 4 at the InstanceCount of its reservation" in finding.message
    assert finding.fix == "raise the InstanceCount of its reservation to room for 5, or fewer tasks"
    assert said(runs_at_once, replace(fleet, gangs=_gang(replace(MEMBER, count=4)).gangs)) == []


def test_members_share_their_hosts() -> None:
    main, others = GangMember(workload="Train[Main]"), replace(MEMBER, count=4)
    fleet = _gang(main, others)
    (run,) = fleet.workloads
    assert (
        "starts 5 tasks"
        in only(runs_at_once, replace(fleet, workloads=(run, replace(run, name="Train[Main]")))).message
    )


def test_a_number_that_only_the_run_knows_is_not_judged() -> None:
    assert said(runs_at_once, _gang(replace(MEMBER, count=UNKNOWN))) == []


def test_other_hosts_may_join_a_cluster_whose_hosts_are_not_named() -> None:
    open_fleet = on_launch_type(a_pool(max_instances=4), task=GPU_TASK, name="Train[Host]")
    finding = only(runs_at_once, replace(open_fleet, gangs=_gang().gangs))
    assert finding.severity is Severity.WARNING


def test_a_gang_without_gpus_is_not_meant() -> None:
    for rule in (runs_at_once, ends_together):
        endless = replace(MEMBER, is_limited=False)
        assert said(rule, _gang(endless, task=task_of(container()))) == []


def test_a_map_runs_all_of_a_gang_at_once() -> None:
    finding = only(runs_at_once, _gang(replace(MEMBER, count=4, at_once=2)))
    assert "its map runs 2 at once" in finding.message
    assert finding.fix == "no MaxConcurrency"


@pytest.mark.parametrize(
    ("changes", "property_name"),
    [({"waits": False, "is_limited": False}, "Resource"), ({"is_limited": False}, "TimeoutSeconds")],
)
def test_a_gang_ends_when_one_of_it_does(changes: dict[str, Any], property_name: str) -> None:
    member = replace(MEMBER, count=4, **changes)
    assert only(ends_together, _gang(member)).property_name == property_name
    assert said(ends_together, _gang(member, can_stop=True)) == []
    assert said(ends_together, _gang(replace(MEMBER, count=4))) == []


def test_a_fix_of_what_shares_nothing_with_a_gang_is_tried_without_it() -> None:
    beside = running_on(a_pool(name="Beside", cluster="other"), task=a_task("8", name="large"), cluster="other")
    gang = _gang(replace(MEMBER, count=4))
    both = replace(
        gang, **{each: getattr(gang, each) + getattr(beside, each) for each in ("pools", "tasks", "workloads")}
    )
    assert any("large" in each.subject for each in check(both))
