"""Hosts bought in advance, reserved or as a Capacity Block: whether they can start there, and leave in time."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import (
    BOUGHT_IN_ADVANCE,
    RESERVATIONS_ONLY,
    Pool,
    PoolKind,
    PurchaseOption,
    Unknown,
)
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_BLOCKS = "https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html"
_GROUPS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-groups-launch.html"
_WITH_TEMPLATE = frozenset({PoolKind.AUTO_SCALING_GROUP, PoolKind.INSTANCE})


@rule(
    "GPU160",
    Severity.ERROR,
    about=Pool,
    question="does a mixed instances policy alone say what is spot?",
    because="Auto Scaling refuses a mixed instances policy over a launch template that asks for spot itself "
    "(Incompatible launch template: github.com/kubernetes/kops/pull/7066)",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/start-instance-refresh.html",
)
def spot_in_one_place(pool: Pool) -> Iterator[Problem]:
    if pool.bought.distribution is not None and pool.bought.distribution.template_option is PurchaseOption.SPOT:
        yield Problem(
            about=pool,
            message="the launch template asks for spot with InstanceMarketOptions, and the group has a mixed "
            "instances policy, which says what is spot",
            fix="no InstanceMarketOptions, and OnDemandPercentageAboveBaseCapacity 0 in the InstancesDistribution",
        )


@rule(
    "GPU161",
    Severity.WARNING,
    about=Pool,
    question="does a mixed instances policy with a Capacity Block have distribution segments?",
    because="a group takes a Capacity Block from its launch template alone, or from a resource group of reservations "
    "with distribution segments; other types of the policy never start in the block",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/use-distribution-segments.html",
)
def block_in_segments(pool: Pool) -> Iterator[Problem]:
    if _has_policy_over_block(pool):
        yield Problem(
            about=pool,
            message="the launch template is for a capacity block, and a mixed instances policy without "
            "distribution segments stands before it",
            fix="the launch template without the policy, with the one type of the block",
        )


@rule(
    "GPU162",
    Severity.WARNING,
    about=Pool,
    question="do the hosts of a Capacity Block start outside of any placement group?",
    because="Capacity Blocks do not support placement groups; EC2 places the hosts of a block near each other itself, "
    "and a group of one's own can leave no room for them where the block is "
    "(github.com/aws/aws-parallelcluster/pull/6311)",
    source=_GROUPS,
)
def block_without_group(pool: Pool) -> Iterator[Problem]:
    if pool.bought.option is PurchaseOption.CAPACITY_BLOCK and pool.placement_group is True:
        yield Problem(
            about=pool,
            message="its hosts are in a capacity block and in a cluster placement group, which was not made around "
            "the block",
            fix="no placement group",
        )


@rule(
    "GPU163",
    Severity.ERROR,
    about=Pool,
    question="does a launch into a Capacity Block name the block?",
    because="EC2 launches into a Capacity Block by the id of its reservation or by a resource group that it is in, and "
    "by nothing else",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-launch.html",
)
def block_is_named(pool: Pool) -> Iterator[Problem]:
    if pool.kind not in _WITH_TEMPLATE or (pool.bought.reservation is not None and pool.bought.reservation.is_targeted):
        return
    if pool.bought.distribution is not None and "capacity-block" in pool.bought.distribution.segments:
        yield Problem(
            about=pool,
            message="a distribution segment is for a capacity-block, and no CapacityReservationTarget says which",
            fix="a resource group with the block in CapacityReservationTarget.CapacityReservationResourceGroupArns",
        )
    elif pool.bought.option is PurchaseOption.CAPACITY_BLOCK:
        yield Problem(
            about=pool,
            message="MarketType is capacity-block, and no CapacityReservationTarget says which",
            fix="the id of the block's reservation as CapacityReservationTarget.CapacityReservationId",
        )


@rule(
    "GPU164",
    Severity.WARNING,
    about=Pool,
    question="are as many hosts reserved as may start?",
    because="a group that starts hosts in its reservations only starts none above them",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/use-ec2-capacity-reservations.html",
)
def enough_reserved(pool: Pool) -> Iterator[Problem]:
    reserved = None if pool.bought.reservation is None else pool.bought.reservation.instances
    most = pool.max_instances
    if pool.bought.option not in BOUGHT_IN_ADVANCE or reserved is None or isinstance(reserved, Unknown):
        return
    if not isinstance(most, Unknown) and most > reserved:
        yield Problem(
            about=pool,
            message=f"there may be {most} hosts and {reserved} are reserved: hosts above these never start",
            fix=f"a MaxSize of {reserved}",
        )


@rule(
    "GPU165",
    Severity.WARNING,
    about=Pool,
    question="do the hosts of a Capacity Block leave before EC2 takes them?",
    because="EC2 terminates what still runs 30 minutes before the block ends, without draining it",
    source=_BLOCKS,
)
def block_is_drained(pool: Pool) -> Iterator[Problem]:
    if pool.bought.block is not None and pool.bought.block.ends is None:
        yield Problem(
            about=pool,
            message="no scheduled action takes its hosts away before the capacity block ends, and EC2 terminates "
            "them with their tasks 30 minutes before",
            fix="an AWS::AutoScaling::ScheduledAction with MinSize and MaxSize 0, more than 30 minutes before",
        )


@rule(
    "GPU166",
    Severity.WARNING,
    about=Pool,
    question="are reservations for hosts on demand?",
    because="a capacity reservation holds capacity for hosts on demand; a spot host never runs in it, so the "
    "reservation is paid for and stays empty",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html",
    unless=("GPU161", "GPU187"),
)
def reserved_for_on_demand(pool: Pool) -> Iterator[Problem]:
    if pool.bought.option is not PurchaseOption.SPOT or pool.bought.reservation is None:
        return
    if pool.bought.reservation.is_targeted or pool.bought.reservation.preference == RESERVATIONS_ONLY:
        yield Problem(
            about=pool,
            message="its hosts are spot, and spot hosts do not run in the capacity reservation that is named",
            fix="on demand for the reservation, and spot in a group of its own",
        )


@rule(
    "GPU167",
    Severity.WARNING,
    about=Pool,
    question="can the schedule of a Capacity Block take hosts with tasks away?",
    because="managed termination protection keeps hosts with tasks from scale-in, a scheduled one included, until EC2 "
    "terminates them without draining",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-instance-protection.html",
)
def block_can_drain(pool: Pool) -> Iterator[Problem]:
    is_scheduled = pool.bought.block is not None and pool.bought.block.ends is not None
    if is_scheduled and pool.managed_termination_protection is True:
        yield Problem(
            about=pool,
            message="managed termination protection keeps hosts with tasks when the schedule takes them away "
            "before the capacity block ends",
            fix="ManagedTerminationProtection DISABLED; managed draining lets tasks end",
        )


@rule(
    "GPU168",
    Severity.ERROR,
    about=Pool,
    question="does a target of reservations go with a preference that uses it?",
    because="a CapacityReservationTarget with the preference open or none is refused",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservationSpecification.html",
)
def target_is_used(pool: Pool) -> Iterator[Problem]:
    if pool.bought.reservation is None or pool.bought.reservation.preference not in {"open", "none"}:
        return
    if isinstance(pool.bought.reservation.id, str) or isinstance(pool.bought.reservation.group, str):
        yield Problem(
            about=pool,
            message=f"CapacityReservationPreference is {pool.bought.reservation.preference}, and a "
            "CapacityReservationTarget is named as well",
            fix="capacity-reservations-only, or no target",
        )


@rule(
    "GPU169",
    Severity.INFO,
    about=Pool,
    question="is the zone of the hosts of a Capacity Block known?",
    because="a Capacity Block is in one Availability Zone, and launches in another fail",
    source=_BLOCKS,
)
def zone_is_known(pool: Pool) -> Iterator[Problem]:
    if _is_in_one_block(pool) and pool.zones is None:
        yield Problem(
            about=pool,
            message="it is not known before the deploy whether its subnets are in the one zone of the capacity block",
            fix="one subnet, of that zone",
        )


def _has_policy_over_block(pool: Pool) -> bool:
    policy = pool.bought.distribution
    is_over_block = policy is not None and policy.template_option is PurchaseOption.CAPACITY_BLOCK
    return policy is not None and is_over_block and not policy.segments


def _is_in_one_block(pool: Pool) -> bool:
    is_block = pool.bought.option is PurchaseOption.CAPACITY_BLOCK and pool.kind is PoolKind.AUTO_SCALING_GROUP
    return is_block and (pool.bought.reservation is None or pool.bought.reservation.group is None)
