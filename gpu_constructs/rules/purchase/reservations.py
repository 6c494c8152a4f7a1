"""Reservations and Capacity Blocks: can hosts start in them, and leave in time?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from gpu_constructs.errors import brief
from gpu_constructs.facts import known_type
from gpu_constructs.fleet import (
    BOUGHT_IN_ADVANCE,
    RESERVATIONS_FIRST,
    RESERVATIONS_ONLY,
    Pool,
    PoolKind,
    PurchaseOption,
    Reservation,
    Subnet,
    Unknown,
)
from gpu_constructs.rules.finding import Text, Ways, Word, either, or_list, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

_WITH_TEMPLATE = frozenset({PoolKind.AUTO_SCALING_GROUP, PoolKind.BATCH, PoolKind.INSTANCE})


def _stopped(context: Context) -> Problems:
    for pool, data in context.launched:
        spot = data.section("InstanceMarketOptions").section("SpotOptions")
        asked = spot.text("InstanceInterruptionBehavior"), spot.text("SpotInstanceType")
        is_group = pool.kind is PoolKind.AUTO_SCALING_GROUP and pool.bought.distribution is None
        # Without a type it is refused as well: https://github.com/diux-dev/cluster/issues/27.
        if is_group and asked in (("stop", None), ("stop", "one-time")):
            yield Problem(
                about=pool,
                property_name="InstanceMarketOptions",
                message=f"the launch template of {pool.name} has hosts of one-time requests stopped when they are "
                "interrupted, and EC2 stops those of persistent requests alone",
                fix="leave InstanceInterruptionBehavior out: Auto Scaling replaces a host that is interrupted",
            )


@error(
    "GPU160",
    question="is Spot requested in one place, and as EC2 takes it?",
    because="Auto Scaling refuses a mixed instances policy over a launch template that requests Spot itself "
    "(Incompatible launch template: github.com/kubernetes/kops/pull/7066), and EC2 stops only hosts of persistent "
    "requests (InvalidParameterCombination: github.com/harmony-one/harmony-ops/issues/285), while those of Auto "
    "Scaling are one-time",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/interruption-behavior.html",
    in_fleet=_stopped,
)
def spot_in_one_place(pool: Pool) -> Problems:
    if pool.bought.distribution is not None and pool.bought.distribution.template_option is PurchaseOption.SPOT:
        yield Problem(
            property_name="InstanceMarketOptions",
            message="the launch template requests Spot with InstanceMarketOptions, and the group has a mixed instances "
            "policy, which says what is Spot",
            fix="remove InstanceMarketOptions; OnDemandPercentageAboveBaseCapacity of the InstancesDistribution is "
            "enough",
        )


@warning(
    "GPU162",
    question="can hosts start in both their placement group and their Capacity Reservation or Capacity Block?",
    because="EC2 places the hosts of a Capacity Block near each other itself, "
    "and an additional group can leave no room for them where the block is "
    "(github.com/aws/aws-parallelcluster/pull/6311); hosts of a reservation are near each other only if it was made in "
    "their group: of 16 reserved hosts 11 started (github.com/eksctl-io/eksctl/issues/7949)",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-groups-launch.html",
)
def start_in_their_group(pool: Pool) -> Problems:
    reservation = pool.bought.reservation
    if pool.placement_group is not True:
        return
    if pool.bought.option is PurchaseOption.CAPACITY_BLOCK:
        yield Problem(
            property_name="PlacementGroup",
            message="a Capacity Block places its hosts near each other itself, and they may not start in another "
            "placement group",
            fix=Text("remove ", Word("the placement group")),
        )
    elif reservation is not None and reservation.comes_first:
        # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-cpg.html
        yield Problem(
            property_name="PlacementGroup",
            message="a reservation that was not made in the placement group may have hosts far from each other, which "
            "may not start in the group",
            fix="remove the placement group, or make the reservation in it (PlacementGroupArn)",
        )


@error(
    "GPU163",
    question="does a launch into a Capacity Block name the block?",
    because="EC2 launches into a Capacity Block only by the id of its reservation or by a resource group that holds it",
    softer="where the id is empty, as a parameter is by default until a deploy gives it",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-launch.html",
    changes="CapacityReservationSpecification",
)
def block_is_named(pool: Pool) -> Problems:
    distribution, named = pool.bought.distribution, pool.bought.reservation
    if pool.kind not in _WITH_TEMPLATE or (named and named.is_targeted and (named.id, named.group) != ("", None)):
        return
    what, key, names = "MarketType is capacity-block", "CapacityReservationId", "the id of the block's reservation"
    if distribution is not None and "capacity-block" in distribution.segments:
        what, names = "a distribution segment is for a Capacity Block", "a resource group that holds the block"
        key = "CapacityReservationResourceGroupArns"
    elif pool.bought.option is not PurchaseOption.CAPACITY_BLOCK:
        return
    yield Problem(
        message=f"{what}, and no CapacityReservationTarget names the block",
        fix=f"put {names} in CapacityReservationTarget.{key}",
        is_certain=named is None or named.id != "",
    )


@error(
    "GPU310",
    question="do hosts have the instance type and the zone of their Capacity Reservation?",
    because="EC2 launches an instance into a Capacity Reservation only if both are of one instance type and in one "
    "Availability Zone, and refuses every other launch that names the reservation",
    softer="where a group starts hosts on demand instead, and the reservation is paid for but not used",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-launch.html",
)
def of_the_reserved_type(pool: Pool) -> Problems:
    reservation = pool.bought.reservation
    if reservation is None or pool.bought.option is PurchaseOption.SPOT:
        return  # Spot starts in no reservation
    reserved = reservation.instance_type
    named = f"Capacity Reservation {reservation.id}" if isinstance(reservation.id, str) else "the Capacity Reservation"
    if pool.subnets and reservation.zone and all(map(reservation.zone.is_apart, pool.subnets)):
        yield Problem(
            property_name="ComputeResources.Subnets" if pool.kind is PoolKind.BATCH else "VPCZoneIdentifier",
            value=[each.zone for each in pool.subnets if each.zone],
            message=f"the hosts of {pool.name} start in {_zones(*pool.subnets)}, and {named} is in "
            f"{_zones(reservation.zone)}",
            fix="a subnet in the zone of the reservation",
            is_certain=reservation.preference != RESERVATIONS_FIRST,
        )
    if not isinstance(reserved, str) or not pool.types_are_known:
        return
    names = [each.name for each in pool.instance_types]
    if reserved not in names:
        yield Problem(
            property_name="ComputeResources.InstanceTypes" if pool.kind is PoolKind.BATCH else "InstanceType",
            value=names,
            allowed=reserved,
            message=f"the hosts of {pool.name} are {or_list(names)}, and they start in {named} of {brief(reserved)}",
            fix="one instance type for both",
            ways=_of_one_type(pool, reservation, reserved),
            is_certain=reservation.preference != RESERVATIONS_FIRST,
        )


@warning(
    "GPU164",
    question="is there a reservation for every host that may start?",
    because="a group that uses its reservations only starts no host above them",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/use-ec2-capacity-reservations.html",
)
def enough_reserved(pool: Pool) -> Problems:
    reserved, most = pool.bought.reserved_alone, pool.max_instances
    if reserved is None or pool.kind is PoolKind.BATCH:  # which counts in vCPUs
        return
    if not isinstance(most, Unknown) and most > reserved:
        yield Problem(
            property_name="MaxSize",
            value=most,
            message=Text(
                Word("MaxSize"),
                f" is {most} and {reserved} {'host is' if reserved == 1 else 'hosts are'} reserved: the others never "
                "start",
            ),
            allowed=f"1 to {reserved}",
            fix=Text("lower ", Word("MaxSize"), f" to {reserved}"),
        )


@warning(
    "GPU251",
    question="can all hosts that were bought in advance start?",
    because="what is reserved is paid for, whether hosts run in it or not",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-pricing-billing.html",
)
def every_reserved_host_is_used(context: Context) -> Problems:
    for pools in context.once(_by_reservation).values():
        reserved = [each.bought.reservation.instances for each in pools if each.bought.reservation is not None]
        most = [each.max_instances for each in pools]
        counted = [each for each in (*reserved, *most) if isinstance(each, int)]
        if len(counted) < len(reserved) + len(most):
            continue
        paid, started = max(counted[: len(pools)]), sum(counted[len(pools) :])
        if started < paid:
            names = with_verb((each.name for each in pools), "starts", "start")
            yield Problem(
                about=pools[0],
                property_name="MaxSize",
                value=pools[0].max_instances,
                message=f"{paid} hosts are reserved and paid for, and {names} {started} of them at most",
                fix=Text("raise ", Word("MaxSize"), f" by {paid - started}, unless others use the rest"),
            )


@warning(
    "GPU165",
    question="do the hosts of a Capacity Block leave before EC2 terminates them?",
    because="30 minutes before a block ends, EC2 terminates the hosts that still run, without draining them; managed "
    "termination protection excludes hosts with tasks from scale-in, also from a scheduled one, until then",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html",
    changes="MinSize",
)
def block_is_drained(pool: Pool) -> Problems:
    if pool.bought.block is None:
        return
    if pool.bought.block.ends is not None and pool.managed_termination_protection is True:
        # https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-instance-protection.html
        yield Problem(
            property_name="ManagedTerminationProtection",
            message="managed termination protection keeps hosts with tasks when the schedule empties the group before "
            "the Capacity Block ends",
            fix=Text("set ", Word("ManagedTerminationProtection to DISABLED"), "; managed draining lets tasks end"),
            changes="ManagedTerminationProtection",
        )
    if pool.bought.block.ends is None:
        yield Problem(
            message="no scheduled action removes the hosts before the Capacity Block ends, and EC2 terminates them "
            "with their tasks 30 minutes before",
            fix="add an AWS::AutoScaling::ScheduledAction with MinSize and MaxSize 0, more than 30 minutes before the "
            "end",
        )


@warning(
    "GPU166",
    question="do the hosts use the Capacity Reservations that they name?",
    because="a Capacity Reservation holds capacity for On-Demand hosts, and for Managed Instances with the "
    "CapacityOptionType RESERVED; a Spot host never runs in it, nor one that avoids reservations, so it is paid for "
    "and stays empty",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html",
    changes="InstanceMarketOptions",
    unless=("GPU104", "GPU160"),
)
def reservations_are_used(pool: Pool) -> Problems:
    reservation, option = pool.bought.reservation, pool.bought.option
    if reservation is None:
        return
    if pool.kind is PoolKind.MANAGED_INSTANCES:
        yield from _unused_by_managed(pool, reservation)
    elif option is PurchaseOption.SPOT and (reservation.is_targeted or reservation.preference == RESERVATIONS_ONLY):
        yield Problem(
            message="the hosts are Spot, and Spot hosts do not run in the Capacity Reservation that is named",
            fix="use On-Demand for the reservation, and a second group for Spot",
        )


def _unused_by_managed(pool: Pool, reservation: Reservation) -> Problems:
    """See https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityReservationRequest.html."""
    if not isinstance(pool.bought.option, Unknown) and pool.bought.option is not PurchaseOption.RESERVED:
        yield Problem(
            property_name="CapacityOptionType",
            value=pool.bought.option,
            message=f"CapacityReservations are named, and the hosts are bought {pool.bought.option}",
            allowed="RESERVED",
            fix="CapacityOptionType RESERVED",
            changes="CapacityOptionType",
        )
    elif reservation.preference == "RESERVATIONS_EXCLUDED":
        yield Problem(
            property_name="ReservationPreference",
            value=reservation.preference,
            message="CapacityOptionType is RESERVED, and ReservationPreference RESERVATIONS_EXCLUDED avoids every "
            "reservation",
            fix="RESERVATIONS_ONLY or RESERVATIONS_FIRST, or CapacityOptionType ON_DEMAND",
            changes="ReservationPreference",
        )


def _zones(*places: Subnet) -> str:
    """Zones by name, or by their place in the list of the region's zones."""
    return or_list(dict.fromkeys(each.zone or f"zone {each.zone_index} of Fn::GetAZs" for each in places))


def _of_one_type(pool: Pool, reservation: Reservation, reserved: str) -> Ways:
    listed, first = known_type(reserved), pool.instance_types[0].name
    other = replace(pool.bought, reservation=replace(reservation, instance_type=first))
    return either(
        *([(f"InstanceType {listed} of the hosts", replace(pool, instance_types=(listed,)))] if listed else []),
        (f"InstanceType {first} of the reservation", replace(pool, bought=other)),
    )


def _by_reservation(context: Context) -> Mapping[tuple[bool, str], list[Pool]]:
    """Pools that use one reservation alone, by whether it is named by its id, and that or the name of its group."""
    found: dict[tuple[bool, str], list[Pool]] = defaultdict(list)
    for each in context.fleet.pools:
        reservation = each.bought.reservation
        is_paid = each.bought.option in BOUGHT_IN_ADVANCE and each.kind is not PoolKind.BATCH
        if is_paid and reservation is not None and reservation.instances is not None:
            by_id = isinstance(reservation.id, str)
            name = reservation.id if by_id else reservation.group
            if isinstance(name, str):  # else it is not known which one it is, or whether others use it
                found[by_id, name].append(each)
    return found
