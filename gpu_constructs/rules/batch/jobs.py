"""What AWS Batch asks of the containers of a GPU job, where it differs from ECS."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.errors import shown
from gpu_constructs.fleet import Container, Scheduler, Task, Unknown
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.evidence.walk import is_gpu
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_API = "https://docs.aws.amazon.com/batch/latest/APIReference/API_ResourceRequirement.html"
_ONE_GPU = '{"Type": "GPU", "Value": "1"}'


@rule(
    "GPU133",
    Severity.ERROR,
    about=Context,
    question="does a job ask AWS Batch for whole GPUs?",
    because="a resource requirement of AWS Batch has a type and a value, which is the number of physical GPUs: ALL, "
    "parts of a GPU and sharing are of ECS alone",
    source=_API,
)
def whole_gpus(context: Context) -> Iterator[Problem]:
    for task, container in _containers(context):
        for each in container.requirements:
            if not is_gpu(each):
                continue
            what = ""
            if each.nvidia_mps is not None:
                what = "a share of a GPU (SharingStrategy)"
            elif each.is_all:
                what = "ALL GPUs of its host"
            elif each.part is not None:
                what = f"{shown(each.value)} of a GPU"
            if what:
                yield Problem(
                    about=task,
                    container=container,
                    message=f"the job {task.name} asks AWS Batch for {what}, and Batch hands out whole GPUs by number",
                    fix=_ONE_GPU,
                )


@rule(
    "GPU134",
    Severity.ERROR,
    about=Context,
    question="does a GPU job say how many vCPUs and how much memory it needs?",
    because="AWS Batch requires both for every node and refuses the job definition otherwise",
    source=_API,
)
def has_sizes(context: Context) -> Iterator[Problem]:
    for task, container in _containers(context):
        if _is_said_elsewhere(task) or any(isinstance(each.type, Unknown) for each in container.requirements):
            continue
        missing = [
            *(["VCPU"] if container.cpu == 0 else []),
            *(["MEMORY"] if container.memory_limit_mib is None else []),
        ]
        if missing:
            yield Problem(
                about=task,
                container=container,
                message=f"the job {task.name} asks for a GPU and has no {and_list(missing)}, which AWS Batch requires",
                fix=", ".join(_SIZES[each] for each in missing),
            )


_SIZES = {"VCPU": '{"Type": "VCPU", "Value": "4"}', "MEMORY": '{"Type": "MEMORY", "Value": "15000"} in MiB'}


def _containers(context: Context) -> Iterator[tuple[Task, Container]]:
    """Containers of GPU jobs on hosts; of those on Fargate GPU028 says what there is to say."""
    for task in context.tasks:
        if task.scheduler is Scheduler.BATCH and task.wants_gpu and "FARGATE" not in task.compatibilities:
            yield from ((task, each) for each in task.containers)


def _is_said_elsewhere(task: Task) -> bool:
    """Whether other containers or ranges of nodes may bring what this one lacks: nested ranges override each other."""
    in_range = task.origin is not None and "NodeRangeProperties" in task.origin.path
    return in_range or len(task.containers) > 1
