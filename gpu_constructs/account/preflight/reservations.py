"""Do the Capacity Reservations and Capacity Blocks that a pool names hold its hosts, and which Block does AWS offer?"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from gpu_constructs.account.answers import Thing, UnansweredError, aws, number, text, when
from gpu_constructs.account.preflight.check import (
    Ask,
    Check,
    Question,
    Result,
    Scope,
    Verdict,
    ok,
    short,
    unchecked,
)
from gpu_constructs.account.preflight.offers import type_names
from gpu_constructs.account.preflight.quotas import INSTANCES, RunningHost, logical_id, own, running
from gpu_constructs.fleet import BOUGHT_IN_ADVANCE, Block, Pool, PurchaseOption, Unknown
from gpu_constructs.placement.reasons import listed

_RESERVED = "ec2:DescribeCapacityReservations"
_MEMBERS = "resource-groups:ListGroupResources"
_OFFERINGS = "ec2:DescribeCapacityBlockOfferings"

_ID = re.compile(r"cr-[0-9a-f]{8,17}")
_ID_OF_ARN = re.compile(r":capacity-reservation/(cr-[0-9a-f]{8,17})")
_GROUP = re.compile(r"arn:[\w-]+:resource-groups:[\w-]+:[0-9]{12}:group/[\w./-]{1,300}")


def _reserved(ask: Ask) -> tuple[Thing, ...]:
    # CapacityReservationIds would fail for all where one does not exist.
    return tuple(ask(_RESERVED, {}).rows("CapacityReservations"))


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _members(group: object, ask: Ask) -> list[str]:
    answer = ask(_MEMBERS, {"Group": group})
    found = (_ID_OF_ARN.search(text(each, "ResourceArn")) for each in answer.rows("ResourceIdentifiers"))
    return [each[1] for each in found if each]


_ACTIVE = "active"
# The other platforms are those of images with a licence: of RHEL, SUSE, SQL Server, Ubuntu Pro and Windows.
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html
_LINUX, _WINDOWS = "Linux/UNIX", "Windows"


def _questions(scope: Scope) -> Iterator[Question]:
    for pool in scope.pools:
        named = pool.bought.reservation
        if pool.bought.option in BOUGHT_IN_ADVANCE or (named is not None and named.comes_first):
            yield pool.name, partial(_found, pool, scope.pools, scope.region)


def _found(pool: Pool, pools: Sequence[Pool], region: str, ask: Ask) -> Result:
    if not _is_said(pool):
        return unchecked("which Capacity Reservation it runs in is only known after the deploy")
    is_bound = pool.bought.option in BOUGHT_IN_ADVANCE
    bound = [each for each in pools if each.bought.option in BOUGHT_IN_ADVANCE and _is_said(each)] if is_bound else []
    uses = [(each, _ids(each, ask)) for each in bound or [pool]]
    looks = [_look(pool, ids, uses, ask) for ids in _shares(_ids(pool, ask), uses)]
    lacking, worst = max(looks, key=lambda each: each[0])
    if lacking > 0 and not is_bound:
        return ok(f"{worst.text}; the others start on demand")
    if lacking > 0 and pool.bought.option is PurchaseOption.CAPACITY_BLOCK:
        return short(worst.text, "gpu-constructs preflight --check block-offerings says which block AWS offers")
    if lacking > 0:
        more = aws(
            "ec2",
            "create-capacity-reservation",
            region,
            instance_type=next(iter(type_names(pool)), "TYPE"),
            instance_platform=_LINUX,
            availability_zone=next((each.zone for each in pool.subnets if each.zone), "ZONE"),
            instance_count=lacking,
        )
        return short(worst.text, more)
    return next((found for _, found in looks if found.verdict is Verdict.NOT_CHECKED), looks[0][1])


def _is_said(pool: Pool) -> bool:
    """Whether the files say which reservations it names, instead of leaving that to the deploy."""
    named = pool.bought.reservation
    return named is None or not named.is_targeted or _matches(_ID, named.id) or _matches(_GROUP, named.group)


def _ids(pool: Pool, ask: Ask) -> frozenset[str]:
    return frozenset(text(each, "CapacityReservationId") for each in _rows(pool, ask) if not _unusable(each, pool))


_Uses: TypeAlias = "Sequence[tuple[Pool, frozenset[str]]]"


def _shares(own_ids: frozenset[str], uses: _Uses) -> Iterable[frozenset[str]]:
    """What a pool can use alone, then together with all pools that share a reservation with it, or with one that does.

    The reservations of each have to be enough for all pools that can use no others.
    """
    before, together = frozenset[str](), own_ids
    while together != before:
        before = together
        together = together.union(*(ids for _, ids in uses if ids & together))
    return dict.fromkeys((own_ids, together))


def _look(pool: Pool, ids: frozenset[str], uses: _Uses, ask: Ask) -> tuple[int, Result]:
    """How many hosts reservations lack, which may be less than none, and what is said of them."""
    pools = [each for each, used in uses if used and used <= ids] or [pool]
    unknown = [each.name for each in pools if isinstance(each.max_instances, Unknown)]
    wanted = sum(0 if isinstance(each.max_instances, Unknown) else each.max_instances for each in pools)
    rows = [each for each in _reserved(ask) if text(each, "CapacityReservationId") in ids]
    there = sum(number(each, "TotalInstanceCount") or 0 for each in rows)
    free = sum(number(each, "AvailableInstanceCount") or 0 for each in rows if text(each, "State") == _ACTIVE)
    others = _of_others(rows, pools, _running(ask))
    lacking = wanted - (there - others)
    whose = "" if len(pools) == 1 else f" of {listed([each.name for each in pools])}"
    said = f"{'1 host is' if there == 1 else f'{there} hosts are'} reserved"
    said += f", {others} in use by others" if others else ""
    if lacking > 0:
        said += f", {wanted} wanted at MaxSize{whose}: {lacking} short"
        why = [reason for each in _rows(pool, ask) if (reason := _unusable(each, pool))]
        said += f" ({listed(why)})" if why else ""
    elif unknown:
        said += f"; how many hosts {listed(unknown)} can have is not known"
    else:
        ends = [end for each in rows if (end := when(each.get("EndDate"))) is not None]
        said += f" for {wanted}{whose}, {free} free now{f'; the first ends {_at(min(ends))}' if ends else ''}"
    return lacking, unchecked(said) if unknown and lacking <= 0 else ok(said)


def _running(ask: Ask) -> tuple[RunningHost, ...] | None:
    """The hosts that run; None where these may not be all."""
    try:
        hosts, is_whole = running(ask)
    except UnansweredError:
        return None
    return hosts if is_whole else None


def _of_others(rows: Sequence[Thing], pools: Sequence[Pool], hosts: Sequence[RunningHost] | None) -> int:
    """Hosts of others that run in reservations; none where those of the pools cannot be told from them."""
    if hosts is None or not all(map(logical_id, pools)):
        return 0
    mine = [each.reservation for pool in pools for each in own(hosts, pool)]
    used = (
        (number(each, "TotalInstanceCount") or 0)
        - (number(each, "AvailableInstanceCount") or 0)
        - mine.count(text(each, "CapacityReservationId"))
        for each in rows
        if text(each, "State") == _ACTIVE
    )
    return sum(max(0, each) for each in used)


def _rows(pool: Pool, ask: Ask) -> list[Thing]:
    """The reservations that are meant: those that are named, else the open ones of its types."""
    named = pool.bought.reservation
    if named is not None and named.is_targeted:
        ids = [named.id] if _matches(_ID, named.id) else _members(named.group, ask)
        return [each for each in _reserved(ask) if text(each, "CapacityReservationId") in ids]
    types = type_names(pool)
    return [
        each
        for each in _reserved(ask)
        if text(each, "State") == _ACTIVE
        and text(each, "InstanceType") in types
        and text(each, "InstanceMatchCriteria") == "open"
    ]


def _unusable(row: Thing, pool: Pool) -> str:
    """Why a reservation takes no host of a pool; empty where it does."""
    name, state, kind = text(row, "CapacityReservationId"), text(row, "State"), text(row, "InstanceType")
    zone, platform = text(row, "AvailabilityZone"), text(row, "InstancePlatform")
    zones = {each.zone for each in pool.subnets}
    end, start, needed = when(row.get("EndDate")), when(row.get("StartDate")), _starts(pool)
    is_late = needed is not None and start is not None and start > needed
    reasons = (
        (state not in {_ACTIVE, "scheduled"}, f"is {state or 'in no known state'}"),
        (pool.types_are_known and kind not in type_names(pool), f"is of {kind}"),
        (bool(zones) and None not in zones and zone not in zones, f"is in {zone}, where the pool has no subnet"),
        (platform != _LINUX and not isinstance(pool.image, Unknown), f"is for {platform}"),
        (platform.startswith(_WINDOWS), f"is for {platform}"),
        (
            end is not None and end <= (needed or dt.datetime.now(dt.timezone.utc)),
            f"ends {_at(end)}, before the hosts start",
        ),
        (is_late, f"begins {_at(start)}, after the hosts start"),
    )
    return next((f"{name} {why}" for is_so, why in reasons if is_so), "")


RESERVATIONS = Check(
    id="reservations",
    question="do the Capacity Reservations and Capacity Blocks that a pool names hold its hosts at MaxSize?",
    calls=(_RESERVED, _MEMBERS, INSTANCES),
    questions=_questions,
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


def _offered(pool: Pool, region: str, ask: Ask) -> Result:
    hosts, types = pool.max_instances, type_names(pool)
    if isinstance(hosts, Unknown) or hosts < 1:
        return unchecked("how many hosts it can have is not known")
    if not types:
        return unchecked("its type is not known")
    count, hours = min(_LARGEST_BLOCK, hosts), _hours(pool)
    wanted = {"InstanceType": types[0], "InstanceCount": count, "CapacityDurationHours": hours}
    block = f"block of {count} {types[0]} for {hours:,} hours"
    try:
        offers = list(ask(_OFFERINGS, {**wanted, **_earliest(pool)}).rows("CapacityBlockOfferings"))
    except UnansweredError as problem:
        if problem.code != _NO_ROOM:
            raise
        return short(
            f"the quota of Capacity Blocks leaves no room for a {block}", "ask Service Quotas for a higher one"
        )
    if not offers:
        again = {"instance_type": types[0], "instance_count": count, "capacity_duration_hours": hours}
        fix = aws("ec2", "describe-capacity-block-offerings", region, **again)
        return short(f"AWS offers no {block}", fix, "not offered")
    first = min(offers, key=lambda each: when(each.get("StartDate")) or dt.datetime.max.replace(tzinfo=dt.timezone.utc))
    start, fee = when(first.get("StartDate")), text(first, "UpfrontFee")
    since = f" from {_at(start)}" if start is not None else ""
    price = f" for {fee} {text(first, 'CurrencyCode')}" if fee else ""
    return ok(f"AWS offers a {block} in {text(first, 'AvailabilityZone')}{since}{price}")


def _at(time: dt.datetime | None) -> str:
    return "at a time that is not known" if time is None else f"{time:%Y-%m-%d %H:%M} UTC"


def _starts(pool: Pool) -> dt.datetime | None:
    return when((pool.bought.block or Block()).starts)


def _hours(pool: Pool) -> int:
    """How many hours a block has to last: a day where the files do not say."""
    start, end = _starts(pool), when((pool.bought.block or Block()).ends)
    if start is None or end is None or end <= start:
        return _HOURS
    days = -(-(end - start) // dt.timedelta(days=1))
    whole = days if days <= _DAYS else -(-days // _WEEK) * _WEEK
    return min(whole, _LONGEST) * _HOURS


def _earliest(pool: Pool) -> Mapping[str, object]:
    """The earliest start that is looked for; AWS looks from now on without it."""
    start = _starts(pool)
    is_ahead = start is not None and start > dt.datetime.now(dt.timezone.utc)
    return {"StartDateRange": start - dt.timedelta(days=1)} if is_ahead and start is not None else {}


BLOCK_OFFERINGS = Check(
    id="block-offerings",
    question="which Capacity Block does AWS offer for the hosts at MaxSize?",
    calls=(_OFFERINGS,),
    questions=lambda scope: (
        (each.name, partial(_offered, each, scope.region))
        for each in scope.pools
        if each.bought.option is PurchaseOption.CAPACITY_BLOCK
    ),
    without="no pool is in a Capacity Block",
    on_request=True,
)
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityBlockOfferings.html"""
