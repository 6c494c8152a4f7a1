"""Service-linked roles: are those there with which AWS starts hosts and places tasks?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from gpu_constructs.account.preflight.answer import UnansweredError
from gpu_constructs.account.preflight.check import Ask, Call, Check, Found, Question, Scope, aws, ok, short
from gpu_constructs.fleet import PARTLY_SPOT, Pool, PoolKind
from gpu_constructs.values import dataclass

_ROLE = Call(service="iam", operation="GetRole", resource="arn:aws:iam::*:role/aws-service-role/*")
_MISSING = "NoSuchEntity"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Role:
    """A role, the service that it is linked to, who needs it, and when AWS makes it.

    Attributes:
        name: Its name.
        service: The service that it is linked to.
        made: When AWS makes it by itself.
        needs: Whether a pool needs it.
        needs_before: Whether a pool needs it before AWS makes it, so that a first deploy fails without it.
    """

    name: str
    service: str
    made: str
    needs: Callable[[Pool], bool] = lambda _: False
    needs_before: Callable[[Pool], bool] = lambda _: False


def _is(*kinds: PoolKind) -> Callable[[Pool], bool]:
    return lambda pool: pool.kind in kinds


def _is_spot(pool: Pool) -> bool:
    return pool.bought.option in PARTLY_SPOT


# What is said of each was read on 2026-11-22.
_ROLES = (
    # CreateCluster makes it, and a first CreateCapacityProvider of a group fails without it, although the same deploy
    # makes a cluster (https://github.com/aws/containers-roadmap/issues/631).
    # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCluster.html
    # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-service-linked-roles.html
    _Role(
        name="AWSServiceRoleForECS",
        service="ecs.amazonaws.com",
        made="with the first cluster",
        needs=_is(PoolKind.AUTO_SCALING_GROUP, PoolKind.MANAGED_INSTANCES, PoolKind.INSTANCE),
        needs_before=lambda pool: pool.kind is PoolKind.AUTO_SCALING_GROUP and pool.has_provider,
    ),
    # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-service-linked-roles-instances.html
    _Role(
        name="AWSServiceRoleForECSCompute",
        service="ecs-compute.amazonaws.com",
        made="with the first capacity provider of ECS Managed Instances",
        needs=_is(PoolKind.MANAGED_INSTANCES),
    ),
    # https://docs.aws.amazon.com/autoscaling/ec2/userguide/autoscaling-service-linked-role.html
    _Role(
        name="AWSServiceRoleForAutoScaling",
        service="autoscaling.amazonaws.com",
        made="with the first Auto Scaling group",
        needs=_is(PoolKind.AUTO_SCALING_GROUP),
    ),
    # "If you use the AWS CLI or an API to request a Spot Instance, you must first ensure that this role exists"; but
    # the role of Auto Scaling may make it.
    # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
    # https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AutoScalingServiceRolePolicy.html
    # https://docs.aws.amazon.com/batch/latest/userguide/spot-fleet-roles-cli.html
    _Role(
        name="AWSServiceRoleForEC2Spot",
        service="spot.amazonaws.com",
        made="when an Auto Scaling group first asks for Spot hosts",
        needs=_is_spot,
        needs_before=lambda pool: _is_spot(pool) and pool.kind is not PoolKind.AUTO_SCALING_GROUP,
    ),
    # https://docs.aws.amazon.com/batch/latest/APIReference/API_CreateComputeEnvironment.html (serviceRole)
    _Role(
        name="AWSServiceRoleForBatch",
        service="batch.amazonaws.com",
        made="with the first managed compute environment",
        needs=_is(PoolKind.BATCH),
    ),
)
# https://docs.aws.amazon.com/autoscaling/application/userguide/services-that-can-integrate-ecs.html
_OF_SERVICES = _Role(
    name="AWSServiceRoleForApplicationAutoScaling_ECSService",
    service="ecs.application-autoscaling.amazonaws.com",
    made="with the first service of ECS that scales",
)


def _questions(scope: Scope) -> Iterator[Question]:
    pools = scope.fleet.pools
    for role in _ROLES:
        if any(map(role.needs, pools)):
            read = partial(_read, role, is_needed_before=any(map(role.needs_before, pools)))
            yield Question(subject=role.name, read=read)
    if any(each.scaling is not None for each in scope.fleet.workloads):
        yield Question(subject=_OF_SERVICES.name, read=partial(_read, _OF_SERVICES, is_needed_before=False))


def _read(role: _Role, ask: Ask, *, is_needed_before: bool) -> Found:
    try:
        found = ask(_ROLE, {"RoleName": role.name}).first.row("Role").text("RoleName")
    except UnansweredError as problem:
        if not problem.code.startswith(_MISSING):
            raise
        found = ""
    if found == role.name:
        return ok("the role is there")
    command = aws("iam", "create-service-linked-role", "", [("aws-service-name", role.service)])
    if is_needed_before:
        return short("the role is not there, and a first deploy may need it before AWS makes it", command, "missing")
    text = f"AWS makes the role {role.made}, if whoever deploys may call iam:CreateServiceLinkedRole"
    return replace(ok(f"{text}; if not, make it before"), fix=command)


ROLES = Check(
    id="roles",
    question="are the service-linked roles there with which AWS starts hosts and places tasks?",
    reads="a role of that name, or one that AWS makes by itself and in time",
    calls=(_ROLE,),
    questions=_questions,
    without="no pool needs one",
    is_global=True,
)
"""https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRole.html"""
