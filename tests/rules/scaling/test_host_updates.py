"""Updates of running hosts that fail, lose tasks or reach no host, and services that wait for their hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import (
    UNKNOWN,
    Block,
    Fleet,
    HostUpdate,
    Pool,
    PurchaseOption,
    Reservation,
    Unknown,
    UpdateMethod,
)
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.scaling import groups
from tests.rules.given import a_pool, asked, running_on, said

RULES = rules_of(groups)
REFRESH = HostUpdate(method=UpdateMethod.INSTANCE_REFRESH)
ROLLING = HostUpdate(method=UpdateMethod.ROLLING, suspended=("AlarmNotification",))


def _updated(update: HostUpdate | None, **changes: Any) -> Pool:
    return a_pool(**{"group": "Hosts", "update": update, **changes})


def _in_advance(instances: Any, **changes: Any) -> Pool:
    reserved = Reservation(instances=instances)
    return _updated(REFRESH, max_instances=2, purchase=PurchaseOption.RESERVED, reservation=reserved, **changes)


@pytest.mark.parametrize(
    "pool",
    [
        _updated(replace(ROLLING, min_in_service=UNKNOWN)),
        _updated(replace(ROLLING, min_in_service=9), max_instances=UNKNOWN),
        _updated(replace(ROLLING, suspended=(UNKNOWN,))),
        _updated(replace(ROLLING, suspended=()), managed_scaling=False),
        _in_advance(UNKNOWN),
        _in_advance(3),
    ],
)
def test_nothing_is_said_of_a_good_update(pool: Pool) -> None:
    assert asked(RULES, pool) == {}


@pytest.mark.parametrize(
    ("rule", "severity", "pool", "said"),
    [
        ("GPU221", Severity.ERROR, _updated(replace(ROLLING, min_in_service=4), max_instances=4), "is 4 and MaxSize"),
        ("GPU222", Severity.WARNING, _updated(REFRESH, managed_termination_protection=True), "waits an hour"),
        ("GPU222", Severity.WARNING, _in_advance(2), "all 2 reserved hosts may be in use"),
        ("GPU221", Severity.WARNING, _updated(replace(ROLLING, suspended=("AZRebalance",))), "changes the size"),
    ],
)
def test_an_update_that_fails_or_loses_tasks_is_found(rule: str, severity: Severity, pool: Pool, said: str) -> None:
    found = asked(RULES, pool)
    assert list(found) == [rule]
    assert found[rule].severity is severity
    assert said in found[rule].message


def _service(count: Any, *starts: Any) -> Fleet:
    pools = [
        a_pool(
            name=f"Block{place}",
            purchase=PurchaseOption.CAPACITY_BLOCK,
            block=Block(starts=each, ends="2027-01-18T10:45:00Z"),
        )
        if each != "no block"
        else a_pool()
        for place, each in enumerate(starts)
    ]
    return running_on(*pools, desired_count=count)


@pytest.mark.parametrize(
    "service",
    [
        _service(0, "2027-01-11T11:30:00Z"),
        _service(UNKNOWN, "2027-01-11T11:30:00Z"),
        _service(2, None),
        _service(2, "2027-01-11T11:30:00Z", "no block"),
        _service(2),
    ],
    ids=["no copies", "unknown", "has begun", "other hosts", "no strategy"],
)
def test_a_service_that_finds_hosts_is_left_in_peace(service: Fleet) -> None:
    assert asked(RULES, service) == {}


@pytest.mark.parametrize(("starts", "said"), [("2027-01-11T11:30:00Z", "begins at 2027-01-11"), (UNKNOWN, "Block: a")])
def test_a_service_before_its_capacity_block_waits(starts: Any, said: str) -> None:
    (found,) = asked(RULES, _service(2, starts)).values()
    assert found.rule == "GPU226"
    assert said in found.message


@pytest.mark.parametrize(("associated", "severity"), [(True, Severity.ERROR), (UNKNOWN, Severity.WARNING)])
def test_a_group_that_is_replaced_takes_the_provider_of_a_service_with_it(
    associated: bool | Unknown, severity: Severity
) -> None:
    pool = replace(_updated(HostUpdate(method=UpdateMethod.REPLACING)), associated=associated)
    assert [each.severity for each in said(RULES, running_on(pool))] == [severity]
    assert [each.severity for each in said(RULES, Fleet(pools=(pool,)))] == [Severity.WARNING]
