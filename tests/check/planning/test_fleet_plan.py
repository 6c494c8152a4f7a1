"""Hosts, prices and quotas of a fleet, and what is not known of them."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.check.planning import plan
from gpu_constructs.check.planning.host_price import Usd
from gpu_constructs.check.planning.in_words import over_budget
from gpu_constructs.fleet import (
    UNKNOWN,
    ComputeEnvironment,
    Fleet,
    Pool,
    PoolKind,
    PurchaseOption,
    ServiceScaling,
    Unknown,
)
from tests.check.planning.given import job, planned, pool, service, the_pool, usd
from tests.check.planning.test_starts import L4


def hosts(*levels: object) -> list[object]:
    return [getattr(each, "hosts", each) for each in levels]


def test_hosts_are_counted_at_the_three_levels() -> None:
    found = the_pool(service(pool(min_instances=1), copies=9))
    assert hosts(found.minimum, found.desired, found.maximum) == [1, 3, 10]
    assert [each.gpus for each in (found.minimum, found.desired, found.maximum)] == [4, 12, 40]
    assert usd(found.desired.usd_per_hour) == (13.8048, 13.8048)


def test_each_type_of_a_pool_is_priced() -> None:
    found = the_pool(service(pool("g6.xlarge", "g6.2xlarge"), copies=2))
    assert usd(found.desired.usd_per_hour) == (2 * 0.8048, 2 * 0.9776)
    assert str(found.desired.usd_per_hour) == "$1.61 to $1.96"


def test_spot_has_a_most_and_no_least() -> None:
    found = the_pool(service(pool("g6.xlarge", purchase=PurchaseOption.SPOT), copies=2))
    assert usd(found.desired.usd_per_hour) == (None, 2 * L4)
    assert found.minimum.usd_per_hour == Usd(0.0, 0.0)


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (pool("p6-b300.48xlarge", purchase=PurchaseOption.CAPACITY_BLOCK), "paid in advance"),
        (
            pool("g6.12xlarge", "g6.xlarge", kind=PoolKind.MANAGED_INSTANCES),
            "one g6.xlarge from $0.80 an hour (on-demand list price, us-east-1, 2026-07-20) without the management fee",
        ),
        (
            pool(kind=PoolKind.MANAGED_INSTANCES, purchase=PurchaseOption.SPOT),
            "ECS chooses the hosts, and their price comes with the management fee of AWS",
        ),
        (pool(has_unknown_types=True), "instance types are not all known"),
        (pool(unknown_type_names=("g9.xlarge",)), "not all known"),
    ],
)
def test_what_has_no_price_is_said_and_not_summed(one: Pool, why: str) -> None:
    found = planned(pools=(one, pool("g6.xlarge", name="Other")))
    assert [each.pool.name for each in found.unpriced("maximum")] == [one.name]
    assert why in found.unpriced("maximum")[0].why_unpriced
    assert usd(found.maximum.usd_per_hour) == (10 * L4, 10 * L4)
    assert planned(pools=(one,)).maximum.usd_per_hour is None


@pytest.mark.parametrize(("least", "most", "counted"), [(-2, 5, UNKNOWN), (0, -5, UNKNOWN), (9, 3, 9)])
def test_sizes_that_aws_refuses_lower_no_cost(least: int, most: int, counted: int | Unknown) -> None:
    found = planned(pools=(pool(min_instances=least, max_instances=most),))
    assert found.maximum.hosts == counted
    assert over_budget(found, 1)


def test_a_job_is_no_host_that_is_always_there() -> None:
    found = the_pool(job(pool(), gpus=2, copies=5))
    assert found.desired.hosts == 0
    assert [copies for _, copies in found.tasks] == [2]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 4),
        ({"max_healthy_percent": 150}, 3),
        ({"max_healthy_percent": 100, "min_healthy_percent": 50}, 2),
        ({"deployment_strategy": "BLUE_GREEN", "max_healthy_percent": 100}, 4),
        ({"max_healthy_percent": UNKNOWN}, UNKNOWN),
    ],
)
def test_a_deployment_needs_hosts_for_old_and_new(changes: dict[str, Any], expected: object) -> None:
    assert the_pool(service(pool(), copies=8, **changes)).deploying == expected


def test_quotas_are_by_code_and_region() -> None:
    here, there = pool(name="Here"), pool(name="There", region="eu-west-1")
    spot = pool("p5.48xlarge", name="Spot", purchase=PurchaseOption.SPOT, max_instances=2)
    found = planned(service(here, copies=5), pools=(there, spot)).quotas
    assert [(each.quota.code, each.quota.place.region, each.desired, each.maximum) for each in found] == [
        ("L-DB2E81BA", "us-east-1", 96, 480),
        ("L-DB2E81BA", "eu-west-1", 0, 480),
        ("L-C4BD4855", "us-east-1", 0, 384),
    ]


def test_hosts_without_accelerators_count_against_the_quota_of_theirs() -> None:
    found = planned(pools=(pool("c7i.2xlarge", "m7i.2xlarge", min_instances=1), pool("g6.xlarge", name="l4")))
    assert [(each.quota.code, each.quota.group, each.desired, each.maximum) for each in found.quotas] == [
        ("L-1216C47A", "Standard", 8, 80),
        ("L-DB2E81BA", "G/VT", 0, 40),
    ]


def test_a_budget_is_for_all_hosts_at_max_size() -> None:
    found = planned(pools=(pool(max_instances=2),))
    assert over_budget(found, 9.21) == ()
    assert [each.message for each in over_budget(found, 9.0)] == [
        "at MaxSize the hosts can cost $9.20 an hour, which is $0.20 above the budget of $9.00: L4 $9.20"
    ]


@pytest.mark.parametrize(
    ("one", "kept"),
    [(pool(max_instances=UNKNOWN), False), (pool("p5.48xlarge", purchase=PurchaseOption.CAPACITY_BLOCK), True)],
)
def test_what_is_not_known_keeps_no_budget_and_what_is_paid_does(one: Pool, kept: bool) -> None:
    assert (not over_budget(planned(pools=(one,)), 1000)) is kept


def test_hosts_that_batch_chooses_keep_no_budget() -> None:
    chosen = ComputeEnvironment(name="Optimal")
    found = plan(Fleet(environments=(chosen, ComputeEnvironment(name="Fargate", has_hosts=False))))
    assert found.unplanned == (chosen,)
    assert [each.message for each in over_budget(found, 1000)] == [
        "what some hosts can cost is not known (Optimal: the types of hosts are not in these files)"
    ]


def test_a_region_whose_list_lacks_a_type_has_no_price_for_it() -> None:
    here = planned(pools=(pool("g6.xlarge", region="cn-north-1", max_instances=4),))
    assert here.maximum.usd_per_hour is None
    assert [each.message for each in over_budget(here, 1000)] == [
        "what some hosts can cost is not known (L4: no price list that this library has names g6.xlarge in cn-north-1)"
    ]
    assert over_budget(planned(pools=(pool(region="cn-north-1", max_instances=0),)), 0) == ()


def test_without_a_region_the_prices_of_us_east_1_are_assumed_and_said() -> None:
    assert planned(pools=(pool("g6.xlarge", region=None, max_instances=4),)).is_region_assumed
    assert not planned(pools=(pool("g6.xlarge", max_instances=4),)).is_region_assumed


@pytest.mark.parametrize(
    ("tenancy", "why"),
    [
        ("dedicated", "its tenancy is dedicated, and list prices are for shared tenancy"),
        ("host", "its tenancy is host, and list prices are for shared tenancy"),
        (UNKNOWN, "whether its tenancy is shared is not known before the deploy"),
        ("default", ""),
    ],
)
def test_list_prices_are_for_shared_tenancy(tenancy: Any, why: str) -> None:
    found = planned(pools=(pool(tenancy=tenancy),))
    assert [each.why_unpriced for each in found.unpriced("maximum")] == [why] * bool(why)


def test_a_service_that_fits_nowhere_is_said() -> None:
    on = pool("g6.xlarge")
    found = planned(service(on, gpus=8, name="large"), service(on, name="small"))
    (of,) = found.pools
    assert (of.misfits, of.desired.hosts, of.maximum.hosts) == (("large",), UNKNOWN, 10)
    assert found.unpriced("desired")[0].why_unpriced == "large does not fit on its hosts"
    assert of.desired.usd_per_hour is None
    assert planned(service(on, gpus=8, copies=0)).pools[0].misfits == ()


def test_copies_beyond_max_size_are_said() -> None:
    found = the_pool(service(pool(max_instances=2), copies=12))
    assert (found.desired.hosts, found.short) == (2, 1)


@pytest.mark.parametrize(
    ("desired", "least", "hosts_there"), [(UNKNOWN, 5, 2), (9, 1, 3), (1, 5, 2), (UNKNOWN, UNKNOWN, UNKNOWN)]
)
def test_scaling_keeps_its_minimum(desired: int | Unknown, least: int | Unknown, hosts_there: int | Unknown) -> None:
    found = the_pool(service(pool(), copies=desired, scaling=ServiceScaling(most=20, least=least)))
    assert found.desired.hosts == hosts_there
