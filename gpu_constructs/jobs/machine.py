"""The state machine of a job as a resource, and what it may do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from gpu_constructs.cdk.same_place import service_of_this_account
from gpu_constructs.cdk.state_parts import State
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.tasks.task_definition import GpuTaskDefinition

# https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html
_NAME = re.compile(r"[0-9A-Za-z_-]{1,80}", re.ASCII)


def permissions_of(
    *, partition: str, region: str, account: str, cluster_arn: str, cluster_name: str, family: str, roles: Sequence[str]
) -> dict[str, object]:
    """The policy of the machine's role.

    Narrower than https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html, which takes every task. Any
    revision of the family may be run, so that an attempt that begins during a deployment may begin.
    """
    here = f"arn:{partition}:ecs:{region}:{account}"
    in_cluster = {"ArnEquals": {"ecs:cluster": cluster_arn}}
    rule = f"arn:{partition}:events:{region}:{account}:rule/StepFunctionsGetEventsForECSTaskRule"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "RunTheTask",
                "Effect": "Allow",
                "Action": "ecs:RunTask",
                "Resource": f"{here}:task-definition/{family}:*",
                "Condition": in_cluster,
            },
            {
                "Sid": "TagItAsItsDefinition",
                "Effect": "Allow",
                "Action": "ecs:TagResource",
                "Resource": f"{here}:task/{cluster_name}/*",
                "Condition": {"StringEquals": {"ecs:CreateAction": "RunTask"}},
            },
            {
                "Sid": "WatchAndStopIt",
                "Effect": "Allow",
                "Action": ["ecs:DescribeTasks", "ecs:ListTasks", "ecs:StopTask"],
                "Resource": "*",
                "Condition": in_cluster,
            },
            {
                "Sid": "HearOfItsEnd",
                "Effect": "Allow",
                "Action": ["events:DescribeRule", "events:PutRule", "events:PutTargets"],
                "Resource": rule,
            },
            {
                "Sid": "HandOverItsRoles",
                "Effect": "Allow",
                "Action": "iam:PassRole",
                "Resource": list(roles),
                "Condition": {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            },
        ],
    }


def require_machine_name(name: str | None) -> None:
    """Refuses what Step Functions does not take as a name.

    Raises:
        InvalidValueError: It is none.
    """
    if name is not None and not is_token(name) and not _NAME.fullmatch(name):
        raise InvalidValueError(
            f"{shown(name)} is not a name that Step Functions takes",
            argument="state_machine_name",
            value=name,
            allowed="letters, digits, _ and -, up to 80",
            fix="leave it out, and CloudFormation makes one",
        )


def machine_of_tasks(
    scope: Construct, hosts: ClusterHosts, task: GpuTaskDefinition, definition: State, name: str | None
) -> sfn.StateMachine:
    """Defines a state machine that runs the tasks of one task definition, and its role."""
    partition, region, account = hosts.place
    policy = permissions_of(
        partition=partition,
        region=region,
        account=account,
        cluster_arn=hosts.cluster_arn,
        cluster_name=hosts.cluster_name,
        family=task.family,
        roles=[task.task_role.role_arn, task.obtain_execution_role().role_arn],
    )
    role = iam.Role(
        scope,
        "Role",
        assumed_by=service_of_this_account("states.amazonaws.com"),
        inline_policies={"Run": iam.PolicyDocument.from_json(policy)},
    )
    return sfn.StateMachine(
        scope,
        "StateMachine",
        state_machine_name=name,
        role=role,
        definition_body=sfn.DefinitionBody.from_string(hosts.stack.to_json_string(definition)),
    )
