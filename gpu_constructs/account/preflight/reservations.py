"""Reservations: do the Capacity Reservations and Capacity Blocks that a pool names hold its hosts?"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from functools import partial

from gpu_constructs.account.preflight.answer import Row
from gpu_constructs.account.preflight.check import Ask, Call, Check, Found, Question, Scope, aws, ok, short, unchecked
from gpu_constructs.account.preflight.zones import type_names
from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, Pool, PurchaseOption, Reservation, Unknown
from gpu_constructs.placement.reasons import listed

__all__ = ["RESERVATIONS"]

_RESERVED = Call(service="ec2", operation="DescribeCapacityReservations")
_OFFERED = Call(service="ec2", operation="DescribeCapacityBlockOfferings")
_MEMBERS = Call(service="resource-groups", operation="ListGroupResources")

_ID = re.compile(r"cr-[0-9a-f]{8,17}")
_ID_OF_ARN = re.compile(r":capacity-reservation/(cr-[0-9a-f]{8,17})")
_GROUP = re.compile(r"arn:[\w-]+:resource-groups:[\w-]+:[0-9]{12}:group/[\w./-]{1,300}")
_ALIVE = {"active", "scheduled"}
_LINUX = "Linux"
_LARGEST_BLOCK = 64
"""Instances of one Capacity Block."""
_HOURS = 24
"""The shortest Capacity Block that is looked for."""


def _questions(scope: Scope) -> Iterator[Question]:
    for pool in scope.pools:
        named = pool.bought.reservation
        if pool.bought.option in BOUGHT_IN_ADVANCE or (named is not None and named.comes_first):
            yield Question(subject=pool.name, read=partial(_read, pool, scope.region))


def _read(pool: Pool, region: str, ask: Ask) -> Found:
    named = pool.bought.reservation
    if named is not None and named.is_targeted and not _is_written(named):
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
        return _block(text, pool, wanted - there, region, ask)
    return short(text, _more(pool, wanted - there, region))


def _hosts(number: int) -> str:
    return "1 host is" if number == 1 else f"{number} hosts are"


def _is_written(named: Reservation) -> bool:
    return _matches(_ID, named.id) or _matches(_GROUP, named.group)


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _rows(pool: Pool, named: Reservation | None, ask: Ask) -> list[Row]:
    """The reservations that are meant: those that are named, else the open ones of its types."""
    if named is not None and named.is_targeted:
        ids = [named.id] if _matches(_ID, named.id) else _members(named.group, ask)
        if not ids:
            return []
        # CapacityReservationIds would fail for all where one does not exist.
        rows = ask(_RESERVED, {}).rows("CapacityReservations")
        return [each for each in rows if each.text("CapacityReservationId") in ids]
    types = type_names(pool)
    rows = ask(_RESERVED, {"Filters": [{"Name": "state", "Values": ["active"]}]}).rows("CapacityReservations")
    return [
        each for each in rows if each.text("InstanceType") in types and each.text("InstanceMatchCriteria") == "open"
    ]


def _members(group: object, ask: Ask) -> list[str]:
    answer = ask(_MEMBERS, {"Group": group})
    found = (_ID_OF_ARN.search(each.text("ResourceArn")) for each in answer.rows("ResourceIdentifiers"))
    return [each[1] for each in found if each]


def _unusable(row: Row, pool: Pool) -> str:
    """Why a reservation takes no host of a pool; empty where it does."""
    name, state, kind = row.text("CapacityReservationId"), row.text("State"), row.text("InstanceType")
    zones, zone, platform = (
        {each.zone for each in pool.subnets},
        row.text("AvailabilityZone"),
        row.text("InstancePlatform"),
    )
    end, start, needed = row.time("EndDate"), row.time("StartDate"), _starts(pool)
    is_late = needed is not None and start is not None and start > needed
    reasons = (
        (state not in _ALIVE, f"is {state or 'in no known state'}"),
        (pool.types_are_known and kind not in type_names(pool), f"is of {kind}"),
        (bool(zones) and None not in zones and zone not in zones, f"is in {zone}, where the pool has no subnet"),
        (not platform.startswith(_LINUX), f"is for {platform}"),
        (end is not None and end <= (needed or _now()), f"ends {_at(end)}, before the hosts start"),
        (is_late, f"begins {_at(start)}, after the hosts start"),
    )
    return next((f"{name} {why}" for is_so, why in reasons if is_so), "")


def _now() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc)


def _at(time: dt.datetime | None) -> str:
    return "at a time that is not known" if time is None else f"{time:%Y-%m-%d %H:%M} UTC"


def _starts(pool: Pool) -> dt.datetime | None:
    """When the group of a Capacity Block grows, where that is written."""
    written = None if pool.bought.block is None else pool.bought.block.starts
    if not isinstance(written, str):
        return None
    try:
        return dt.datetime.strptime(written, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=dt.timezone.utc)
    except ValueError:
        return None


def _dates(rows: Sequence[Row]) -> str:
    ends = [end for each in rows if (end := each.time("EndDate")) is not None]
    return f"; the first ends {_at(min(ends))}" if ends else ""


def _more(pool: Pool, hosts: int, region: str) -> str:
    options = [
        ("instance-type", next(iter(type_names(pool)), "TYPE")),
        ("instance-platform", "Linux/UNIX"),
        ("availability-zone", next((each.zone for each in pool.subnets if each.zone), "ZONE")),
        ("instance-count", hosts),
    ]
    return aws("ec2", "create-capacity-reservation", region, options)


def _block(text: str, pool: Pool, hosts: int, region: str, ask: Ask) -> Found:
    """What AWS offers for the hosts that a Capacity Block lacks."""
    types = type_names(pool)
    if not types:
        return unchecked(f"{text}; its type is not known")
    # Blocks are of 1, 2, 4 and so on instances (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html).
    count = min(_LARGEST_BLOCK, 1 << (hosts - 1).bit_length())
    arguments = {"InstanceType": types[0], "InstanceCount": count, "CapacityDurationHours": _HOURS}
    offers = list(ask(_OFFERED, arguments).rows("CapacityBlockOfferings"))
    look = [("instance-type", types[0]), ("instance-count", count), ("capacity-duration-hours", _HOURS)]
    if not offers:
        again = aws("ec2", "describe-capacity-block-offerings", region, look)
        return short(f"{text}; AWS offers no block of {count} for {_HOURS} hours", again)
    first = min(offers, key=lambda each: each.time("StartDate") or dt.datetime.max.replace(tzinfo=dt.timezone.utc))
    start = first.time("StartDate")
    when = f" from {_at(start)}" if start is not None else ""
    fee = f" for {first.text('UpfrontFee')} {first.text('CurrencyCode')}" if first.text("UpfrontFee") else ""
    fix = aws(
        "ec2",
        "purchase-capacity-block",
        region,
        [
            ("capacity-block-offering-id", first.text("CapacityBlockOfferingId")),
            ("instance-platform", "Linux/UNIX"),
        ],
    )
    zone = first.text("AvailabilityZone")
    return short(f"{text}; AWS offers {count} for {_HOURS} hours in {zone}{when}{fee}", fix)


RESERVATIONS = Check(
    id="reservations",
    question="do the Capacity Reservations and Capacity Blocks that a pool names hold its hosts at MaxSize?",
    reads="hosts of those of its type, zone and platform that are active or scheduled when the hosts start",
    calls=(_RESERVED, _OFFERED, _MEMBERS),
    questions=_questions,
)
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html"""
