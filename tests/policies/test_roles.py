"""Every role of an app may make the calls that are made with it, on what is its own and on nothing else."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from ecs_emulator.policies import Call, is_allowed, is_trusted, listed
from gpu_constructs.account.live.self_test import FAMILY
from gpu_constructs.account.self_test import POLICY
from tests.policies.calls import calls_of
from tests.policies.world import (
    ACCOUNT,
    HERE,
    World,
    template_of_all,
    template_with_a_key,
)
from tests.stacks.stories import STORIES
from tests.stacks.told import template_of

_EVENTS = "events.amazonaws.com"
_OF_CDK = "BucketNotificationsHandler"
_GRANTED = {"s3", "secretsmanager", "sqs"}
"""Services of which CDK grants what goes together: `bucket.grant_read`, `queue.grant_consume_messages`."""
_STARS_OF_CDK = {f"s3:{each}*" for each in ("Abort", "DeleteObject", "GetBucket", "GetObject", "List")}
_STARS_OF_CDK |= {"kms:GenerateDataKey*", "kms:ReEncrypt*"}
_OF_AWS = {
    "ecs.amazonaws.com": ["arn:aws:iam::aws:policy/AmazonECSInfrastructureRolePolicyForManagedInstances"],
    "lambda.amazonaws.com": ["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"],
}
"""The policies of AWS that the roles of a service have; those of functions are roles of CDK."""
_SERVICES_WITH_ACCOUNT = {f"{each}.amazonaws.com" for each in ("ecs-tasks", "events", "scheduler", "states")}
_SAYS_NOTHING = re.compile("ecs-tasks.* .*(ExecutionRole|JobRole)")
"""The key is documented for the roles of tasks, and neither for those with which ECS starts them nor for AWS Batch."""


_APPS = {"all": template_of_all, "a key": template_with_a_key}


@pytest.fixture(scope="module", params=[*_APPS, "four-gpus", *STORIES])
def world(request: pytest.FixtureRequest, told: Path) -> World:
    made = _APPS.get(request.param)
    return World(made() if made else template_of(told, request.param))


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


def service_of(role: dict[str, Any]) -> str:
    """The service that may assume it."""
    (service,) = {each["Principal"]["Service"] for each in role["AssumeRolePolicyDocument"]["Statement"]}
    return str(service)


def with_account(world: World) -> dict[str, str]:
    """The roles that are assumed for one account, with the service that says which."""
    services = {name: service_of(role) for name, role in world.of("IAM::Role").items()}
    bound = {name: service for name, service in services.items() if service in _SERVICES_WITH_ACCOUNT}
    return {name: service for name, service in bound.items() if not _SAYS_NOTHING.match(f"{service} {name}")}


def test_each_call_is_allowed(world: World) -> None:
    calls = calls_of(world)
    assert [f"{role}: {call}" for role, call in calls if not world.allows(role, call)] == []
    called = {role for role, _ in calls}
    assert {role for role, policy in world.policies.items() if policy and _OF_CDK not in role} == called


def test_no_call_is_allowed_on_what_belongs_to_others(world: World) -> None:
    tried = [(role, call, elsewhere(world, call)) for role, call in calls_of(world)]
    tried = [each for each in tried if each[1] != each[2]]
    assert tried
    for role, call in calls_of(world):
        # CDK grants the list of a whole bucket.
        of_others = {key: f"other-{value}" for key, value in call.context.items() if key != "s3:prefix"}
        tried += [(role, call, Call(call.action, call.resource, of_others))] * bool(of_others)
        # Of a bucket that a job was given whole, it keeps its checkpoints in a part.
        beside = re.sub("(:s3:::(?!Checkpoints)[^/]+/)(?=[^/]+/)", r"\1other-", call.resource)
        tried += [(role, call, Call(call.action, beside, call.context))] * (beside != call.resource)
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


@pytest.mark.parametrize("world", ["all"], indirect=True)
def test_no_action_is_idle_but_for_those_that_cdk_grants_with_others(world: World) -> None:
    calls, idle = calls_of(world), []
    for role, policy in world.policies.items():
        mine = [call for caller, call in calls if caller == role]
        for at, statement in enumerate(policy):
            for action in listed(statement["Action"]):
                kept = {**statement, "Action": [each for each in listed(statement["Action"]) if each != action]}
                rest = [*policy[:at], kept, *policy[at + 1 :]]
                if action.partition(":")[0] not in _GRANTED and all(is_allowed(rest, call) for call in mine):
                    idle.append(f"{role}: {action}")
    assert idle == []


def test_no_action_has_a_star_but_in_grants_of_cdk(world: World) -> None:
    actions = {each for policy in world.policies.values() for some in policy for each in listed(some["Action"])}
    assert {each for each in actions if "*" in each} <= _STARS_OF_CDK


def test_no_role_has_another_policy_of_aws(world: World) -> None:
    for name, role in world.of("IAM::Role").items():
        assert role.get("ManagedPolicyArns", []) == _OF_AWS.get(service_of(role), []), name


def test_services_assume_roles_for_this_account_alone(world: World) -> None:
    for name, role in world.of("IAM::Role").items():
        statements, service = role["AssumeRolePolicyDocument"]["Statement"], service_of(role)
        ours = {
            "aws:SourceAccount": ACCOUNT,
            "aws:SourceArn": f"arn:aws:scheduler:us-east-1:{ACCOUNT}:schedule-group/default",
        }
        assert is_trusted(statements, service, ours), name
        if name in with_account(world):
            assert not is_trusted(statements, service, {**ours, "aws:SourceAccount": "444455556666"}), name


@pytest.mark.parametrize("world", ["all"], indirect=True)
def test_roles_of_each_service_that_says_its_account_are_held_to_it(world: World) -> None:
    assert set(with_account(world).values()) == _SERVICES_WITH_ACCOUNT


def test_services_may_write_where_rules_and_alarms_send_them(world: World) -> None:
    queues = [each["PolicyDocument"]["Statement"] for each in world.of("SQS::QueuePolicy").values()]
    topics = [each["PolicyDocument"]["Statement"] for each in world.of("SNS::TopicPolicy").values()]
    logs = [json.loads(each["PolicyDocument"])["Statement"] for each in world.of("Logs::ResourcePolicy").values()]
    sends: list[tuple[str, Call]] = []
    for name, rule in world.of("Events::Rule").items():
        about = {"aws:SourceArn": world.arn(name), "aws:SecureTransport": "true"}
        for target in rule["Targets"]:
            if "DeadLetterConfig" in target:
                sends.append((_EVENTS, Call("sqs:SendMessage", target["DeadLetterConfig"]["Arn"], about)))
            if ":log-group:" in target["Arn"]:
                sends.append((_EVENTS, Call("logs:PutLogEvents", f"{target['Arn']}:log-stream:one", about)))
    for name, alarm in world.of("CloudWatch::Alarm").items():
        about = {"aws:SourceArn": f"arn:aws:cloudwatch:{HERE}:alarm:{name}", "aws:SecureTransport": "true"}
        topics_of = [each for each in alarm.get("AlarmActions", ()) if ":sns:" in each]
        sends += [("cloudwatch.amazonaws.com", Call("sns:Publish", each, about)) for each in topics_of]
    statements = [each for policy in (*queues, *topics, *logs) for each in policy]
    for service, call in sends:
        mine = [each for each in statements if _is_for(service, each["Principal"])]
        assert is_allowed(mine, call), call
        assert not is_allowed(mine, elsewhere(world, call)), call


def test_the_key_serves_volumes_and_logs_of_this_account_and_no_statement_is_idle() -> None:
    """https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html."""
    world = World(template_with_a_key())
    ((name, key),) = world.of("KMS::Key").items()
    statements = [each for each in key["KeyPolicy"]["Statement"] if "root" not in str(each["Principal"])]
    role = f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
    group = {"kms:EncryptionContext:aws:logs:arn": f"arn:aws:logs:{HERE}:log-group:one"}
    uses = ("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo")
    calls = [("autoscaling", Call(f"kms:{each}", world.arn(name), {"aws:PrincipalArn": role})) for each in uses]
    given = {"aws:PrincipalArn": role, "kms:GrantIsForAWSResource": "true"}
    calls.append(("autoscaling", Call("kms:CreateGrant", world.arn(name), given)))
    calls += [("logs.us-east-1.amazonaws.com", Call(f"kms:{each}", world.arn(name), group)) for each in uses]

    def all_allowed(some: list[dict[str, Any]]) -> bool:
        return all(is_allowed([each for each in some if _is_for(who, each["Principal"])], call) for who, call in calls)

    assert all_allowed(statements)
    assert not any(all_allowed([each for each in statements if each is not idle]) for idle in statements)
    for who, call in calls:
        context = {key: str(value).replace(ACCOUNT, "444455556666") for key, value in call.context.items()}
        mine = [each for each in statements if _is_for(who, each["Principal"])]
        assert not is_allowed(mine, Call(call.action, call.resource, context)), call


def test_the_policy_of_the_self_test_reaches_its_own_things_alone() -> None:
    statements: Any = POLICY["Statement"]
    definition, group = f"arn:aws:ecs:{HERE}:task-definition/", f"arn:aws:logs:{HERE}:log-group:"
    stream = ":log-stream:self-test/self-test/0123"
    for action, before, after in (
        ("ecs:RunTask", definition, ":1"),
        ("logs:CreateLogGroup", group, ""),
        ("logs:PutRetentionPolicy", group, ":"),
        ("logs:GetLogEvents", group, stream),
    ):
        assert is_allowed(statements, Call(action, f"{before}{FAMILY}{after}")), action
        assert not is_allowed(statements, Call(action, f"{before}other{after}")), action


def _is_for(service: str, principal: Any) -> bool:
    return principal in ("*", {"AWS": "*"}) or service in listed(principal.get("Service", []))
