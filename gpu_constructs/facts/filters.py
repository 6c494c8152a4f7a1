"""Which instance types serve a need, cheapest first: a table with a row for each filter, and the needs that fill it in.

A fact that is unknown never satisfies a need. GPU means NVIDIA GPU, as in ECS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from enum import Enum
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from gpu_constructs.errors import InvalidValueError, argument_named, shown
from gpu_constructs.facts.budget import ENTRIES
from gpu_constructs.facts.catalogue import (
    accelerated,
    by_size,
    declared_types,
    family,
    general,
    known_name,
    models,
    regions,
)
from gpu_constructs.facts.declared import checked_value
from gpu_constructs.facts.gpu_features import precision
from gpu_constructs.facts.model import Architecture, InstanceType, PurchaseClass, Vendor
from gpu_constructs.facts.prices import Price, on_demand_price
from gpu_constructs.facts.values import dataclass

_Value = TypeVar("_Value", float, tuple[int, int])


@dataclass(frozen=True, slots=True)
class Range(Generic[_Value]):
    """Values between two bounds, both included; None has no bound."""

    low: _Value | None = None
    high: _Value | None = None

    def __contains__(self, value: _Value | None) -> bool:
        """Whether a value is within; an unknown one, None, never is."""
        if value is None:
            return False
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An instance type and its on-demand list price; None if no list has it."""

    instance_type: InstanceType
    price: Price | None

    @property
    def accelerators(self) -> float:
        """Accelerators of any vendor, a part of a GPU as a part: 0.125 of g6f.large."""
        devices = self.instance_type.accelerators
        return 0 if devices is None else devices.logical_count * devices.partition

    @property
    def usd_per_hour(self) -> float | None:
        """US dollars an hour on demand; None if unknown."""
        return None if self.price is None else self.price.usd_per_hour

    @property
    def usd_per_accelerator_hour(self) -> float | None:
        """US dollars an hour for each whole accelerator; None if unknown, or without accelerators."""
        whole, usd = self.accelerators, self.usd_per_hour
        return usd / whole if usd is not None and whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceNeeds:
    """What an instance type must be; None and an empty tuple ask for nothing.

    Attributes:
        gpus: Whole NVIDIA GPUs; fractional types such as g6f have 0.
        gpu_memory_mib: Memory of each GPU in MiB, as EC2 reports it.
        gpu_memory_total_mib: Memory of all its GPUs together in MiB.
        accelerators: Accelerators of any vendor that the operating system sees.
        models: Models of accelerators as in `gpu_constructs.facts.models`, in any case; one of them.
        compute_capability: CUDA compute capability as (major, minor).
        precision: A number format that the GPUs must take, see `gpu_constructs.facts.gpu_features`.
        nvlink: Whether NVLink must join the GPUs of a host, or must not.
        efa: Whether Elastic Fabric Adapters must be supported, or must not be.
        network_gbps: Bandwidth in Gbit/s, as AWS prints it; bursts count where it prints "Up to".
        vcpus: Default vCPUs.
        memory_mib: Nominal memory of the host in MiB.
        families: Families such as ``g6``; one of them.
        region: A region that must have offered it when the catalogue was recorded; its prices count.
        usd_per_hour: On-demand list price in US dollars an hour.

    Raises:
        InvalidValueError: A value can mean nothing, such as a range that is empty.
        UnknownNameError: There is no such name; carries the nearest names.
    """

    gpus: Range[float] | None = None
    gpu_memory_mib: Range[float] | None = None
    gpu_memory_total_mib: Range[float] | None = None
    accelerators: Range[float] | None = None
    models: tuple[str, ...] = ()
    vendor: Vendor | None = None
    compute_capability: Range[tuple[int, int]] | None = None
    precision: str | None = None
    nvlink: bool | None = None
    efa: bool | None = None
    network_gbps: Range[float] | None = None
    vcpus: Range[float] | None = None
    memory_mib: Range[float] | None = None
    architecture: Architecture | None = None
    families: tuple[str, ...] = ()
    region: str | None = None
    purchase: PurchaseClass | None = None
    usd_per_hour: Range[float] | None = None

    def __post_init__(self) -> None:
        for name, value in self.given():
            row = _ROWS[name]
            with argument_named(name):
                object.__setattr__(self, name, checked_value(name, value, row.allowed, row.kept))

    def given(self) -> Iterator[tuple[str, Any]]:
        """The needs that ask for something, by name, in the order of the table."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and value != ():
                yield each.name, value

    def over(self, others: InstanceNeeds) -> InstanceNeeds:
        """These needs, and the others where these ask for nothing."""
        return replace(others, **dict(self.given()))


class _Filter(NamedTuple):
    """A row of the table.

    Attributes:
        allowed: The needs that there can be, in words; empty where names are looked up, which says it itself.
        kept: What is kept of a need, None of a wrong one.
    """

    allowed: str
    kept: Callable[[Any], object | None]
    holds: Callable[[Any, Offer], bool]


Condition: TypeAlias = Callable[[Offer], bool]
"""Whether an offer satisfies one need, filled in."""


def conditions(needs: InstanceNeeds) -> Mapping[str, Condition]:
    """What an offer must satisfy, by the field of the need, in the order of the table."""
    return {name: partial(_ROWS[name].holds, value) for name, value in needs.given()}


def needs_like(found: InstanceType) -> InstanceNeeds:
    """What a type must be to stand in for another one in a capacity provider, such as for Spot.

    One GPU shape, as a provider takes it, and a host on which every task of the other one fits.
    """
    devices = found.accelerators
    host = InstanceNeeds(
        vcpus=Range(low=found.vcpus),
        memory_mib=Range(low=found.memory_mib),
        architecture=found.architecture,
    )
    if devices is None:
        return replace(host, accelerators=Range(0, 0))
    host = replace(host, accelerators=Range(devices.logical_count, devices.logical_count), vendor=devices.vendor)
    if devices.vendor is not Vendor.NVIDIA:
        return replace(host, models=(devices.model,))
    memory = devices.memory_mib
    return replace(
        host,
        gpus=Range(devices.count, devices.count),
        gpu_memory_mib=None if memory is None else Range(low=memory, high=memory if devices.is_fractional else None),
        compute_capability=None if devices.compute_capability is None else Range(low=devices.compute_capability),
        nvlink=devices.has_nvlink or None,
        efa=found.network.device_rdma or None,
    )


def _range_of(is_bound: Callable[[object], bool], value: object) -> Range[Any] | None:
    if not isinstance(value, Range) or not all(each is None or is_bound(each) for each in (value.low, value.high)):
        return None
    if value.low is not None and value.high is not None and value.low > value.high:
        low, high = (f"{each:g}" if isinstance(each, float) else str(each) for each in (value.low, value.high))
        raise InvalidValueError(f"nothing is at least {low} and at most {high}", value=value)
    return value


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_capability(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(each, int) for each in value)  # noqa: PLR2004


def _each(kept: Callable[[Any], str], value: object) -> tuple[str, ...] | None:
    return tuple(map(kept, value)) if isinstance(value, tuple) and len(value) <= ENTRIES else None


def _of_device(offer: Offer, fact: str) -> Any:  # noqa: ANN401 - as the field has it
    return getattr(offer.instance_type.accelerators, fact, None)


def _amount(fact: Callable[[Offer], float | None]) -> _Filter:
    allowed = "a Range of numbers from 0, such as Range(1, 4)"
    return _Filter(allowed, partial(_range_of, _is_amount), lambda wanted, offer: fact(offer) in wanted)


def _yes_or_no(fact: Callable[[Offer], bool | None]) -> _Filter:
    return _Filter(
        "True or False",
        lambda value: value if isinstance(value, bool) else None,
        lambda wanted, offer: fact(offer) is wanted,
    )


def _one_of(choices: type[Enum], holds: Callable[[Any, Offer], bool]) -> _Filter:
    return _Filter(
        ", ".join(map(str, choices)), lambda value: next((each for each in choices if each == value), None), holds
    )


def _names(kept: Callable[[Any], str], holds: Callable[[Any, Offer], bool]) -> _Filter:
    return _Filter(f"a tuple of at most {ENTRIES} names", partial(_each, kept), holds)


_ROWS: Mapping[str, _Filter] = {
    "gpus": _amount(lambda offer: offer.instance_type.gpus),
    "gpu_memory_mib": _amount(lambda offer: offer.instance_type.gpu_memory_mib),
    "gpu_memory_total_mib": _amount(
        lambda offer: offer.instance_type.gpu_memory_mib and _of_device(offer, "total_memory_mib")
    ),
    "accelerators": _amount(lambda offer: _of_device(offer, "logical_count") or 0),
    "models": _names(partial(known_name, models, "models"), lambda wanted, offer: _of_device(offer, "model") in wanted),
    "vendor": _one_of(Vendor, lambda wanted, offer: _of_device(offer, "vendor") is wanted),
    "compute_capability": _Filter(
        "a Range of major and minor as two whole numbers, such as Range((8, 9), None)",
        partial(_range_of, _is_capability),
        lambda wanted, offer: _of_device(offer, "compute_capability") in wanted,
    ),
    "precision": _Filter(
        "",
        lambda value: precision(value).name,
        lambda wanted, offer: (_of_device(offer, "compute_capability") or (0, 0)) >= precision(wanted).lowest,
    ),
    "nvlink": _yes_or_no(lambda offer: _of_device(offer, "has_nvlink")),
    "efa": _yes_or_no(lambda offer: offer.instance_type.network.efa_supported),
    "network_gbps": _amount(lambda offer: offer.instance_type.network.gbps),
    "vcpus": _amount(lambda offer: offer.instance_type.vcpus),
    "memory_mib": _amount(lambda offer: offer.instance_type.memory_mib),
    "architecture": _one_of(Architecture, lambda wanted, offer: offer.instance_type.architecture is wanted),
    "families": _names(
        lambda value: family(value)[0].family, lambda wanted, offer: offer.instance_type.family in wanted
    ),
    "region": _Filter(
        "", partial(known_name, regions, "region"), lambda wanted, offer: wanted in offer.instance_type.regions
    ),
    "purchase": _one_of(PurchaseClass, lambda wanted, offer: wanted in offer.instance_type.purchase_classes),
    "usd_per_hour": _amount(lambda offer: offer.usd_per_hour),
}
"""A row for each field of `InstanceNeeds`."""


SORT_ORDERS: Mapping[str, Callable[[Offer], float | None]] = {
    "price": lambda offer: offer.usd_per_hour,
    "price-per-gpu": lambda offer: (
        offer.usd_per_accelerator_hour if _of_device(offer, "vendor") in {Vendor.NVIDIA, Vendor.AMD} else None
    ),
}
"""What types can be sorted by: name of the order and the fact; types of which it is unknown follow those with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How many types are left after a condition and all before it, by the field of `InstanceNeeds` or its name."""

    name: str
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The types that satisfy every need.

    Attributes:
        offers: The types, sorted; those that no region offers come last.
        steps: What each condition left over, in their order.
    """

    offers: tuple[Offer, ...]
    steps: tuple[Step, ...]


def choose(
    needs: InstanceNeeds | None = None, *, also: Mapping[str, Condition] | None = None, sort_by: str = "price"
) -> Choice:
    """Choose instance types by need, cheapest first.

    There are those with accelerators and those that are declared, and types without accelerators where the needs name
    their families, or ask for none. The conditions in `also`, by their names, are asked after the needs.

    Raises:
        InvalidValueError: There is no such order.
    """
    if sort_by not in SORT_ORDERS:
        raise InvalidValueError(
            f"got {shown(sort_by)}", argument="sort_by", value=sort_by, allowed=", ".join(SORT_ORDERS)
        )
    needs = needs or InstanceNeeds()
    without = needs.accelerators is not None and needs.accelerators.high == 0
    others = general() if without or needs.families else ()
    left = [
        Offer(instance_type=each, price=on_demand_price(each.name, needs.region))
        for each in (*accelerated(), *others, *declared_types())
    ]
    steps = []
    for name, holds in (*conditions(needs).items(), *(also or {}).items()):
        left = list(filter(holds, left))
        steps.append(Step(name=name, left=len(left)))

    def order(offer: Offer) -> tuple[bool, bool, float, Any]:
        fact = SORT_ORDERS[sort_by](offer)
        is_offered = offer.instance_type.is_offered_anywhere
        return not is_offered, fact is None, fact or 0, by_size(offer.instance_type)

    return Choice(offers=tuple(sorted(left, key=order)), steps=tuple(steps))
