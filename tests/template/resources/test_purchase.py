from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, PurchaseOption
from tests.template.resources.declared import pool_of_data


def of(logical_id: str) -> dict[str, Any]:
    return {"LaunchTemplateId": {"Ref": logical_id}, "Version": {"Fn::GetAtt": [logical_id, "LatestVersionNumber"]}}


def mixed(*overrides: Any, **distribution: Any) -> dict[str, Any]:
    return {
        "LaunchTemplate": None,
        "MixedInstancesPolicy": {
            "LaunchTemplate": {"LaunchTemplateSpecification": of("Template"), "Overrides": list(overrides)},
            "InstancesDistribution": distribution,
        },
    }


@pytest.mark.parametrize(
    ("data", "properties", "purchase"),
    [
        ({}, {}, PurchaseOption.ON_DEMAND),
        ({"InstanceMarketOptions": {"MarketType": "spot"}}, {}, PurchaseOption.SPOT),
        ({"InstanceMarketOptions": {"MarketType": "capacity-block"}}, {}, PurchaseOption.CAPACITY_BLOCK),
        ({"InstanceMarketOptions": {"MarketType": {"Ref": "P"}}}, {}, UNKNOWN),
        ({"InstanceMarketOptions": {"Unknown": 0}}, {}, UNKNOWN),
        (
            {"CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}}},
            {},
            PurchaseOption.RESERVED,
        ),
        ({"CapacityReservationSpecification": {"CapacityReservationPreference": "open"}}, {}, PurchaseOption.ON_DEMAND),
        (
            {},
            {"CapacityReservationSpecification": {"CapacityReservationPreference": "capacity-reservations-only"}},
            PurchaseOption.RESERVED,
        ),
        ({}, mixed({"InstanceType": "g6.xlarge"}), PurchaseOption.ON_DEMAND),
        ({}, mixed(OnDemandPercentageAboveBaseCapacity=0), PurchaseOption.SPOT),
        ({}, mixed(OnDemandPercentageAboveBaseCapacity="0", OnDemandBaseCapacity=1), PurchaseOption.MIXED),
        ({}, mixed(OnDemandPercentageAboveBaseCapacity=50), PurchaseOption.MIXED),
        ({}, mixed(OnDemandPercentageAboveBaseCapacity=100), PurchaseOption.ON_DEMAND),
        ({}, mixed(OnDemandPercentageAboveBaseCapacity={"Ref": "P"}), UNKNOWN),
        ({}, mixed(DistributionSegments=[{"TargetCapacityTypes": ["capacity-block"]}]), PurchaseOption.CAPACITY_BLOCK),
    ],
)
def test_how_hosts_are_bought_is_read_wherever_it_is_written(data: Any, properties: Any, purchase: Any) -> None:
    assert pool_of_data({"InstanceType": "g6.xlarge", **data}, properties).purchase is purchase
