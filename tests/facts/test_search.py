"""Choosing instance types by need: every filter, what empties a list, and the order."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.errors import GpuConstructsError, IncompatibleError, InvalidValueError
from gpu_constructs.facts import (
    Architecture,
    InstanceNeeds,
    PurchaseClass,
    Range,
    Vendor,
    accelerated,
    choose,
    default_image,
    instance_type,
    on_demand_price,
)
from gpu_constructs.facts.filters import SORT_ORDERS, Offer, conditions, needs_like


def names(needs: InstanceNeeds) -> set[str]:
    return {each.instance_type.name for each in choose(needs).offers}


# A need, a type that satisfies it and one that does not.
FILTERED: list[tuple[dict[str, Any], str, str]] = [
    ({"gpus": Range(4, 4)}, "g6.12xlarge", "g6.48xlarge"),
    ({"gpu_memory_mib": Range(low=22_888)}, "g6.xlarge", "g4dn.xlarge"),
    ({"gpu_memory_mib": Range(high=16_384)}, "g4dn.xlarge", "inf1.xlarge"),
    ({"gpu_memory_total_mib": Range(80_000, 100_000)}, "g6.12xlarge", "g6.48xlarge"),
    ({"accelerators": Range(1, 1)}, "g6f.large", "g6.12xlarge"),
    ({"models": ("l4", "L40S")}, "g6e.xlarge", "g5.xlarge"),
    ({"vendor": Vendor.NEURON}, "inf2.xlarge", "g6.xlarge"),
    ({"compute_capability": Range((8, 9), (9, 0))}, "p5.48xlarge", "g7.2xlarge"),
    ({"precision": "float8"}, "g6.xlarge", "g5.xlarge"),
    ({"nvlink": True}, "p4d.24xlarge", "g6.48xlarge"),
    ({"nvlink": False}, "g6.48xlarge", "dl2q.24xlarge"),  # of which it is not known
    ({"efa": False}, "g6.xlarge", "p2.xlarge"),
    ({"network_gbps": Range(400, 400)}, "p4d.24xlarge", "g2.2xlarge"),  # 4x 100 Gigabit
    ({"network_gbps": Range(high=10)}, "g6.xlarge", "g4dn.xlarge"),  # Up to 10 Gigabit
    ({"vcpus": Range(high=4)}, "g6.xlarge", "g6.2xlarge"),
    ({"memory_mib": Range(low=2_097_152)}, "p5.48xlarge", "p4d.24xlarge"),
    ({"architecture": Architecture.ARM64}, "g5g.xlarge", "g5.xlarge"),
    ({"families": ("g6", "c7i")}, "c7i.2xlarge", "g6e.xlarge"),
    ({"region": "eu-west-1"}, "g5.xlarge", "p3.2xlarge"),
    ({"purchase": PurchaseClass.CAPACITY_BLOCK}, "p5.4xlarge", "g6.xlarge"),
    ({"usd_per_hour": Range(high=1)}, "g6.xlarge", "p5e.48xlarge"),  # which no list has
]


@pytest.mark.parametrize(("need", "there", "not_there"), FILTERED)
def test_a_filter_leaves_out_what_does_not_satisfy_it(need: dict[str, Any], there: str, not_there: str) -> None:
    found = names(InstanceNeeds(**need))
    assert there in found
    assert not_there not in found


def test_every_filter_is_in_that_table() -> None:
    assert {name for need, _, _ in FILTERED for name in need} == {each.name for each in fields(InstanceNeeds)}


@pytest.mark.parametrize(
    "need",
    [
        {"gpus": 4},
        {"gpus": Range(-1, None)},
        {"gpus": Range(4, 1)},
        {"gpus": Range(float("nan"), None)},
        {"gpus": Range(low=True)},
        {"compute_capability": Range(8.9, None)},
        {"compute_capability": Range((9, 0), (8, 9))},
        {"models": "L4"},
        {"models": ("L5",)},
        {"models": ("L4",) * 1000},
        {"vendor": "nvidai"},
        {"precision": 8},
        {"nvlink": "yes"},
        {"families": ("g66",)},
        {"region": "eu-west-9"},
        {"purchase": "rent"},
    ],
)
def test_a_need_that_means_nothing_is_refused_by_name(need: dict[str, Any]) -> None:
    with pytest.raises(GpuConstructsError) as raised:
        InstanceNeeds(**need)
    assert [raised.value.argument] == list(need)


def test_a_type_is_similar_to_itself() -> None:
    for found in (*accelerated(), instance_type("c7i.2xlarge")):
        offer = Offer(instance_type=found, price=None)
        assert [name for name, holds in conditions(needs_like(found)).items() if not holds(offer)] == [], found


def test_similar_types_have_the_same_gpu_shape_and_no_less_of_anything() -> None:
    def similar(name: str) -> set[str]:
        return names(needs_like(instance_type(name)))

    assert "p4d.24xlarge" in similar("p3.16xlarge")
    assert "g6e.48xlarge" not in similar("p4d.24xlarge")  # without NVLink
    assert similar("g6f.large") == {"g6f.large", "g6f.xlarge"}  # an eighth of a GPU
    assert similar("inf2.xlarge") == {"inf2.xlarge", "inf2.8xlarge"}


def test_similar_types_run_the_same_image() -> None:
    for found in accelerated():
        with suppress(IncompatibleError):  # no ECS image drives it
            image = default_image(found)
            offers = (each.instance_type for each in choose(needs_like(found)).offers)
            images = {default_image(each) for each in offers if each.is_offered_anywhere}
            assert images == ({image} if found.is_offered_anywhere else images), found


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "gpus": st.integers(0, 16).map(lambda each: Range(each, each)),
            "architecture": st.sampled_from(Architecture),
            "vendor": st.sampled_from(Vendor),
            "region": st.sampled_from(["us-east-1", "sa-east-1", "eu-west-1"]),
            "usd_per_hour": st.integers(0, 40).map(lambda each: Range(high=each)),
            "nvlink": st.booleans(),
        },
    )
)
def test_each_need_leaves_over_what_it_and_those_before_it_hold(given: dict[str, Any]) -> None:
    choice = choose(InstanceNeeds(**given))
    assert [each.name for each in choice.steps] == [each.name for each in fields(InstanceNeeds) if each.name in given]
    for count, step in enumerate(choice.steps, start=1):
        asked = dict.fromkeys([each.name for each in choice.steps[:count]])
        # Prices of another region are others, so the region still counts for them.
        some = conditions(InstanceNeeds(**{name: given[name] for name in asked}))
        offers = [
            Offer(instance_type=each, price=on_demand_price(each.name, given.get("region"))) for each in accelerated()
        ]
        assert step.left == sum(all(holds(offer) for holds in some.values()) for offer in offers)
    assert not given or choice.steps[-1].left == len(choice.offers)


@pytest.mark.parametrize("order", SORT_ORDERS)
def test_an_order_puts_the_unknown_after_the_known_and_what_is_not_offered_last(order: str) -> None:
    offers = choose(sort_by=order).offers
    assert len(offers) == len(accelerated())
    for offered in (True, False):
        facts = [SORT_ORDERS[order](each) for each in offers if each.instance_type.is_offered_anywhere is offered]
        known = [each for each in facts if each is not None]
        assert facts == sorted(known) + [None] * (len(facts) - len(known))
    assert [each.instance_type.is_offered_anywhere for each in offers] == sorted(
        (each.instance_type.is_offered_anywhere for each in offers), reverse=True
    )


def test_an_unknown_order_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidValueError, match="price-per-gpu"):
        choose(sort_by="colour")


def test_further_conditions_are_asked_after_the_needs() -> None:
    choice = choose(InstanceNeeds(models=("L4",)), also={"none": lambda _: False})
    assert [each.name for each in choice.steps] == ["models", "none"]
    assert choice.offers == ()
