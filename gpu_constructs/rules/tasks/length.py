"""The length of a task definition: does ECS register it?"""

from __future__ import annotations

from gpu_constructs.fleet import Task
from gpu_constructs.hardware.aws_limits import MAX_TASK_DEFINITION_BYTES
from gpu_constructs.placement.machine import why_too_long
from gpu_constructs.rules.evidence.accelerated import where_accelerated
from gpu_constructs.rules.rule import Problem, Problems, error


@where_accelerated
@error(
    "GPU392",
    question="is the task definition short enough for ECS to register it?",
    because="ECS refuses a task definition that is longer than its quota, which cannot be raised, and the deploy fails",
    softer="where its texts are short enough, since what else ECS counts is not documented",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-quotas.html",
    changes="ContainerDefinitions",
)
def is_short_enough(task: Task) -> Problems:
    if task.length[1] > MAX_TASK_DEFINITION_BYTES:
        as_json = f"its definition has {task.length[1]} bytes as JSON, and ECS takes {MAX_TASK_DEFINITION_BYTES}"
        certain = why_too_long(task)
        yield Problem(
            message=f"{task.name} {'cannot' if certain else 'may not'} be registered: {certain or as_json}",
            fix="settings in files that the containers fetch: EnvironmentFiles from S3, or one secret in place of many",
            is_certain=bool(certain),
        )
