"""Elastic Fabric Adapters: which interfaces a host of a type gets, and what its devices can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet.host import NetworkInterface
from gpu_constructs.hardware import InstanceType


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
    """The layout that types with EFA share; refuses types of which one launch template cannot use every adapter."""
    types = tuple(instance_types)
    layouts: dict[tuple[NetworkInterface, ...], list[InstanceType]] = {}
    for each in types:
        layouts.setdefault(efa_layout(each), []).append(each)
    if () in layouts:
        names = [each.name for each in layouts[()]]
        silent = [each.name for each in layouts[()] if each.declared and each.network.efa_supported is None]
        raise IncompatibleError(
            f"the network cards of {', '.join(names)} are not recorded, and a launch template places each Elastic "
            "Fabric Adapter on one of them",
            argument=argument,
            value=names,
            fix=f"state efa_cards in the declaration of {', '.join(silent)}"
            if silent
            else "a type whose cards are known, such as p5en.48xlarge",
        )
    if len(layouts) > 1:
        groups = "; ".join(f"{', '.join(map(str, each))}: {_described(layout)}" for layout, each in layouts.items())
        raise IncompatibleError(
            "one launch template places the Elastic Fabric Adapters of every host, and these types have them at "
            f"different network cards ({groups})",
            argument=argument,
            value=[each.name for each in types],
            allowed="types with the same network cards",
            fix=fix(len(layouts)),
        )
    return next(iter(layouts))


def _described(layout: tuple[NetworkInterface, ...]) -> str:
    cards = [each.card for each in layout if each.is_efa]
    where = f"card {cards[0]}" if len(cards) == 1 else f"cards {cards[0]} to {cards[-1]}"
    return f"{len(cards)} at {where}"
