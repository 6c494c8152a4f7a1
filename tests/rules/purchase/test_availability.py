"""Types that a region or Managed Instances do not offer, that are not sold so, or that are beyond a quota."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.facts import accelerated
from gpu_constructs.fleet import (
    UNKNOWN,
    Distribution,
    Fleet,
    InstanceRequirements,
    Pool,
    PoolKind,
    PurchaseOption,
    Reservation,
    Unknown,
    UserData,
)
from gpu_constructs.rules import Severity, check
from gpu_constructs.rules.purchase.availability import (
    block_is_not_over,
    known_before_deploy,
    launched,
    offered,
    offered_here,
    one_block,
    quotas,
    sold_so,
    spot_that_lasts,
)
from gpu_constructs.rules.purchase.reservations import reservations_are_used
from tests.rules.given import a_pool, asked, only

RULES = (offered, offered_here, known_before_deploy, block_is_not_over)


def test_a_type_that_no_recorded_region_offers_is_for_the_account_to_say() -> None:
    found = asked(RULES, a_pool("p3.2xlarge"))
    assert list(found) == ["GPU001"]
    assert "p3.2xlarge was offered in none of the regions" in found["GPU001"].message
    assert "only your account shows" in found["GPU001"].message
    assert found["GPU001"].fix == "modern replacements: g6e.2xlarge"


def test_of_types_that_attributes_select_only_those_of_the_region_are_chosen() -> None:
    pool = a_pool("g6.xlarge", "g5.xlarge", region="eu-west-1", requirements=InstanceRequirements(vcpus=(4, 4)))
    assert asked(RULES, pool) == {}
    assert list(asked(RULES, replace(pool, instance_types=pool.instance_types[:1]))) == ["GPU011"]


@pytest.mark.parametrize(
    ("types", "region", "fix"),
    [
        (("g6.xlarge",), "eu-west-1", "g5.xlarge"),
        (("g6.xlarge", "g5.xlarge"), "eu-west-1", "leave g6.xlarge out"),
        (("g6e.xlarge",), "af-south-1", "another region, or types that this one offers"),
    ],
)
def test_a_region_without_the_type_is_told_one_that_it_has(types: tuple[str, ...], region: str, fix: str) -> None:
    assert asked(RULES, a_pool(*types, region=region))["GPU011"].fix.partition(" ($")[0] == fix


def test_the_families_that_lists_disagree_on_are_those_of_the_record() -> None:
    old = {each.family: each.note or "" for each in accelerated() if not each.is_offered_anywhere}
    disagreed = {family for family, note in old.items() if "it, while " in note}
    for family in old:
        pool = a_pool(next(each.name for each in accelerated() if each.family == family))
        assert ("lists disagree" in asked(RULES, pool)["GPU001"].message) == (family in disagreed)


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


HOW_SOLD = (sold_so, spot_that_lasts, one_block)


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


def test_what_nobody_recorded_or_knows_is_not_judged() -> None:
    assert asked(HOW_SOLD, a_pool("p3.2xlarge", purchase=PurchaseOption.SPOT)) == {}
    assert asked(HOW_SOLD, a_pool("p6e-gb200.36xlarge", purchase=PurchaseOption.CAPACITY_BLOCK)) == {}
    assert asked(HOW_SOLD, a_pool("g5.xlarge", "g6.xlarge", purchase=UNKNOWN, zones=3)) == {}
    assert asked(HOW_SOLD, a_pool("g5.xlarge", purchase=PurchaseOption.SPOT, zones=3)) == {}


def pool(*types: str, **changes: Any) -> Pool:
    return a_pool(*types, **{"name": "A", "max_instances": 2, **changes})


def split(base: int | Unknown, percentage: int) -> Pool:
    """Four hosts, of which so many are on demand."""
    policy = Distribution(on_demand_base=base, on_demand_percentage=percentage)
    return pool("g6.48xlarge", max_instances=4, purchase=PurchaseOption.MIXED, distribution=policy)


def found(*pools: Pool) -> list[str]:
    assert (quotas.id, quotas.severity) == ("GPU088", Severity.INFO)
    return [f"{each.message}; {each.fix}" for each in check(Fleet(pools=pools), rules=(quotas,))]


@pytest.mark.parametrize(
    ("pools", "words"),
    [
        ([pool("p5.48xlarge")], [["A can come to 384 vCPUs of on-demand P", "L-417A185B"]]),
        ([pool("p5.48xlarge", purchase=PurchaseOption.SPOT)], [["384 vCPUs of spot P", "L-C4BD4855"]]),
        (
            [pool("p6-b200.48xlarge", purchase=PurchaseOption.SPOT)],
            [["384 vCPUs of spot P", "L-7212CCBC; sources disagree on whether P6 Spot requests count", "L-C4BD4855"]],
        ),
        ([pool("g6.48xlarge", purchase=PurchaseOption.MIXED)], [["384", "on-demand"], ["384", "spot", "L-3819A6DF"]]),
        ([split(UNKNOWN, 0)], [["768 vCPUs of on-demand"], ["768 vCPUs of spot"]]),
    ],
)
def test_vcpus_are_summed_by_quota(pools: list[Pool], words: list[list[str]]) -> None:
    said = found(*pools)
    assert len(said) == len(words)
    assert all(word in text for text, expected in zip(said, words, strict=True) for word in expected)


OF_MANAGED = (launched, reservations_are_used)

GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/gpus"
RESERVED = PurchaseOption.RESERVED


def managed(*types: str, **changes: Any) -> Pool:
    return a_pool(*types, **{"kind": PoolKind.MANAGED_INSTANCES, **changes})


def test_a_family_that_managed_instances_do_not_launch() -> None:
    finding = only(OF_MANAGED, managed("p5e.48xlarge", "p5.48xlarge"))
    assert finding.rule == "GPU185"
    assert "p5e is not among the families of Managed Instances, which may never launch p5e.48xlarge" in finding.message
    assert finding.fix == "leave out p5e.48xlarge"


def test_a_family_of_which_it_is_in_doubt_whether_managed_instances_launch_it() -> None:
    finding = only(OF_MANAGED, managed("inf1.xlarge", "inf1.2xlarge"))
    assert (finding.rule, finding.severity) == ("GPU185", Severity.WARNING)
    assert finding.message == (
        "whether Managed Instances launch inf1.xlarge or inf1.2xlarge is in doubt: "
        "a copy of AWS's page of 2026 lists it, and nothing else confirms that"
    )
    assert asked(OF_MANAGED, managed("inf1.xlarge", "inf2.xlarge")) == {}


@pytest.mark.parametrize("name", ["t3.micro", "m7g.medium"])
def test_a_type_that_is_too_small(name: str) -> None:
    assert asked(OF_MANAGED, managed(name))["GPU185"].fix == "use an Auto Scaling group, or another family"


@pytest.mark.parametrize(
    "good",
    [
        managed("p5.48xlarge", "p5en.48xlarge"),
        managed("m7i.large"),
        managed(purchase=UNKNOWN, reservation=Reservation(group=GROUP)),
    ],
)
def test_what_managed_instances_do(good: Pool) -> None:
    assert asked(OF_MANAGED, good) == {}


@pytest.mark.parametrize("group", [GROUP, None])
def test_reservations_that_are_avoided(group: str | None) -> None:
    avoided = Reservation(group=group, preference="RESERVATIONS_EXCLUDED")
    assert set(asked(OF_MANAGED, managed(purchase=RESERVED, reservation=avoided))) == {"GPU166"}
