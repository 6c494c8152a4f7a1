"""Do the Capacity Reservations and Capacity Blocks that a pool names hold its hosts, and what does AWS offer else?"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from gpu_constructs.account.preflight.check import (
    Ask,
    Call,
    Check,
    Found,
    Question,
    Row,
    Scope,
    UnansweredError,
    aws,
    ok,
    short,
    unchecked,
)
from gpu_constructs.account.preflight.offers import type_names
from gpu_constructs.account.preflight.running import INSTANCES, Host, Share, logical_id, own, running, shares
from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, Pool, PurchaseOption, Reservation, Unknown
from gpu_constructs.placement.reasons import listed

_RESERVED = Call(service="ec2", operation="DescribeCapacityReservations")
_MEMBERS = Call(service="resource-groups", operation="ListGroupResources")
RESERVATION_CALLS = (_RESERVED, _MEMBERS)
_OFFERINGS = Call(service="ec2", operation="DescribeCapacityBlockOfferings")

_ID = re.compile(r"cr-[0-9a-f]{8,17}")
_ID_OF_ARN = re.compile(r":capacity-reservation/(cr-[0-9a-f]{8,17})")
_GROUP = re.compile(r"arn:[\w-]+:resource-groups:[\w-]+:[0-9]{12}:group/[\w./-]{1,300}")


def reserved(ask: Ask) -> tuple[Row, ...]:
    """All reservations of the region.

    Raises:
        UnansweredError: AWS did not answer.
    """
    # CapacityReservationIds would fail for all where one does not exist.
    return tuple(ask(_RESERVED, {}).rows("CapacityReservations"))


def is_written(named: Reservation) -> bool:
    """Whether the files say which reservations are named, instead of leaving it to the deploy."""
    return _matches(_ID, named.id) or _matches(_GROUP, named.group)


def named_in(rows: Sequence[Row], named: Reservation, ask: Ask) -> list[Row]:
    """The reservations that are named, by an id or by a group.

    Raises:
        UnansweredError: AWS did not answer.
    """
    ids = [named.id] if _matches(_ID, named.id) else _members(named.group, ask)
    return [each for each in rows if each.text("CapacityReservationId") in ids]


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _members(group: object, ask: Ask) -> list[str]:
    answer = ask(_MEMBERS, {"Group": group})
    found = (_ID_OF_ARN.search(each.text("ResourceArn")) for each in answer.rows("ResourceIdentifiers"))
    return [each[1] for each in found if each]


_ACTIVE = "active"
_ALIVE = {_ACTIVE, "scheduled"}
# The other platforms are those of images with a licence: of RHEL, SUSE, SQL Server, Ubuntu Pro and Windows.
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html
_LINUX, _WINDOWS = "Linux/UNIX", "Windows"


def _reservation_questions(scope: Scope) -> Iterator[Question]:
    for pool in scope.pools:
        named = pool.bought.reservation
        if pool.bought.option in BOUGHT_IN_ADVANCE or (named is not None and named.comes_first):
            yield Question(subject=pool.name, read=partial(_reservations_found, pool, scope.pools, scope.region))


def _reservations_found(pool: Pool, pools: Sequence[Pool], region: str, ask: Ask) -> Found:
    if not _is_said(pool):
        return unchecked("which Capacity Reservation it runs in is only known after the deploy")
    found = _rows(pool, ask)
    why = [reason for each in found if (reason := _unusable(each, pool))]
    rows = {each.text("CapacityReservationId"): each for each in reserved(ask)}
    hosts, worst, text, open_ = _running(ask), 0, "", ""
    for share in _shares(pool, pools, ask):
        usable = [rows[each] for each in share.ids]
        there = sum(int(each.number("TotalInstanceCount")) for each in usable)
        free = sum(int(each.number("AvailableInstanceCount")) for each in usable if each.text("State") == _ACTIVE)
        others = _of_others(usable, share, hosts)
        lacking = share.hosts - (there - others)
        if text and lacking <= worst and (worst or not share.unknown):
            continue
        worst = max(0, lacking)
        text = f"{_hosts(there)} reserved" + (f", {others} in use by others" if others else "")
        if lacking > 0:
            text += f", {share.hosts} wanted at MaxSize{share.names}: {lacking} short"
            text += f" ({listed(why)})" if why else ""
        elif share.unknown:
            open_ = f"{text}; how many hosts {listed(share.unknown)} can have is not known"
        else:
            text += f" for {share.hosts}{share.names}, {free} free now{_dates(usable)}"
    if not worst:
        return unchecked(open_) if open_ else ok(text)
    if pool.bought.option not in BOUGHT_IN_ADVANCE:
        return ok(f"{text}; the others start on demand")
    if pool.bought.option is PurchaseOption.CAPACITY_BLOCK:
        return offered(pool, worst, region, ask, before=text)
    return short(text, _more(pool, worst, region))


def _is_said(pool: Pool) -> bool:
    named = pool.bought.reservation
    return named is None or not named.is_targeted or is_written(named)


def _shares(pool: Pool, pools: Sequence[Pool], ask: Ask) -> Iterator[Share]:
    """What is reserved for a pool, alone and with the others that have to run in the same reservations."""
    ids = _ids(pool, ask)
    if not ids or pool.bought.option not in BOUGHT_IN_ADVANCE:
        yield Share(ids=ids, pools=(pool,))
        return
    bound = [each for each in pools if each.bought.option in BOUGHT_IN_ADVANCE and _is_said(each)]
    yield from shares(ids, [(each, _ids(each, ask)) for each in bound])


def _ids(pool: Pool, ask: Ask) -> frozenset[str]:
    """The reservations that take its hosts."""
    return frozenset(each.text("CapacityReservationId") for each in _rows(pool, ask) if not _unusable(each, pool))


def _running(ask: Ask) -> tuple[Host, ...] | None:
    """The hosts that run; None where these may not be all."""
    try:
        hosts, is_whole = running(ask)
    except UnansweredError:
        return None
    return hosts if is_whole else None


def _of_others(rows: Sequence[Row], share: Share, hosts: Sequence[Host] | None) -> int:
    """Hosts of others that run in reservations; none where those of the pools cannot be told from them."""
    if hosts is None or not all(map(logical_id, share.pools)):
        return 0
    mine = [each.reservation for pool in share.pools for each in own(hosts, pool)]
    active = [each for each in rows if each.text("State") == _ACTIVE]
    used = (
        each.number("TotalInstanceCount")
        - each.number("AvailableInstanceCount")
        - mine.count(each.text("CapacityReservationId"))
        for each in active
    )
    return sum(max(0, int(each)) for each in used)


def _hosts(number: int) -> str:
    return "1 host is" if number == 1 else f"{number} hosts are"


def _rows(pool: Pool, ask: Ask) -> list[Row]:
    """The reservations that are meant: those that are named, else the open ones of its types."""
    named = pool.bought.reservation
    if named is not None and named.is_targeted:
        return named_in(reserved(ask), named, ask)
    types = type_names(pool)
    return [
        each
        for each in reserved(ask)
        if each.text("State") == _ACTIVE
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
        (platform != _LINUX and not isinstance(pool.image, Unknown), f"is for {platform}"),
        (platform.startswith(_WINDOWS), f"is for {platform}"),
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
        ("instance-platform", _LINUX),
        ("availability-zone", next((each.zone for each in pool.subnets if each.zone), "ZONE")),
        ("instance-count", hosts),
    ]
    return aws("ec2", "create-capacity-reservation", region, options)


RESERVATIONS = Check(
    id="reservations",
    question="do the Capacity Reservations and Capacity Blocks that a pool names hold its hosts at MaxSize?",
    reads=(
        "hosts of those of its type, zone and platform that are active or scheduled when the hosts start, for it and "
        "the pools that have no others; less those in use by hosts that are not of these pools"
    ),
    calls=(*RESERVATION_CALLS, INSTANCES, _OFFERINGS),
    questions=_reservation_questions,
    without="no pool is in a reservation",
)
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html"""


# Up to 64 instances; days up to 14, then weeks up to 182 days (botocore 1.43, read 2026-11-22).
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityBlockOfferings.html
_LARGEST_BLOCK = 64
_DAYS, _WEEK, _LONGEST = 14, 7, 182
_HOURS = 24
# What AWS answers where the quota of Capacity Blocks leaves no room.
_NO_ROOM = "CapacityBlockDescribeLimitExceeded"


def _offer_questions(scope: Scope) -> Iterator[Question]:
    for pool in scope.pools:
        if pool.bought.option is PurchaseOption.CAPACITY_BLOCK:
            yield Question(subject=pool.name, read=partial(_offer_found, pool, scope.region))


def _offer_found(pool: Pool, region: str, ask: Ask) -> Found:
    if isinstance(pool.max_instances, Unknown) or pool.max_instances < 1:
        return unchecked("how many hosts it can have is not known")
    return offered(pool, pool.max_instances, region, ask)


def offered(pool: Pool, hosts: int, region: str, ask: Ask, before: str = "") -> Found:
    """What AWS offers for hosts in a Capacity Block, which is short where it is asked for because hosts lack.

    Args:
        pool: The pool that they are for.
        hosts: How many; one block holds 64 at most.
        region: Where.
        ask: Asks AWS.
        before: What is said before; empty where nothing lacks.

    Raises:
        UnansweredError: AWS did not answer.
    """
    types, lead = type_names(pool), f"{before}; " if before else ""
    if not types:
        return unchecked(f"{lead}its type is not known")
    count, hours = min(_LARGEST_BLOCK, hosts), _hours(pool)
    wanted: dict[str, object] = {"InstanceType": types[0], "InstanceCount": count, "CapacityDurationHours": hours}
    look = [("instance-type", types[0]), ("instance-count", count), ("capacity-duration-hours", hours)]
    again = aws("ec2", "describe-capacity-block-offerings", region, look)
    text = f"a block of {count} {types[0]} for {hours:,} hours"
    try:
        offers = list(ask(_OFFERINGS, {**wanted, **_earliest(pool)}).rows("CapacityBlockOfferings"))
    except UnansweredError as problem:
        if problem.code == _NO_ROOM:
            return short(f"{lead}the quota leaves no room for {text}", "gpu-constructs preflight --check quotas")
        if before:
            return short(f"{lead}what AWS offers is not known: {problem.why}", again)
        raise
    if not offers:
        return short(f"{lead}AWS offers no {text.removeprefix('a ')}", again, "" if before else "not offered")
    first = min(offers, key=lambda each: each.time("StartDate") or dt.datetime.max.replace(tzinfo=dt.timezone.utc))
    found = f"{lead}AWS offers {text}{_offer(first)}"
    fix = aws("ec2", "purchase-capacity-block", region, _purchase(first).items())
    return short(found, fix) if before else ok(found)


def _offer(row: Row) -> str:
    start, fee = row.time("StartDate"), row.text("UpfrontFee")
    when = f" from {at(start)}" if start is not None else ""
    return f" in {row.text('AvailabilityZone')}{when}" + (f" for {fee} {row.text('CurrencyCode')}" if fee else "")


def _purchase(row: Row) -> Mapping[str, str]:
    return {
        "capacity-block-offering-id": row.text("CapacityBlockOfferingId"),
        "instance-platform": "Linux/UNIX",
    }


def at(time: dt.datetime | None) -> str:
    """A time in words."""
    return "at a time that is not known" if time is None else f"{time:%Y-%m-%d %H:%M} UTC"


def starts(pool: Pool) -> dt.datetime | None:
    """When the group of a Capacity Block grows, where that is written."""
    return None if pool.bought.block is None else _time(pool.bought.block.starts)


def _time(written: object) -> dt.datetime | None:
    if not isinstance(written, str):
        return None
    try:
        return dt.datetime.strptime(written, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=dt.timezone.utc)
    except ValueError:
        return None


def _hours(pool: Pool) -> int:
    """How many hours a block has to last: a day where the files do not say."""
    start, end = starts(pool), None if pool.bought.block is None else _time(pool.bought.block.ends)
    if start is None or end is None or end <= start:
        return _HOURS
    days = -(-(end - start) // dt.timedelta(days=1))
    whole = days if days <= _DAYS else -(-days // _WEEK) * _WEEK
    return min(whole, _LONGEST) * _HOURS


def _earliest(pool: Pool) -> Mapping[str, object]:
    """The earliest start that is looked for; AWS looks from now on without it."""
    start = starts(pool)
    is_ahead = start is not None and start > dt.datetime.now(dt.timezone.utc)
    return {"StartDateRange": start - dt.timedelta(days=1)} if is_ahead and start is not None else {}


BLOCK_OFFERINGS = Check(
    id="block-offerings",
    question="which Capacity Block does AWS offer for the hosts at MaxSize?",
    reads="the first that AWS offers from a day before the hosts start, for the time that they run, or for 24 hours",
    calls=(_OFFERINGS,),
    questions=_offer_questions,
    without="no pool is in a Capacity Block",
    on_request=True,
)
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityBlockOfferings.html"""
