"""Trust policies that let a service assume a role for the account of the stack alone.

Without a condition, a service may be led to assume the role for somebody in another account, which is called the
confused deputy (https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html). Only services that say that
they set ``aws:SourceAccount`` can be asked for it:

- Amazon ECS for the roles of tasks, whose execution roles its page shows without
  (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html);
- Step Functions (https://docs.aws.amazon.com/step-functions/latest/dg/procedure-create-iam-role.html);
- EventBridge for targets of rules and for pipes
  (https://docs.aws.amazon.com/eventbridge/latest/userguide/cross-service-confused-deputy-prevention.html).

AWS Batch says nothing of the roles of its jobs, and EC2 hands roles to instances without the key.
"""

from __future__ import annotations

from functools import cache
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam


@cache
def service_of_this_account(name: str) -> iam.ServicePrincipal:
    """A service that acts for this account.

    Args:
        name: Such as ``states.amazonaws.com``.
    """
    return iam.ServicePrincipal(name, conditions=_condition())


def trust_this_account(task_definition: ecs.TaskDefinition) -> None:
    """Narrows the role that CDK made for a task, for which it takes no condition."""
    role = cast("iam.CfnRole", task_definition.task_role.node.default_child)
    role.add_property_override("AssumeRolePolicyDocument.Statement.0.Condition", _condition())


@cache
def _condition() -> dict[str, dict[str, str]]:
    return {"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}}
