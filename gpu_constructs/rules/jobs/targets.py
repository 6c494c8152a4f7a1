"""Targets of EventBridge that run GPU tasks: does it take them as they are written?"""

from __future__ import annotations

from typing import Final

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Starter, Workload
from gpu_constructs.hardware.aws_limits import MAX_TARGET_PROVIDERS
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import is_accelerated
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error

_EVENT_BRIDGE: Final = frozenset({Starter.RULE, Starter.SCHEDULE, Starter.PIPE})
_REQUEST: Final = "Input"  # where a schedule that calls RunTask by its name has the request


@error(
    "GPU352",
    question="does EventBridge take all capacity providers in the strategy of its target?",
    because=f"rules, schedules and pipes take {MAX_TARGET_PROVIDERS} providers in a strategy, and refuse more, where "
    "ECS itself takes 20",
    source="https://docs.aws.amazon.com/scheduler/latest/APIReference/API_EcsParameters.html",
    unless=("GPU089",),
)
def few_providers(workload: Workload) -> Problems:
    by_request = workload.origin is not None and _REQUEST in workload.origin.path
    is_own = workload.starter in _EVENT_BRIDGE and not by_request and not workload.follows_cluster
    count = len(workload.strategy)
    if is_own and count > MAX_TARGET_PROVIDERS:
        yield Problem(
            property_name="CapacityProviderStrategy",
            message=f"the strategy of {workload.name} has {count} capacity providers, and EventBridge takes "
            f"{MAX_TARGET_PROVIDERS} in a target",
            allowed=f"up to {MAX_TARGET_PROVIDERS}",
            fix="fewer of them, or the default strategy of the cluster, which may have more",
        )


@error(
    "GPU353",
    question="does a target of EventBridge that is a queue of AWS Batch say which job it submits?",
    because="a rule needs BatchParameters for a queue, and EventBridge Scheduler takes no queue as a target: it "
    "submits a job by a call of batch:submitJob",
    source="https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-templated.html",
)
def names_a_job(context: Context) -> Problems:
    for each in context.fleet.submissions:
        queue = each.queue
        if queue is None or each.names_job or not context.gpu_pools(queue):
            continue
        # Of rules: https://github.com/aws/aws-cdk/issues/7137
        is_schedule = each.starter is Starter.SCHEDULE
        yield Problem(
            about=each,
            property_name="Arn" if is_schedule else "BatchParameters",
            message=f"{each.name} has the queue {queue.name} as its target, which EventBridge Scheduler does not take"
            if is_schedule
            else f"{each.name} has the queue {queue.name} as its target, and no BatchParameters with a job",
            fix='Arn "arn:aws:scheduler:::aws-sdk:batch:submitJob", and JobQueue, JobDefinition and JobName in Input'
            if is_schedule
            else "BatchParameters with JobDefinition and JobName",
        )


@error(
    "GPU359",
    question="does each override name a container of the task?",
    because="RunTask refuses an override for a container that is not in the task definition, and starts nothing",
    source="https://github.com/azavea/django-ecsmanage/issues/21",
)
def overrides_its_containers(workload: Workload) -> Problems:
    task = workload.task
    if task is None or not is_accelerated(task):
        return
    names = and_list(brief(each.name) for each in task.containers)
    for name, origin in workload.overrides_others:
        yield Problem(
            origin=origin,
            property_name="ContainerOverrides.Name",
            value=name,
            message=f"{workload.name} overrides container {brief(name)}, and {task.name} has {names}",
            allowed=names,
            fix="the name of a container of the task",
        )
