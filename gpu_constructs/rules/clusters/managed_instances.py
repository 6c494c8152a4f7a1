"""ECS Managed Instances: can ECS launch them, in their reservations, and place tasks on them?"""

from __future__ import annotations

from gpu_constructs.facts.aws_limits import may_be_managed
from gpu_constructs.fleet import Pool, PoolKind, PurchaseOption, Unknown, Workload
from gpu_constructs.placement.query import Attribute, conditions
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.expressions import joined, readable
from gpu_constructs.rules.rule import Problem, Problems, warning
from gpu_constructs.rules.words import and_list, or_list, with_verb

_TYPES = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-types.html"

_EXCLUDED = "RESERVATIONS_EXCLUDED"
_ATTRIBUTES = frozenset({"ecs.availability-zone", "ecs.cpu-architecture", "ecs.instance-type", "ecs.subnet-id"})


@warning(
    "GPU185",
    question="do ECS Managed Instances launch the instance types?",
    because="AWS lists the families that Managed Instances launch, and of these no type with one vCPU and no nano or "
    "micro; AWS adds families to the list",
    source=_TYPES,
)
def launched(pool: Pool) -> Problems:
    if pool.kind is not PoolKind.MANAGED_INSTANCES:
        return
    missing = [each for each in pool.instance_types if not may_be_managed(each)]
    if missing:
        families = dict.fromkeys(each.family for each in missing)
        others = len(missing) < len(pool.instance_types)
        yield Problem(
            property_name="AllowedInstanceTypes",
            value=[each.name for each in missing],
            message=f"{with_verb(families, 'is', 'are')} not among the families of Managed Instances, which may never "
            f"launch {or_list(missing)}",
            fix=f"leave out {and_list(missing)}" if others else "use an Auto Scaling group, or another family",
        )
    doubts = dict.fromkeys(each.traits.managed_doubt for each in pool.instance_types)
    if doubts and None not in doubts:
        yield Problem(
            property_name="AllowedInstanceTypes",
            value=[each.name for each in pool.instance_types],
            message=f"whether Managed Instances launch {or_list(pool.instance_types)} is in doubt: "
            f"{and_list(each for each in doubts if each)}",
            fix="use an Auto Scaling group, or another family",
        )


@warning(
    "GPU187",
    question="do Managed Instances use the Capacity Reservations that they name?",
    because="CapacityReservations apply to CapacityOptionType RESERVED; other hosts, and hosts that avoid "
    "reservations, leave them idle and paid for",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityReservationRequest.html",
)
def reservations_are_used(pool: Pool) -> Problems:
    reservation = pool.bought.reservation
    if pool.kind is not PoolKind.MANAGED_INSTANCES or reservation is None or isinstance(pool.bought.option, Unknown):
        return
    if pool.bought.option is not PurchaseOption.RESERVED:
        yield Problem(
            property_name="CapacityOptionType",
            value=pool.bought.option,
            message=f"CapacityReservations are named, and the hosts are bought {pool.bought.option}",
            allowed="RESERVED",
            fix="CapacityOptionType RESERVED",
        )
    elif reservation.preference == _EXCLUDED:
        yield Problem(
            property_name="ReservationPreference",
            value=reservation.preference,
            message=f"CapacityOptionType is RESERVED, and ReservationPreference {_EXCLUDED} avoids every reservation",
            fix="RESERVATIONS_ONLY or RESERVATIONS_FIRST, or CapacityOptionType ON_DEMAND",
        )


@warning(
    "GPU188",
    question="do Managed Instances support the attributes of the placement constraints?",
    because="the documentation of Managed Instances lists constraints on the Availability Zone, the subnet, the "
    "instance type and the processor architecture of a host, and no others",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html",
)
def supported_attributes(workload: Workload) -> Problems:
    pools = [item.pool for item in workload.strategy if item.pool is not None]
    managed = [each for each in pools if each.kind is PoolKind.MANAGED_INSTANCES]
    if not managed:
        return
    inherited = workload.task.constraints if workload.task is not None else ()
    query = joined(readable((*inherited, *workload.constraints)))
    subjects = [each.subject for each in conditions(query)] if query is not None else []
    names = [each.name for each in subjects if isinstance(each, Attribute)]
    other = dict.fromkeys(each for each in names if each not in _ATTRIBUTES)
    if other:
        yield Problem(
            property_name="PlacementConstraints",
            value=list(other),
            message=f"placement constraints of {workload.name} use {and_list(other)}, which Managed Instances "
            f"({managed[0].name}) may not support",
            allowed=or_list(sorted(_ATTRIBUTES)),
            fix="remove the constraint, or use a supported attribute",
        )


@warning(
    "GPU301",
    question="does only the capacity provider of Managed Instances name its cluster?",
    because="ECS associates Managed Instances with their cluster itself, by ClusterName; in October 2025 it refused a "
    'list that named them, "Cannot associate Managed Instances capacity provider to clusters using this API", and '
    "reports of December 2025 show a list refused only while the provider is not ACTIVE "
    "(github.com/hashicorp/terraform-provider-aws/issues/45693, github.com/pulumi/pulumi-aws/issues/6061)",
    source="https://github.com/hashicorp/terraform-provider-aws/issues/44783",
)
def not_listed(context: Context) -> Problems:
    for pool in context.fleet.pools:
        resource = context.resource(pool)
        if resource is None or context.files is None or pool.kind is not PoolKind.MANAGED_INSTANCES:
            continue
        listed_at = context.files.clusters.association_of(resource.reference)
        if listed_at is not None:
            yield Problem(
                about=pool,
                property_name="CapacityProviders",
                origin=listed_at,
                message=f"a list of capacity providers names {pool.name}, which ECS associates with its cluster by "
                "ClusterName: it may refuse the list, at least while the provider is not ACTIVE",
                fix=f"leave {pool.name} out of CapacityProviders; a strategy may name it all the same",
            )
