"""What roles may do, in statements as IAM has them, which CDK takes in one call into Node, and whom they trust."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam

_CONDITION = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def allowed(
    sid: str | None,
    action: str | Sequence[str],
    resource: str | Sequence[str],
    condition: Mapping[str, object] | None = None,
) -> Mapping[str, object]:
    """A statement that allows something; `sid` is its name, None without one."""
    statement = {"Sid": sid, "Effect": "Allow", "Action": action, "Resource": resource, "Condition": condition}
    return {name: value for name, value in statement.items() if value is not None}


def policy_of(*statements: Mapping[str, object]) -> iam.PolicyDocument:
    """The policy with these statements."""
    return iam.PolicyDocument.from_json({"Version": "2012-10-17", "Statement": list(statements)})


@cache
def service_of_this_account(name: str) -> iam.ServicePrincipal:
    """A service, such as ``states.amazonaws.com``, that a role trusts only while it acts for the account of the stack.

    Without a condition, somebody in another account may lead the service to assume the role, which is called the
    confused deputy (https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html). The condition fits only
    services that say that they set ``aws:SourceAccount``:

    - Amazon ECS for the roles of tasks, whose execution roles its page shows without
      (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html);
    - Step Functions (https://docs.aws.amazon.com/step-functions/latest/dg/procedure-create-iam-role.html);
    - EventBridge for targets of rules
      (https://docs.aws.amazon.com/eventbridge/latest/userguide/cross-service-confused-deputy-prevention.html).

    AWS Batch says nothing of the roles of its jobs, and EC2 hands roles to instances without the key.
    """
    return iam.ServicePrincipal(name, conditions=_CONDITION)


def trust_this_account(task_definition: ecs.TaskDefinition) -> None:
    """Narrows the role that CDK made for a task, for which it takes no condition."""
    role = cast("iam.CfnRole", task_definition.task_role.node.default_child)
    role.add_property_override("AssumeRolePolicyDocument.Statement.0.Condition", _CONDITION)
