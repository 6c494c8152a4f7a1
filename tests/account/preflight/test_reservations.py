"""Capacity Reservations and Capacity Blocks: those that a pool names, and those that AWS offers."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.account.answers import UnansweredError, when
from gpu_constructs.account.preflight import Verdict
from gpu_constructs.fleet import (
    RESERVATIONS_FIRST,
    UNKNOWN,
    Block,
    Bought,
    GroupSettings,
    PoolKind,
    PurchaseOption,
    Reservation,
    Subnet,
)
from tests.account.preflight.world import fleet, host, instances, only, pool, results

OK, SHORT, NOT_CHECKED, _ = Verdict

G6 = "g6.12xlarge"


def reserved(**more: Any) -> dict[str, Any]:
    return {
        "CapacityReservationId": "cr-0a1b2c3d",
        "State": "active",
        "InstanceType": G6,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": "eu-west-1a",
        "TotalInstanceCount": 4,
        "AvailableInstanceCount": 1,
        "InstanceMatchCriteria": "open",
        **more,
    }


NAMED = Bought(option=PurchaseOption.RESERVED, reservation=Reservation(id="cr-0a1b2c3d"))
BLOCK = replace(NAMED, option=PurchaseOption.CAPACITY_BLOCK, block=Block(starts="2040-01-02T00:00:00Z"))
YEAR_2039 = dt.datetime(2039, 1, 1, tzinfo=dt.timezone.utc)
YEAR_2041 = dt.datetime(2041, 1, 1, tzinfo=dt.timezone.utc)


@pytest.mark.parametrize(
    ("bought", "row", "verdict", "says"),
    [
        (NAMED, reserved(), OK, "4 hosts are reserved for 4, 1 free now"),
        (NAMED, reserved(TotalInstanceCount=1), SHORT, "1 host is reserved, 4 wanted at MaxSize: 3 short"),
        (NAMED, reserved(State="expired"), SHORT, "cr-0a1b2c3d is expired"),
        (NAMED, reserved(InstanceType="p5.48xlarge"), SHORT, "cr-0a1b2c3d is of p5.48xlarge"),
        (NAMED, reserved(AvailabilityZone="eu-west-1b"), SHORT, "is in eu-west-1b, where the pool has no subnet"),
        (NAMED, reserved(InstancePlatform="Windows"), SHORT, "is for Windows"),
        (NAMED, reserved(InstancePlatform="Linux with SQL Server Enterprise"), SHORT, "is for Linux with SQL Server"),
        (NAMED, reserved(EndDate=dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)), SHORT, "before the hosts start"),
        (NAMED, reserved(CapacityReservationId="cr-00000000"), SHORT, "0 hosts are reserved"),
        (BLOCK, reserved(EndDate=YEAR_2041), OK, "the first ends 2041-01-01 00:00 UTC"),
        (BLOCK, reserved(EndDate=YEAR_2039), SHORT, "ends 2039-01-01 00:00 UTC, before the hosts start"),
        (BLOCK, reserved(StartDate=YEAR_2041), SHORT, "begins 2041-01-01 00:00 UTC, after the hosts start"),
        (
            replace(NAMED, reservation=Reservation(id="Reserved")),
            reserved(),
            NOT_CHECKED,
            "only known after the deploy",
        ),
        (replace(NAMED, reservation=None), reserved(), OK, "4 hosts are reserved for 4"),
        (replace(NAMED, reservation=None), reserved(InstanceMatchCriteria="targeted"), SHORT, "0 hosts"),
        (
            Bought(reservation=Reservation(preference=RESERVATIONS_FIRST)),
            reserved(TotalInstanceCount=1),
            OK,
            "the others start on demand",
        ),
    ],
)
def test_a_reservation_is_held_against_type_zone_platform_dates_and_number(
    bought: Bought, row: dict[str, Any], verdict: Verdict, says: str
) -> None:
    answers = {"DescribeCapacityReservations": {"CapacityReservations": [row]}, "DescribeCapacityBlockOfferings": {}}
    found = only("reservations", answers, fleet(pool(bought=bought, subnets=(Subnet(zone="eu-west-1a"),))))
    assert (found.verdict, says in found.text) == (verdict, True), found.text


def test_pools_that_name_one_reservation_share_it() -> None:
    answers = {"DescribeCapacityReservations": {"CapacityReservations": [reserved()]}}
    two = results("reservations", answers, fleet(pool(bought=NAMED), pool(name="Other", bought=NAMED)))
    text = "4 hosts are reserved, 8 wanted at MaxSize of Gpu and Other: 4 short"
    assert [(each.verdict, each.text) for each in two] == [(SHORT, text)] * 2
    assert " --instance-count 4 " in two[0].fix
    # One that has another reservation as well leaves room.
    both = {
        "DescribeCapacityReservations": {"CapacityReservations": [reserved(), reserved(CapacityReservationId="cr-1")]}
    }
    either = pool(name="Either", bought=Bought(option=PurchaseOption.RESERVED))
    found = results("reservations", both, fleet(pool(bought=NAMED), either))
    assert [each.verdict for each in found] == [OK, OK]
    found = results("reservations", both, fleet(pool(bought=NAMED), replace(either, max_instances=UNKNOWN)))
    assert [each.verdict for each in found] == [NOT_CHECKED, NOT_CHECKED]
    assert found[0].text == "8 hosts are reserved; how many hosts Either can have is not known"


@pytest.mark.parametrize(
    ("hosts", "verdict", "says"),
    [
        ([], SHORT, "4 hosts are reserved, 4 in use by others, 4 wanted at MaxSize: 4 short"),
        (
            [host(logical_id="Group", CapacityReservationId="cr-0a1b2c3d")] * 4,
            OK,
            "4 hosts are reserved for 4, 0 free now",
        ),
        ([host(logical_id="Group")] * 4, SHORT, "4 in use by others"),
    ],
)
def test_what_others_use_of_a_reservation_is_not_there(hosts: list[Any], verdict: Verdict, says: str) -> None:
    row = reserved(AvailableInstanceCount=0)
    answers = {"DescribeCapacityReservations": {"CapacityReservations": [row]}, "DescribeInstances": instances(*hosts)}
    mine = pool(bought=NAMED, group=GroupSettings(name="Group"))
    found = only("reservations", answers, fleet(mine))
    assert (found.verdict, says in found.text) == (verdict, True), found.text
    # Hosts of AWS Batch cannot be told from others.
    assert only("reservations", answers, fleet(replace(mine, kind=PoolKind.BATCH))).verdict is OK


def test_a_group_of_reservations_is_that_of_its_members() -> None:
    group = "arn:aws:resource-groups:eu-west-1:123456789012:group/gpus"
    arn = "arn:aws:ec2:eu-west-1:123456789012:capacity-reservation/cr-0a1b2c3d"
    answers = {
        "ListGroupResources": {"ResourceIdentifiers": [{"ResourceArn": arn}]},
        "DescribeCapacityReservations": {"CapacityReservations": [reserved(), reserved(CapacityReservationId="cr-1")]},
    }
    bought = Bought(option=PurchaseOption.RESERVED, reservation=Reservation(group=group))
    assert only("reservations", answers, fleet(pool(bought=bought))).verdict is OK


OFFER = {
    "CapacityBlockOfferingId": "cb-1",
    "AvailabilityZone": "eu-west-1a",
    "StartDate": YEAR_2039,
    "UpfrontFee": "12.00",
    "CurrencyCode": "USD",
}
OFFERED = {"DescribeCapacityBlockOfferings": {"CapacityBlockOfferings": [{**OFFER, "StartDate": YEAR_2041}, OFFER]}}
BLOCKS = fleet(pool(bought=BLOCK))


def test_the_time_of_a_block_is_in_utc_wherever_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    moment = when("2040-01-02T00:00:00")
    monkeypatch.undo()
    time.tzset()
    assert moment == when("2040-01-02T00:00:00Z")


def test_a_block_that_is_short_leads_to_what_aws_offers() -> None:
    short = {"DescribeCapacityReservations": {"CapacityReservations": [reserved(TotalInstanceCount=1)]}}
    found = only("reservations", short, BLOCKS)
    assert (found.verdict, "--check block-offerings" in found.fix) == (SHORT, True)
    found = only("block-offerings", OFFERED, BLOCKS)
    assert found.verdict is OK
    offer = "AWS offers a block of 4 g6.12xlarge for 24 hours in eu-west-1a from 2039-01-01 00:00 UTC for 12.00 USD"
    assert found.text == offer
    found = only("block-offerings", {"DescribeCapacityBlockOfferings": {}}, BLOCKS)
    assert (found.verdict, found.word) == (SHORT, "not offered")
    no_room = UnansweredError("no", code="CapacityBlockDescribeLimitExceeded")
    found = only("block-offerings", {"DescribeCapacityBlockOfferings": no_room}, BLOCKS)
    assert found.text.startswith("the quota of Capacity Blocks leaves no room for a block of 4 ")
