"""How each check reads the answers of AWS."""

from __future__ import annotations

import pytest

from gpu_constructs.account.preflight import Verdict
from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import Origin, Place, Subnet
from tests.account.preflight.world import (
    IN_A,
    IN_B,
    fleet,
    offering,
    only,
    pool,
    results,
    subnet,
)

OK, SHORT, NOT_CHECKED, NOTHING = Verdict

G6, ZONES = "g6.12xlarge", {"AvailabilityZones": [{"ZoneName": f"eu-west-1{each}"} for each in "ab"]}
NEW = Subnet()
FIRST, SECOND, THIRD = (Subnet(zone_index=each) for each in range(3))


@pytest.mark.parametrize(
    ("subnets", "zones", "verdict", "says"),
    [
        ((IN_A, IN_B), "a", OK, "in eu-west-1a, none in eu-west-1b"),
        ((IN_B,), "a", SHORT, "g6.12xlarge is not offered in eu-west-1b"),
        ((IN_A,), "", SHORT, "g6.12xlarge is not offered in eu-west-1"),
        ((NEW,), "ab", OK, "AWS offers g6.12xlarge in eu-west-1a and eu-west-1b"),
        ((NEW,), "a", NOT_CHECKED, "which zones the subnets are in is not known"),
        ((FIRST,), "a", OK, "AWS offers g6.12xlarge in eu-west-1a"),
        ((FIRST, SECOND), "b", OK, "in eu-west-1b, none in eu-west-1a"),
        ((THIRD,), "a", SHORT, "Fn::GetAZs gives 2 zones in eu-west-1, and subnets take 3"),
        ((), "ab", OK, "in eu-west-1a and eu-west-1b"),
        ((Subnet(zone="eu-west-1b"),), "a", SHORT, "is not offered in eu-west-1b"),
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
    assert only("images", {"GetParameters": page}, fleet()).verdict is verdict


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
