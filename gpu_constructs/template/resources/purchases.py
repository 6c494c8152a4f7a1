"""Which types an Auto Scaling group may launch and how it buys them: its own properties and its launch template.

https://docs.aws.amazon.com/autoscaling/ec2/userguide/target-capacity-reservations.html
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from gpu_constructs.facts import Architecture, known_type
from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.facts.budget import ENTRIES, NAME
from gpu_constructs.fleet import (
    RESERVATIONS_FIRST,
    RESERVATIONS_ONLY,
    RESERVED_INSTANCES,
    UNKNOWN,
    Bought,
    Distribution,
    InstanceRequirements,
    PurchaseOption,
    Reservation,
    TypeChoice,
    Unknown,
)
from gpu_constructs.fleet.purchase import RANGES, REQUIREMENTS, selected_types
from gpu_constructs.template.model import Reference, Resource, Value
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.networks import in_zone
from gpu_constructs.template.resources.section import Section, given, is_list

_SPECIFICATION = "CapacityReservationSpecification"

_MARKETS = {
    "capacity-block": PurchaseOption.CAPACITY_BLOCK,
    "interruptible-capacity-reservation": PurchaseOption.RESERVED,
    "on-demand": PurchaseOption.ON_DEMAND,
    "spot": PurchaseOption.SPOT,
}

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservationSpecification.html, and its like of
# Auto Scaling
_OF_TEMPLATE = (RESERVATIONS_ONLY, "none", "open")
_OF_GROUP = (RESERVATIONS_FIRST, RESERVATIONS_ONLY, "default", "none")
_TARGETS = ("capacity-block", "interruptible-capacity-reservation", "on-demand", "on-demand-capacity-reservation")

_SEGMENTS = {
    frozenset({"capacity-block"}): PurchaseOption.CAPACITY_BLOCK,
    frozenset({"interruptible-capacity-reservation"}): PurchaseOption.RESERVED,
    frozenset({"on-demand-capacity-reservation"}): PurchaseOption.RESERVED,
    frozenset({"on-demand"}): PurchaseOption.ON_DEMAND,
}


def bought_by_template(data: Section, index: Index) -> Bought:
    """How a launch template buys."""
    return Bought(
        option=_option_of_template(data),
        reservation=_reservation(
            data, index, id_key="CapacityReservationId", group_key="CapacityReservationResourceGroupArn"
        ),
    )


def bought_by_configuration(properties: Section) -> Bought:
    """How a launch configuration buys."""
    return Bought(option=PurchaseOption.ON_DEMAND if properties.text("SpotPrice") is None else PurchaseOption.SPOT)


def bought_by_policy(policy: Section, of_template: Bought, options: Collection[PurchaseOption | Unknown]) -> Bought:
    """How a mixed instances policy buys, given how its launch template and those of its overrides would."""
    # Auto Scaling refuses the policy for one launch template that asks for spot.
    is_spot, is_one = PurchaseOption.SPOT in options, len(options) == 1
    option = PurchaseOption.SPOT if is_spot else of_template.option if is_one else UNKNOWN
    distribution = _distribution(policy, option)
    return replace(of_template, option=_option_of(distribution), distribution=distribution)


def bought_by_group(group: Resource, properties: Section, of_launch: Bought, index: Index) -> Bought:
    """How a group buys, after what it says about capacity reservations itself."""
    return replace(
        of_launch,
        option=_with_preference(properties, of_launch.option),
        reservation=_reservation_of_group(group, properties, of_launch.reservation, index),
    )


def _option_of_template(data: Section) -> PurchaseOption | Unknown:
    """How a launch template buys, in one word.

    A capacity reservation that is named is used alone: there is no host where it has no room left
    (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html). Of a resource group of them
    hosts start on demand above what it has, unless the preference forbids it
    (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-groups-launch.html).
    """
    market = data.section("InstanceMarketOptions").looked_up("MarketType", _MARKETS)
    if market is not None:
        return market
    reservation = data.section(_SPECIFICATION)
    target = reservation.section("CapacityReservationTarget")
    preference = reservation.one_of("CapacityReservationPreference", _OF_TEMPLATE)
    if preference == RESERVATIONS_ONLY or target.has("CapacityReservationId"):
        return PurchaseOption.RESERVED
    return UNKNOWN if isinstance(preference, Unknown) or target.is_unknown else PurchaseOption.ON_DEMAND


def _distribution(policy: Section, template_option: PurchaseOption | Unknown) -> Distribution:
    written = policy.section("InstancesDistribution")
    segments: list[str | Unknown] = []
    for segment in written.sections("DistributionSegments"):
        for each in segment.texts("TargetCapacityTypes"):
            segment.note_unless(each, _TARGETS, "TargetCapacityTypes")
            segments.append(each)
    return Distribution(
        on_demand_base=written.integer("OnDemandBaseCapacity") or 0,
        on_demand_percentage=given(written.integer("OnDemandPercentageAboveBaseCapacity"), MAX_PERCENT),
        spot_allocation=written.text("SpotAllocationStrategy"),
        segments=tuple(segments),
        template_option=template_option,
    )


def _option_of(distribution: Distribution) -> PurchaseOption | Unknown:
    """How a mixed instances policy buys; without a word about it, as its launch template says.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html
    """
    if distribution.segments:
        return _SEGMENTS.get(frozenset(each for each in distribution.segments if isinstance(each, str)), UNKNOWN)
    base, percentage = distribution.on_demand_base, distribution.on_demand_percentage
    if isinstance(base, Unknown) or isinstance(percentage, Unknown):
        return UNKNOWN
    if percentage == MAX_PERCENT:
        return distribution.template_option
    return PurchaseOption.SPOT if percentage == 0 and not base else PurchaseOption.MIXED


def _with_preference(properties: Section, option: PurchaseOption | Unknown) -> PurchaseOption | Unknown:
    """How a group buys what its launch template or policy would buy on demand."""
    if option is not PurchaseOption.ON_DEMAND:
        return option
    preference = properties.section(_SPECIFICATION).one_of("CapacityReservationPreference", _OF_GROUP)
    if isinstance(preference, Unknown):
        return UNKNOWN
    return PurchaseOption.RESERVED if preference == RESERVATIONS_ONLY else option


def _reservation_of_group(
    group: Resource, properties: Section, of_template: Reservation | None, index: Index
) -> Reservation | None:
    """The capacity reservations that the hosts of a group run in; None where none is named.

    What the group says goes before what its launch template says, unless it says ``default``.
    """
    own = _reservation(
        properties, index, id_key="CapacityReservationIds", group_key="CapacityReservationResourceGroupArns"
    )
    found = own
    if own is None or (own.preference in {None, "default"} and not own.is_targeted):
        found = of_template
    elif of_template is not None and not own.is_targeted and own.preference != "none":
        found = replace(of_template, preference=own.preference)
    return None if found is None else replace(found, instances=_instances(group, found))


def _reservation(section: Section, index: Index, *, id_key: str, group_key: str) -> Reservation | None:
    if section.get(_SPECIFICATION) is None:
        return None
    specification = section.section(_SPECIFICATION)
    target = specification.section("CapacityReservationTarget")
    reserved = index.find(_named(target, id_key), "AWS::EC2::CapacityReservation")
    facts = None if reserved is None else Section.of(reserved, [])
    return Reservation(
        preference=specification.text("CapacityReservationPreference"),
        id=_one(target, id_key),
        group=_one(target, group_key),
        instance_type=None if facts is None else facts.text("InstanceType"),
        instances=None if facts is None else facts.integer("InstanceCount"),
        zone=None if facts is None else in_zone(facts.get("AvailabilityZone")),
    )


def _one(target: Section, key: str) -> str | Unknown | None:
    """The launch template names one, the group a list of them; one that the files define is named by its logical id."""
    texts = target.texts(key) if key.endswith("s") else (target.text(key),)
    if len(texts) != 1:
        return UNKNOWN if texts else None
    first = _named(target, key)
    return first.logical_id if isinstance(first, Reference) else texts[0]


def _named(target: Section, key: str) -> Value:
    written = target.get(key)
    return written if not is_list(written) else written[0] if len(written) == 1 else None


def _instances(group: Resource, of: Reservation) -> int | Unknown | None:
    written = group.own_metadata.get(RESERVED_INSTANCES)
    if written is None:
        return of.instances
    return written if isinstance(written, int) and not isinstance(written, bool) else UNKNOWN


_MANUFACTURERS = {
    "amazon-web-services": Architecture.ARM64,
    "amd": Architecture.X86_64,
    "intel": Architecture.X86_64,
}
_LISTS = {field: name for field, name in REQUIREMENTS.items() if field not in (*RANGES, "local_storage")}
_LOCAL_STORAGE = frozenset({"required", "excluded"})


def and_also(one: TypeChoice, other: TypeChoice) -> TypeChoice:
    """Both choices, the first one first."""
    wanted = {each for each in (one.requirements, other.requirements) if each is not None}
    return TypeChoice(
        instance_types=tuple(dict.fromkeys((*one.instance_types, *other.instance_types))),
        unknown_type_names=tuple(dict.fromkeys((*one.unknown_type_names, *other.unknown_type_names))),
        has_unknown_types=one.has_unknown_types or other.has_unknown_types,
        requirements=next(iter(wanted)) if len(wanted) == 1 else None,
    )


def types_asked_for(section: Section, architecture: Architecture | None) -> TypeChoice | None:
    """Types by their name, or by what they must be; None where the section says neither."""
    name = section.text("InstanceType")
    if isinstance(name, Unknown):
        return TypeChoice(has_unknown_types=True)
    if name is not None:
        found = known_type(name)
        return TypeChoice(unknown_type_names=(name,)) if found is None else TypeChoice(instance_types=(found,))
    if section.get("InstanceRequirements") is not None:
        return instance_types_of(section.section("InstanceRequirements"), architecture)
    return None


def instance_types_of(
    section: Section, architecture: Architecture | None, *, managed: bool = False, of_batch: bool = False
) -> TypeChoice:
    """Types by what they must be: an ``InstanceRequirements`` object, and the architecture of the image.

    That of AWS Batch has ``AllowedInstanceTypes`` only, among which are families
    (https://docs.aws.amazon.com/batch/latest/APIReference/API_InstanceRequirementsRequest.html).
    """
    bounds = {field: section.section(key) for field, key in REQUIREMENTS.items() if field in RANGES}
    ranges = {field: (each.integer("Min"), each.integer("Max")) for field, each in bounds.items()}
    lists = {key: section.texts(key) for key in (*_LISTS.values(), "CpuManufacturers")}
    # Auto Scaling takes none of the first two unless it is set so
    # (https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstanceRequirements.html).
    rules = tuple(section.text(key) for key in ("BareMetal", "BurstablePerformance"))
    disks = section.text("LocalStorage")
    known = {key: tuple(each for each in entries if isinstance(each, str)) for key, entries in lists.items()}
    unread = [key for key in lists if len(lists[key]) > ENTRIES or any(len(each) > NAME for each in known[key])]
    for key in unread:
        section.note(f"expects {ENTRIES} entries of {NAME} characters at most", section.get(key), key)
    everything = (*(bound for pair in ranges.values() for bound in pair), *(x for one in lists.values() for x in one))
    if unread or any(isinstance(each, Unknown) for each in (*everything, *rules, disks)):
        return TypeChoice(has_unknown_types=True)
    if of_batch:
        key = _LISTS["allowed_instance_types"]
        known[key] = tuple([each if "." in each or "*" in each else f"{each}.*" for each in known[key]])
    fields: dict[str, Any] = ranges | {field: known[key] for field, key in _LISTS.items()}
    requirements = InstanceRequirements(
        cpu_architectures=_architectures(known["CpuManufacturers"], architecture),
        local_storage=tuple(each for each in (disks,) if isinstance(each, str) and each in _LOCAL_STORAGE),
        **fields,
    )
    types = selected_types(requirements, *map(str, rules), managed=managed)
    return TypeChoice(instance_types=types, requirements=requirements)


def _architectures(manufacturers: tuple[str, ...], image: Architecture | None) -> tuple[Architecture, ...]:
    made = tuple(dict.fromkeys(_MANUFACTURERS[each] for each in manufacturers if each in _MANUFACTURERS))
    if image is None or made == (image,):
        return made
    return (image,) if not made or image in made else made
