"""What an Auto Scaling group launches, what EC2 refuses of it, and what it has not to give."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from ecs_emulator.launch_settings import refusals, settings_of
from ecs_emulator.local import Local, NotDeployedError

from tests.e2e.templates import Template, cluster_template, resource

EFA_CARDS = {"p5.48xlarge": 32, "p5en.48xlarge": 16, "p6-b300.48xlarge": 16, "g6.8xlarge": 1}


def efa(cards: int, *, first: int = 0) -> list[dict[str, Any]]:
    """A primary interface, and an EFA-only one on each of as many cards."""
    primary = {"NetworkCardIndex": 0, "DeviceIndex": 0, "InterfaceType": "interface", "Groups": []}
    others: list[dict[str, Any]] = [
        {"NetworkCardIndex": card, "DeviceIndex": 0 if card else 1, "InterfaceType": "efa-only", "Groups": []}
        for card in range(first, first + cards)
    ]
    return [primary, *others]


def launching(template: Template, **data: object) -> Template:
    template["Resources"]["LaunchTemplate"]["Properties"]["LaunchTemplateData"].update(data)
    return template


def mixed(template: Template, types: list[str], **distribution: object) -> Template:
    group = template["Resources"]["Group"]["Properties"]
    group["MixedInstancesPolicy"] = {
        "LaunchTemplate": {
            "LaunchTemplateSpecification": group.pop("LaunchTemplate"),
            "Overrides": [{"InstanceType": name} for name in types],
        },
        "InstancesDistribution": distribution,
    }
    return template


def sized(template: Template, count: int) -> Template:
    template["Resources"]["Group"]["Properties"] |= {"MinSize": str(count), "MaxSize": str(count)}
    return template


def instances(cloud: Local) -> list[Any]:
    reservations = cloud.account.client("ec2").describe_instances()["Reservations"]
    found = [instance for reservation in reservations for instance in reservation["Instances"]]
    return [instance for instance in found if instance["State"]["Name"] == "running"]


def refused(cloud: Local, template: Template, reason: str) -> None:
    with pytest.raises(NotDeployedError, match=reason):
        cloud.deploy(template)


@pytest.mark.parametrize(("name", "cards"), EFA_CARDS.items())
def test_a_host_has_an_efa_interface_per_card(cloud: Local, name: str, cards: int) -> None:
    first = 1 if name.startswith("p6-b300") else 0
    template = launching(sized(cluster_template(name), 1), NetworkInterfaces=efa(cards, first=first))

    stack = cloud.deploy(template)

    (instance,) = instances(cloud)
    kinds = [interface["InterfaceType"] for interface in instance["NetworkInterfaces"]]
    assert (kinds.count("efa-only"), kinds.count("interface")) == (cards, 1)
    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("interfaces", "reason"),
    [
        (efa(1, first=1), "has no network card 1"),
        (efa(1)[1:], "no primary network interface"),
        ([{**efa(1)[0], "InterfaceType": "efaa"}], "does not support interfaces of type efaa"),
        ([*efa(1), efa(1)[1]], "the same network card index and device index"),
        ([{**efa(1)[0], "AssociatePublicIpAddress": True}, efa(1)[1]], "associatePublicIPAddress"),
        ([{**efa(1)[0], "InterfaceType": "efa-only"}], "primary network interface cannot be efa-only"),
        ([*efa(1), {**efa(1)[1], "DeviceIndex": 2}], "supports fewer than 2 EFA interfaces"),
    ],
)
def test_interfaces_that_the_type_cannot_have_are_refused(interfaces: list[dict[str, Any]], reason: str) -> None:
    settings = settings_of({"InstanceType": "g6.8xlarge", "NetworkInterfaces": interfaces}, None)

    assert any(reason in text for text in refusals(settings))


def test_spot_hosts_are_spot_and_come_back_after_a_shortage(cloud: Local) -> None:
    stack = cloud.deploy(launching(cluster_template(), InstanceMarketOptions={"MarketType": "spot"}))
    outputs = stack.outputs
    cloud.switch("no-capacity", "g6.xlarge:spot")

    short = cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"])
    cloud.switch("no-capacity", "none")
    cloud.minutes(outputs["Cluster"], 4)

    assert short == "PROVISIONING"
    assert {instance["InstanceLifecycle"] for instance in instances(cloud)} == {"spot"}
    assert [task.status for task in cloud.account.tasks(outputs["Cluster"])] == ["RUNNING"]
    cloud.account.stop_all(outputs["Cluster"])
    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("distribution", "spot"),
    [
        ({}, 0),
        ({"OnDemandPercentageAboveBaseCapacity": 0}, 4),
        ({"OnDemandBaseCapacity": 1, "OnDemandPercentageAboveBaseCapacity": 0}, 3),
        ({"OnDemandBaseCapacity": 0, "OnDemandPercentageAboveBaseCapacity": 50}, 2),
        ({"OnDemandBaseCapacity": 5, "OnDemandPercentageAboveBaseCapacity": 0}, 0),
    ],
)
def test_a_mixed_policy_buys_its_base_on_demand(cloud: Local, distribution: dict[str, int], spot: int) -> None:
    stack = cloud.deploy(sized(mixed(cluster_template(), ["g6.xlarge", "g6.2xlarge"], **distribution), 4))

    assert sum(1 for item in instances(cloud) if item.get("InstanceLifecycle") == "spot") == spot
    cloud.destroy(stack)


def test_a_group_that_cannot_launch_its_minimum_does_not_stabilize(cloud: Local) -> None:
    cloud.switch("no-capacity", "g6.xlarge")

    refused(cloud, sized(cluster_template(), 1), "Group did not stabilize.*InsufficientInstanceCapacity")


def reserve(cloud: Local, name: str, **more: object) -> None:
    told = {"InstanceType": "g6.xlarge", "AvailabilityZone": "us-east-1a", "TotalInstanceCount": 1, **more}
    cloud.switch(f"reservations/{name}", json.dumps(told))


def in_zone(template: Template, zone: str = "us-east-1a") -> Template:
    template["Resources"]["Subnet"]["Properties"]["AvailabilityZone"] = zone
    return template


def targeted(template: Template, **target: object) -> Template:
    return launching(template, CapacityReservationSpecification={"CapacityReservationTarget": target})


def test_a_targeted_reservation_gives_what_it_holds_and_no_more(cloud: Local) -> None:
    reserve(cloud, "cr-1", InstanceMatchCriteria="targeted")
    template = in_zone(targeted(cluster_template(), CapacityReservationId="cr-1"))

    stack = cloud.deploy(sized(template, 1))
    with pytest.raises(NotDeployedError, match="ReservationCapacityExceeded"):
        cloud.deploy(sized(template, 1))

    cloud.destroy(stack)


@pytest.mark.parametrize(
    ("preference", "hosts"), [("capacity-reservations-only", 1), ("capacity-reservations-first", 2)]
)
def test_a_group_prefers_its_reservations_or_takes_nothing_else(cloud: Local, preference: str, hosts: int) -> None:
    reserve(cloud, "cr-1")
    cloud.switch("reservation-groups/mine", "cr-1")
    template = in_zone(cluster_template())
    template["Resources"]["Group"]["Properties"]["CapacityReservationSpecification"] = {
        "CapacityReservationPreference": preference,
        "CapacityReservationTarget": {"CapacityReservationResourceGroupArns": ["arn:aws:x:us-east-1:1:group/mine"]},
    }
    stack = cloud.deploy(template)
    outputs = stack.outputs

    assert cloud.run(outputs["Cluster"], outputs["Task"], outputs["Provider"]) == "RUNNING"

    assert len(instances(cloud)) == hosts
    cloud.account.stop_all(outputs["Cluster"])
    cloud.destroy(stack)


def test_a_reservation_can_be_part_of_the_stack(cloud: Local) -> None:
    template = in_zone(targeted(cluster_template(), CapacityReservationId={"Ref": "Held"}))
    template["Resources"]["Held"] = resource(
        "EC2::CapacityReservation",
        AvailabilityZone="us-east-1a",
        InstanceCount=1,
        InstancePlatform="Linux/UNIX",
        InstanceType="g6.xlarge",
    )

    stack = cloud.deploy(sized(template, 1))

    assert len(instances(cloud)) == 1
    describe = cloud.account.client("ec2").describe_capacity_reservations
    (held,) = describe()["CapacityReservations"]
    assert (held["State"], held["TotalInstanceCount"], held["AvailableInstanceCount"]) == ("active", 1, 0)
    assert describe(CapacityReservationIds=[held["CapacityReservationId"]])["CapacityReservations"] == [held]
    with pytest.raises(ClientError, match="does not exist"):
        describe(CapacityReservationIds=["cr-gone"])
    cloud.destroy(stack)


def test_a_reservation_is_scheduled_then_active_then_expired(cloud: Local) -> None:
    held = {"InstanceType": "p5.48xlarge", "AvailabilityZone": "us-east-1a", "ReservationType": "capacity-block"}
    held |= {"StartDate": "2026-12-01T11:30:00Z", "EndDate": "2026-12-02T11:30:00Z"}
    cloud.switch("reservations/cr-1", json.dumps(held))
    states = []
    for day in (1, 2, 3):
        cloud.switch("now", f"2026-12-0{day}T00:00:00Z")
        (said,) = cloud.account.client("ec2").describe_capacity_reservations()["CapacityReservations"]
        states.append(said["State"])

    assert (states, said["ReservationType"]) == (["scheduled", "active", "expired"], "capacity-block")
    assert said["EndDate"].isoformat() == "2026-12-02T11:30:00+00:00"


BLOCK_TARGET = {"CapacityReservationTarget": {"CapacityReservationId": "cr-block"}}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({}, "needs the Capacity Block as capacity reservation target"),
        (
            {"CapacityReservationSpecification": BLOCK_TARGET, "Placement": {"GroupName": "together"}},
            "cannot be used with a placement group",
        ),
        (
            {"CapacityReservationSpecification": BLOCK_TARGET, "InstanceType": "g6.xlarge"},
            "g6.xlarge does not support capacity-block instances",
        ),
    ],
)
def test_a_capacity_block_excludes_what_aws_says(cloud: Local, data: Template, reason: str) -> None:
    template = launching(
        cluster_template("p5.48xlarge"), InstanceMarketOptions={"MarketType": "capacity-block"}, **data
    )

    refused(cloud, template, reason)
