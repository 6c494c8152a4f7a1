"""Parts of a state machine in the Amazon States Language, with JSONPath."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from gpu_constructs.cdk.policies import allowed, service_of_this_account

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch
    from aws_cdk import aws_events as events

State: TypeAlias = dict[str, Any]


def pass_state(parameters: State, result: str, following: str) -> State:
    """A state that makes a value."""
    return {"Type": "Pass", "Parameters": parameters, "ResultPath": result, "Next": following}


def choice_state(rules: list[State], default: str) -> State:
    """A state that goes on where the first rule that is true says, and to the default where none is."""
    return {"Type": "Choice", "Choices": rules, "Default": default}


def if_state(rule: State, then: str, otherwise: str) -> State:
    """A choice with one rule: where it goes on if that is true, and where else."""
    return choice_state([{**rule, "Next": then}], otherwise)


def fail_state(name: str, words: str, *values: str) -> State:
    """The end of an execution that failed: its error, and its cause with ``{}`` in the place of each path's value."""
    if not values:
        return {"Type": "Fail", "Error": name, "Cause": words}
    quoted = words.replace("'", "\\'")
    return {"Type": "Fail", "Error": name, "CausePath": f"States.Format('{quoted}', {', '.join(values)})"}


def text_is(path: str, text: str) -> State:
    """A rule of a choice: a text is this one."""
    return {"Variable": path, "StringEquals": text}


def text_matches(path: str, pattern: str) -> State:
    """A rule of a choice: a text is like this one, with ``*`` for any letters."""
    return {"Variable": path, "StringMatches": pattern}


def is_there(path: str, *, there: bool = True) -> State:
    """A rule of a choice: a path has a value."""
    return {"Variable": path, "IsPresent": there}


def call(partition: str, action: str, parameters: State, result: str = "", following: str = "") -> State:
    """A state that asks a service of AWS something, and tries again where the service is busy.

    Where `result` or `following` are empty, whoever takes the state says more of what becomes of the answer.
    """
    state = {
        "Type": "Task",
        "Resource": f"arn:{partition}:states:::{action}",
        "Parameters": parameters,
        "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 5, "MaxAttempts": 5, "BackoffRate": 2}],
    }
    then = {"ResultPath": result, "Next": following}
    return {**state, **{name: value for name, value in then.items() if value}}


def state_machine(
    scope: Construct, *, definition: str, allowed_to: str, policy: iam.PolicyDocument, name: str | None = None
) -> tuple[sfn.StateMachine, iam.Role]:
    """Defines a state machine with a definition in JSON, and its role; `allowed_to` is what its policy is called."""
    role = iam.Role(
        scope,
        "Role",
        assumed_by=service_of_this_account("states.amazonaws.com"),
        inline_policies={allowed_to: policy},
    )
    body = sfn.DefinitionBody.from_string(definition)
    return sfn.StateMachine(scope, "StateMachine", state_machine_name=name, role=role, definition_body=body), role


def started_by_events(scope: Construct, machine: sfn.StateMachine) -> events.CfnRule.TargetProperty:
    """Defines the role with which a rule of EventBridge starts a state machine, its target."""
    from aws_cdk import aws_events as events  # noqa: PLC0415 - of most state machines no rule starts any

    role = iam.Role(scope, "EventsRole", assumed_by=service_of_this_account("events.amazonaws.com"))
    machine.grant_start_execution(role)
    return events.CfnRule.TargetProperty(id="StateMachine", arn=machine.state_machine_arn, role_arn=role.role_arn)


def waiting_for(machine: sfn.StateMachine, stack: cdk.Stack) -> list[Mapping[str, object]]:
    """What a state that runs a state machine needs besides ``states:StartExecution``: to wait for its end."""
    executions = stack.format_arn(
        service="states",
        resource="execution",
        resource_name=f"{machine.state_machine_name}:*",
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )
    rule = stack.format_arn(
        service="events", resource="rule", resource_name="StepFunctionsGetEventsForStepFunctionsExecutionRule"
    )
    watches = ["states:DescribeExecution", "states:StopExecution"]
    hears = ["events:DescribeRule", "events:PutRule", "events:PutTargets"]
    return [allowed(None, watches, executions), allowed(None, hears, rule)]


def alarm_of_executions(
    scope: Construct, machine: sfn.StateMachine, *, description: str, label: str, periods: int = 1
) -> cloudwatch.Alarm:
    """Defines an alarm for executions of some periods that failed, and for those that passed their time."""
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - many state machines have none

    dimensions = {"StateMachineArn": machine.state_machine_arn}
    counted = {
        name: cloudwatch.Metric(namespace="AWS/States", metric_name=metric, dimensions_map=dimensions, statistic="Sum")
        for name, metric in (("failed", "ExecutionsFailed"), ("late", "ExecutionsTimedOut"))
    }
    return cloudwatch.Alarm(
        scope,
        "Alarm",
        alarm_description=description,
        metric=cloudwatch.MathExpression(
            expression="FILL(failed, 0) + FILL(late, 0)", using_metrics=counted, label=label
        ),
        threshold=1,
        evaluation_periods=periods,
        datapoints_to_alarm=None if periods == 1 else 1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
