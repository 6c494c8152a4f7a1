"""Regions and accounts: what CDK joins across them and AWS does not find after the deploy, and whom a role trusts."""

from __future__ import annotations

from functools import cache
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError

_CONDITION = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


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


def require_same_place(
    stack: cdk.Stack, argument: str, *, region: str, account: str | None = None, what: str, why: str
) -> None:
    """Refuses what is certain to be in another region or account than the stack that uses it.

    An `account` of None stands for any.
    """
    places = [("region", stack.region, region)]
    if account is not None:
        places.append(("account", stack.account, account))
    for kind, here, there in places:
        if here != there and not is_token(here) and not is_token(there):
            raise IncompatibleError(
                f"the {what} is in {kind} {there}, and stack {stack.node.path} in {here}, {why}",
                argument=argument,
                value=there,
                allowed=here,
                fix=f"a stack in {kind} {there}, or a {what} in {here}",
            )


def require_same_stage(scope: IConstruct, other: IConstruct, argument: str, *, what: str) -> None:
    """Refuses what another stage or app defines: CDK joins no stacks across them (``NoCrossStageDependency``)."""
    here, there = cdk.Stage.of(scope), cdk.Stage.of(other)
    # jsii gives out new objects for the same stage, and each writes to a directory of its own.
    if here is None or there is None or here is there or here.outdir == there.outdir:
        return
    places = [f"stage {path}" if (path := each.node.path) else "the app itself" for each in (here, there)]
    apart = f"{places[1]}, and is used in {places[0]}" if places[0] != places[1] else "another app"
    raise IncompatibleError(
        f"the {what} is in {apart}: CDK joins no stacks of different stages or apps",
        argument=argument,
        value=places[1],
        fix=f"a {what} in the same stage, or one that is imported there by its name",
    )
