"""Placement groups, which moto 5.2.5 has not: they exist, hold instances, and go when these are gone.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-groups.html. Not modelled: partitions, spread levels, the
capacity that a cluster group may lack. A group launches into one subnet, so one in a cluster group stays in one zone.
"""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses import EC2Response

from .resource import Properties, Region, Resource

__all__ = ["PlacementGroup", "check", "install"]


def _groups(region: Region) -> dict[str, str]:
    """Name to strategy of the placement groups of a region; they go with moto's backend when that is reset."""
    backend: Any = ec2_backends[region.account_id][region.name]
    assert isinstance(backend, EC2Backend)
    known: dict[str, str] = backend.__dict__.setdefault("placement_groups", {})
    return known


def check(region: Region, name: str, instance_type: str) -> None:
    """See that an instance of this type can be launched into a placement group.

    Raises:
        ValueError: It cannot.
    """
    strategy = _groups(region).get(name)
    if strategy is None:
        raise ValueError(f"InvalidPlacementGroup.Unknown: The Placement Group '{name}' is unknown.")
    supported = (
        INSTANCE_TYPES.get(instance_type, {}).get("PlacementGroupInfo", {}).get("SupportedStrategies", [strategy])
    )
    if strategy not in supported:
        raise ValueError(f"{strategy} placement groups may not be used with instances of type '{instance_type}'.")


class PlacementGroup(Resource):
    """One placement group; every change replaces it."""

    type_name = "AWS::EC2::PlacementGroup"
    attribute_names = frozenset({"GroupName"})
    create_only = frozenset({"*"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> PlacementGroup:
        name = properties.get("GroupName", name)
        if name in _groups(region):
            raise ValueError(f"InvalidPlacementGroup.Duplicate: The Placement Group '{name}' already exists.")
        _groups(region)[name] = properties.get("Strategy", "cluster")
        return cls(name, {"GroupName": name})

    def remove(self, region: Region) -> None:
        _delete_from(region, self.physical_resource_id)


def _delete_from(region: Region, name: str) -> None:
    running = ec2_backends[region.account_id][region.name].all_running_instances()
    users = [instance.id for instance in running if instance.placement.group_name == name]
    if users:
        raise EC2ClientError(
            "InvalidPlacementGroup.InUse",
            f"The placement group '{name}' is in use and may not be deleted: {', '.join(users)}",
        )
    _groups(region).pop(name, None)


def _describe(self: EC2Response) -> ActionResult:
    groups = _groups(Region(self.current_account, self.region))
    described = [{"GroupName": name, "Strategy": kind, "State": "available"} for name, kind in groups.items()]
    return ActionResult({"PlacementGroups": described})


def _delete(self: EC2Response) -> EmptyResult:
    _delete_from(Region(self.current_account, self.region), self._get_param("GroupName"))
    return EmptyResult()


def install() -> None:
    """Answer DescribePlacementGroups and DeletePlacementGroup."""
    setattr(EC2Response, "describe_placement_groups", _describe)  # noqa: B010
    setattr(EC2Response, "delete_placement_group", _delete)  # noqa: B010
