"""Hosts of warm pools, of AWS Batch, of groups that nothing scales, and while services are deployed."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.check.planning.fleet_plan import PoolPlan
from gpu_constructs.check.planning.in_words import rows_of
from gpu_constructs.fleet import UNKNOWN, Bought, GroupSettings, Pool, PoolKind, PurchaseOption, Unknown, WarmPool
from tests.check.planning.given import planned, pool, service, the_pool, usd

XLARGE, LARGE = 0.8048, 4.6016  # g6.xlarge of 4 vCPUs and g6.12xlarge of 48, us-east-1


def warm(**values: Any) -> Pool:
    return pool("g6.xlarge", min_instances=1, max_instances=4, group=GroupSettings(warm_pool=WarmPool(**values)))


def levels(found: PoolPlan) -> tuple[int | Unknown, ...]:
    return found.minimum.hosts, found.desired.hosts, found.maximum.hosts


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"state": "Running"}, (4, 4, 4)),  # the difference of MaxSize and those in service
        ({"state": "Running", "min_size": 3}, (4, 5, 7)),
        ({"state": "Running", "max_prepared": 2}, (2, 2, 4)),
        ({"state": "Running", "max_prepared": 0, "min_size": 1}, (2, 3, 5)),
        ({"state": "Stopped", "min_size": 4}, (1, 2, 4)),
        ({"state": UNKNOWN}, (UNKNOWN, UNKNOWN, UNKNOWN)),
        ({"state": "Running", "min_size": UNKNOWN}, (UNKNOWN, UNKNOWN, UNKNOWN)),
    ],
)
def test_hosts_that_run_in_a_warm_pool_are_counted(values: dict[str, Any], expected: tuple[object, ...]) -> None:
    assert levels(the_pool(service(warm(**values), copies=2))) == expected


def test_hosts_of_a_warm_pool_cost_and_count_against_the_quota() -> None:
    found = planned(service(warm(state="Running", min_size=3), copies=2))
    assert usd(found.desired.usd_per_hour) == (5 * XLARGE, 5 * XLARGE)
    assert [(each.desired, each.maximum) for each in found.quotas] == [(20, 28)]
    assert (
        rows_of(found.pools[0])["warm pool"]
        == "3 of the hosts at the desired counts run in it, and cost what all others cost"
    )
    off = the_pool(service(warm(state="Stopped"), copies=2))
    assert rows_of(off)["warm pool"] == "its hosts do not run, and cost only their disks, which are not in the plan"


def batch(*types: str, high: int = 64, **values: Any) -> Pool:
    sizes = [4 if each == "g6.xlarge" else 48 for each in types]
    return pool(
        *types,
        kind=PoolKind.BATCH,
        has_provider=False,
        min_instances=0,
        max_instances=-(-high // min(sizes)),
        min_vcpus=0,
        max_vcpus=high,
        **values,
    )


@pytest.mark.parametrize(
    ("one", "hosts", "least", "most", "vcpus"),
    [
        (batch("g6.12xlarge", high=50), 2, 2 * LARGE, 2 * LARGE, 96),
        # 15 small ones, and then a large one.
        (batch("g6.xlarge", "g6.12xlarge"), 16, 64 / 48 * LARGE, 15 * XLARGE + LARGE, 108),
        (batch("g6.12xlarge", high=50, allocation="BEST_FIT"), 1, LARGE, LARGE, 48),
        (batch("g6.12xlarge", high=3, allocation="BEST_FIT"), 1, LARGE, LARGE, 48),
        (batch("g6.xlarge", "g6.12xlarge", allocation="BEST_FIT"), 16, 64 / 48 * LARGE, 16 * XLARGE, 64),
        (
            batch("g6.12xlarge", high=50, allocation="BEST_FIT", bought=Bought(option=PurchaseOption.SPOT)),
            2,
            None,
            2 * LARGE,
            96,
        ),
        # What is reserved has Type EC2 as well.
        (
            batch("g6.12xlarge", high=50, allocation="BEST_FIT", bought=Bought(option=PurchaseOption.RESERVED)),
            1,
            LARGE,
            LARGE,
            0,
        ),
    ],
)
def test_the_last_host_of_batch_may_go_above_its_limit(
    one: Pool, hosts: int, least: float | None, most: float, vcpus: int
) -> None:
    found = planned(pools=(one,))
    assert found.maximum.hosts == hosts
    assert usd(found.maximum.usd_per_hour) == (None if least is None else round(least, 6), round(most, 6))
    assert [each.maximum for each in found.quotas] == ([vcpus] if vcpus else [])


def test_neuron_devices_of_a_host_are_said() -> None:
    (found,) = planned(pools=(pool("inf2.xlarge", "inf2.24xlarge"),)).pools
    assert rows_of(found)["Neuron"] == "devices on a host: 1 or 6"


def test_what_batch_chooses_by_itself_has_no_number_and_no_price() -> None:
    plan = planned(pools=(batch("g6.xlarge", batch_words=("optimal",)),))
    assert [each.maximum for each in plan.quotas] == [64]  # of hosts with accelerators
    (found,) = plan.pools
    assert (found.maximum.hosts, found.maximum.gpus, found.maximum.usd_per_hour) == (UNKNOWN, UNKNOWN, None)
    assert found.price.unknown == "AWS Batch also chooses from the types of optimal"
    assert rows_of(found)["types"].startswith("g6.xlarge or optimal, ")


@pytest.mark.parametrize(
    ("written", "least", "copies", "expected"),
    [
        (2, 0, 12, (2, 1)),  # 3 hosts of 4 GPUs are needed
        (7, 0, 1, (4, 0)),  # AWS refuses both of these
        (1, 2, 1, (2, 0)),
        (None, 2, 1, (2, 0)),  # what is not written is MinSize
        (UNKNOWN, 0, 1, (UNKNOWN, 0)),
    ],
)
@pytest.mark.parametrize("changes", [{"managed_scaling": False}, {"managed_scaling": False, "has_provider": False}])
def test_a_group_that_nothing_scales_has_its_desired_capacity(
    changes: dict[str, Any], written: Any, least: int, copies: int, expected: tuple[object, ...]
) -> None:
    still = pool(min_instances=least, max_instances=4, group=GroupSettings(desired_instances=written), **changes)
    by_launch_type: dict[str, Any] = {} if still.has_provider else {"strategy": ()}
    found = the_pool(service(still, copies=copies, **by_launch_type), pools=() if still.has_provider else (still,))
    assert (found.desired.hosts, found.short) == expected


def test_what_a_deployment_takes_is_said() -> None:
    told = rows_of(the_pool(service(pool(max_instances=2), copies=8)))
    assert told["deploying"] == "4 hosts if all services are deployed at once"
