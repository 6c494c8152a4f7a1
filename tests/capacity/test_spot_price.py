"""A maximum price of Spot hosts: where it is written, who reads it, and what is said of it."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest

from gpu_constructs import InvalidValueError, Purchase
from gpu_constructs.fleet import UNKNOWN, Bought, Origin, PurchaseOption, Unknown
from gpu_constructs.rules import rules_of
from gpu_constructs.rules.purchase import purchase_options
from gpu_constructs.template import fleet_of, read_stacks
from gpu_constructs.template.resources.purchases import bought_by_configuration
from gpu_constructs.template.resources.section import Section
from tests.synthesis import Site
from tests.template.resources.declared import fleet_of_data, pool_of_data

RULES = rules_of(purchase_options)
SPOT = PurchaseOption.SPOT


def test_the_policy_says_the_price_as_text_and_it_is_read_back(site: Site) -> None:
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
    assert written == [each.bought.max_price_usd_per_hour for each in held] == list(prices.values())
    found = read_stacks([site.app.synth().directory])
    pools = fleet_of(found.stacks, tasks=found.tasks, remarks=found.remarks).pools
    assert [each.bought for each in pools] == [each.bought for each in held]


def test_a_price_of_the_deploy_passes(site: Site) -> None:
    text = cdk.CfnParameter(site.stack, "Text", type="String").value_as_string
    number = cdk.CfnParameter(site.stack, "Number", type="Number").value_as_number
    for name, price in (("A", text), ("B", number)):
        capacity = site.capacity("g6.xlarge", name=name, purchase=Purchase.spot(max_price_usd_per_hour=price))
        assert capacity.pool.bought.max_price_usd_per_hour is UNKNOWN
    policies = [each["MixedInstancesPolicy"] for each in site.properties("AWS::AutoScaling::AutoScalingGroup")]
    assert [each["InstancesDistribution"]["SpotMaxPrice"] for each in policies] == [{"Ref": "Text"}, {"Ref": "Number"}]


@pytest.mark.parametrize("wrong", [0, -1, 0.0009, True, "1.25", "", float("nan"), float("inf"), 10**255, []])
def test_a_price_is_a_number_of_dollars(wrong: Any) -> None:
    with pytest.raises(InvalidValueError, match="max_price_usd_per_hour: expects US dollars an hour"):
        Purchase.spot(max_price_usd_per_hour=wrong)


def policy(*overrides: Any, price: Any) -> dict[str, Any]:
    template = {"LaunchTemplateSpecification": {"LaunchTemplateId": {"Ref": "Template"}}, "Overrides": list(overrides)}
    return {
        "LaunchTemplate": None,
        "MixedInstancesPolicy": {
            "LaunchTemplate": template,
            "InstancesDistribution": {"OnDemandPercentageAboveBaseCapacity": 0, "SpotMaxPrice": price},
        },
    }


def by_template(price: Any) -> dict[str, Any]:
    return {"InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": price}}}


@pytest.mark.parametrize(
    ("data", "properties", "price"),
    [
        (by_template("1.5"), {}, "1.5"),
        (by_template(1.5), {}, "1.5"),
        (by_template({"Ref": "P"}), {}, UNKNOWN),
        (by_template(""), {}, None),
        ({"InstanceMarketOptions": {"MarketType": "spot"}}, {}, None),
        ({}, policy(price="0.75"), "0.75"),
        ({}, policy(price=""), None),
        ({}, policy({"InstanceType": "g6.xlarge", "WeightedCapacity": "1"}, price="0.75"), UNKNOWN),
        (by_template("1.5"), policy(price="0.75"), "0.75"),
    ],
)
def test_a_template_says_it_in_either_place(
    data: dict[str, Any], properties: dict[str, Any], price: str | Unknown | None
) -> None:
    assert pool_of_data({"InstanceType": "g6.xlarge", **data}, properties).bought.max_price_usd_per_hour == price


def test_a_launch_configuration_says_it_too() -> None:
    properties = Section({"SpotPrice": "0.7"}, Origin(resource="Hosts"))
    assert bought_by_configuration(properties) == Bought(option=SPOT, max_price_usd_per_hour="0.7")


def test_what_is_no_price_is_noted_and_not_known() -> None:
    fleet = fleet_of_data({"InstanceType": "g6.xlarge", **by_template("$1")})
    assert fleet.pools[0].bought.max_price_usd_per_hour is UNKNOWN
    assert "MaxPrice: expects US dollars an hour, got '$1'" in fleet.remarks[0].text
