"""What the roles of an account allow, for the calls that are made with them here.

State machines, what starts them, agents and tasks ask before they do something; requests over HTTP are allowed all. A
role that is not in the account, as one that is named by its ARN alone, allows everything too.
https://docs.aws.amazon.com/step-functions/latest/dg/service-integration-iam-templates.html and
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/instance_IAM_role.html. Not modelled: boundaries, policies
of organizations, of sessions and of resources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from moto.iam.aws_managed_policies import aws_managed_policies_data
from moto.iam.models import ManagedPolicy, Role, iam_backends
from moto.logs.models import LogGroup

from .policies import Call, is_allowed, listed

if TYPE_CHECKING:
    from moto.ecs.models import TaskDefinition

    from .resource import Region

__all__ = [
    "Place",
    "calls_before_start",
    "calls_of_agent",
    "calls_of_start",
    "calls_of_state",
    "install",
    "refusal",
    "role_of_profile",
    "roles_of",
]

Json = Mapping[str, Any]

_HEARS = ("events:PutTargets", "events:PutRule", "events:DescribeRule")
_PULLS = ("ecr:BatchCheckLayerAvailability", "ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage")
_REPOSITORY = re.compile(r"(\d+)\.dkr\.ecr\.([^.]+)\.[^/]+/([^:@]+)")
_ON_ALL = frozenset(
    {
        "autoscaling:DescribeAutoScalingInstances",
        "batch:DescribeComputeEnvironments",
        "batch:ListJobs",
    }
)
"""Calls without a resource: https://docs.aws.amazon.com/service-authorization/latest/reference/reference.html."""


@dataclass(frozen=True)
class Place:
    """Where a state machine is, and what its states name.

    Args:
        here: Region and account, as an ARN has them.
        machine: Its ARN.
        roles_of: The roles of a task definition.
        groups_of: The Auto Scaling groups of the instance that a call names.
    """

    here: str
    machine: str
    roles_of: Callable[[str], Iterable[str]]
    groups_of: Callable[[Json], Iterable[str]]


def calls_of_state(asked: str, given: Json, place: Place) -> Iterator[Call]:
    """What Step Functions calls for one state, by the end of its resource and its parameters."""
    service, _, action = asked.removeprefix("aws-sdk:").partition(":")
    name = f"{'states' if service == 'sfn' else service}:{action[:1].upper()}{action[1:]}"
    if asked == "ecs:runTask.sync":
        yield from _run_task(given, place)
    elif asked == "states:startExecution.sync:2":
        execution = given["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":one"
        yield Call("states:StartExecution", given["StateMachineArn"])
        yield from (Call(f"states:{each}Execution", execution) for each in ("Describe", "Stop"))
        yield from _heard("StepFunctionsExecutionRule", place)
    elif asked.endswith("terminateInstanceInAutoScalingGroup"):
        for group in place.groups_of(given):
            yield Call(name, f"arn:aws:autoscaling:{place.here}:autoScalingGroup:0123:autoScalingGroupName/{group}")
    elif name == "ecs:ListTasks":
        # https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html
        cluster = given["Cluster"]
        yield Call(name, cluster.replace(":cluster/", ":container-instance/") + "/0123", {"ecs:cluster": cluster})
    elif service == "ecs":
        cluster = given["Cluster"]
        kind = "container-instance" if "ContainerInstance" in name else "task"
        yield Call(name, cluster.replace(":cluster/", f":{kind}/") + "/0123", {"ecs:cluster": cluster})
    elif name in _ON_ALL:
        yield Call(name)
    else:
        yield Call(name, _OTHERS[service](given, place))


_OTHERS: Mapping[str, Callable[[Json, Place], str]] = {
    "batch": lambda given, _: str(given["JobQueue"]),
    "dynamodb": lambda given, place: f"arn:aws:dynamodb:{place.here}:table/{given['TableName']}",
    "sfn": lambda given, place: str(given.get("StateMachineArn", place.machine)),
    "sns": lambda given, _: str(given["TopicArn"]),
    "sqs": lambda given, place: f"arn:aws:sqs:{place.here}:{given['QueueUrl'].rpartition('/')[2]}",
}
"""What a call of a service is about."""


def _heard(rule: str, place: Place) -> Iterator[Call]:
    """The managed rule by which Step Functions hears of an end."""
    yield from (Call(each, f"arn:aws:events:{place.here}:rule/StepFunctionsGetEventsFor{rule}") for each in _HEARS)


def _run_task(given: Json, place: Place) -> Iterator[Call]:
    cluster, definition = given["Cluster"], given["TaskDefinition"]
    inside = {"ecs:cluster": cluster}
    task = cluster.replace(":cluster/", ":task/") + "/0123"
    yield from calls_of_start(cluster, definition, place.roles_of(definition))
    yield from (Call(f"ecs:{each}", task, inside) for each in ("StopTask", "DescribeTasks"))
    if "PropagateTags" in given or "Tags" in given:
        yield Call("ecs:TagResource", task, {"ecs:CreateAction": "RunTask"})
    yield from _heard("ECSTaskRule", place)


def calls_of_start(cluster: str, definition: str, roles: Iterable[str]) -> Iterator[Call]:
    """What it takes to run a task whose task definition has these roles."""
    yield Call("ecs:RunTask", definition, {"ecs:cluster": cluster})
    yield from (Call("iam:PassRole", each, {"iam:PassedToService": "ecs-tasks.amazonaws.com"}) for each in roles)


def calls_of_agent(cluster: str) -> Iterator[Call]:
    """What the agent of a host calls until it is in its cluster."""
    host = cluster.replace(":cluster/", ":container-instance/") + "/0123"
    yield Call("ecs:DiscoverPollEndpoint")
    yield Call("ecs:RegisterContainerInstance", cluster)
    yield Call("ecs:Poll", host, {"ecs:cluster": cluster})


def calls_before_start(container: Json, here: str) -> Iterator[Call]:
    """What is called with the execution role, or with the role of the host where there is none, for one container."""
    logs = container.get("logConfiguration") or {}
    if logs.get("logDriver") == "awslogs":
        group = f"arn:aws:logs:{here}:log-group:{logs['options']['awslogs-group']}"
        yield from (Call(f"logs:{each}", f"{group}:log-stream:0123") for each in ("CreateLogStream", "PutLogEvents"))
    if found := _REPOSITORY.search(str(container.get("image"))):
        account, region, repository = found.groups()
        yield Call("ecr:GetAuthorizationToken")
        yield from (Call(each, f"arn:aws:ecr:{region}:{account}:repository/{repository}") for each in _PULLS)
    for secret in container.get("secrets") or ():
        source = secret["valueFrom"]
        if ":secretsmanager:" in source:
            yield Call("secretsmanager:GetSecretValue", ":".join(source.split(":")[:7]))
        else:
            arn = source if source.startswith("arn:") else f"arn:aws:ssm:{here}:parameter/{source.lstrip('/')}"
            yield Call("ssm:GetParameters", arn)


def refusal(where: Region, role_arn: str | None, calls: Iterable[Call]) -> str | None:
    """Why a role may not make one of the calls; None if it may make all of them."""
    statements = _statements(where, role_arn)
    if statements is None:
        return None
    denied = next((each for each in calls if not is_allowed(statements, each)), None)
    if denied is None:
        return None
    return f"{role_arn} is not authorized to perform: {denied.action} on resource: {denied.resource}"


def roles_of(definition: TaskDefinition, *names: str) -> list[str]:
    """The roles of a task definition, or those of them that have these names in moto."""
    found = (getattr(definition, name, None) for name in names or ("task_role_arn", "execution_role_arn"))
    return [each for each in found if each]


def role_of_profile(where: Region, profile: str | None) -> str | None:
    """The role of an instance profile, by its name or ARN; None if it is not in the account."""
    name = (profile or "").rpartition("/")[2]
    found = (each for each in iam_backends[where.account_id]["aws"].instance_profiles.values() if each.name == name)
    return next((role.arn for each in found for role in each.roles), None)


def _statements(where: Region, role_arn: str | None) -> list[Json] | None:
    iam = iam_backends[where.account_id]["aws"]
    role = next((each for each in iam.roles.values() if each.arn == role_arn), None)
    if role is None:
        return None
    documents: list[Any] = [*role.policies.values(), *map(_document, role.managed_policies.values())]
    for arn in getattr(role, "policy_arns", ()):
        own = iam.managed_policies.get(arn)
        documents.append(_of_aws()[arn.rpartition("/")[2]] if own is None else _document(own))
    read = (json.loads(each) if isinstance(each, str) else each for each in documents)
    return [statement for document in read for statement in listed(document["Statement"])]


def _document(policy: ManagedPolicy) -> str:
    return next(each.document for each in policy.versions if each.is_default)


@cache
def _of_aws() -> Mapping[str, Any]:
    """The policies of AWS by their names, as moto has them."""
    return {name: each["Document"] for name, each in json.loads(aws_managed_policies_data).items()}


_ATTRIBUTE = LogGroup.get_cfn_attribute
_CREATE, _UPDATE = Role.create_from_cloudformation_json, Role.update_from_cloudformation_json


def _created(*given: Any, **named: Any) -> Role:
    return _with_policies(_CREATE(*given, **named), _template(given, named))


def _updated(*given: Any, **named: Any) -> Role:
    role: Role = _UPDATE(*given, **named)
    template = _template(given, named)
    for each in getattr(role, "inline", ()):
        role.policies.pop(each, None)
    for each in template["Properties"].get("Policies", ()):
        role.put_policy(each["PolicyName"], each["PolicyDocument"])
    return _with_policies(role, template)


def _template(given: tuple[Any, ...], named: Json) -> Json:
    found: Json = named.get("cloudformation_json") or next(each for each in given if isinstance(each, dict))
    return found


def _with_policies(role: Role, template: Json) -> Role:
    """A role with what moto 5.2.5 forgets of its properties."""
    properties = template["Properties"]
    role.policy_arns = properties.get("ManagedPolicyArns", ())  # type: ignore[attr-defined]
    role.inline = [each["PolicyName"] for each in properties.get("Policies", ())]  # type: ignore[attr-defined]
    return role


def _arn_of_streams(group: LogGroup, attribute_name: str) -> str:
    return f"{_ATTRIBUTE(group, attribute_name)}:*"


def install() -> None:
    """Let roles keep, and follow, the policies of their templates, which name log groups as AWS does."""
    made_by = {"create_from_cloudformation_json": _created, "update_from_cloudformation_json": _updated}
    for name, function in made_by.items():
        setattr(Role, name, staticmethod(function))
    # Fn::GetAtt gives the ARN of a log group with what stands for its streams.
    LogGroup.get_cfn_attribute = _arn_of_streams  # type: ignore[assignment,method-assign]
