"""Elastic Fabric Adapters: which interfaces a host of a type gets, and what its devices can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet.host import NetworkInterface
from gpu_constructs.hardware import InstanceType, family

__all__ = ["efa_layout", "require_one_efa_layout"]


def efa_layout(instance_type: InstanceType) -> tuple[NetworkInterface, ...]:
    """The interfaces of a host that uses all of its Elastic Fabric Adapters, the primary one first.

    The primary interface carries IP traffic only (``interface``); each card that takes EFA has an ``efa-only``
    interface, at device 1 of card 0 and at device 0 of the others
    (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html).

    Returns:
        The interfaces; empty where the type supports no EFA or its network cards are not recorded.
    """
    network = instance_type.network
    cards = network.efa_only_cards[: network.max_efa_interfaces or 0]
    if not cards:
        return ()
    adapters = (NetworkInterface(card=card, device=1 if card == 0 else 0, type="efa-only") for card in cards)
    return (NetworkInterface(), *adapters)


def require_one_efa_layout(
    instance_types: Iterable[InstanceType], *, argument: str, fix: Callable[[int], str] = lambda _: ""
) -> tuple[NetworkInterface, ...]:
    """Refuses types that one launch template with EFA interfaces cannot start, each of them.

    Args:
        instance_types: What the pool should launch; at least one.
        argument: The argument that asked for EFA, for the error.
        fix: What to write instead of types with several layouts, given the number of layouts.

    Returns:
        The layout that they share.

    Raises:
        IncompatibleError: A type supports no EFA, its network cards are not recorded, or two layouts differ.
    """
    types = tuple(instance_types)
    without = [each for each in types if each.network.efa_supported is False]
    if without:
        raise IncompatibleError(
            f"{_named(without)} {'supports' if len(without) == 1 else 'support'} no Elastic Fabric Adapter",
            argument=argument,
            value=[each.name for each in without],
            fix=_with_efa(without),
        )
    layouts: dict[tuple[NetworkInterface, ...], list[InstanceType]] = {}
    for each in types:
        layouts.setdefault(efa_layout(each), []).append(each)
    if () in layouts:
        raise IncompatibleError(
            f"the network cards of {_named(layouts[()])} are not recorded, and a launch template places each Elastic "
            "Fabric Adapter on one of them",
            argument=argument,
            value=[each.name for each in layouts[()]],
            fix="a type whose cards are known, such as p5en.48xlarge",
        )
    if len(layouts) > 1:
        groups = "; ".join(f"{_named(each)}: {_described(layout)}" for layout, each in layouts.items())
        raise IncompatibleError(
            "one launch template places the Elastic Fabric Adapters of every host, and these types have them at "
            f"different network cards ({groups})",
            argument=argument,
            value=[each.name for each in types],
            allowed="types with the same network cards",
            fix=fix(len(layouts)),
        )
    return next(iter(layouts))


def _named(types: Iterable[InstanceType]) -> str:
    return ", ".join(each.name for each in types)


def _described(layout: tuple[NetworkInterface, ...]) -> str:
    cards = [each.card for each in layout if each.is_efa]
    where = f"card {cards[0]}" if len(cards) == 1 else f"cards {cards[0]} to {cards[-1]}"
    return f"{len(cards)} at {where}"


def _with_efa(without: Iterable[InstanceType]) -> str:
    """For each family the smallest size that has EFA."""
    fixes = []
    for name in dict.fromkeys(each.family for each in without):
        enough = next((each for each in family(name) if efa_layout(each)), None)
        fixes.append(f"{enough} is the smallest {name} that does" if enough else f"no {name} does")
    return f"{', '.join(fixes)}; or leave it out for one plain interface"
