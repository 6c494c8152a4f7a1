"""How each check reads the answers of AWS."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.account.preflight import CHECKS, Verdict, preflight
from gpu_constructs.account.preflight.answer import UnansweredError
from gpu_constructs.fleet import (
    RESERVATIONS_FIRST,
    UNKNOWN,
    Block,
    Bought,
    GroupSettings,
    LaunchDetails,
    Origin,
    Place,
    PoolKind,
    PurchaseOption,
    Reservation,
    Subnet,
)
from gpu_constructs.hardware import instance_type
from tests.account.preflight.world import (
    IN_A,
    IN_B,
    SPOT,
    answering,
    fleet,
    host,
    instances,
    offering,
    only,
    pool,
    results,
    route,
    subnet,
    table,
    task,
)

OK, SHORT, NOT_CHECKED, NOTHING = Verdict


G6, ZONES = "g6.12xlarge", {"AvailabilityZones": [{"ZoneName": f"eu-west-1{each}"} for each in "ab"]}
NEW = Subnet(is_new=True)
FIRST, SECOND, THIRD = (Subnet(is_new=True, zone_index=each) for each in range(3))


@pytest.mark.parametrize(
    ("subnets", "zones", "verdict", "says"),
    [
        ((IN_A,), "a", OK, "AWS offers g6.12xlarge in eu-west-1a"),
        ((IN_A, IN_B), "a", OK, "in eu-west-1a, none in eu-west-1b"),
        ((IN_B,), "a", SHORT, "g6.12xlarge is not offered in eu-west-1b"),
        ((IN_A,), "", SHORT, "g6.12xlarge is not offered in eu-west-1"),
        ((NEW,), "ab", OK, "AWS offers g6.12xlarge in eu-west-1a and eu-west-1b"),
        ((NEW,), "a", NOT_CHECKED, "which zones the subnets are in is not known"),
        ((FIRST,), "a", OK, "AWS offers g6.12xlarge in eu-west-1a"),
        ((FIRST, SECOND), "b", OK, "in eu-west-1b, none in eu-west-1a"),
        ((FIRST,), "b", SHORT, "is not offered in eu-west-1a"),
        ((THIRD,), "a", SHORT, "Fn::GetAZs gives 2 zones in eu-west-1, and subnets take 3"),
        ((), "ab", OK, "in eu-west-1a and eu-west-1b"),
        ((Subnet(zone="eu-west-1b", is_new=True),), "a", SHORT, "is not offered in eu-west-1b"),
        ((Subnet(id="subnet-00000000"),), "a", NOT_CHECKED, "is not known"),
    ],
)
def test_types_are_looked_for_in_the_zones_of_the_subnets(
    subnets: tuple[Subnet, ...], zones: str, verdict: Verdict, says: str
) -> None:
    answers = {
        "DescribeInstanceTypeOfferings": offering(*((G6, f"eu-west-1{each}") for each in zones)),
        "DescribeSubnets": {"Subnets": [subnet(IN_A), subnet(IN_B, "eu-west-1b")]},
        "DescribeAvailabilityZones": ZONES,
    }
    found = only("types", answers, fleet(pool(subnets=subnets)))
    assert (found.verdict, says in found.text) == (verdict, True), found.text
    assert bool(found.fix) is (verdict is not OK)


def test_one_type_that_is_offered_is_enough_and_the_others_are_named() -> None:
    answers = {
        "DescribeInstanceTypeOfferings": offering((G6, "eu-west-1a")),
        "DescribeSubnets": {"Subnets": [subnet(IN_A)]},
    }
    two = pool(instance_types=(instance_type(G6), instance_type("g5.12xlarge")))
    found = only("types", answers, fleet(two))
    assert (found.verdict, "g5.12xlarge is offered in none of these zones" in found.text) == (OK, True)


PARAMETER = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id"


@pytest.mark.parametrize(
    ("page", "verdict"),
    [
        ({"Parameters": [{"Name": PARAMETER, "Value": "ami-0a1b2c3d"}]}, OK),
        ({"Parameters": [{"Name": PARAMETER, "Value": "{}"}]}, SHORT),
        ({"InvalidParameters": [PARAMETER]}, SHORT),
        ({}, NOT_CHECKED),
    ],
)
def test_the_parameter_of_an_image_has_to_hold_an_ami_id(page: object, verdict: Verdict) -> None:
    found = only("images", {"GetParameters": page}, fleet())
    assert found.verdict is verdict


def test_pools_of_one_image_are_one_question_and_an_image_by_its_id_is_none() -> None:
    own = pool(name="Own", image=UNKNOWN, image_written="ami-0a1b2c3d")
    named = pool(name="Named", image=UNKNOWN, image_written="resolve:ssm:/our/image")
    asked = results("images", {"GetParameters": {}}, fleet(pool(), pool(name="More"), own, named))
    assert [each.subject for each in asked] == ["2 pools", "Named"]


NAT, INTERNET = route(NatGatewayId="nat-1"), route(GatewayId="igw-1")
WITHOUT_ADDRESS = LaunchDetails(may_have_address=False)
OF_AGENT = {
    "VpcEndpoints": [
        {"ServiceName": f"com.amazonaws.eu-west-1.{each}"} for each in ("ecs", "ecs-agent", "ecs-telemetry")
    ]
}


@pytest.mark.parametrize(
    ("routes", "endpoints", "details", "says"),
    [
        ([NAT], {}, LaunchDetails(), ""),
        ([INTERNET], {}, LaunchDetails(), ""),
        ([], OF_AGENT, LaunchDetails(), ""),
        ([INTERNET], {}, WITHOUT_ADDRESS, "it leads to an internet gateway, and hosts get no public address"),
        ([], {}, LaunchDetails(), "no route to other networks, and no endpoint for ecs, ecs-agent and ecs-telemetry"),
        ([{**NAT, "State": "blackhole"}], {}, LaunchDetails(), "its route leads to what no longer exists"),
    ],
)
def test_subnets_need_a_way_out(
    routes: list[dict[str, str]], endpoints: object, details: LaunchDetails, says: str
) -> None:
    answers = {
        "DescribeSubnets": {"Subnets": [subnet()]},
        "DescribeRouteTables": table(*routes),
        "DescribeVpcEndpoints": endpoints,
    }
    found = only("subnets", answers, fleet(pool(details=details)))
    assert (found.verdict, says in found.text) == (SHORT if says else OK, True), found.text
    assert found.fix.startswith("aws ec2 create-vpc-endpoint ") is bool(says)


def test_a_route_to_a_peered_vpc_is_not_known_to_be_a_way_out() -> None:
    answers = {
        "DescribeSubnets": {"Subnets": [subnet()]},
        "DescribeRouteTables": table(route(VpcPeeringConnectionId="pcx-1")),
        "DescribeVpcEndpoints": {},
    }
    assert only("subnets", answers).verdict is NOT_CHECKED
    assert only("subnets", {**answers, "DescribeVpcEndpoints": OF_AGENT}).verdict is OK


@pytest.mark.parametrize(
    ("free", "text"),
    [
        (4, "4 addresses are free for 4, and there is a way out"),
        (3, "3 addresses are free, the hosts at MaxSize take 4: 1 short"),
    ],
)
def test_subnets_need_an_address_for_each_host(free: int, text: str) -> None:
    answers = {"DescribeSubnets": {"Subnets": [subnet(free=free)]}, "DescribeRouteTables": table(NAT)}
    found = only("subnets", answers)
    assert found.text == text
    assert found.fix.startswith("aws ec2 create-subnet ") is (found.verdict is SHORT)


@pytest.mark.parametrize(
    ("others", "free", "says"),
    [
        ((IN_A,), (7, 0), "7 addresses are free, the hosts of Gpu and Other at MaxSize take 8: 1 short"),
        ((IN_A,), (8, 0), "8 addresses are free for 8 of Gpu and Other"),
        ((IN_A, IN_B), (4, 3), "7 addresses are free, the hosts of Gpu and Other at MaxSize take 8: 1 short"),
        ((IN_A, IN_B), (4, 4), "4 addresses are free for 4"),
        ((IN_B,), (4, 0), "4 addresses are free for 4"),
    ],
)
def test_pools_that_share_subnets_share_their_addresses(
    others: tuple[Subnet, ...], free: tuple[int, int], says: str
) -> None:
    in_a, in_b = free
    answers = {
        "DescribeSubnets": {"Subnets": [subnet(free=in_a), subnet(IN_B, "eu-west-1b", in_b)]},
        "DescribeRouteTables": table(NAT),
    }
    found = results("subnets", answers, fleet(pool(), pool(name="Other", subnets=others)))[0]
    assert says in found.text
    assert (found.verdict is SHORT) is ("short" in says)


def test_what_is_known_alone_can_take_more_addresses_than_are_free() -> None:
    answers = {"DescribeSubnets": {"Subnets": [subnet(free=3)]}, "DescribeRouteTables": table(NAT)}
    managed = pool(name="Managed", max_instances=UNKNOWN)
    assert results("subnets", answers, fleet(pool(), managed))[0].verdict is SHORT
    answers["DescribeSubnets"] = {"Subnets": [subnet(free=4)]}
    found = results("subnets", answers, fleet(pool(), managed))[0]
    assert (found.verdict, found.text.partition("; ")[2]) == (
        NOT_CHECKED,
        "how many hosts Managed can have is not known",
    )


def test_hosts_that_run_have_their_addresses() -> None:
    mine = pool(group=GroupSettings(name="Group"))
    answers = {
        "DescribeSubnets": {"Subnets": [subnet(free=1)]},
        "DescribeRouteTables": table(NAT),
        "DescribeInstances": instances(*[host(logical_id="Group")] * 3),
    }
    assert only("subnets", answers, fleet(mine)).text == "1 address is free for 1, and there is a way out"


def test_a_subnet_that_does_not_exist_is_short_and_what_the_deploy_makes_is_not_asked_about() -> None:
    found = only("subnets", {"DescribeSubnets": {"Subnets": []}})
    assert (found.verdict, found.text) == (SHORT, "subnet-0a0a0a0a does not exist in eu-west-1")
    found = only("subnets", {}, fleet(pool(subnets=(NEW,))))
    assert (found.verdict, found.text) == (NOTHING, "the deploy makes all subnets")
    assert only("subnets", {}, fleet(pool(subnets=()))).verdict is NOT_CHECKED


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
SHORT_BY_3 = {"DescribeCapacityReservations": {"CapacityReservations": [reserved(TotalInstanceCount=1)]}}
BLOCKS = fleet(pool(bought=BLOCK))


def test_a_block_that_is_short_comes_with_what_aws_offers_next() -> None:
    found = only("reservations", {**SHORT_BY_3, **OFFERED}, BLOCKS)
    wanted = "AWS offers a block of 3 g6.12xlarge for 24 hours in eu-west-1a from 2039-01-01 00:00 UTC for 12.00 USD"
    assert wanted in found.text
    assert found.fix.startswith("aws ec2 purchase-capacity-block --capacity-block-offering-id cb-1 ")
    # What lacks is known without an offer.
    found = only("reservations", SHORT_BY_3, BLOCKS)
    assert (found.verdict, "what AWS offers is not known: nothing answers" in found.text) == (SHORT, True)


def test_offers_of_blocks_are_shown_where_they_are_asked_for() -> None:
    found = only("block-offerings", OFFERED, BLOCKS)
    assert (found.verdict, found.text.startswith("AWS offers a block of 4 g6.12xlarge for 24 hours in")) == (OK, True)
    found = only("block-offerings", {"DescribeCapacityBlockOfferings": {}}, BLOCKS)
    assert (found.verdict, found.text) == (SHORT, "AWS offers no block of 4 g6.12xlarge for 24 hours")
    full = {"DescribeCapacityBlockOfferings": UnansweredError("no", code="CapacityBlockDescribeLimitExceeded")}
    found = only("block-offerings", full, BLOCKS)
    assert (found.verdict, found.fix) == (SHORT, "gpu-constructs preflight --check quotas")


@pytest.mark.parametrize(
    ("ends", "hours"), [("2040-01-03T00:00:00Z", 24), ("2040-01-03T01:00:00Z", 48), ("2040-01-20T00:00:00Z", 504)]
)
def test_offers_last_as_long_as_the_hosts_run(ends: str, hours: int) -> None:
    asked: list[Any] = []
    block = replace(BLOCK, block=Block(starts="2040-01-02T00:00:00Z", ends=ends))
    checks = [each for each in CHECKS if each.id == "block-offerings"]
    preflight(fleet(pool(bought=block)), answering(OFFERED, asked), checks)
    assert asked[0][1]["CapacityDurationHours"] == hours
    assert asked[0][1]["StartDateRange"] == dt.datetime(2040, 1, 1, tzinfo=dt.timezone.utc)


ROLES = {
    "AWSServiceRoleForECS": (pool(), SHORT),
    "AWSServiceRoleForECSCompute": (pool(kind=PoolKind.MANAGED_INSTANCES), OK),
    "AWSServiceRoleForAutoScaling": (pool(), OK),
    "AWSServiceRoleForEC2Spot": (pool(bought=SPOT), OK),
    "AWSServiceRoleForBatch": (pool(kind=PoolKind.BATCH), OK),
}
NO_ROLE = {"GetRole": UnansweredError("none", code="NoSuchEntity")}


@pytest.mark.parametrize("name", ROLES)
def test_a_role_that_is_missing_is_short_only_where_aws_may_make_it_too_late(name: str) -> None:
    of, verdict = ROLES[name]
    found = {each.subject: each for each in results("roles", NO_ROLE, fleet(of))}[name]
    assert found.verdict is verdict
    assert found.fix.startswith("aws iam create-service-linked-role --aws-service-name ")
    there = {"GetRole": {"Role": {"RoleName": name}}}
    found = {each.subject: each for each in results("roles", there, fleet(of))}[name]
    assert (found.verdict, found.text, found.fix) == (OK, "the role is there", "")


def test_roles_are_those_that_something_needs() -> None:
    batch = pool(name="Jobs", kind=PoolKind.BATCH, bought=SPOT)
    found = results("roles", NO_ROLE, fleet(batch))
    # Only Auto Scaling may make the role of Spot hosts.
    assert [(each.subject, each.verdict) for each in found] == [
        ("AWSServiceRoleForEC2Spot", SHORT),
        ("AWSServiceRoleForBatch", OK),
    ]
    managed = results("roles", NO_ROLE, fleet(pool(kind=PoolKind.MANAGED_INSTANCES)))
    assert [each.verdict for each in managed] == [OK, OK]


def settings(**values: str) -> dict[str, object]:
    return {"ListAccountSettings": {"settings": [{"name": name, "value": value} for name, value in values.items()]}}


def test_settings_are_those_that_the_tasks_need() -> None:
    answers = settings(serviceLongArnFormat="enabled", taskLongArnFormat="disabled", awsvpcTrunking="disabled")
    found = {each.subject: each for each in results("settings", answers, fleet(tasks=(task("awsvpc"),)))}
    assert [str(each.verdict) for each in found.values()] == ["ok", "short", "not checked", "ok"]
    assert found["taskLongArnFormat"].fix.startswith("aws ecs put-account-setting-default --name taskLongArnFormat ")
    tight = pool(instance_types=(instance_type("p3.16xlarge"),))
    trunk = results("settings", answers, fleet(tight, tasks=(task("awsvpc"),)))[-1]
    assert (trunk.subject, trunk.verdict) == ("awsvpcTrunking", SHORT)
    assert len(results("settings", answers, fleet(tasks=(task("bridge"),)))) == 3


def test_a_spot_score_is_a_fact_and_never_short() -> None:
    answers = {"GetSpotPlacementScores": {"SpotPlacementScores": [{"Region": "eu-west-1", "Score": 1}]}}
    found = only("spot-scores", answers, fleet(pool(bought=SPOT)))
    assert (found.verdict, found.text.startswith("1 of 10 for 4 hosts now")) == (OK, True)
    assert only("spot-scores", answers).verdict is NOTHING


def test_pools_of_another_account_are_not_asked_about() -> None:
    here = pool(origin=Origin(resource="Gpu", place=Place("eu-west-1", "123456789012")))
    there = pool(name="There", origin=Origin(resource="There", place=Place("eu-west-1", "210987654321")))
    answers = {"GetCallerIdentity": {"Account": "123456789012"}, "DescribeInstanceTypeOfferings": {}}
    assert only("account", answers, fleet(here)).verdict is OK
    account, types = results("types", answers, fleet(here, there))
    assert (account.check, account.verdict, types.subject) == ("account", NOT_CHECKED, "Gpu")
    assert "nothing of 210987654321 is checked" in account.text
    (account,) = results("types", answers, fleet(there))
    assert (account.check, account.verdict) == ("account", SHORT)
    # Where AWS does not say whose the credentials are, nothing is left out.
    del answers["GetCallerIdentity"]
    assert [each.subject for each in results("types", answers, fleet(here, there))] == ["Gpu", "There"]
    assert only("account", {}).verdict is NOTHING
