"""What an Auto Scaling group launches, read from its launch template and its policies, and what AWS refuses of it.

Pure functions over the API's own dictionaries. Sources, read 2026-11-21:

- https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html (interfaces on several network cards),
- https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html,
- https://docs.aws.amazon.com/autoscaling/ec2/userguide/create-auto-scaling-groups-mixed-instances.html.

Where AWS answers with a text we know, it is used; the others are our own words. Modelled is what the launch of a GPU
host can run into, not everything that RunInstances checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

__all__ = ["CAPACITY_BLOCK", "ON_DEMAND", "SPOT", "LaunchSettings", "refusals", "settings_of"]

CAPACITY_BLOCK = "capacity-block"
ON_DEMAND = "on-demand"
SPOT = "spot"

Json = Mapping[str, Any]


@dataclass(frozen=True)
class LaunchSettings:
    """What a group launches.

    Args:
        types: The instance types, in the order it prefers them.
        market: Market type of the launch template.
        interfaces: The network interfaces that the launch template names.
        security_groups: Those outside of the interfaces.
        placement_group: Name of the placement group.
        reservation_id: The one reservation that the launch template targets.
        reservation_groups: ARNs of the resource groups of reservations that it or the group targets.
        reservation_ids: Reservations that the group targets.
        preference: What to do beyond the targets, in the words of the API.
        distribution: How a mixed instances policy splits on demand and spot, None where there is no such policy.
    """

    types: tuple[str, ...]
    market: str = ON_DEMAND
    interfaces: tuple[Json, ...] = ()
    security_groups: tuple[str, ...] = ()
    placement_group: str | None = None
    reservation_id: str | None = None
    reservation_groups: tuple[str, ...] = ()
    reservation_ids: tuple[str, ...] = ()
    preference: str = "open"
    distribution: Json | None = field(default=None)

    @property
    def mixed(self) -> bool:
        """Whether the group has a mixed instances policy."""
        return self.distribution is not None

    def market_of_next(self, markets: Sequence[str]) -> str:
        """The market of the next instance.

        Args:
            markets: Those of the instances that the group has.
        """
        if self.distribution is None:
            return self.market
        base = int(self.distribution.get("OnDemandBaseCapacity") or 0)
        percent = int(self.distribution.get("OnDemandPercentageAboveBaseCapacity", 100))
        on_demand = sum(1 for market in markets if market == ON_DEMAND)
        # Rounded up to on demand, as Auto Scaling does.
        wanted = base + -(-(len(markets) + 1 - base) * percent // 100)
        return ON_DEMAND if on_demand < base or on_demand < wanted else SPOT


def settings_of(
    template: Json, policy: Json | None, reservations: Json | None = None, placement_group: str | None = None
) -> LaunchSettings:
    """Read a group's settings.

    Args:
        template: Data of its launch template.
        policy: Its mixed instances policy.
        reservations: Its own capacity reservation specification.
        placement_group: Its own placement group.

    Raises:
        ValueError: It selects types by requirements, which is not modelled for Auto Scaling groups.
    """
    overrides = ((policy or {}).get("LaunchTemplate") or {}).get("Overrides") or []
    if any("InstanceType" not in override for override in overrides):
        raise ValueError("overrides by instance requirements are not modelled here")
    of_template = template.get("CapacityReservationSpecification") or {}
    target = of_template.get("CapacityReservationTarget") or {}
    of_group = reservations or {}
    of_group_target = of_group.get("CapacityReservationTarget") or {}
    group_arns = [target.get("CapacityReservationResourceGroupArn")]
    group_arns += of_group_target.get("CapacityReservationResourceGroupArns") or []
    own = template.get("InstanceType")
    return LaunchSettings(
        types=tuple(override["InstanceType"] for override in overrides) or ((str(own),) if own else ()),
        market=(template.get("InstanceMarketOptions") or {}).get("MarketType") or ON_DEMAND,
        interfaces=tuple(template.get("NetworkInterfaces") or ()),
        security_groups=(*(template.get("SecurityGroupIds") or ()), *(template.get("SecurityGroups") or ())),
        placement_group=(template.get("Placement") or {}).get("GroupName") or placement_group,
        reservation_id=target.get("CapacityReservationId"),
        reservation_groups=tuple(arn for arn in group_arns if arn),
        reservation_ids=tuple(of_group_target.get("CapacityReservationIds") or ()),
        preference=of_group.get("CapacityReservationPreference")
        or of_template.get("CapacityReservationPreference")
        or "open",
        distribution=((policy or {}).get("InstancesDistribution") or {}) if policy else None,
    )


def refusals(settings: LaunchSettings) -> Iterator[str]:
    """Everything that AWS refuses about what a group launches, whatever the capacity."""
    if not settings.types:
        yield "You must use a valid fully-formed launch template. The request must contain the parameter InstanceType"
    if settings.mixed and settings.market != ON_DEMAND:
        yield (
            "Incompatible launch template: the launch template of a mixed instances policy must not request "
            f"{settings.market} instances"
        )
    if settings.market == CAPACITY_BLOCK:
        yield from _block_refusals(settings)
    for name in settings.types:
        yield from _purchase_refusals(name, settings)
        yield from _interface_refusals(name, settings.interfaces)
    if settings.interfaces and settings.security_groups:
        yield "Network interfaces and an instance-level security groups may not be specified on the same request"


def _block_refusals(settings: LaunchSettings) -> Iterator[str]:
    if settings.placement_group:
        yield "Capacity Blocks cannot be used with a placement group"
    if settings.reservation_id is None and not settings.reservation_groups:
        yield "a market type of capacity-block needs the Capacity Block as capacity reservation target"
    if settings.preference not in ("open", "capacity-reservations-only"):
        yield f"a Capacity Block with the preference {settings.preference}"


def _purchase_refusals(name: str, settings: LaunchSettings) -> Iterator[str]:
    supported = INSTANCE_TYPES.get(name, {}).get("SupportedUsageClasses", [settings.market, SPOT])
    if settings.market not in supported and settings.market in (SPOT, CAPACITY_BLOCK):
        yield f"{name} does not support {settings.market} instances"


def _interface_refusals(name: str, interfaces: Sequence[Json]) -> Iterator[str]:
    if not interfaces:
        return
    places = [(int(item.get("NetworkCardIndex") or 0), int(item.get("DeviceIndex") or 0)) for item in interfaces]
    if (0, 0) not in places:
        yield "no primary network interface: one must have network card index 0 and device index 0"
    if len(set(places)) < len(places):
        yield "two network interfaces have the same network card index and device index"
    if len(interfaces) > 1 and any(_flag(item.get("AssociatePublicIpAddress")) for item in interfaces):
        yield (
            "The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces"
        )
    kinds = [str(item.get("InterfaceType") or "interface") for item in interfaces]
    network = INSTANCE_TYPES.get(name, {}).get("NetworkInfo", {})
    # moto describes no type that is offered nowhere any more, such as p3.2xlarge.
    for place, kind in zip(places, kinds, strict=True) if network else ():
        yield from _card_refusals(name, network, place, kind)
    for card in network.get("NetworkCards", []):
        index, most = card["NetworkCardIndex"], card["MaximumNetworkInterfaces"]
        if sum(1 for place in places if place[0] == index) > most:
            yield f"more than {most} network interfaces on network card {index} of {name}"
    efas = sum(1 for kind in kinds if kind.startswith("efa"))
    if efas > network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0):
        yield f"{name} supports fewer than {efas} EFA interfaces"


def _card_refusals(name: str, network: Json, place: tuple[int, int], kind: str) -> Iterator[str]:
    card = next((card for card in network.get("NetworkCards", []) if card["NetworkCardIndex"] == place[0]), None)
    if card is None:
        yield f"{name} has no network card {place[0]}"
    elif kind not in card.get("InterfaceTypes", ["interface"]):
        yield f"network card {place[0]} of {name} does not support interfaces of type {kind}"
    if kind == "efa-only" and place == (0, 0):
        yield "the primary network interface cannot be efa-only"


def _flag(value: object) -> bool:
    return str(value).lower() == "true"
