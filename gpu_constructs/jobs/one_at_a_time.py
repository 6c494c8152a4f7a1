"""What a schedule starts where its runs do not overlap: a state machine that waits for the job, or lets it go.

Its executions are those of one schedule, so that the oldest that runs is the one whose job runs, and a later one ends
at once. ListExecutions has the newest first and is eventually consistent
(https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html): of two that start within the
same seconds, as when EventBridge Scheduler delivers twice, both may run. The job is started where the list is not read.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from gpu_constructs.cdk.calls import stack_of
from gpu_constructs.cdk.same_place import service_of_this_account
from gpu_constructs.cdk.state_parts import State, call, choice_state, is_there, pass_state

STARTER = "OneAtATime"
"""What the ids of these constructs end with in the job."""
_MOST_LISTED = 100  # later ones end within seconds


def one_at_a_time(scope: Construct, construct_id: str, machine: sfn.StateMachine) -> sfn.StateMachine:
    """Defines the state machine of one schedule of a job, and its role."""
    stack, scope = stack_of(scope), Construct(scope, f"{construct_id}{STARTER}")
    executions = stack.format_arn(
        service="states",
        resource="execution",
        resource_name=f"{machine.state_machine_name}:*",
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )
    rule = stack.format_arn(
        service="events", resource="rule", resource_name="StepFunctionsGetEventsForStepFunctionsExecutionRule"
    )
    statements = [
        iam.PolicyStatement(actions=actions, resources=[resource])
        for actions, resource in (
            (["states:StartExecution"], machine.state_machine_arn),
            (["states:DescribeExecution", "states:StopExecution"], executions),
            (["events:DescribeRule", "events:PutRule", "events:PutTargets"], rule),
        )
    ]
    role = iam.Role(
        scope,
        "Role",
        assumed_by=service_of_this_account("states.amazonaws.com"),
        inline_policies={"Start": iam.PolicyDocument(statements=statements)},
    )
    made = sfn.StateMachine(
        scope,
        "StateMachine",
        role=role,
        definition_body=sfn.DefinitionBody.from_string(
            stack.to_json_string(_definition(stack.partition, machine.state_machine_arn))
        ),
    )
    # Apart from the role's own policy, which the machine waits for.
    look = iam.PolicyStatement(actions=["states:ListExecutions"], resources=[made.state_machine_arn])
    iam.Policy(scope, "Look", roles=[role], statements=[look])
    return made


def _definition(partition: str, job: str) -> State:
    listed = {"StateMachineArn.$": "$$.StateMachine.Id", "StatusFilter": "RUNNING", "MaxResults": _MOST_LISTED}
    last = "States.ArrayGetItem($.seen.arns, States.MathAdd(States.ArrayLength($.seen.arns), -1))"
    return {
        "Comment": "Starts the job unless it still runs from an earlier time of the same schedule",
        "StartAt": "Look",
        "States": {
            "Look": {
                **call(partition, "aws-sdk:sfn:listExecutions", listed),
                "ResultSelector": {"arns.$": "$.Executions[*].ExecutionArn"},
                "ResultPath": "$.seen",
                "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Start"}],
                "Next": "Any",
            },
            "Any": choice_state([{**is_there("$.seen.arns[0]"), "Next": "Oldest"}], "Start"),
            "Oldest": pass_state({"arn.$": last, "own.$": "$$.Execution.Id"}, "$.oldest", "IsOwn"),
            "IsOwn": choice_state(
                [{"Variable": "$.oldest.arn", "StringEqualsPath": "$.oldest.own", "Next": "Start"}], "StillRuns"
            ),
            "Start": {
                "Type": "Task",
                "Resource": f"arn:{partition}:states:::states:startExecution.sync:2",
                "Parameters": {"StateMachineArn": job, "Input.$": "$$.Execution.Input"},
                "End": True,
            },
            "StillRuns": {"Type": "Succeed"},
        },
    }
