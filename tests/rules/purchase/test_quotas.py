"""vCPUs at max_instances, by quota."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Bought, Distribution, Fleet, Pool, PoolKind, PurchaseOption, Unknown
from gpu_constructs.hardware import instance_type
from gpu_constructs.rules import Severity, check
from gpu_constructs.rules.purchase import availability

RULES = (availability.quotas,)


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
    (rule,) = RULES
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
