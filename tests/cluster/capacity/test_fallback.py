"""Capacities in an order: ids, the strategy of a service, and what is not an order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs import (
    CapacityChoice,
    GpuCapacity,
    GpuService,
    GpuTaskDefinition,
    InvalidValueError,
    Purchase,
    UnknownNameError,
)
from gpu_constructs.fleet import UNKNOWN, PurchaseOption
from gpu_constructs.services.deployment import Filling, bases_of
from gpu_constructs.tasks.task_target import Capacity
from gpu_constructs.tasks.workload import CapacityShare
from tests.services.scaled_services import queue_of
from tests.synthesis import Ground, Properties, Site


def choice(name: str = "OnDemand", *types: str, **arguments: Any) -> CapacityChoice:
    return CapacityChoice(name, **{"instance_types": list(types or ("g6.xlarge",)), "max_instances": 4, **arguments})


RESERVED = choice("Reserved", max_instances=2, purchase=Purchase.reservations(only=True, instances=2))
SPOT = choice("Spot", "g6.xlarge", "g6.2xlarge", max_instances=8, purchase=Purchase.spot())
OTHER = choice("Other", "g5.xlarge", max_instances=1)
ORDER = [RESERVED, choice(), SPOT, OTHER]


def order(site: Site, *choices: CapacityChoice) -> tuple[GpuCapacity, ...]:
    return site.cluster.add_fallback("L4", order=list(choices or ORDER))


def service(site: Site, *capacity: GpuCapacity, name: str = "Service", **arguments: Any) -> GpuService:
    task = site.task(*capacity, name=f"{name}Task")
    task.add_gpu_container("main", image=site.image)
    return GpuService(site.stack, name, cluster=site.cluster, task_definition=task, **arguments)


def shares(service: GpuService) -> list[tuple[object, object]]:
    """The base and the weight of each item of its strategy."""
    return [(each.base, each.weight) for each in service.workload.strategy]


def part(room: int, most: int | None) -> Filling:
    """What a service fills that holds so many tasks on the first, and is to have so many at most."""
    alone = [CapacityShare(capacity=cast("Capacity", None), weight=1, base=room)]
    return Filling(alone=alone, most=UNKNOWN if most is None else most, write=lambda *_: None)


def strategy(site: Site) -> list[tuple[int | None, int]]:
    items: list[Properties] = site.only("AWS::ECS::Service")["CapacityProviderStrategy"]
    return [(each.get("Base"), each["Weight"]) for each in items]


def test_each_choice_is_a_capacity_of_its_own_under_its_own_id(site: Site) -> None:
    made = order(site)
    assert [each.pool.name for each in made] == ["L4-Reserved", "L4-OnDemand", "L4-Spot", "L4-Other"]
    assert [each.pool.bought.option for each in made] == [
        PurchaseOption.RESERVED,
        PurchaseOption.ON_DEMAND,
        PurchaseOption.SPOT,
        PurchaseOption.ON_DEMAND,
    ]
    assert site.cluster.capacities == tuple(made)
    assert len(site.properties("AWS::ECS::CapacityProvider")) == len(ORDER)


def test_another_order_names_no_resource_anew(site: Site, recommended_flags: Site) -> None:
    order(site, *ORDER)
    order(recommended_flags, *reversed(ORDER))
    for kind in ("AWS::AutoScaling::AutoScalingGroup", "AWS::ECS::CapacityProvider"):
        assert site.resources(kind).keys() == recommended_flags.resources(kind).keys()


def test_the_first_is_filled_and_the_others_share_the_rest_by_their_room(site: Site) -> None:
    service(site, *order(site))
    # A weight of 0 could place no task; 4, 8 and 1 hosts share what is above the base.
    assert strategy(site) == [(2, 1), (None, 500), (None, 1000), (None, 125)]


def test_the_order_itself_is_the_capacity_of_a_task(site: Site) -> None:
    made = order(site, choice("First", "g6.12xlarge", max_instances=2), choice("Then"))
    task = GpuTaskDefinition(site.stack, "Task", capacity=made)
    task.add_gpu_container("main", image=site.image)
    made_of_it = GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    assert shares(made_of_it) == [(8, 1), (0, 1000)]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param({"max_instances": "token"}, {}, id="first"),
        pytest.param({}, {"max_instances": "token"}, id="other"),
    ],
)
def test_a_base_that_nobody_knows_is_none(site: Site, first: dict[str, Any], then: dict[str, Any]) -> None:
    most = site.number("Most")
    for each in (first, then):
        if each:
            each["max_instances"] = most
    made = service(site, *order(site, choice("First", **first), choice("Then", **then)), desired_count=1)
    assert shares(made) == [(0, 1), (0, 1)]


def test_services_fill_the_first_together(site: Site) -> None:
    made = order(site, choice("First", max_instances=4), choice("Then", max_instances=8))
    counts = {"A": 1, "B": 2, "C": 2}
    services = [service(site, *made, name=name, desired_count=count) for name, count in counts.items()]
    assert [shares(each)[0][0] for each in services] == [1, 2, 1]
    services[0].scale(by=[queue_of(site)], max_tasks=6)
    written = [each["CapacityProviderStrategy"][0]["Base"] for each in site.properties("AWS::ECS::Service")]
    assert written == [shares(each)[0][0] for each in services] == [3, 1, 0]
    assert site.findings("GPU080") == []


@given(st.lists(st.builds(part, st.integers(1, 9), st.none() | st.integers(0, 20)), min_size=1, max_size=5))
def test_what_services_fill_together_has_room(filling: list[Filling]) -> None:
    parts = bases_of(filling)
    assert sum(Fraction(parts[each], each.room) for each in filling) <= 1
    if len({each.room for each in filling}) == 1:
        assert sum(parts.values()) == filling[0].room


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (None, "expects a list of choices"),
        ("OnDemand", "expects a list of choices"),
        ([{"instance_types": ["g6.xlarge"]}], "expects a list of choices"),
        ([], "got 0 choices"),
        ([choice()], "got 1 choices"),
        ([choice(), choice()], "got 2 choices, 1 of them different"),
        (
            [choice("A", capacity_provider_name="l4"), choice("B", capacity_provider_name="l4")],
            "different provider names if any",
        ),
    ],
)
def test_what_is_no_order_is_refused(ground: Ground, wrong: Any, words: str) -> None:
    with pytest.raises(InvalidValueError, match=words) as error:
        ground.cluster.add_fallback("L4", order=wrong)
    assert error.value.argument == "order"


def test_a_wrong_choice_is_refused(site: Site) -> None:
    with pytest.raises(UnknownNameError):
        order(site, choice(), choice("Wrong", "g6.huge"))
    site.capacity("g6.xlarge", name="L4-Taken")
    with pytest.raises(InvalidValueError, match="already used"):
        order(site, choice(), choice("Taken"))
