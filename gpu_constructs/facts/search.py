"""Which instance types serve a need: searched by the filters of `gpu_constructs.facts.filters`, and sorted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.facts.catalogue import accelerated, by_size, declared_types, general
from gpu_constructs.facts.filters import Condition, InstanceNeeds, Offer, conditions
from gpu_constructs.facts.model import InstanceType, Vendor
from gpu_constructs.facts.prices import on_demand_price
from gpu_constructs.facts.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one condition, after all before it, leaves over.

    Attributes:
        name: The field of `InstanceNeeds`, or the name of the condition.
        left: How many types.
    """

    name: str
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxed:
    """What there would be without one condition, of several that nothing satisfies together.

    Attributes:
        name: The field of `InstanceNeeds`, or the name of the condition.
        offers: The types that satisfy all others, sorted like a choice.
    """

    name: str
    offers: tuple[Offer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The types that satisfy every need.

    Attributes:
        offers: The types, sorted; those that no region offers come last.
        steps: What each condition left over, in their order.
        relaxed: Where there is none, what there would be without one condition, most types first; empty where leaving
            one out does not help.
    """

    offers: tuple[Offer, ...]
    steps: tuple[Step, ...]
    relaxed: tuple[Relaxed, ...] = ()


def _of_devices(fact: str) -> Callable[[Offer], Any]:
    return lambda offer: getattr(offer.instance_type.accelerators, fact, None)


def _has_gpus(offer: Offer) -> bool:
    devices = offer.instance_type.accelerators
    return devices is not None and devices.vendor in _MAKERS_OF_GPUS


_MAKERS_OF_GPUS = frozenset({Vendor.NVIDIA, Vendor.AMD})

SORT_ORDERS: Mapping[str, Callable[[Offer], Any]] = {
    "price": lambda offer: offer.usd_per_hour,
    "price-per-gpu": lambda offer: offer.usd_per_accelerator_hour if _has_gpus(offer) else None,
    "size": lambda offer: by_size(offer.instance_type),
    "gpus": lambda offer: offer.accelerators,
    "gpu-memory": _of_devices("memory_mib"),
    "gpu-memory-total": _of_devices("total_memory_mib"),
    "compute-capability": _of_devices("compute_capability"),
    "vcpus": lambda offer: offer.instance_type.vcpus,
    "memory": lambda offer: offer.instance_type.memory_mib,
    "network": lambda offer: offer.instance_type.network.gbps,
    "instance-store": lambda offer: offer.instance_type.local_storage_gb,
    "name": lambda offer: offer.instance_type.name,
}
"""What types can be sorted by: name of the order and the fact; types of which it is unknown follow those with it."""


def choose(
    needs: InstanceNeeds | None = None,
    *,
    also: Sequence[Condition] = (),
    sort_by: str = "price",
    descending: bool = False,
    among: Iterable[InstanceType] | None = None,
) -> Choice:
    """Choose instance types by need, cheapest first.

    Args:
        needs: What they must be; without, anything.
        also: Further conditions, which are asked after the needs.
        sort_by: One of `SORT_ORDERS`.
        descending: Whether the largest come first.
        among: Types to choose from; without, those with accelerators and those that are declared, and types without
            accelerators where the needs name their families, or ask for none.

    Raises:
        InvalidValueError: There is no such order.
    """
    if sort_by not in SORT_ORDERS:
        raise InvalidValueError(
            f"got {shown(sort_by)}", argument="sort_by", value=sort_by, allowed=", ".join(SORT_ORDERS)
        )
    needs = needs or InstanceNeeds()
    everything = tuple(
        Offer(instance_type=each, price=on_demand_price(each.name, needs.region))
        for each in (_meant(needs) if among is None else among)
    )
    asked = (*conditions(needs), *also)
    left, steps = everything, []
    for condition in asked:
        left = tuple(each for each in left if condition.holds(each))
        steps.append(Step(name=condition.name, left=len(left)))

    def in_order(offers: Iterable[Offer]) -> tuple[Offer, ...]:
        return _sorted(offers, SORT_ORDERS[sort_by], descending=descending)

    relaxed = () if left else _relaxed(everything, asked)
    return Choice(
        offers=in_order(left),
        steps=tuple(steps),
        relaxed=tuple(replace(each, offers=in_order(each.offers)) for each in relaxed),
    )


def _meant(needs: InstanceNeeds) -> tuple[InstanceType, ...]:
    without = needs.accelerators is not None and needs.accelerators.high == 0
    named = general() if without or needs.families else ()
    return (*accelerated(), *named, *declared_types())


def _relaxed(everything: tuple[Offer, ...], asked: tuple[Condition, ...]) -> tuple[Relaxed, ...]:
    without = (
        Relaxed(
            name=each.name,
            offers=tuple(
                offer for offer in everything if all(other.holds(offer) for other in asked if other is not each)
            ),
        )
        for each in asked
    )
    return tuple(sorted((each for each in without if each.offers), key=lambda each: -len(each.offers)))


def _sorted(offers: Iterable[Offer], fact: Callable[[Offer], Any], *, descending: bool) -> tuple[Offer, ...]:
    by_name = sorted(offers, key=lambda each: by_size(each.instance_type))
    known = sorted((each for each in by_name if fact(each) is not None), key=fact, reverse=descending)
    unknown = (each for each in by_name if fact(each) is None)
    return tuple(sorted((*known, *unknown), key=lambda each: not each.instance_type.is_offered_anywhere))
