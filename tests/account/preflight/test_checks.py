"""How each check reads the answers of AWS."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.account.preflight import Verdict
from gpu_constructs.account.preflight.answer import UnansweredError
from gpu_constructs.fleet import (
    RESERVATIONS_FIRST,
    UNKNOWN,
    Block,
    Bought,
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
    fleet,
    offering,
    only,
    pool,
    results,
    route,
    subnet,
    table,
    task,
)

OK, SHORT, NOT_CHECKED = Verdict.OK, Verdict.SHORT, Verdict.NOT_CHECKED


def quota(value: object) -> dict[str, object]:
    return {"Quota": {"Value": value}}


def test_a_quota_that_is_too_low_is_short_with_the_command_that_asks_for_more() -> None:
    found = only("quotas", {"GetServiceQuota": quota(64.0)})
    assert (found.verdict, found.subject, found.text) == (
        SHORT,
        "G/VT on-demand",
        "quota L-DB2E81BA is 64 vCPUs, the hosts at MaxSize take 192: 128 short",
    )
    assert found.fix == (
        "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-DB2E81BA "
        "--desired-value 192 --region eu-west-1"
    )


def test_pools_of_one_quota_are_counted_together() -> None:
    pools = fleet(pool(), pool(name="More"))
    assert only("quotas", {"GetServiceQuota": quota(383)}, pools).verdict is SHORT
    assert only("quotas", {"GetServiceQuota": quota(384)}, pools).verdict is OK


def test_a_quota_that_the_account_never_changed_is_the_default_of_aws() -> None:
    answers = {
        "GetServiceQuota": UnansweredError("none", code="NoSuchResourceException"),
        "GetAWSDefaultServiceQuota": quota(0),
    }
    found = only("quotas", answers, fleet(pool(bought=SPOT)))
    assert (found.verdict, found.subject) == (SHORT, "G/VT spot")


def test_hosts_without_a_known_maximum_leave_their_quota_open() -> None:
    found = only("quotas", {"GetServiceQuota": quota(64)}, fleet(pool(max_instances=UNKNOWN)))
    assert (found.verdict, found.text) == (
        NOT_CHECKED,
        "quota L-DB2E81BA is 64 vCPUs; how many hosts Gpu can have is not known",
    )


G6, ZONES = "g6.12xlarge", {"AvailabilityZones": [{"ZoneName": f"eu-west-1{each}"} for each in "ab"]}
NEW = Subnet(is_new=True)


@pytest.mark.parametrize(
    ("subnets", "zones", "verdict", "says"),
    [
        ((IN_A,), "a", OK, "AWS offers g6.12xlarge in eu-west-1a"),
        ((IN_A, IN_B), "a", OK, "in eu-west-1a, none in eu-west-1b"),
        ((IN_B,), "a", SHORT, "g6.12xlarge is not offered in eu-west-1b"),
        ((IN_A,), "", SHORT, "g6.12xlarge is not offered in eu-west-1"),
        ((NEW,), "ab", OK, "AWS offers g6.12xlarge in eu-west-1a and eu-west-1b"),
        ((NEW,), "a", NOT_CHECKED, "which zones the subnets are in is not known"),
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


def test_a_subnet_that_does_not_exist_is_short_and_what_the_deploy_makes_is_not_asked_about() -> None:
    found = only("subnets", {"DescribeSubnets": {"Subnets": []}})
    assert (found.verdict, found.text) == (SHORT, "subnet-0a0a0a0a does not exist in eu-west-1")
    assert not results("subnets", {}, fleet(pool(subnets=(NEW,))))
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


def test_a_group_of_reservations_is_that_of_its_members() -> None:
    group = "arn:aws:resource-groups:eu-west-1:123456789012:group/gpus"
    arn = "arn:aws:ec2:eu-west-1:123456789012:capacity-reservation/cr-0a1b2c3d"
    answers = {
        "ListGroupResources": {"ResourceIdentifiers": [{"ResourceArn": arn}]},
        "DescribeCapacityReservations": {"CapacityReservations": [reserved(), reserved(CapacityReservationId="cr-1")]},
    }
    bought = Bought(option=PurchaseOption.RESERVED, reservation=Reservation(group=group))
    assert only("reservations", answers, fleet(pool(bought=bought))).verdict is OK


def test_a_block_that_is_short_comes_with_what_aws_offers_next() -> None:
    offer = {
        "CapacityBlockOfferingId": "cb-1",
        "AvailabilityZone": "eu-west-1a",
        "StartDate": YEAR_2039,
        "UpfrontFee": "12.00",
        "CurrencyCode": "USD",
    }
    answers = {
        "DescribeCapacityReservations": {"CapacityReservations": [reserved(TotalInstanceCount=1)]},
        "DescribeCapacityBlockOfferings": {"CapacityBlockOfferings": [{**offer, "StartDate": YEAR_2041}, offer]},
    }
    found = only("reservations", answers, fleet(pool(bought=BLOCK)))
    assert "AWS offers 4 for 24 hours in eu-west-1a from 2039-01-01 00:00 UTC for 12.00 USD" in found.text
    assert found.fix.startswith("aws ec2 purchase-capacity-block --capacity-block-offering-id cb-1 ")


def test_roles_are_asked_about_where_something_needs_them() -> None:
    missing = {"GetRole": UnansweredError("none", code="NoSuchEntity")}
    found = results("roles", missing, fleet(pool(bought=SPOT), pool(name="Jobs", kind=PoolKind.BATCH)))
    assert [each.subject for each in found] == [
        "AWSServiceRoleForECS",
        "AWSServiceRoleForAutoScaling",
        "AWSServiceRoleForEC2Spot",
        "AWSServiceRoleForBatch",
    ]
    assert found[0].fix == "aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com"
    there = {"GetRole": {"Role": {"RoleName": "AWSServiceRoleForBatch"}}}
    assert only("roles", there, fleet(pool(kind=PoolKind.BATCH))).verdict is OK


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
    assert not results("spot-scores", answers)


def test_credentials_of_another_account_are_said_first() -> None:
    here = pool(origin=Origin(resource="Gpu", place=Place("eu-west-1", "123456789012")))
    assert only("account", {"GetCallerIdentity": {"Account": "123456789012"}}, fleet(here)).verdict is OK
    assert only("account", {"GetCallerIdentity": {"Account": "210987654321"}}, fleet(here)).verdict is SHORT
    assert not results("account", {})
