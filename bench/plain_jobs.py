"""How a job is written by hand: the state machine that runs its tasks, its role and its alarm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from bench.kinds import JOB_HOURS
from bench.plain_hosts import Shared, capacity
from bench.plain_tasks import principal, training_task
from bench.workloads import CONTAINER_IMAGE, Pair
from gpu_constructs.cdk.policies import allowed, policy_of
from gpu_constructs.jobs.job_run import JobRetries, JobRun
from gpu_constructs.jobs.states import definition_of

__all__ = ["job"]

_HOSTS = 4


def job(scope: Construct, shared: Shared, pair: Pair) -> None:
    """A task that ends; the states are data, and the same in both variants."""
    made = capacity(scope, f"Capacity{pair.number}", shared, pair.hosts, max_instances=_HOSTS)
    task = training_task(
        scope,
        f"Task{pair.number}",
        family=f"gpu-task-{pair.number}",
        image=ecs.ContainerImage.from_registry(CONTAINER_IMAGE),
        hosts=pair.hosts,
        gpus=1,
        command=["nvidia-smi"],
    )
    run = JobRun(
        partition=cdk.Stack.of(scope).partition,
        cluster=shared.cluster.cluster_arn,
        task_definition=task.task_definition_arn,
        family=task.family,
        container="training",
        strategy=[{"CapacityProvider": made.provider.capacity_provider_name, "Weight": 1}],
        network=None,
        packed=True,
        environment={},
        checkpoints=None,
        timeout_seconds=JOB_HOURS * 3600,
    )
    _machine(scope, f"Job{pair.number}", shared, task, run, definition=definition_of(run, JobRetries()))


def _machine(
    scope: Construct,
    name: str,
    shared: Shared,
    task: ecs.Ec2TaskDefinition,
    run: JobRun,
    *,
    definition: Mapping[str, object],
) -> None:
    # What runs during a deploy is tried again with the revision that it began with.
    resource = cast("ecs.CfnTaskDefinition", task.node.default_child)
    resource.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.RETAIN
    resource.cfn_options.deletion_policy = cdk.CfnDeletionPolicy.DELETE
    stack = cdk.Stack.of(scope)
    here = f"arn:{run.partition}:ecs:{stack.region}:{stack.account}"
    in_cluster = {"ArnEquals": {"ecs:cluster": run.cluster}}
    tagged = {"StringEquals": {"ecs:CreateAction": "RunTask"}}
    handed = {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
    rules = f"arn:{run.partition}:events:{stack.region}:{stack.account}:rule"
    hears, rule = ["events:DescribeRule", "events:PutRule", "events:PutTargets"], "StepFunctionsGetEventsForECSTaskRule"
    roles = [task.task_role.role_arn, task.obtain_execution_role().role_arn]
    policy = policy_of(
        allowed("RunTheTask", "ecs:RunTask", f"{here}:task-definition/{run.family}:*", in_cluster),
        allowed("TagItAsItsDefinition", "ecs:TagResource", f"{here}:task/{shared.cluster.cluster_name}/*", tagged),
        allowed("WatchAndStopIt", ["ecs:DescribeTasks", "ecs:ListTasks", "ecs:StopTask"], "*", in_cluster),
        allowed("HearOfItsEnd", hears, f"{rules}/{rule}"),
        allowed("HandOverItsRoles", "iam:PassRole", roles, handed),
    )
    role = iam.Role(
        scope,
        f"{name}Role",
        assumed_by=principal("states.amazonaws.com"),
        inline_policies={"Run": policy},
    )
    states = stack.to_json_string(definition)
    machine = sfn.StateMachine(
        scope, name, role=cast("iam.IRole", role), definition_body=sfn.DefinitionBody.from_string(states)
    )
    machine.node.add_dependency(shared.cluster)
    counted = {"failed": machine.metric_failed(), "late": machine.metric_timed_out()}
    failed = cloudwatch.MathExpression(
        expression="FILL(failed, 0) + FILL(late, 0)",
        using_metrics={key: cast("cloudwatch.IMetric", each) for key, each in counted.items()},
        label="Failed jobs",
    )
    cloudwatch.Alarm(
        scope,
        f"{name}Alarm",
        alarm_description="Jobs that failed for good; the cause of each execution says why",
        metric=cast("cloudwatch.IMetric", failed),
        threshold=1,
        evaluation_periods=1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
