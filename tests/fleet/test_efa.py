"""Where the Elastic Fabric Adapters of a type go, against EC2's own description of its cards and AWS's examples."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts import accelerated, general, instance_type
from gpu_constructs.fleet import NetworkInterface
from gpu_constructs.fleet.host import efa_layout, require_one_efa_layout
from tests.facts.dumps import instance_types

EVERY = {each.name: each for each in (*accelerated(), *general())}
DESCRIBED = sorted(EVERY.keys() & instance_types().keys())


def described(name: str) -> dict[str, Any]:
    """``NetworkInfo`` of DescribeInstanceTypes."""
    info: dict[str, Any] = instance_types()[name]["NetworkInfo"]
    return info


def written(layout: tuple[NetworkInterface, ...]) -> list[tuple[object, object, object]]:
    return [(each.card, each.device, each.type) for each in layout]


def efa_only(*cards: int) -> list[tuple[int, int, str]]:
    """As the page on network cards has it: device 1 of card 0, device 0 of the others."""
    return [(card, 1 if card == 0 else 0, "efa-only") for card in cards]


WITH_EFA = [name for name in DESCRIBED if described(name)["EfaSupported"]]


def test_a_layout_uses_all_that_ec2_describes_and_no_more() -> None:
    for name in WITH_EFA:
        info, layout = described(name), efa_layout(EVERY[name])
        cards = {card["NetworkCardIndex"]: card for card in info["NetworkCards"]}
        assert sum(each.is_efa for each in layout) == info["EfaInfo"]["MaximumEfaInterfaces"], name
        assert all(each.type in cards[each.card]["InterfaceTypes"] for each in layout), name
        on_card = Counter(each.card for each in layout)
        assert all(number <= cards[card]["MaximumNetworkInterfaces"] for card, number in on_card.items()), name
        assert len(layout) <= info["MaximumNetworkInterfaces"], name
        positions = [(each.card, each.device) for each in layout]
        assert len(set(positions)) == len(positions), name
        assert positions[0] == (0, 0), name
        assert [each.type == "efa-only" for each in layout] == [False] + [True] * (len(layout) - 1), name
        # Wherever ECS puts the interface of a task, card 0 among them.
        assert on_card[0] < cards[0]["MaximumNetworkInterfaces"], name
        assert not any(each.public_address for each in layout), name


def test_no_other_type_has_a_layout() -> None:
    assert [name for name, each in EVERY.items() if efa_layout(each) and name not in WITH_EFA] == []
    assert len(WITH_EFA) > 200
    assert "p6e-gb200.36xlarge" in EVERY.keys() - set(DESCRIBED)


# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html, the product pages for the numbers.
BY_HAND: dict[str, list[tuple[int, int, str]]] = {
    "g4dn.8xlarge": efa_only(0),
    "g5.48xlarge": efa_only(0),
    "g6.8xlarge": efa_only(0),
    "g6e.12xlarge": efa_only(0),
    "g6e.24xlarge": efa_only(0, 1),
    "g6e.48xlarge": efa_only(0, 1, 2, 3),
    "g7e.48xlarge": efa_only(0, 1, 2, 3),
    "p4d.24xlarge": efa_only(0, 1, 2, 3),
    "p4de.24xlarge": efa_only(0, 1, 2, 3),
    "p5.4xlarge": efa_only(0),
    "p5en.48xlarge": efa_only(*range(16)),
    "p6-b200.48xlarge": efa_only(*range(8)),
    "p6-b300.48xlarge": efa_only(*range(1, 17)),
    "trn1.32xlarge": efa_only(*range(8)),
    "trn1n.32xlarge": efa_only(*range(16)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_layout_is_the_one_of_the_examples(name: str) -> None:
    assert written(efa_layout(instance_type(name))) == [(0, 0, "interface"), *BY_HAND[name]]


@pytest.mark.parametrize(("name", "cards"), [("p5.48xlarge", 32), ("p5e.48xlarge", 32), ("trn2.48xlarge", 16)])
def test_where_card_0_takes_two_interfaces_the_second_place_is_left_to_a_task(name: str, cards: int) -> None:
    # As AWS's own template for multi-node jobs on p5 has it (awsome-distributed-training, 3.aws-batch).
    assert written(efa_layout(instance_type(name))) == [(0, 0, "efa"), *efa_only(*range(1, cards))]


def test_gpudirect_rdma_begins_with_p4d_and_leaves_out_the_smallest_p5() -> None:
    without = {each.name for each in accelerated() if each.name.startswith("p") and not each.network.device_rdma}
    assert without == {each.name for each in accelerated() if each.family in {"p2", "p3", "p3dn"}} | {"p5.4xlarge"}


@pytest.mark.parametrize("names", [["p5.48xlarge", "p5e.48xlarge"], ["p4d.24xlarge", "p4de.24xlarge"], ["g6.8xlarge"]])
def test_types_with_the_same_cards_share_a_layout(names: list[str]) -> None:
    types = [instance_type(each) for each in names]
    assert require_one_efa_layout(types, argument="network") == efa_layout(types[0])


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["p6e-gb200.36xlarge"], ["network cards of p6e-gb200.36xlarge are not recorded", "p5en.48xlarge"]),
        (["g6e.24xlarge", "g6e.12xlarge"], ["g6e.12xlarge: 1 at card 0"]),
    ],
)
def test_types_that_no_one_launch_template_starts_are_refused(names: list[str], words: list[str]) -> None:
    with pytest.raises(IncompatibleError) as raised:
        require_one_efa_layout(
            [instance_type(each) for each in names], argument="network", fix=lambda layouts: f"{layouts} templates"
        )
    assert raised.value.argument == "network"
    for each in words:
        assert each in str(raised.value)
