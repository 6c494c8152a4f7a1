"""The account of the credentials: is it that of the files, and is all set up in it that hosts and tasks need?

That is the service-linked roles with which AWS starts hosts and places tasks, and settings of ECS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from gpu_constructs.account.preflight.check import (
    Ask,
    Call,
    Check,
    Found,
    Question,
    Scope,
    UnansweredError,
    aws,
    ok,
    short,
    unchecked,
)
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.aws_limits import may_have_trunk
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import PARTLY_SPOT, Pool, PoolKind
from gpu_constructs.placement.costs import place_of
from gpu_constructs.placement.reasons import listed

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


_WHO = Call(service="sts", operation="GetCallerIdentity")


def _questions_identity(scope: Scope) -> Iterator[Question]:
    if accounts := _accounts(scope.pools):
        yield Question(subject=listed(accounts), read=partial(_read_identity, accounts, _accounts(scope.fleet.pools)))


def _read_identity(accounts: list[str], of_fleet: list[str], ask: Ask) -> Found:
    own = ask(_WHO, {}).first.text("Account")
    others = [each for each in accounts if each != own]
    if not others:
        return ok("the credentials are of this account")
    text = f"the credentials are of account {own}: nothing of {listed(others)} is checked"
    fix = "--profile NAME with credentials of each account that the files are deployed to"
    # Where the app is deployed to several accounts, each is asked about by itself.
    return unchecked(text, fix) if own in of_fleet else short(text, fix, "differs")


def in_account(scope: Scope, ask: Ask) -> Scope:
    """What is deployed to the account of the credentials: the others cannot be asked about.

    Args:
        scope: All that is deployed to the region.
        ask: Asks AWS; where it does not answer, all of it stays.
    """
    if not _accounts(scope.fleet.pools):
        return scope
    try:
        own = ask(_WHO, {}).first.text("Account")
    except UnansweredError:
        return scope
    fleet = replace(scope.fleet, pools=tuple(each for each in scope.fleet.pools if _may_be_of(each, own)))
    return replace(scope, pools=tuple(each for each in scope.pools if _may_be_of(each, own)), fleet=fleet)


def _accounts(pools: Iterable[Pool]) -> list[str]:
    return sorted({account for each in pools if (account := place_of(each).account) is not None})


def _may_be_of(pool: Pool, account: str) -> bool:
    return place_of(pool).account in {None, account}


ACCOUNT = Check(
    id="account",
    question="are the credentials those of the account that the files are deployed to?",
    reads=(
        "the account of the credentials, where the files name theirs; pools of another account are left out, and where "
        "all are, it differs"
    ),
    calls=(_WHO,),
    questions=_questions_identity,
    without="the files do not name an account",
)
"""https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html"""


_SETTINGS = Call(service="ecs", operation="ListAccountSettings")
# They are on in accounts of today, which cannot turn them off: "You can no longer disable Long Arn settings", ECS says
# (https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/ecs_account_setting_default). Tags need
# them (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PutAccountSetting.html). Read 2026-11-22.
_LONG = ("serviceLongArnFormat", "taskLongArnFormat", "containerInstanceLongArnFormat")
_TRUNKING = "awsvpcTrunking"
_ON = {"enabled", "on"}


def _questions_settings(scope: Scope) -> Iterator[Question]:
    for name in _LONG:
        yield Question(subject=name, read=partial(_long_arns, name, scope.region))
    hosts = [each for each in scope.pools if each.kind in {PoolKind.AUTO_SCALING_GROUP, PoolKind.INSTANCE}]
    if hosts and any(each.network_mode == "awsvpc" for each in scope.fleet.tasks):
        yield Question(subject=_TRUNKING, read=partial(_trunking, hosts, scope.region))


def _value(name: str, ask: Ask) -> str:
    """The setting as it applies to the credentials, which is that of the account unless they have their own."""
    rows = ask(_SETTINGS, {"effectiveSettings": True}).rows("settings")
    return next((each.text("value").lower() for each in rows if each.text("name") == name), "")


def _enable(name: str, region: str) -> str:
    return aws("ecs", "put-account-setting-default", region, [("name", name), ("value", "enabled")])


def _long_arns(name: str, region: str, ask: Ask) -> Found:
    value = _value(name, ask)
    if not value:
        return unchecked("AWS said nothing about it")
    if value in _ON:
        return ok("long ARNs are on, which tags need")
    return short("long ARNs are off, so that what ECS makes has no tags", _enable(name, region), "off")


def _trunking(hosts: list[Pool], region: str, ask: Ask) -> Found:
    value = _value(_TRUNKING, ask)
    if not value:
        return unchecked("AWS said nothing about it")
    if value in _ON:
        return ok("it is on: hosts of the types that have it take more tasks of network mode awsvpc")
    types = {each.name: each for pool in hosts for each in pool.instance_types}.values()
    tight = [each.name for each in types if _is_tight(each) and may_have_trunk(each)]
    if tight:
        return short(
            f"it is off: {listed(tight)} have fewer network interfaces for tasks of network mode awsvpc than GPUs",
            _enable(_TRUNKING, region),
            "off",
        )
    return ok("it is off: each task of network mode awsvpc takes a network interface of its host; plan counts them so")


def _is_tight(instance_type: InstanceType) -> bool:
    """Whether a host has fewer interfaces beside its own than GPUs."""
    interfaces = instance_type.network.max_interfaces
    return interfaces is not None and interfaces - 1 < instance_type.gpus


SETTINGS = Check(
    id="settings",
    question="are the account settings of ECS as the tasks need them?",
    reads="long ARNs are on; awsvpcTrunking is on where a host has fewer network interfaces for tasks than GPUs",
    calls=(_SETTINGS,),
    questions=_questions_settings,
)
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-account-settings.html"""
