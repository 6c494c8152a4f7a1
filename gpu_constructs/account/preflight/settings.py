"""Account settings of ECS: long ARNs, and network interfaces for more tasks on a host."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpu_constructs.account.preflight.check import Ask, Call, Check, Found, Question, Scope, aws, ok, short, unchecked
from gpu_constructs.fleet import Pool, PoolKind
from gpu_constructs.hardware import InstanceType
from gpu_constructs.hardware.aws_limits import may_have_trunk
from gpu_constructs.placement.reasons import listed

_SETTINGS = Call(service="ecs", operation="ListAccountSettings")
# They are on in accounts of today, which cannot turn them off: "You can no longer disable Long Arn settings", ECS says
# (https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/ecs_account_setting_default). Tags need
# them (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PutAccountSetting.html). Read 2026-11-22.
_LONG = ("serviceLongArnFormat", "taskLongArnFormat", "containerInstanceLongArnFormat")
_TRUNKING = "awsvpcTrunking"
_ON = {"enabled", "on"}


def _questions(scope: Scope) -> Iterator[Question]:
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
    questions=_questions,
)
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-account-settings.html"""
