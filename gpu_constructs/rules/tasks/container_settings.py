"""Settings of containers that ECS refuses: numbers of health checks, links, and numbers in place of strings."""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Scheduler, Task
from gpu_constructs.hardware.aws_limits import HEALTH_CHECK_LIMITS
from gpu_constructs.rules.change import one_way
from gpu_constructs.rules.evidence.fixes import with_container
from gpu_constructs.rules.rule import Problem, Problems, error


@error(
    "GPU290",
    question="are the numbers of a health check within the limits of ECS?",
    because="ECS takes an interval of 5 to 300 seconds, a timeout of 2 to 60, a start period of 0 to 300 and 1 to 10 "
    "retries, and refuses the task definition otherwise",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html",
)
def health_check(task: Task) -> Problems:
    for container in task.containers:
        for key, number in container.health_check:
            low, high = HEALTH_CHECK_LIMITS[key]
            if not low <= number <= high:
                allowed = high if number > high else low
                check = tuple((each, allowed if each == key else old) for each, old in container.health_check)
                within = with_container(task, container, replace(container, health_check=check))
                yield Problem(
                    container=container,
                    property_name=f"HealthCheck.{key}",
                    value=number,
                    message=f"the health check of container {brief(container.name)} has a {key} of {number}, and ECS "
                    f"takes {low} to {high}",
                    allowed=f"{low} to {high}",
                    one_value=True,
                    fix=f"a {key} that ECS takes",
                    ways=one_way(_longer(key, high) if number > high else f"a {key} of {low} or more", within),
                )


@error(
    "GPU291",
    question="do containers with links share the bridge of their host?",
    because="ECS supports links in network mode bridge only, and refuses the task definition otherwise",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    changes="Links",
    unless=("GPU047",),
)
def links(task: Task) -> Problems:
    mode = task.network_mode
    for container in task.containers:
        if "Links" in container.used_keys and isinstance(mode, str) and mode != "bridge":
            yield Problem(
                container=container,
                message=f"container {brief(container.name)} has links, which ECS supports in network mode bridge "
                f"only, and {task.name} has {mode}",
                fix="leave Links out; in network modes awsvpc and host, containers of a task reach each other at "
                "localhost",
            )


@error(
    "GPU292",
    question="are values of resource requirements written as strings?",
    because="CloudFormation turns a number into a string; the AWS CLI and the SDKs do not, and refuse a task "
    "definition with a number there (Invalid type for parameter)",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ResourceRequirement.html",
    changes="ResourceRequirements.Value",
)
def texts(task: Task) -> Problems:
    for container in task.containers if task.is_api_request and task.scheduler is Scheduler.ECS else ():
        for each in container.requirements:
            if each.is_number:
                yield Problem(
                    container=container,
                    value=each.value,
                    message=f"container {brief(container.name)} has the number {each.value} as a value, and the API "
                    "takes a string",
                    fix=f'"value": "{each.value}"',
                )


def _longer(key: str, high: int) -> str:
    more = "; with more Retries or a longer Interval a slow container has more time" if key == "StartPeriod" else ""
    return f"a {key} of {high} or less{more}"
