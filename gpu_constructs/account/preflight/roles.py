"""Service-linked roles: are those there with which AWS starts hosts and places tasks?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from gpu_constructs.account.preflight.answer import UnansweredError
from gpu_constructs.account.preflight.check import Ask, Call, Check, Found, Question, Scope, aws, ok, short
from gpu_constructs.fleet import PARTLY_SPOT, PoolKind
from gpu_constructs.values import dataclass

__all__ = ["ROLES"]

_ROLE = Call(service="iam", operation="GetRole", resource="arn:aws:iam::*:role/aws-service-role/*")
_MISSING = "NoSuchEntity"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Role:
    """A role, the service that it is linked to, and who needs it."""

    name: str
    service: str
    is_needed: Callable[[Scope], bool]


def _has(*kinds: PoolKind) -> Callable[[Scope], bool]:
    return lambda scope: any(each.kind in kinds for each in scope.fleet.pools)


# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-service-linked-roles.html
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-service-linked-roles-instances.html
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/autoscaling-service-linked-role.html
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
# https://docs.aws.amazon.com/batch/latest/userguide/using-service-linked-roles.html
# https://docs.aws.amazon.com/autoscaling/application/userguide/application-auto-scaling-service-linked-roles.html
_ROLES = (
    _Role(
        name="AWSServiceRoleForECS",
        service="ecs.amazonaws.com",
        is_needed=_has(PoolKind.AUTO_SCALING_GROUP, PoolKind.MANAGED_INSTANCES, PoolKind.INSTANCE),
    ),
    _Role(
        name="AWSServiceRoleForECSCompute",
        service="ecs-compute.amazonaws.com",
        is_needed=_has(PoolKind.MANAGED_INSTANCES),
    ),
    _Role(
        name="AWSServiceRoleForAutoScaling",
        service="autoscaling.amazonaws.com",
        is_needed=_has(PoolKind.AUTO_SCALING_GROUP),
    ),
    _Role(
        name="AWSServiceRoleForEC2Spot",
        service="spot.amazonaws.com",
        is_needed=lambda scope: any(each.bought.option in PARTLY_SPOT for each in scope.fleet.pools),
    ),
    _Role(name="AWSServiceRoleForBatch", service="batch.amazonaws.com", is_needed=_has(PoolKind.BATCH)),
    _Role(
        name="AWSServiceRoleForApplicationAutoScaling_ECSService",
        service="ecs.application-autoscaling.amazonaws.com",
        is_needed=lambda scope: any(each.scaling is not None for each in scope.fleet.workloads),
    ),
)


def _questions(scope: Scope) -> Iterator[Question]:
    for role in _ROLES:
        if role.is_needed(scope):
            yield Question(subject=role.name, read=partial(_read, role))


def _read(role: _Role, ask: Ask) -> Found:
    try:
        found = ask(_ROLE, {"RoleName": role.name}).first.row("Role").text("RoleName")
    except UnansweredError as problem:
        if not problem.code.startswith(_MISSING):
            raise
        found = ""
    if found == role.name:
        return ok("the role is there")
    return short(
        "the role is not there: AWS makes it at the first use, if whoever deploys may, and what needs it at once fails",
        aws("iam", "create-service-linked-role", "", [("aws-service-name", role.service)]),
    )


ROLES = Check(
    id="roles",
    question="are the service-linked roles there with which AWS starts hosts and places tasks?",
    reads="a role of that name",
    calls=(_ROLE,),
    questions=_questions,
    is_global=True,
)
"""https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRole.html"""
