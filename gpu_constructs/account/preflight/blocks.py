"""Capacity Blocks: those that an account has, and those that AWS offers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
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
from gpu_constructs.fleet import Pool, PurchaseOption, Unknown

OFFERINGS = Call(service="ec2", operation="DescribeCapacityBlockOfferings")

# Up to 64 instances; days up to 14, then weeks up to 182 days (botocore 1.43, read 2026-11-22).
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityBlockOfferings.html
_LARGEST_BLOCK = 64
_DAYS, _WEEK, _LONGEST = 14, 7, 182
_HOURS = 24
# What AWS answers where the quota of Capacity Blocks leaves no room.
_NO_ROOM = "CapacityBlockDescribeLimitExceeded"


def _questions(scope: Scope) -> Iterator[Question]:
    for pool in scope.pools:
        if pool.bought.option is PurchaseOption.CAPACITY_BLOCK:
            yield Question(subject=pool.name, read=partial(_read, pool, scope.region))


def _read(pool: Pool, region: str, ask: Ask) -> Found:
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
        offers = list(ask(OFFERINGS, {**wanted, **_dates(pool)}).rows("CapacityBlockOfferings"))
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


def _dates(pool: Pool) -> Mapping[str, object]:
    """The earliest start that is looked for; AWS looks from now on without it."""
    start = starts(pool)
    is_ahead = start is not None and start > dt.datetime.now(dt.timezone.utc)
    return {"StartDateRange": start - dt.timedelta(days=1)} if is_ahead and start is not None else {}


BLOCK_OFFERINGS = Check(
    id="block-offerings",
    question="which Capacity Block does AWS offer for the hosts at MaxSize?",
    reads="the first that AWS offers from a day before the hosts start, for the time that they run, or for 24 hours",
    calls=(OFFERINGS,),
    questions=_questions,
    without="no pool is in a Capacity Block",
    on_request=True,
)
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityBlockOfferings.html"""
