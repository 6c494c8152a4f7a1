"""Elastic Fabric Adapters: whether the instance types take them where the launch template puts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpu_constructs.errors import shown
from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, NetworkInterface, Pool
from gpu_constructs.hardware import InstanceType
from gpu_constructs.rules.evidence.lists import and_list, or_list, with_verb
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_EFA = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html"
_CARDS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html"
_SUPPORTED = "a larger size of the family, or interfaces of type interface"
_MOST_NAMED = 4
_TYPES = ("interface", "efa", "efa-only")


@rule(
    "GPU090",
    Severity.ERROR,
    about=Pool,
    question="is the interface type one that EC2 has?",
    because="launch templates are not validated when they are made; every launch is refused",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceNetworkInterfaceSpecification.html",
)
def interface_type(pool: Pool) -> Iterator[Problem]:
    wrong = dict.fromkeys(
        shown(each.type) for each in pool.interfaces if isinstance(each.type, str) and each.type not in _TYPES
    )
    if wrong:
        yield Problem(
            about=pool,
            message=f"{with_verb(wrong, 'is no interface type', 'are no interface types')}; EC2 has {and_list(_TYPES)}",
            fix="InterfaceType efa",
        )


@rule(
    "GPU091",
    Severity.ERROR,
    about=Pool,
    question="do the instance types support EFA?",
    because="EC2 refuses to launch a type with an interface that it does not support",
    source=_EFA,
)
def supported(pool: Pool) -> Iterator[Problem]:
    without = _without(pool)
    if without and len(without) == len(pool.instance_types) and pool.types_are_known:
        yield Problem(
            about=pool,
            message=f"the launch template has EFA interfaces, and {or_list(without)} supports none",
            fix=_SUPPORTED,
        )


@rule(
    "GPU092",
    Severity.ERROR,
    about=Pool,
    question="do the interfaces fit the network cards of the instance types?",
    because="EC2 refuses to launch a type with more interfaces than it takes, or with one on a card that has none",
    source=_CARDS,
)
def on_its_cards(pool: Pool) -> Iterator[Problem]:
    for position, count in _positions(pool).items():
        if count > 1:
            card, device = position
            yield Problem(
                about=pool, message=f"{count} interfaces are at network card {card}, device {device}; one can be"
            )
    if pool.types_are_known and not _able(pool):
        for each in pool.instance_types:
            for message in _misplaced(pool, each):
                yield Problem(about=pool, message=message)


@rule(
    "GPU118",
    Severity.WARNING,
    about=Pool,
    question="do the interfaces of the launch template go with every instance type of the pool?",
    because="EC2 refuses to launch the types that do not take them, and the group goes on with the others",
    source=_EFA,
)
def every_type(pool: Pool) -> Iterator[Problem]:
    without = _without(pool)
    if not _able(pool) and pool.types_are_known:
        return
    reasons = [f"{or_list(without)} supports no EFA interface"] if without else []
    reasons += [message for each in pool.instance_types for message in _misplaced(pool, each)]
    if reasons:
        yield Problem(
            about=pool,
            message=f"the launch template is not for all types of {pool.name}: {'; '.join(reasons[:_MOST_NAMED])}",
            fix=f"a launch template of its own for the others, {_SUPPORTED}",
        )


@rule(
    "GPU093",
    Severity.ERROR,
    about=Pool,
    question="can the primary interface carry IP traffic?",
    because="an EFA-only interface has no IP address and cannot be the primary one",
    source=_CARDS,
)
def primary(pool: Pool) -> Iterator[Problem]:
    if any(each.card == 0 and each.device == 0 and each.type == "efa-only" for each in pool.interfaces):
        yield Problem(
            about=pool,
            message="the primary interface (network card 0, device 0) is efa-only, and such an interface has no IP "
            "address",
            fix="InterfaceType interface or efa on card 0, device 0, and efa-only on device 1",
        )


@rule(
    "GPU094",
    Severity.ERROR,
    about=Pool,
    question="does a host with several interfaces do without a public address?",
    because="EC2 refuses AssociatePublicIpAddress in a launch with more than one interface",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceNetworkInterfaceSpecification.html",
)
def private(pool: Pool) -> Iterator[Problem]:
    if len(pool.interfaces) > 1 and any(each.public_address is True for each in pool.interfaces):
        yield Problem(
            about=pool,
            message=f"AssociatePublicIpAddress cannot go with {len(pool.interfaces)} interfaces",
            fix="private subnets with a NAT gateway or VPC endpoints",
        )


@rule(
    "GPU095",
    Severity.WARNING,
    about=Pool,
    question="are hosts with EFA near each other?",
    because="EFA traffic does not cross Availability Zones, and a cluster placement group keeps hosts near each other",
    source=_EFA,
)
def together(pool: Pool) -> Iterator[Problem]:
    if not _efa(pool) or pool.max_instances in {0, 1}:
        return
    if pool.zones is not None and pool.zones > 1:
        yield Problem(
            about=pool,
            message=f"its hosts have EFA and are spread over {pool.zones} Availability Zones, which EFA traffic "
            "does not cross",
            fix="subnets of one zone",
        )
    # The hosts of a Capacity Block are near each other anyway, and a reservation says itself where its hosts are
    # (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-cpg.html).
    elif pool.placement_group is False and not _is_reserved(pool):
        yield Problem(
            about=pool,
            message="its hosts have EFA and are in no cluster placement group, so they may be far from each other",
            fix="a placement group with strategy cluster",
        )


def _is_reserved(pool: Pool) -> bool:
    reservation = pool.bought.reservation
    return pool.bought.option in BOUGHT_IN_ADVANCE or (reservation is not None and reservation.comes_first)


def _efa(pool: Pool) -> list[NetworkInterface]:
    return [each for each in pool.interfaces if each.is_efa]


def _without(pool: Pool) -> list[InstanceType]:
    """Types that support no EFA, where the launch template asks for it."""
    return [each for each in pool.instance_types if each.network.efa_supported is False] if _efa(pool) else []


def _able(pool: Pool) -> list[InstanceType]:
    """Types that nothing is known to keep from taking all interfaces."""
    without = _without(pool)
    return [each for each in pool.instance_types if each not in without and not any(_misplaced(pool, each))]


def _positions(pool: Pool) -> Counter[tuple[int, int]]:
    return Counter(
        (each.card, each.device)
        for each in pool.interfaces
        if isinstance(each.card, int) and isinstance(each.device, int)
    )


def _misplaced(pool: Pool, instance_type: InstanceType) -> Iterator[str]:
    network = instance_type.network
    wanted = _efa(pool)
    most = network.max_efa_interfaces
    if most and len(wanted) > most:
        yield f"{instance_type} takes {most} EFA interface{'s' if most > 1 else ''}, and {len(wanted)} are there"
    if network.cards is None:
        return
    used = dict.fromkeys(each.card for each in pool.interfaces if isinstance(each.card, int))
    beyond = [card for card in used if not 0 <= card < network.cards]
    if beyond:
        numbers = "card 0 only" if network.cards == 1 else f"network cards 0 to {network.cards - 1}"
        yield f"{instance_type} has {numbers}, and an interface is on card {and_list(beyond)}"
    if network.efa_cards:
        refused = dict.fromkeys(
            each.card
            for each in wanted
            if isinstance(each.card, int)
            and each.card not in beyond
            and each.card not in (network.efa_only_cards if each.type == "efa-only" else network.efa_cards)
        )
        if refused:
            yield f"network card {and_list(refused)} of {instance_type} takes no EFA interface"
