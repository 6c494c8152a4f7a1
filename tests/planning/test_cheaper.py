"""A cheaper mix for what a pool runs: when it is looked for, what is chosen, and why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_constructs.fleet import NetworkInterface, Pool, PoolKind, PurchaseOption, Workload
from gpu_constructs.hardware import RECORDED
from gpu_constructs.planning.cheaper import Outcome
from tests.examples import times
from tests.planning.given import job, pool, service, the_pool


def test_single_gpus_are_cheaper_on_hosts_of_one() -> None:
    found = the_pool(service(pool(), copies=5)).cheaper  # 2 hosts of 4 GPUs
    assert found.outcome is Outcome.FOUND
    assert {each.price.instance_type: each.hosts for each in found.chosen} == {"g6.xlarge": 5}
    assert (found.now_usd_per_hour, found.usd_per_hour) == (9.2032, 4.024)
    why = {each.price.instance_type: each.why for each in found.considered}
    assert why["g6.xlarge"] == "in the cheapest mix"
    assert why["g6.2xlarge"] == "5 of them alone cost $4.89 an hour"
    assert why["g6.12xlarge"] == "2 of them alone cost $9.20 an hour"


def test_a_type_on_which_nothing_fits_says_of_what_it_has_too_little() -> None:
    found = the_pool(service(pool("g6.48xlarge"), vcpus=5)).cheaper
    why = {each.price.instance_type: each.why for each in found.considered}
    assert why["g6.xlarge"] == "none of the tasks fits (CPU units: 5120 asked, g6.xlarge has 4096)"


def test_two_types_are_mixed_where_that_is_cheapest() -> None:
    on = pool("g6.48xlarge")
    found = the_pool(service(on, gpus=4, name="large"), service(on, name="small")).cheaper
    assert {each.price.instance_type: each.hosts for each in found.chosen} == {"g6.12xlarge": 1, "g6.xlarge": 1}
    why = {each.price.instance_type: each.why for each in found.considered}
    assert why["g6.2xlarge"] == "it does not take all of the tasks"


def test_what_is_cheapest_already_is_left() -> None:
    assert the_pool(service(pool("g6.xlarge"), copies=3)).cheaper.outcome is Outcome.NONE


@pytest.mark.parametrize(
    ("on", "changes", "why"),
    [
        (pool(purchase=PurchaseOption.SPOT), {}, "spot prices are not known"),
        (pool(kind=PoolKind.BATCH), {}, "AWS Batch chooses its hosts"),
        (pool("c7i.2xlarge"), {"gpus": 0}, "its hosts have no accelerator"),
        (pool(interfaces=(NetworkInterface(type="efa"),)), {}, "its hosts work together over EFA"),
        (pool(placement_group=True), {}, "its hosts are in a cluster placement group"),
        (pool(region="eu-west-1"), {}, f"on {RECORDED} AWS did not offer g6.12xlarge in eu-west-1"),
        (pool("g6.xlarge", "p6-b200.48xlarge", region="ap-south-2"), {}, "its prices are of several regions"),
    ],
)
def test_nothing_is_looked_for_where_hosts_do_not_compare(on: Pool, changes: dict[str, Any], why: str) -> None:
    found = the_pool(service(on, **changes)).cheaper
    assert (found.outcome, found.why) == (Outcome.NOT_LOOKED_FOR, why)


def test_a_type_without_room_for_a_daemon_is_no_offer() -> None:
    on = pool()
    logs = service(on, gpus=0, vcpus=6, name="logs", daemon=True, strategy=())
    found = the_pool(service(on, copies=5), logs).cheaper  # g6.xlarge has 4 vCPUs
    assert {each.price.instance_type: each.hosts for each in found.chosen} == {"g6.2xlarge": 5}


def test_prices_of_one_list_are_compared() -> None:
    found = the_pool(service(pool("p5.48xlarge", region="eu-north-1"), copies=1)).cheaper
    assert {each.price.region for each in found.considered} <= {"eu-north-1"}
    assert found.outcome is Outcome.NONE


def test_jobs_are_not_looked_at() -> None:
    assert the_pool(job(pool())).cheaper.why == "no service runs on it"


@pytest.mark.parametrize(
    ("services", "copies", "why"),
    [(13, 1, "it runs more than 12 workloads"), (6, 90, "there are too many ways to place its tasks")],
)
def test_a_search_that_would_take_long_is_given_up(services: int, copies: int, why: str) -> None:
    on = pool("g6.48xlarge", max_instances=500)
    many = [service(on, gpus=1 + n % 4, vcpus=1 + n / 4, copies=copies, name=f"chat{n}") for n in range(services)]
    found = the_pool(*many).cheaper
    assert (found.outcome, found.why) == (Outcome.GIVEN_UP, why)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 24)), min_size=1, max_size=3))
@settings(max_examples=times(10))
def test_hosts_of_one_type_are_never_cheaper_than_the_mix(asked: list[tuple[int, int, int]]) -> None:
    def services(*types: str) -> list[Workload]:
        on = pool(*types, max_instances=200)
        return [
            service(on, gpus=gpus, copies=copies, vcpus=vcpus, name=f"chat{place}")
            for place, (gpus, copies, vcpus) in enumerate(asked)
        ]

    found = the_pool(*services("g6.48xlarge")).cheaper
    least = found.usd_per_hour if found.outcome is Outcome.FOUND else found.now_usd_per_hour
    for name in ("g6.12xlarge", "g6.24xlarge", "g6.48xlarge"):
        alone = the_pool(*services(name)).desired.usd_per_hour
        assert alone is None or found.outcome is Outcome.GIVEN_UP or least <= alone.most + 1e-6
