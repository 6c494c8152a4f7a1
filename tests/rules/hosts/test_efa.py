"""EFA interfaces on types, cards and hosts that cannot have them."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.facts import accelerated, general, instance_type
from gpu_constructs.fleet import RESERVATIONS_FIRST, UNKNOWN, NetworkInterface, PurchaseOption, Reservation
from gpu_constructs.fleet.host import efa_layout
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.hosts import efa
from tests.rules.given import a_pool, asked

RULES = rules_of(efa)


def _nic(type_: Any = "efa", card: Any = 0, device: Any = 0, *, public: Any = False) -> NetworkInterface:
    return NetworkInterface(type=type_, card=card, device=device, public_address=public)


NEAR = {"placement_group": True, "zones": 1}


def test_a_misspelt_interface_type_is_refused_at_launch() -> None:
    found = asked(RULES, a_pool("p5.48xlarge", interfaces=(_nic("efaa"),), **NEAR))
    assert list(found) == ["GPU093"]
    assert "EC2 does not have the interface type 'efaa'; it has interface, efa and efa-only" in found["GPU093"].message


@pytest.mark.parametrize("name", ["g5.xlarge", "g6.4xlarge", "inf2.48xlarge"])
def test_a_type_without_efa_takes_no_efa_interface(name: str) -> None:
    found = asked(RULES, a_pool(name, interfaces=(_nic(),), **NEAR))
    assert list(found) == ["GPU092"]
    assert found["GPU092"].message.startswith(f"{name} supports no Elastic Fabric Adapter")


def test_several_types_without_efa_are_one_error() -> None:
    found = asked(RULES, a_pool("g5.xlarge", "g6.xlarge", interfaces=(_nic(),), **NEAR))
    assert list(found) == ["GPU092"]
    assert "g5.xlarge and g6.xlarge support no Elastic Fabric Adapter" in found["GPU092"].message


@pytest.mark.parametrize(
    ("types", "fix"),
    [
        (("g6.xlarge",), "g6.8xlarge is the smallest g6 that does, or no EFA"),
        (("g5g.xlarge",), "no EFA"),
        (("g5.xlarge", "inf2.xlarge"), "g5.8xlarge is the smallest g5 that does, or no EFA"),
    ],
)
def test_a_larger_size_of_the_family_may_have_efa(types: tuple[str, ...], fix: str) -> None:
    assert fix in asked(RULES, a_pool(*types, interfaces=(_nic(),), **NEAR))["GPU092"].fix


@pytest.mark.parametrize(
    ("types", "interfaces", "words"),
    [
        (("g6.xlarge", "g6.8xlarge"), (_nic(),), "g6.xlarge supports no Elastic Fabric Adapter"),
        (("p5.48xlarge", "g6.8xlarge"), (_nic(), _nic("efa-only", 1)), "g6.8xlarge takes 1 EFA interface"),
    ],
)
def test_a_type_beside_others_that_take_the_interfaces_is_a_warning(
    types: tuple[str, ...], interfaces: tuple[NetworkInterface, ...], words: str
) -> None:
    found = asked(RULES, a_pool(*types, interfaces=interfaces, **NEAR))
    assert {each.rule: each.severity for each in found.values()} == {"GPU092": Severity.WARNING}
    assert words in found["GPU092"].message


def test_a_type_that_is_not_known_may_take_them() -> None:
    assert list(asked(RULES, a_pool("g6.xlarge", has_unknown_types=True, interfaces=(_nic(),), **NEAR))) == ["GPU092"]


@pytest.mark.parametrize(
    ("name", "interfaces", "words"),
    [
        (
            "g6.8xlarge",
            (_nic(), _nic("efa-only", 0, 1)),
            "g6.8xlarge takes 1 EFA interface, and the launch template has 2",
        ),
        ("p4d.24xlarge", (_nic(), _nic(card=4)), "has network cards 0 to 3, and an interface is on card 4"),
        ("g6.8xlarge", (_nic(), _nic("interface", 1)), "has card 0 only, and an interface is on card 1"),
        ("p6-b300.48xlarge", (_nic(),), "network card 0 of p6-b300.48xlarge takes no EFA interface"),
        ("p5.48xlarge", (_nic(), _nic()), "2 interfaces are at network card 0, device 0"),
    ],
)
def test_interfaces_that_the_cards_do_not_take_are_refused(
    name: str, interfaces: tuple[NetworkInterface, ...], words: str
) -> None:
    found = asked(RULES, a_pool(name, interfaces=interfaces, **NEAR))
    assert list(found) == ["GPU092"]
    assert words in found["GPU092"].message


def test_the_layout_of_a_type_is_one_that_it_takes() -> None:
    of_each_layout = {layout: each.name for each in (*accelerated(), *general()) if (layout := efa_layout(each))}
    assert len(of_each_layout) > 5
    for layout, name in of_each_layout.items():
        assert asked(RULES, a_pool(name, interfaces=layout, **NEAR)) == {}, name


@pytest.mark.parametrize("name", ["p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge"])
def test_one_adapter_more_than_its_layout_is_too_many(name: str) -> None:
    layout = efa_layout(instance_type(name))
    found = asked(RULES, a_pool(name, interfaces=(*layout, _nic("efa-only", 1, 2)), **NEAR))
    assert list(found) == ["GPU092"]
    assert (
        f"takes {len(layout) - 1} EFA interfaces, and the launch template has {len(layout)}" in found["GPU092"].message
    )


def test_an_efa_only_interface_cannot_be_the_primary_one() -> None:
    found = asked(RULES, a_pool("p5.48xlarge", interfaces=(_nic("efa-only"), _nic("efa-only", 1)), **NEAR))
    assert list(found) == ["GPU093"]
    assert "device 1" in found["GPU093"].fix


def test_a_public_address_cannot_go_with_several_interfaces() -> None:
    several = (_nic(public=True), _nic("efa-only", 1))
    found = asked(RULES, a_pool("p5.48xlarge", interfaces=several, **NEAR))
    assert list(found) == ["GPU093"]
    assert "AssociatePublicIpAddress cannot go with 2 interfaces" in found["GPU093"].message
    assert asked(RULES, a_pool("p5.48xlarge", interfaces=several[:1], **NEAR)) == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"zones": 3, "placement_group": True}, "one Availability Zone, and the subnets of Hosts are in 3"),
        ({"zones": 1, "placement_group": False}, "in no cluster placement group"),
        ({"placement_group": False}, "in no cluster placement group"),
        ({"placement_group": False, "reservation": Reservation(preference="none")}, "in no cluster placement group"),
    ],
)
def test_hosts_with_efa_that_may_be_far_apart_are_a_warning(changes: dict[str, Any], words: str) -> None:
    found = asked(RULES, a_pool("p5.48xlarge", interfaces=(_nic(),), **changes))
    assert list(found) == ["GPU095"]
    assert words in found["GPU095"].message


@pytest.mark.parametrize(
    "changes",
    [
        {"placement_group": UNKNOWN},
        {"max_instances": 1},
        {"purchase": PurchaseOption.CAPACITY_BLOCK, "zones": 1},
        {"purchase": PurchaseOption.RESERVED, "zones": 1},
        {"placement_group": False, "reservation": Reservation(preference=RESERVATIONS_FIRST), "zones": 1},
        {"placement_group": False, "reservation": Reservation(id="cr-0123456789abcdef0"), "zones": 1},
        {"interfaces": (_nic("interface"),), "zones": 3},
    ],
    ids=str,
)
def test_distance_does_not_matter_here(changes: dict[str, Any]) -> None:
    assert asked(RULES, a_pool("p5.48xlarge", **{"interfaces": (_nic(),), **changes})) == {}


def test_what_is_not_known_is_no_error() -> None:
    unknown = _nic(UNKNOWN, UNKNOWN, UNKNOWN, public=UNKNOWN)
    assert asked(RULES, a_pool("g5.xlarge", interfaces=(unknown, unknown), **NEAR)) == {}
    assert asked(RULES, a_pool("g3.16xlarge", "p6e-gb200.36xlarge", interfaces=(_nic(),), **NEAR)) == {}
