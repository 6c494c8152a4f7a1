"""Are the credentials those of the account of the files, and have its hosts the network interfaces of the tasks?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from gpu_constructs.fleet import Pool, PoolKind
from gpu_constructs.placement.costs import place_of
from gpu_constructs.placement.reasons import listed

_WHO = Call(service="sts", operation="GetCallerIdentity")


def _identity_questions(scope: Scope) -> Iterator[Question]:
    if accounts := _accounts(scope.pools):
        yield Question(subject=listed(accounts), read=partial(_identity_found, accounts, _accounts(scope.fleet.pools)))


def _identity_found(accounts: list[str], of_fleet: list[str], ask: Ask) -> Found:
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
    questions=_identity_questions,
    without="the files do not name an account",
)
"""https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html"""


_SETTINGS = Call(service="ecs", operation="ListAccountSettings")
_TRUNKING = "awsvpcTrunking"
_ON = {"enabled", "on"}


def _settings_questions(scope: Scope) -> Iterator[Question]:
    hosts = [each for each in scope.pools if each.kind in {PoolKind.AUTO_SCALING_GROUP, PoolKind.INSTANCE}]
    if hosts and any(each.network_mode == "awsvpc" for each in scope.fleet.tasks):
        yield Question(subject=_TRUNKING, read=partial(_trunking, hosts, scope.region))


def _trunking(hosts: list[Pool], region: str, ask: Ask) -> Found:
    # The setting as it applies to the credentials, which is that of the account unless they have their own.
    rows = ask(_SETTINGS, {"effectiveSettings": True}).rows("settings")
    value = next((each.text("value").lower() for each in rows if each.text("name") == _TRUNKING), "")
    if not value:
        return unchecked("AWS said nothing about it")
    if value in _ON:
        return ok("it is on: hosts of the types that have it take more tasks of network mode awsvpc")
    types = {each.name: each for pool in hosts for each in pool.instance_types}.values()
    tight = [each.name for each in types if _is_tight(each) and may_have_trunk(each)]
    if tight:
        return short(
            f"it is off: {listed(tight)} have fewer network interfaces for tasks of network mode awsvpc than GPUs",
            aws("ecs", "put-account-setting-default", region, [("name", _TRUNKING), ("value", "enabled")]),
            "off",
        )
    return ok("it is off: each task of network mode awsvpc takes a network interface of its host; plan counts them so")


def _is_tight(instance_type: InstanceType) -> bool:
    """Whether a host has fewer interfaces beside its own than GPUs."""
    interfaces = instance_type.network.max_interfaces
    return interfaces is not None and interfaces - 1 < instance_type.gpus


SETTINGS = Check(
    id="settings",
    question="does awsvpcTrunking give hosts the network interfaces that the tasks need?",
    reads="it is on where a host has fewer network interfaces for tasks of network mode awsvpc than GPUs",
    calls=(_SETTINGS,),
    questions=_settings_questions,
    without="no task of network mode awsvpc runs on these hosts",
)
"""https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-account-settings.html"""
