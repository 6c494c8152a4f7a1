"""Every role of an app may make the calls that are made with it, on what is its own and on nothing else."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.policies.calls import calls_of
from tests.policies.simulator import Call, is_allowed, is_trusted, listed
from tests.policies.world import ACCOUNT, World, template_of_all

_OF_CDK = "BucketNotificationsHandler"
_SERVICES_WITH_ACCOUNT = {"states.amazonaws.com", "events.amazonaws.com", "scheduler.amazonaws.com"}


@pytest.fixture(scope="module")
def world() -> World:
    return World(template_of_all())


def elsewhere(world: World, call: Call) -> Call:
    context = {key: world.other(str(value)) for key, value in call.context.items()}
    return Call(call.action, world.other(call.resource), context)


def narrowed(world: World, statement: dict[str, Any]) -> dict[str, Any]:
    """The statement for other things of the same kind."""
    other = deepcopy(statement)
    other["Resource"] = [
        world.other(each) if world.other(each) != each else f"{each}-other" for each in listed(other["Resource"])
    ]
    if other["Resource"] == ["*-other"]:
        other["Resource"] = "*"
        for keys in other.get("Condition", {}).values():
            keys.update({key: [f"{each}-other" for each in listed(value)] for key, value in keys.items()})
    return other


def test_each_call_is_allowed(world: World) -> None:
    calls = calls_of(world)
    denied = [f"{role}: {call}" for role, call in calls if not world.allows(role, call)]
    assert denied == []
    called = {role for role, _ in calls}
    assert {role for role, policy in world.policies.items() if policy and _OF_CDK not in role} == called


def test_no_call_is_allowed_on_what_belongs_to_others(world: World) -> None:
    tried = [(role, call, elsewhere(world, call)) for role, call in calls_of(world)]
    tried = [each for each in tried if each[1] != each[2]]
    assert len(tried) > 100
    assert [f"{role}: {other}" for role, _, other in tried if world.allows(role, other)] == []


def test_no_statement_could_be_narrower_or_left_out(world: World) -> None:
    calls = calls_of(world)
    left: list[str] = []
    for role, policy in world.policies.items():
        mine = [call for caller, call in calls if caller == role]
        for at, statement in enumerate(policy):
            other = narrowed(world, statement)
            changed = [*policy[:at], *([other] if other != statement else []), *policy[at + 1 :]]
            if _OF_CDK not in role and all(is_allowed(changed, call) for call in mine):
                left.append(f"{role}: {statement}")
    assert left == []


def test_services_assume_roles_for_this_account_alone(world: World) -> None:
    for name, role in world.of("IAM::Role").items():
        statements = role["AssumeRolePolicyDocument"]["Statement"]
        (service,) = {each["Principal"]["Service"] for each in statements}
        ours = {
            "aws:SourceAccount": ACCOUNT,
            "aws:SourceArn": f"arn:aws:scheduler:us-east-1:{ACCOUNT}:schedule-group/default",
        }
        assert is_trusted(statements, service, ours), name
        if service in _SERVICES_WITH_ACCOUNT:
            assert not is_trusted(statements, service, {**ours, "aws:SourceAccount": "444455556666"}), name
