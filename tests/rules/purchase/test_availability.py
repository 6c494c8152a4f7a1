"""Types that the region does not offer, that are not sold the way they are bought, or beyond a quota."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.facts import PurchaseClass, accelerated, general, instance_type
from gpu_constructs.fleet import (
    UNKNOWN,
    Bought,
    Distribution,
    Fleet,
    InstanceRequirements,
    Pool,
    PoolKind,
    PurchaseOption,
    Unknown,
    UserData,
)
from gpu_constructs.rules import Severity, check
from gpu_constructs.rules.purchase.availability import (
    block_is_not_over,
    known_before_deploy,
    offered,
    offered_here,
    one_block,
    quotas,
    sold_as_block,
    sold_as_spot,
    spot_that_lasts,
)
from tests.rules.given import a_pool, asked

RULES = (offered, offered_here, known_before_deploy, block_is_not_over)


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


HOW_SOLD = (sold_as_spot, spot_that_lasts, sold_as_block, one_block)


@pytest.mark.parametrize("purchase", [PurchaseOption.SPOT, PurchaseOption.MIXED])
def test_a_type_that_is_not_sold_as_spot_is_a_warning(purchase: PurchaseOption) -> None:
    (name,) = (each.name for each in general() if PurchaseClass.SPOT not in each.purchase_classes)
    found = asked(HOW_SOLD, a_pool(name, "c5.large", purchase=purchase))
    assert list(found) == ["GPU096"]
    assert f"{name} was not sold as Spot" in found["GPU096"].message


def test_a_type_without_capacity_blocks_is_a_warning() -> None:
    found = asked(HOW_SOLD, a_pool("g5.xlarge", purchase=PurchaseOption.CAPACITY_BLOCK))
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
    found = asked(HOW_SOLD, a_pool(*types, purchase=PurchaseOption.CAPACITY_BLOCK, **changes))
    assert list(found) == ["GPU104"]
    assert words in found["GPU104"].message


@pytest.mark.parametrize("name", ["p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge", "trn2.48xlarge"])
def test_types_with_capacity_blocks_in_one_or_unknown_zones_are_fine(name: str) -> None:
    assert asked(HOW_SOLD, a_pool(name, purchase=PurchaseOption.CAPACITY_BLOCK, zones=1)) == {}
    assert asked(HOW_SOLD, a_pool(name, purchase=PurchaseOption.CAPACITY_BLOCK)) == {}


def test_what_nobody_recorded_or_knows_is_not_judged() -> None:
    assert asked(HOW_SOLD, a_pool("p3.2xlarge", purchase=PurchaseOption.SPOT)) == {}
    assert asked(HOW_SOLD, a_pool("p6e-gb200.36xlarge", purchase=PurchaseOption.CAPACITY_BLOCK)) == {}
    assert asked(HOW_SOLD, a_pool("g5.xlarge", "g6.xlarge", purchase=UNKNOWN, zones=3)) == {}
    assert asked(HOW_SOLD, a_pool("g5.xlarge", purchase=PurchaseOption.SPOT, zones=3)) == {}


OF_QUOTAS = (quotas,)


def pool(
    *types: str,
    most: int | Unknown = 2,
    name: str = "A",
    purchase: PurchaseOption | Unknown = PurchaseOption.ON_DEMAND,
    kind: PoolKind = PoolKind.AUTO_SCALING_GROUP,
    distribution: Distribution | None = None,
) -> Pool:
    return Pool(
        name=name,
        instance_types=tuple(map(instance_type, types)),
        image=UNKNOWN,
        min_instances=0,
        max_instances=most,
        kind=kind,
        bought=Bought(option=purchase, distribution=distribution),
    )


def split(base: int | Unknown, percentage: int) -> Pool:
    """Four hosts, of which so many are on demand."""
    policy = Distribution(on_demand_base=base, on_demand_percentage=percentage)
    return pool("g6.48xlarge", most=4, purchase=PurchaseOption.MIXED, distribution=policy)


def batch_below_its_limit() -> Pool:
    """MaxvCpus of 300, in which a fourth host of 96 vCPUs has no room."""
    return replace(pool("p4d.24xlarge", most=4, kind=PoolKind.BATCH), max_vcpus=300, allocation="BEST_FIT")


def found(*pools: Pool) -> list[str]:
    (rule,) = OF_QUOTAS
    assert (rule.id, rule.severity) == ("GPU088", Severity.INFO)
    return [f"{each.message}; {each.fix}" for each in check(Fleet(pools=pools), rules=(rule,))]


@pytest.mark.parametrize(
    ("pools", "words"),
    [
        ([pool("p5.48xlarge")], [["A can come to 384 vCPUs of on-demand P", "L-417A185B"]]),
        ([pool("p5.48xlarge", purchase=PurchaseOption.SPOT)], [["384 vCPUs of spot P", "L-C4BD4855"]]),
        (
            [pool("p6-b200.48xlarge", purchase=PurchaseOption.SPOT)],
            [["384 vCPUs of spot P", "L-7212CCBC; sources disagree on whether P6 Spot requests count", "L-C4BD4855"]],
        ),
        ([pool("g6.xlarge", "g6.24xlarge")], [["192 vCPUs of on-demand G/VT", "--quota-code L-DB2E81BA"]]),
        ([pool("g6.xlarge", "g6.48xlarge", most=64, kind=PoolKind.BATCH)], [["444 vCPUs", "at MaxvCpus, which"]]),
        ([batch_below_its_limit()], [["A can come to 288 vCPUs", "MaxvCpus"]]),
        ([pool("g6.48xlarge", most=1), pool("g5.xlarge", name="B")], [["A and B can come to 200 vCPUs"]]),
        ([pool("g6.48xlarge", purchase=PurchaseOption.MIXED)], [["384", "on-demand"], ["384", "spot", "L-3819A6DF"]]),
        ([split(2, 0)], [["384 vCPUs of on-demand"], ["384 vCPUs of spot"]]),
        ([split(1, 50)], [["576 vCPUs of on-demand"], ["384 vCPUs of spot"]]),
        ([split(9, 0)], [["768 vCPUs of on-demand"]]),
        ([split(0, 100)], [["768 vCPUs of on-demand"]]),
        ([split(UNKNOWN, 0)], [["768 vCPUs of on-demand"], ["768 vCPUs of spot"]]),
    ],
)
def test_vcpus_are_summed_by_quota(pools: list[Pool], words: list[list[str]]) -> None:
    said = found(*pools)
    assert len(said) == len(words)
    assert all(word in text for text, expected in zip(said, words, strict=True) for word in expected)


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(pool("g6.xlarge", most=8), id="few vCPUs"),
        pytest.param(pool("c7i.48xlarge", most=8), id="no accelerator"),
        pytest.param(pool("p5.48xlarge", purchase=PurchaseOption.CAPACITY_BLOCK), id="paid in advance"),
        pytest.param(pool("p5.48xlarge", purchase=PurchaseOption.RESERVED), id="counted when it was reserved"),
        pytest.param(pool("p5.48xlarge", purchase=UNKNOWN), id="bought nobody knows how"),
        pytest.param(pool("p5.48xlarge", most=UNKNOWN), id="any number of hosts"),
        pytest.param(pool("p5.48xlarge", kind=PoolKind.INSTANCE), id="a single instance"),
    ],
)
def test_small_and_unknown_numbers_are_not_worth_a_word(one: Pool) -> None:
    assert found(one) == []
