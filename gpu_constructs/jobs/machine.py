"""The state machine of a job as a resource, what it may do, and what a schedule starts where runs do not overlap.

The latter is a state machine that waits for the job, or lets it go. Its executions are those of one schedule, so that
the oldest that runs is the one whose job runs, and a later one ends at once. ListExecutions has the newest first and is
eventually consistent (https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html): of two
that start within the same seconds, as when EventBridge Scheduler delivers twice, both may run. The job is started where
the list is not read.
"""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from gpu_constructs.cdk.arguments import of_form
from gpu_constructs.cdk.calls import stack_of
from gpu_constructs.cdk.policies import allowed, policy_of
from gpu_constructs.cdk.state_parts import State, call, if_state, is_there, pass_state, state_machine, waiting_for
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.tasks.task_definition import GpuTaskDefinition

# https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html
_NAME = r"(?a)[0-9A-Za-z_-]{1,80}"


def require_machine_name(name: str | None) -> None:
    """Refuses what Step Functions does not take as a name."""
    what, fix = "a name that Step Functions takes", "leave it out, and CloudFormation makes one"
    if name is not None:
        of_form("state_machine_name", name, _NAME, what, allowed="letters, digits, _ and -, up to 80", fix=fix)


def machine_of_tasks(
    scope: Construct, hosts: ClusterHosts, task: GpuTaskDefinition, definition: State, name: str | None
) -> sfn.StateMachine:
    """Defines a state machine that runs the tasks of one task definition, and its role.

    The policy is narrower than https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html, which takes every
    task. Any revision of the family may be run, so that an attempt that begins during a deployment may begin.
    """
    partition, region, account = hosts.place
    here = f"arn:{partition}:ecs:{region}:{account}"
    in_cluster = {"ArnEquals": {"ecs:cluster": hosts.cluster_arn}}
    tagged = {"StringEquals": {"ecs:CreateAction": "RunTask"}}
    rule = f"arn:{partition}:events:{region}:{account}:rule/StepFunctionsGetEventsForECSTaskRule"
    handed = {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
    roles = [task.task_role.role_arn, task.obtain_execution_role().role_arn]
    policy = policy_of(
        allowed("RunTheTask", "ecs:RunTask", f"{here}:task-definition/{task.family}:*", in_cluster),
        allowed("TagItAsItsDefinition", "ecs:TagResource", f"{here}:task/{hosts.cluster_name}/*", tagged),
        allowed("WatchAndStopIt", ["ecs:DescribeTasks", "ecs:ListTasks", "ecs:StopTask"], "*", in_cluster),
        allowed("HearOfItsEnd", ["events:DescribeRule", "events:PutRule", "events:PutTargets"], rule),
        allowed("HandOverItsRoles", "iam:PassRole", roles, handed),
    )
    text = hosts.stack.to_json_string(definition)
    return state_machine(scope, definition=text, allowed_to="Run", policy=policy, name=name)[0]


STARTER = "OneAtATime"
"""What the ids of these constructs end with in the job."""
_MOST_LISTED = 100  # later ones end within seconds


def one_at_a_time(scope: Construct, construct_id: str, machine: sfn.StateMachine) -> sfn.StateMachine:
    """Defines the state machine of one schedule of a job, and its role."""
    stack, scope = stack_of(scope), Construct(scope, f"{construct_id}{STARTER}")
    starts = allowed(None, "states:StartExecution", machine.state_machine_arn)
    made, role = state_machine(
        scope,
        definition=stack.to_json_string(_definition(stack.partition, machine.state_machine_arn)),
        allowed_to="Start",
        policy=policy_of(starts, *waiting_for(machine, stack)),
    )
    # Apart from the role's own policy, which the machine waits for.
    look = allowed(None, "states:ListExecutions", made.state_machine_arn)
    iam.Policy(scope, "Look", roles=[role], document=policy_of(look))
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
            "Any": if_state(is_there("$.seen.arns[0]"), "Oldest", "Start"),
            "Oldest": pass_state({"arn.$": last, "own.$": "$$.Execution.Id"}, "$.oldest", "IsOwn"),
            "IsOwn": if_state({"Variable": "$.oldest.arn", "StringEqualsPath": "$.oldest.own"}, "Start", "StillRuns"),
            "Start": {
                "Type": "Task",
                "Resource": f"arn:{partition}:states:::states:startExecution.sync:2",
                "Parameters": {"StateMachineArn": job, "Input.$": "$$.Execution.Input"},
                "End": True,
            },
            "StillRuns": {"Type": "Succeed"},
        },
    }
