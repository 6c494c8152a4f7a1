"""A maximum price of Spot hosts: where it is written, and which numbers it can be."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs import InvalidValueError, Purchase
from gpu_constructs.template import fleet_of, read_stacks
from tests.synthesis import Site


def test_the_policy_says_the_price_as_text(site: Site) -> None:
    prices = {1.25: "1.25", 3: "3", 0.001: "0.001", 1e22: "1" + "0" * 22, 10**254: "1" + "0" * 254}
    held = [
        site.capacity(
            "g6.xlarge",
            name=f"C{number}",
            purchase=Purchase.spot(on_demand_base=1, max_price_usd_per_hour=price),
        ).pool
        for number, price in enumerate(prices)
    ]
    policies = [each["MixedInstancesPolicy"] for each in site.properties("AWS::AutoScaling::AutoScalingGroup")]
    written = [each["InstancesDistribution"]["SpotMaxPrice"] for each in policies]
    assert written == list(prices.values())
    found = read_stacks([site.app.synth().directory])
    pools = fleet_of(found.stacks, tasks=found.tasks, remarks=found.remarks).pools
    assert [each.bought for each in pools] == [each.bought for each in held]


@pytest.mark.parametrize("wrong", [0, -1, 0.0009, True, "1.25", "", float("nan"), float("inf"), 10**255, []])
def test_a_price_is_a_number_of_dollars(wrong: Any) -> None:
    with pytest.raises(InvalidValueError, match="max_price_usd_per_hour: expects US dollars an hour"):
        Purchase.spot(max_price_usd_per_hour=wrong)
