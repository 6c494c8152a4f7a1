"""EFA interfaces on types, cards and hosts that cannot have them."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import UNKNOWN, NetworkInterface, Reservation
from gpu_constructs.fleet.host import efa_layout
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.hosts import efa
from tests.rules.given import a_pool, asked

RULES = rules_of(efa)


def _nic(type_: Any = "efa", card: Any = 0, device: Any = 0, *, public: Any = False) -> NetworkInterface:
    return NetworkInterface(type=type_, card=card, device=device, public_address=public)


NEAR = {"placement_group": True, "zones": 1}


@pytest.mark.parametrize(
    ("types", "fix"),
    [
        (("g6.xlarge",), "g6.8xlarge is the smallest g6 that does, or no EFA"),
        (("g5g.xlarge",), "no EFA"),
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


CARD_4 = "has network cards 0 to 3, and an interface is on card 4"
EFAA = "EC2 does not have the interface type 'efaa'; it has interface, efa and efa-only"


@pytest.mark.parametrize(
    ("name", "changes", "rule", "words"),
    [
        ("p5.48xlarge", {"interfaces": (_nic("efaa"),)}, "GPU093", EFAA),
        (
            "p4d.24xlarge",
            {"interfaces": (_nic(), _nic(card=4))},
            "GPU092",
            CARD_4,
        ),
        ("p5.48xlarge", {"interfaces": (_nic(), _nic())}, "GPU092", "2 interfaces are at network card 0, device 0"),
        ("p5.48xlarge", {"zones": 3}, "GPU095", "one Availability Zone, and the subnets of Hosts are in 3"),
        ("p5.48xlarge", {"placement_group": False}, "GPU095", "in no cluster placement group"),
    ],
)
def test_interfaces_that_ec2_refuses_or_that_may_be_far_apart_are_said(
    name: str, changes: dict[str, Any], rule: str, words: str
) -> None:
    found = asked(RULES, a_pool(name, **{"interfaces": (_nic(),), **NEAR, **changes}))
    assert list(found) == [rule]
    assert words in found[rule].message


@pytest.mark.parametrize("name", ["p4d.24xlarge", "p5.48xlarge", "p6-b300.48xlarge"])
def test_one_adapter_more_than_its_layout_is_too_many(name: str) -> None:
    layout = efa_layout(instance_type(name))
    found = asked(RULES, a_pool(name, interfaces=(*layout, _nic("efa-only", 1, 2)), **NEAR))
    assert list(found) == ["GPU092"]
    most = sum(each.is_efa for each in layout)
    assert f"takes {most} EFA interfaces, and the launch template has {most + 1}" in found["GPU092"].message


@pytest.mark.parametrize(
    "changes",
    [
        {"placement_group": UNKNOWN},
        {"max_instances": 1},
        {"placement_group": False, "reservation": Reservation(id="cr-0123456789abcdef0"), "zones": 1},
    ],
)
def test_distance_does_not_matter_here(changes: dict[str, Any]) -> None:
    assert asked(RULES, a_pool("p5.48xlarge", **{"interfaces": (_nic(),), **changes})) == {}
