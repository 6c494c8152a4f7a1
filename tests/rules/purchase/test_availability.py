"""What cannot be had, or is not known before the deploy, is a warning that says so."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, InstanceRequirements, PoolKind, UserData
from gpu_constructs.hardware import accelerated
from gpu_constructs.rules import rules_of
from gpu_constructs.rules.purchase import availability
from tests.rules.given import a_pool, asked

RULES = tuple(each for each in rules_of(availability) if each.id != "GPU088")


def test_a_type_that_no_recorded_region_offers_is_for_the_account_to_say() -> None:
    found = asked(RULES, a_pool("p3.2xlarge"))
    assert list(found) == ["GPU001"]
    assert "p3.2xlarge was offered in none of the regions" in found["GPU001"].message
    assert "only your account shows" in found["GPU001"].message
    assert found["GPU001"].fix == "modern replacements: g6e.2xlarge"


def test_only_types_that_were_written_are_asked_about() -> None:
    assert asked(RULES, a_pool("p3.2xlarge", "g6.xlarge", requirements=InstanceRequirements())) == {}


def test_each_type_is_told_with_the_doubt_that_is_its_own() -> None:
    message = asked(RULES, a_pool("g3.4xlarge", "p3.2xlarge", "p3.8xlarge"))["GPU001"].message
    assert message == (
        "g3.4xlarge was offered in none of the regions recorded on 2026-09-29; p3.2xlarge or p3.8xlarge was offered in "
        "none of the regions recorded on 2026-09-29, though AWS's own lists disagree; only your account shows whether "
        "it "
        "may still launch it"
    )


def test_the_families_that_lists_disagree_on_are_those_of_the_record() -> None:
    old = {each.family: each.note or "" for each in accelerated() if not each.is_offered_anywhere}
    disagreed = {family for family, note in old.items() if "it, while " in note}
    for family in old:
        pool = a_pool(next(each.name for each in accelerated() if each.family == family))
        assert ("lists disagree" in asked(RULES, pool)["GPU001"].message) == (family in disagreed)


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
        ({"has_unknown_types": True}, "InstanceType of Hosts is not known before the deploy"),
        ({"min_instances": UNKNOWN}, "MinSize of Hosts"),
        ({"min_instances": UNKNOWN, "max_instances": UNKNOWN}, "MinSize and MaxSize of Hosts"),
    ],
)
def test_a_value_of_the_deploy_leaves_things_unchecked(changes: dict[str, Any], words: str) -> None:
    found = asked(RULES, a_pool(**changes))
    assert list(found) == ["GPU005"]
    assert words in found["GPU005"].message
    assert "context" in found["GPU005"].fix


@pytest.mark.parametrize(
    ("changes", "message", "fix"),
    [
        (
            {"kind": PoolKind.MANAGED_INSTANCES, "max_instances": UNKNOWN},
            "Hosts has no instance requirements that are known, and ECS chooses its types",
            "InstanceRequirements with",
        ),
        (
            {"kind": PoolKind.BATCH, "max_instances": UNKNOWN},
            "AWS Batch or a value of the deploy chooses the instance types of Hosts",
            "a list of instance types",
        ),
        (
            {"image": UNKNOWN, "user_data": UserData(format=UNKNOWN, complete=False)},
            "the launch template of Hosts is not in the files that were read",
            "give the file",
        ),
        (
            {"min_instances": UNKNOWN, "max_instances": UNKNOWN},
            "no file that was read shows which Auto Scaling group Hosts has",
            "a reference to the group, or the file that defines it",
        ),
        (
            {"min_instances": UNKNOWN, "max_instances": UNKNOWN, "group": "Group"},
            "InstanceType, MinSize and MaxSize of Hosts are not known before the deploy",
            "context",
        ),
    ],
    ids=["managed", "Batch", "a launch template of elsewhere", "a group of elsewhere", "parameters"],
)
def test_what_is_not_here_is_no_value_of_the_deploy(changes: dict[str, Any], message: str, fix: str) -> None:
    found = asked(RULES, a_pool(**{"instance_types": (), "has_unknown_types": True, **changes}))
    assert list(found) == ["GPU005"]
    assert found["GPU005"].message == f"{message}, so what depends on that was not checked"
    assert fix in found["GPU005"].fix


def test_managed_instances_have_no_largest_number_that_could_be_known() -> None:
    wanted = InstanceRequirements(accelerator_names=("l4",))
    assert asked(RULES, a_pool(max_instances=UNKNOWN, requirements=wanted, kind=PoolKind.MANAGED_INSTANCES)) == {}
