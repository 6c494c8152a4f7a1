"""GPU jobs: do they ask AWS Batch in the way that it takes, which differs from ECS?"""

from __future__ import annotations

from gpu_constructs.errors import shown
from gpu_constructs.fleet import ResourceRequirement, Scheduler, Task, Unknown
from gpu_constructs.rules.evidence.accelerated import is_gpu
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error

_API = "https://docs.aws.amazon.com/batch/latest/APIReference/API_ResourceRequirement.html"
_ONE_GPU = '{"Type": "GPU", "Value": "1"}'


@error(
    "GPU133",
    question="does a job ask AWS Batch for whole GPUs?",
    because="a resource requirement of AWS Batch has a type and a value, which is the number of physical GPUs; only "
    "ECS has ALL, parts of a GPU and sharing",
    source=_API,
    unless=("GPU028",),
)
def whole_gpus(task: Task) -> Problems:
    if not _is_gpu_job(task):
        return
    for container in task.containers:
        for each in container.requirements:
            what = _beyond_whole(each) if is_gpu(each) else ""
            if what:
                yield Problem(
                    container=container,
                    message=f"the job {task.name} asks AWS Batch for {what}, and Batch hands out whole GPUs by number",
                    fix=_ONE_GPU,
                    property_name="ResourceRequirements",
                    value=each.value,
                )


@error(
    "GPU134",
    question="does a GPU job set its vCPUs and its memory?",
    because="AWS Batch requires both for every node and refuses the job definition otherwise",
    source=_API,
    unless=("GPU028",),
)
def has_sizes(task: Task) -> Problems:
    if not _is_gpu_job(task) or _may_be_set_elsewhere(task):
        return
    for container in task.containers:
        if any(isinstance(each.type, Unknown) for each in container.requirements):
            continue
        missing = [
            *(["VCPU"] if container.cpu == 0 else []),
            *(["MEMORY"] if container.memory_limit_mib is None else []),
        ]
        if missing:
            yield Problem(
                container=container,
                message=f"the job {task.name} asks for a GPU without {and_list(missing)}, which AWS Batch requires",
                fix=", ".join(_SIZES[each] for each in missing),
                property_name="ResourceRequirements",
            )


_SIZES = {"VCPU": '{"Type": "VCPU", "Value": "4"}', "MEMORY": '{"Type": "MEMORY", "Value": "15000"} in MiB'}


def _is_gpu_job(task: Task) -> bool:
    return task.scheduler is Scheduler.BATCH and task.wants_gpu


def _beyond_whole(asked: ResourceRequirement) -> str:
    """What a requirement asks for that is not a number of whole GPUs; empty if it is one."""
    if asked.nvidia_mps is not None:
        return "a share of a GPU (SharingStrategy)"
    if asked.is_all:
        return "ALL GPUs of its host"
    return f"{shown(asked.value)} of a GPU" if asked.part is not None else ""


def _may_be_set_elsewhere(task: Task) -> bool:
    """Whether other containers or ranges of nodes may bring what this one lacks: nested ranges override each other."""
    in_range = task.origin is not None and "NodeRangeProperties" in task.origin.path
    return in_range or len(task.containers) > 1
