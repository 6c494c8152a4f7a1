"""What cannot be had, or is not known before the deploy, is a warning that says so."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, InstanceRequirements
from gpu_constructs.rules.availability import RULES
from tests.rules.given import a_pool, asked


def test_a_type_that_no_recorded_region_offers_is_for_the_account_to_say() -> None:
    found = asked(RULES, a_pool("p3.2xlarge"))
    assert list(found) == ["GPU001"]
    assert "p3.2xlarge was offered in none of the regions" in found["GPU001"].message
    assert "only the account can say" in found["GPU001"].message
    assert found["GPU001"].fix == "modern replacements: g6e.2xlarge"


def test_a_type_that_another_region_offers_is_said_with_the_regions_that_do() -> None:
    found = asked(RULES, a_pool("p6-b300.48xlarge", region="eu-central-1"))
    assert list(found) == ["GPU011"]
    assert "p6-b300.48xlarge was not offered in eu-central-1" in found["GPU011"].message
    assert "us-east-1" in found["GPU011"].message


@pytest.mark.parametrize("region", ["us-east-1", None, "mars-north-1"])
def test_a_region_that_offers_the_type_or_was_not_recorded_says_nothing(region: str | None) -> None:
    assert asked(RULES, a_pool("g6.xlarge", region=region)) == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"has_unknown_types": True}, "instance_types of Hosts are only known at deploy time"),
        ({"min_instances": UNKNOWN}, "min_instances of Hosts"),
        ({"min_instances": UNKNOWN, "max_instances": UNKNOWN}, "min_instances and max_instances of Hosts"),
    ],
)
def test_a_value_of_the_deploy_leaves_things_unchecked(changes: dict[str, Any], words: str) -> None:
    found = asked(RULES, a_pool(**changes))
    assert list(found) == ["GPU005"]
    assert words in found["GPU005"].message
    assert "context" in found["GPU005"].fix


def test_managed_instances_have_no_largest_number_that_could_be_known() -> None:
    pool = a_pool(max_instances=UNKNOWN, requirements=InstanceRequirements(accelerator_names=("l4",)))
    assert asked(RULES, pool) == {}
