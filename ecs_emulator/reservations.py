"""Capacity reservations and Capacity Blocks for ML; moto 5.2.5 has neither, nor DescribeCapacityReservations.

One exists where the switch ``/emulator/reservations/<id>`` is set (see `switches`) or a stack has an
``AWS::EC2::CapacityReservation``. Its value has the names of DescribeCapacityReservations::

    {"InstanceType": "p5.48xlarge", "AvailabilityZone": "us-east-1a", "TotalInstanceCount": 2,
     "ReservationType": "capacity-block", "InstanceMatchCriteria": "open",
     "StartDate": "2026-12-01T11:30:00Z", "EndDate": "2026-12-02T11:30:00Z"}

``/emulator/reservation-groups/<name>`` lists the ids of a resource group, with commas.

Modelled: a reservation takes instances of its type and zone, as many as it holds, between its start and its end; EC2
terminates those of a block half an hour before its end. Not modelled: platforms, tenancy, sharing, resizing.
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import ec2_backends
from moto.ec2.responses import EC2Response

from . import switches
from .resource import Properties, Region, Resource

if TYPE_CHECKING:
    from moto.ec2.models.instances import Instance

__all__ = [
    "CapacityReservation",
    "Reservation",
    "ReservationGroup",
    "expired_instances",
    "find",
    "in_group",
    "install",
    "matching",
]

BLOCK_ENDS_EARLY = timedelta(minutes=30)


@dataclass(frozen=True)
class Reservation:
    """One reservation.

    Args:
        id: Its id.
        instance_type: The type it holds.
        zone: The Availability Zone it is in.
        total: How many instances it holds.
        block: Whether it is a Capacity Block.
        open: Whether instances that match it use it without naming it.
        start: When it begins, None for at once.
        end: When it ends, None for never.
    """

    id: str
    instance_type: str
    zone: str
    total: int
    block: bool = False
    open: bool = True
    start: datetime | None = None
    end: datetime | None = None

    def reason_against(self, region: Region, instance_type: str, zones: list[str]) -> str | None:
        """Why an instance of this type cannot be launched into it now, or None."""
        time = switches.now(region)
        if instance_type != self.instance_type:
            return f"{self.id} is for {self.instance_type}, not {instance_type}"
        if self.zone not in zones:
            return f"{self.id} is in {self.zone}, not {', '.join(zones)}"
        if self.start and time < self.start:
            return f"{self.id} begins at {self.start:%Y-%m-%dT%H:%M:%SZ}"
        if self.end and time >= self.closes:
            return f"{self.id} takes no instance from {self.closes:%Y-%m-%dT%H:%M:%SZ} on"
        if len(_users(region, self.id)) >= self.total:
            return f"ReservationCapacityExceeded: the {self.total} instances of {self.id} are in use"
        return None

    @property
    def closes(self) -> datetime:
        """When its instances go."""
        assert self.end is not None
        return self.end - BLOCK_ENDS_EARLY if self.block else self.end


def find(region: Region, reservation_id: str) -> Reservation | None:
    """The reservation of this id."""
    told = switches.read(region, f"reservations/{reservation_id}")
    if told is None:
        return None
    described: dict[str, Any] = json.loads(told)
    start, end = described.get("StartDate"), described.get("EndDate")
    return Reservation(
        id=reservation_id,
        instance_type=described["InstanceType"],
        zone=described["AvailabilityZone"],
        total=int(described.get("TotalInstanceCount", 1)),
        block=described.get("ReservationType") == "capacity-block",
        open=described.get("InstanceMatchCriteria", "open") == "open",
        start=switches.moment(start) if start else None,
        end=switches.moment(end) if end else None,
    )


def in_group(region: Region, arn: str) -> list[str]:
    """Ids of the reservations of a resource group."""
    told = switches.read(region, f"reservation-groups/{arn.rsplit('/', 1)[-1]}")
    return [item for item in (told or "").split(",") if item]


def matching(region: Region, instance_type: str, zones: list[str]) -> Reservation | None:
    """An open reservation with room for such an instance."""
    for name in switches.names(region, "reservations/"):
        held = find(region, name)
        if held and held.open and not held.block and held.reason_against(region, instance_type, zones) is None:
            return held
    return None


def expired_instances(region: Region) -> list[Instance]:
    """Running instances of Capacity Blocks that are about to end."""
    time = switches.now(region)
    blocks = [find(region, name) for name in switches.names(region, "reservations/")]
    return [
        instance
        for held in blocks
        if held and held.block and held.end and time >= held.closes
        for instance in _users(region, held.id)
    ]


def _users(region: Region, reservation_id: str) -> list[Instance]:
    return [
        instance
        for instance in ec2_backends[region.account_id][region.name].all_running_instances()
        if getattr(instance, "capacity_reservation_id", None) == reservation_id
    ]


def _state(held: Reservation, region: Region) -> str:
    time = switches.now(region)
    if held.end and time >= held.end:
        return "expired"
    return "scheduled" if held.start and time < held.start else "active"


def _described(held: Reservation, region: Region) -> dict[str, Any]:
    """As https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html has it."""
    return {
        "CapacityReservationId": held.id,
        "OwnerId": region.account_id,
        "InstanceType": held.instance_type,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": held.zone,
        "Tenancy": "default",
        "TotalInstanceCount": held.total,
        "AvailableInstanceCount": held.total - len(_users(region, held.id)),
        "State": _state(held, region),
        "StartDate": held.start or switches.EPOCH,
        "EndDate": held.end,
        "EndDateType": "limited" if held.end else "unlimited",
        "InstanceMatchCriteria": "open" if held.open else "targeted",
        "ReservationType": "capacity-block" if held.block else "default",
    }


def _describe(self: EC2Response) -> ActionResult:
    region = Region(self.current_account, self.region)
    wanted = self._get_param("CapacityReservationIds", [])
    known = {name: find(region, name) for name in switches.names(region, "reservations/")}
    if unknown := [each for each in wanted if each not in known]:
        raise EC2ClientError(
            "InvalidCapacityReservationId.NotFound", f"The capacity reservation ID '{unknown[0]}' does not exist"
        )
    found = (held for name, held in known.items() if held and (not wanted or name in wanted))
    return ActionResult({"CapacityReservations": [_described(each, region) for each in found]})


def install() -> None:
    """Answer DescribeCapacityReservations, of whose filters none is modelled."""
    setattr(EC2Response, "describe_capacity_reservations", _describe)  # noqa: B010


class CapacityReservation(Resource):
    """An on-demand capacity reservation; deleting it with instances in it is allowed, they go on."""

    type_name = "AWS::EC2::CapacityReservation"
    attribute_names = frozenset({"Id", "AvailabilityZone", "InstanceType", "TotalInstanceCount"})
    create_only = frozenset({"AvailabilityZone", "AvailabilityZoneId", "EbsOptimized", "EphemeralStorage"}) | {
        "InstancePlatform",
        "InstanceType",
        "OutPostArn",
        "PlacementGroupArn",
        "Tenancy",
    }

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> CapacityReservation:
        made_up = f"cr-{uuid.uuid5(uuid.NAMESPACE_OID, name).hex[:17]}"
        total = str(properties["InstanceCount"])
        attributes = {
            "Id": made_up,
            "AvailabilityZone": properties["AvailabilityZone"],
            "InstanceType": properties["InstanceType"],
            "TotalInstanceCount": total,
        }
        made = cls(made_up, attributes)
        made.update(region, properties)
        return made

    def update(self, region: Region, properties: Properties) -> None:
        described = {
            "InstanceType": properties["InstanceType"],
            "AvailabilityZone": properties["AvailabilityZone"],
            "TotalInstanceCount": int(properties["InstanceCount"]),
            "InstanceMatchCriteria": properties.get("InstanceMatchCriteria", "open"),
            "EndDate": properties.get("EndDate"),
        }
        switches.write(region, f"reservations/{self.physical_resource_id}", json.dumps(described))

    def remove(self, region: Region) -> None:
        switches.delete(region, f"reservations/{self.physical_resource_id}")


class ReservationGroup(Resource):
    """A resource group, of which only the capacity reservations matter here."""

    type_name = "AWS::ResourceGroups::Group"
    name_property = "Name"
    attribute_names = frozenset({"Arn"})
    create_only = frozenset({"Name"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ReservationGroup:
        arn = f"arn:aws:resource-groups:{region.name}:{region.account_id}:group/{name}"
        made = cls(name, {"Arn": arn})
        made.update(region, properties)
        return made

    def update(self, region: Region, properties: Properties) -> None:
        ids = [arn.rsplit("/", 1)[-1] for arn in properties.get("Resources", [])]
        switches.write(region, f"reservation-groups/{self.physical_resource_id}", ",".join(ids) or ",")

    def remove(self, region: Region) -> None:
        switches.delete(region, f"reservation-groups/{self.physical_resource_id}")
