"""ECS Managed Instances: what they launch, in which reservations, and by which constraints tasks are placed on them."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Pool, PoolKind, PurchaseOption, Unknown, Workload
from gpu_constructs.hardware.managed_instances import may_be_managed
from gpu_constructs.placement.query import Attribute, conditions
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.expressions import joined, readable
from gpu_constructs.rules.evidence.lists import and_list, or_list
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_TYPES = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-types.html"
_TASKS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-tasks-services.html"
_RESERVATIONS = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityReservationRequest.html"

_EXCLUDED = "RESERVATIONS_EXCLUDED"
_ATTRIBUTES = frozenset({"ecs.availability-zone", "ecs.cpu-architecture", "ecs.instance-type", "ecs.subnet-id"})


@rule(
    "GPU185",
    Severity.WARNING,
    about=Context,
    question="do ECS Managed Instances launch the instance types?",
    because="AWS lists the families that Managed Instances launch, and of these no type of one vCPU and no nano or "
    "micro; families are added to the list",
    source=_TYPES,
)
def launched(context: Context) -> Iterator[Problem]:
    for pool in _managed(context):
        missing = [each for each in pool.instance_types if not may_be_managed(each)]
        if missing:
            families = dict.fromkeys(each.family for each in missing)
            others = len(missing) < len(pool.instance_types)
            yield Problem(
                about=pool,
                message=f"{and_list(families)} is not among the families of Managed Instances, so that "
                f"{or_list(missing)} may never come",
                fix="leave it out" if others else "capacity of an Auto Scaling group, or another family",
            )


@rule(
    "GPU186",
    Severity.WARNING,
    about=Context,
    question="do reserved Managed Instances name their capacity reservations?",
    because="with CapacityOptionType RESERVED, Managed Instances take a resource group of capacity reservations; "
    "without one there is nothing to launch into",
    source=_TYPES,
    unless=("GPU187",),
)
def names_reservations(context: Context) -> Iterator[Problem]:
    for pool in _managed(context):
        reservation = pool.bought.reservation
        if reservation is not None and reservation.group is not None:
            continue
        if pool.bought.option is PurchaseOption.RESERVED:
            yield Problem(
                about=pool,
                message="CapacityOptionType is RESERVED, and no CapacityReservations name a resource group",
                fix="CapacityReservations with ReservationGroupArn, or CapacityOptionType ON_DEMAND",
            )


@rule(
    "GPU187",
    Severity.WARNING,
    about=Context,
    question="are capacity reservations of Managed Instances used?",
    because="CapacityReservations are for CapacityOptionType RESERVED; hosts that are bought otherwise, or told to "
    "avoid reservations, leave them idle and paid for",
    source=_RESERVATIONS,
)
def uses_reservations(context: Context) -> Iterator[Problem]:
    for pool in _managed(context):
        reservation = pool.bought.reservation
        if reservation is None or isinstance(pool.bought.option, Unknown):
            continue
        if pool.bought.option is not PurchaseOption.RESERVED:
            yield Problem(
                about=pool,
                message=f"CapacityReservations are named, and the hosts are bought {pool.bought.option}",
                fix="CapacityOptionType RESERVED",
            )
        elif reservation.preference == _EXCLUDED:
            yield Problem(
                about=pool,
                message="CapacityOptionType is RESERVED, and ReservationPreference RESERVATIONS_EXCLUDED avoids every "
                "reservation",
                fix="RESERVATIONS_ONLY or RESERVATIONS_FIRST, or CapacityOptionType ON_DEMAND",
            )


@rule(
    "GPU188",
    Severity.WARNING,
    about=Workload,
    question="do placement constraints on Managed Instances use attributes that are supported there?",
    because="Managed Instances support constraints on the Availability Zone, the subnet, the instance type and the "
    "processor architecture of a host, and name no others",
    source=_TASKS,
)
def supported_attributes(workload: Workload) -> Iterator[Problem]:
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
            about=workload,
            message=f"{workload.name} is placed on Managed Instances ({managed[0].name}) by {and_list(other)}",
            fix=f"one of {or_list(sorted(_ATTRIBUTES))}, or no such constraint",
        )


@rule(
    "GPU190",
    Severity.ERROR,
    about=Context,
    question="may ECS start Managed Instances with their role?",
    because="AmazonECSInfrastructureRolePolicyForManagedInstances passes roles whose names begin with ecsInstanceRole; "
    "any other name, that of CloudFormation's own making among them, is an authorization error at task launch",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-profile.html",
)
def may_pass_role(context: Context) -> Iterator[Problem]:
    for pool in _managed(context):
        if pool.passes_host_role is False:
            yield Problem(
                about=pool,
                message="the infrastructure role has AWS's policy alone, which does not pass the role of the instance "
                "profile, because its name does not begin with ecsInstanceRole",
                fix="iam:PassRole for the ARN of that role in a policy of the infrastructure role, or such a RoleName",
            )


def _managed(context: Context) -> Iterator[Pool]:
    return (each for each in context.fleet.pools if each.kind is PoolKind.MANAGED_INSTANCES)
