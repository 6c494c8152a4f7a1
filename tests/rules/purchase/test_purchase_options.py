"""Types that are not sold the way they are bought."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, PurchaseOption
from gpu_constructs.hardware import PurchaseClass, general
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.purchase import purchase_options
from tests.rules.given import a_pool, asked

RULES = rules_of(purchase_options)


@pytest.mark.parametrize("purchase", [PurchaseOption.SPOT, PurchaseOption.MIXED])
def test_a_type_that_is_not_sold_as_spot_is_a_warning(purchase: PurchaseOption) -> None:
    (name,) = (each.name for each in general() if PurchaseClass.SPOT not in each.purchase_classes)
    found = asked(RULES, a_pool(name, "c5.large", purchase=purchase))
    assert list(found) == ["GPU096"]
    assert f"{name} was not sold as Spot" in found["GPU096"].message


def test_a_type_without_capacity_blocks_is_a_warning() -> None:
    found = asked(RULES, a_pool("g5.xlarge", purchase=PurchaseOption.CAPACITY_BLOCK))
    assert list(found) == ["GPU097"]
    assert found["GPU097"].severity is Severity.WARNING
    assert "sells no Capacity Blocks of g5.xlarge" in found["GPU097"].message
    assert "p5.48xlarge" in found["GPU097"].fix


@pytest.mark.parametrize(
    ("types", "changes", "words"),
    [
        (("p5.48xlarge", "p5e.48xlarge"), {}, "of one instance type, and the hosts may be of 2"),
        (("p5.48xlarge",), {"zones": 3}, "in one Availability Zone, and the subnets are in 3"),
    ],
)
def test_a_capacity_block_is_of_one_type_in_one_zone(
    types: tuple[str, ...], changes: dict[str, Any], words: str
) -> None:
    found = asked(RULES, a_pool(*types, purchase=PurchaseOption.CAPACITY_BLOCK, **changes))
    assert list(found) == ["GPU104"]
    assert words in found["GPU104"].message


@pytest.mark.parametrize("name", ["p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge", "trn2.48xlarge"])
def test_types_with_capacity_blocks_in_one_or_unknown_zones_are_fine(name: str) -> None:
    assert asked(RULES, a_pool(name, purchase=PurchaseOption.CAPACITY_BLOCK, zones=1)) == {}
    assert asked(RULES, a_pool(name, purchase=PurchaseOption.CAPACITY_BLOCK)) == {}


def test_what_nobody_recorded_or_knows_is_not_judged() -> None:
    assert asked(RULES, a_pool("p3.2xlarge", purchase=PurchaseOption.SPOT)) == {}
    assert asked(RULES, a_pool("p6e-gb200.36xlarge", purchase=PurchaseOption.CAPACITY_BLOCK)) == {}
    assert asked(RULES, a_pool("g5.xlarge", "g6.xlarge", purchase=UNKNOWN, zones=3)) == {}
    assert asked(RULES, a_pool("g5.xlarge", purchase=PurchaseOption.SPOT, zones=3)) == {}
