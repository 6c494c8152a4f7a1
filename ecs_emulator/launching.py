"""Launching one instance of a group: which type, market, subnet and reservation it gets, or why none comes.

moto 5.2.5 launches whatever it is told, ignores network interfaces beyond the first card, placement groups, markets and
reservations. Here a launch fails as on AWS where EC2 has nothing to give (`switches`), a reservation is full, not begun
or for something else (`reservations`), or a placement group does not exist. A group that cannot launch has fewer hosts
and tries again a minute later, type after type in the order of its overrides.

Not modelled: weights, allocation strategies by price, spot interruptions, balance over Availability Zones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moto.autoscaling.models import ASG_NAME_TAG
from moto.ec2.models import ec2_backends

from . import joining, placement_groups, reservations, switches
from .launch_settings import CAPACITY_BLOCK, ON_DEMAND, SPOT, LaunchSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moto.ec2.models.instances import Instance
    from moto.ec2.models.subnets import Subnet

    from .autoscaling import EmulatedGroup
    from .resource import Region

__all__ = ["Choice", "LaunchError", "choose", "go_together", "interfaces_of", "launch_one", "set_kinds"]

IMAGE_GIB = 30
"""Root volume of an image, where a launch template says nothing of its size (that of the ECS image of AL2023)."""


class LaunchError(Exception):
    """EC2 has no instance for the group; the text says why, as the activity of the group would."""


@dataclass(frozen=True)
class Choice:
    """What is launched.

    Args:
        instance_type: Its type.
        market: Its market.
        subnet: Where, None without a VPC.
        reservation_id: The reservation it uses.
    """

    instance_type: str
    market: str
    subnet: Subnet | None
    reservation_id: str | None


def launch_one(group: EmulatedGroup, settings: LaunchSettings) -> Instance:
    """Launch one instance of a group.

    Raises:
        LaunchError: None can be had now.
    """
    choice = choose(group.where, settings, _subnets(group), [market_of(item) for item in group.running])
    if settings.placement_group:
        try:
            placement_groups.check(group.where, settings.placement_group, choice.instance_type)
        except ValueError as error:
            raise LaunchError(str(error)) from error
    instance = _run(group, settings, choice)
    instance.lifecycle = None if choice.market == ON_DEMAND else choice.market
    instance.placement.group_name = settings.placement_group or ""
    instance.capacity_reservation_id = choice.reservation_id  # type: ignore[attr-defined]
    instance.missing_gpus = switches.next_number(group.where, "missing-gpus")  # type: ignore[attr-defined]
    joining.launched(group.where, instance, group.instance_profile)
    return instance


def market_of(instance: Instance) -> str:
    """How an instance was bought."""
    return instance.lifecycle or ON_DEMAND


def choose(region: Region, settings: LaunchSettings, subnets: Sequence[Subnet], markets: Sequence[str]) -> Choice:
    """Find the first type that EC2 has an instance of.

    Args:
        region: Where.
        settings: What the group launches.
        subnets: The group's subnets.
        markets: Markets of the instances it has.

    Raises:
        LaunchError: There is none.
    """
    market = settings.market_of_next(markets)
    reasons = []
    for name in settings.types:
        try:
            held = _reservation(region, settings, name, [subnet.availability_zone for subnet in subnets], market)
        except LaunchError as error:
            reasons.append(str(error))
            continue
        if held is None and switches.lacks_capacity(region, name, market):
            reasons.append(
                f"InsufficientInstanceCapacity: we currently do not have sufficient {name} capacity ({market})"
            )
            continue
        zone = held.zone if held else None
        subnet = next((item for item in subnets if zone in (None, item.availability_zone)), None)
        return Choice(name, market, subnet, held.id if held else None)
    raise LaunchError("; ".join(reasons))


def _reservation(
    region: Region, settings: LaunchSettings, name: str, zones: list[str], market: str
) -> reservations.Reservation | None:
    """The reservation that an instance of this type uses; None where it uses none."""
    if market == SPOT or settings.preference == "none":
        return None
    targets = [settings.reservation_id] if settings.reservation_id else list(settings.reservation_ids)
    targets += [item for arn in settings.reservation_groups for item in reservations.in_group(region, arn)]
    reasons = []
    for target in targets:
        held = reservations.find(region, target)
        if held is None:
            reasons.append(f"InvalidCapacityReservationId.NotFound: {target}")
        elif held.block != (market == CAPACITY_BLOCK):
            reasons.append(f"{target} and the market type {market} do not go together")
        elif (reason := held.reason_against(region, name, zones)) is None:
            return held
        else:
            reasons.append(reason)
    targeted = bool(targets or settings.reservation_groups)
    # Only a single target is a must; what a group of them does not have is bought on demand, unless that is ruled out.
    must = settings.reservation_id is not None or market == CAPACITY_BLOCK
    if not targeted and (held := reservations.matching(region, name, zones)):
        return held
    if must or settings.preference == "capacity-reservations-only":
        raise LaunchError("; ".join(reasons) or f"no capacity reservation for {name} has room")
    return None


def _subnets(group: EmulatedGroup) -> list[Subnet]:
    ec2 = ec2_backends[group.account_id][group.region]
    return [ec2.get_subnet(name) for name in (group.vpc_zone_identifier or "").split(",") if name]


def _run(group: EmulatedGroup, settings: LaunchSettings, choice: Choice) -> Instance:
    ec2 = ec2_backends[group.account_id][group.region]
    data = group.template_data
    subnet = choice.subnet
    how: dict[str, Any] = {}
    if group.ec2_launch_template:
        how["launch_template"] = {
            "LaunchTemplateId": group.ec2_launch_template.id,
            "Version": group.launch_template_version,
        }
        how["security_group_ids"] = list(data.get("SecurityGroupIds") or [])
    if settings.interfaces:
        how["nics"] = interfaces_of(settings, subnet)
    if mappings := data.get("BlockDeviceMappings"):
        how["block_device_mappings"] = [_sized(each) for each in mappings]
    reservation = ec2.run_instances(
        group.image_id,
        1,
        group.user_data,
        group.security_groups,
        instance_type=choice.instance_type,
        tags={"instance": {**group.get_propagated_tags(), **group.instance_tags, ASG_NAME_TAG: group.name}},
        placement=subnet.availability_zone if subnet else group.availability_zones[0],
        launch_config=group.launch_config,
        is_instance_type_default=False,
        associate_public_ip=getattr(group.launch_config, "associate_public_ip_address", None),
        subnet_id=subnet.id if subnet else None,
        **how,
    )
    instance = reservation.instances[0]
    go_together(instance)
    set_kinds(instance, settings)
    return instance


def interfaces_of(settings: LaunchSettings, subnet: Subnet | None) -> list[dict[str, Any]]:
    """The network interfaces of a launch template as moto takes them; `set_kinds` says afterwards what they are."""
    return [
        {
            "DeviceIndex": number,  # moto keys interfaces by this; `set_kinds` sets the real ones
            "SubnetId": item.get("SubnetId") or (subnet.id if subnet else None),
            "Groups": list(item.get("Groups") or []),
            "AssociatePublicIpAddress": str(item.get("AssociatePublicIpAddress")).lower() == "true",
        }
        for number, item in enumerate(sorted(settings.interfaces, key=_place))
    ]


def set_kinds(instance: Instance, settings: LaunchSettings) -> None:
    """Make the interfaces of an instance what its launch template says, EFA or not."""
    for interface, item in zip(instance.nics.values(), sorted(settings.interfaces, key=_place), strict=False):
        interface.interface_type = str(item.get("InterfaceType") or "interface")
        interface.device_index = _place(item)[1]


def _sized(mapping: dict[str, Any]) -> dict[str, Any]:
    """A volume that says no size has that of the image's snapshot; moto asks for one."""
    ebs = mapping.get("Ebs")
    return mapping if ebs is None or "SnapshotId" in ebs else {**mapping, "Ebs": {"VolumeSize": IMAGE_GIB, **ebs}}


def go_together(instance: Instance) -> None:
    """Let the interfaces that came with an instance go with it; moto leaves them, and with them a subnet in use."""
    for interface in instance.nics.values():
        interface.delete_on_termination = True


def _place(item: Any) -> tuple[int, int]:
    return int(item.get("NetworkCardIndex") or 0), int(item.get("DeviceIndex") or 0)
