"""Which GPU tasks certainly go to a pool, and which only may."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, ServiceScaling, StrategyItem
from gpu_constructs.placement.destinations import gpu_workloads, routes_of
from tests.rules.given import a_pool, running_on

FIRST = a_pool(name="First", cluster="gpu")
SECOND = a_pool(name="Second", cluster="gpu")


def _item(weight: Any = 0, base: Any = 0) -> StrategyItem:
    return StrategyItem(provider="First", pool=FIRST, weight=weight, base=base)


@pytest.mark.parametrize(
    ("item", "goes"),
    [(_item(base=1), True), (_item(), False), (_item(weight=UNKNOWN, base=UNKNOWN), False)],
)
def test_of_several_pools_one_without_weight_and_base_gets_nothing_for_certain(item: StrategyItem, goes: bool) -> None:
    strategy = (StrategyItem(provider="Second", pool=SECOND, weight=1), item)
    assert ("First" in gpu_workloads(running_on(FIRST, SECOND, strategy=strategy))) is goes


def test_a_service_that_is_scaled_from_zero_asks_for_its_hosts() -> None:
    assert "First" in gpu_workloads(running_on(FIRST, desired_count=0, scaling=ServiceScaling(most=4)))


def test_by_launch_type_only_the_one_pool_of_a_whole_fleet_is_certain() -> None:
    by_type: dict[str, Any] = {"strategy": (), "launch_type": "EC2", "cluster": "gpu"}
    assert gpu_workloads(running_on(FIRST, **by_type)) == {}
    assert list(gpu_workloads(replace(running_on(FIRST, **by_type), is_whole=True))) == ["First"]
    assert gpu_workloads(replace(running_on(FIRST, SECOND, **by_type), is_whole=True)) == {}


def test_on_a_pool_of_which_no_type_is_known_nothing_fits_for_certain() -> None:
    unknown = replace(FIRST, instance_types=(), has_unknown_types=True, has_provider=False)
    (route,) = routes_of(running_on(unknown), running_on(unknown).tasks[0])
    assert [each.answer for each in route.destinations] == [route.answer] == [UNKNOWN]
