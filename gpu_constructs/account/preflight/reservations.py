"""Reservations: do the Capacity Reservations and Capacity Blocks that a pool names hold its hosts?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from functools import partial

from gpu_constructs.account.preflight.answer import Row
from gpu_constructs.account.preflight.blocks import OFFERINGS, at, offered, starts
from gpu_constructs.account.preflight.check import Ask, Check, Found, Question, Scope, aws, ok, short, unchecked
from gpu_constructs.account.preflight.reserved import RESERVATION_CALLS, is_written, named_in, reserved
from gpu_constructs.account.preflight.zones import type_names
from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, Pool, PurchaseOption, Reservation, Unknown
from gpu_constructs.placement.reasons import listed

__all__ = ["RESERVATIONS"]

_ALIVE = {"active", "scheduled"}
_LINUX = "Linux"


def _questions(scope: Scope) -> Iterator[Question]:
    for pool in scope.pools:
        named = pool.bought.reservation
        if pool.bought.option in BOUGHT_IN_ADVANCE or (named is not None and named.comes_first):
            yield Question(subject=pool.name, read=partial(_read, pool, scope.region))


def _read(pool: Pool, region: str, ask: Ask) -> Found:
    named = pool.bought.reservation
    if named is not None and named.is_targeted and not is_written(named):
        return unchecked("which Capacity Reservation it runs in is only known after the deploy")
    found = _rows(pool, named, ask)
    usable = [each for each in found if not _unusable(each, pool)]
    why = [reason for each in found if (reason := _unusable(each, pool))]
    there = sum(int(each.number("TotalInstanceCount")) for each in usable)
    free = sum(int(each.number("AvailableInstanceCount")) for each in usable if each.text("State") == "active")
    if isinstance(pool.max_instances, Unknown):
        return unchecked(f"{_hosts(there)} reserved; how many it can have is not known")
    wanted = pool.max_instances
    if there >= wanted:
        return ok(f"{_hosts(there)} reserved for {wanted}, {free} free now{_dates(usable)}")
    text = f"{_hosts(there)} reserved, {wanted} wanted at MaxSize: {wanted - there} short"
    text += f" ({listed(why)})" if why else ""
    if pool.bought.option not in BOUGHT_IN_ADVANCE:
        return ok(f"{text}; the others start on demand")
    if pool.bought.option is PurchaseOption.CAPACITY_BLOCK:
        return offered(pool, wanted - there, region, ask, before=text)
    return short(text, _more(pool, wanted - there, region))


def _hosts(number: int) -> str:
    return "1 host is" if number == 1 else f"{number} hosts are"


def _rows(pool: Pool, named: Reservation | None, ask: Ask) -> list[Row]:
    """The reservations that are meant: those that are named, else the open ones of its types."""
    if named is not None and named.is_targeted:
        return named_in(reserved(ask), named, ask)
    types = type_names(pool)
    return [
        each
        for each in reserved(ask)
        if each.text("State") == "active"
        and each.text("InstanceType") in types
        and each.text("InstanceMatchCriteria") == "open"
    ]


def _unusable(row: Row, pool: Pool) -> str:
    """Why a reservation takes no host of a pool; empty where it does."""
    name, state, kind = row.text("CapacityReservationId"), row.text("State"), row.text("InstanceType")
    zones, zone, platform = (
        {each.zone for each in pool.subnets},
        row.text("AvailabilityZone"),
        row.text("InstancePlatform"),
    )
    end, start, needed = row.time("EndDate"), row.time("StartDate"), starts(pool)
    is_late = needed is not None and start is not None and start > needed
    reasons = (
        (state not in _ALIVE, f"is {state or 'in no known state'}"),
        (pool.types_are_known and kind not in type_names(pool), f"is of {kind}"),
        (bool(zones) and None not in zones and zone not in zones, f"is in {zone}, where the pool has no subnet"),
        (not platform.startswith(_LINUX), f"is for {platform}"),
        (end is not None and end <= (needed or _now()), f"ends {at(end)}, before the hosts start"),
        (is_late, f"begins {at(start)}, after the hosts start"),
    )
    return next((f"{name} {why}" for is_so, why in reasons if is_so), "")


def _now() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc)


def _dates(rows: Sequence[Row]) -> str:
    ends = [end for each in rows if (end := each.time("EndDate")) is not None]
    return f"; the first ends {at(min(ends))}" if ends else ""


def _more(pool: Pool, hosts: int, region: str) -> str:
    options = [
        ("instance-type", next(iter(type_names(pool)), "TYPE")),
        ("instance-platform", "Linux/UNIX"),
        ("availability-zone", next((each.zone for each in pool.subnets if each.zone), "ZONE")),
        ("instance-count", hosts),
    ]
    return aws("ec2", "create-capacity-reservation", region, options)


RESERVATIONS = Check(
    id="reservations",
    question="do the Capacity Reservations and Capacity Blocks that a pool names hold its hosts at MaxSize?",
    reads="hosts of those of its type, zone and platform that are active or scheduled when the hosts start",
    calls=(*RESERVATION_CALLS, OFFERINGS),
    questions=_questions,
)
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html"""
