"""Whether the hosts have what a task is built for: processor, memory of one GPU, Neuron devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_constructs.fleet import Task
from gpu_constructs.placement import HostResource, ObstacleKind
from gpu_constructs.placement.pool_profile import expected_shareable_mib
from gpu_constructs.placement.route import Assignment, Destination
from gpu_constructs.rules.change import Way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.copies import WHILE_SPARED
from gpu_constructs.rules.evidence.fixes import PROPERTIES, hosts_for
from gpu_constructs.rules.rule import Problem, Problems, error
from gpu_constructs.rules.words import Text, Word


@error(
    "GPU067",
    question="do the hosts have the processor that the task is built for?",
    because="a host only runs images for its own architecture, and ECS does not place a task on it whose "
    "RuntimePlatform names another",
    softer=WHILE_SPARED,
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html",
    changes="RuntimePlatform.CpuArchitecture",
    unless=("GPU063",),
)
def same_architecture(context: Context) -> Problems:
    for assignment, each in _stuck(context):
        task = assignment.task
        for obstacle in each.barred_by(ObstacleKind.ARCHITECTURE):
            yield Problem(
                about=assignment.workload,
                involves=(assignment.task,),
                message=f"{task.name} cannot run on {each.pool.name}: {obstacle}",
                fix=f"{task.architecture} hosts",
                ways=(hosts_for(task, each.pool, f"{task.architecture} hosts,"),),
                is_certain=not each.is_spared,
            )


@error(
    "GPU068",
    question="does one GPU have the memory that containers share through MPS?",
    because="all containers of a task that share a GPU get the same GPU, which must have enough memory for all of them",
    softer=WHILE_SPARED,
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_NvidiaMpsAllocation.html",
    unless=("GPU063",),
)
def enough_to_share(context: Context) -> Problems:
    for assignment, each in _stuck(context):
        for short in each.fit.shortfalls:
            if short.resource is HostResource.SHARED_GPU_MEMORY:
                yield Problem(
                    about=assignment.workload,
                    involves=(assignment.task,),
                    message=f"{assignment.task.name} fits on no GPU of {each.pool.name}: {short}",
                    fix="GPUs with more memory",
                    ways=(
                        hosts_for(assignment.task, each.pool, "GPUs with more memory,"),
                        (_less_shared(assignment.task, expected_shareable_mib(short.available or 0)),),
                    ),
                    property_name=PROPERTIES[short.resource],
                    value=short.asked,
                    allowed=f"up to {short.resource.amount(short.available)}",
                    is_shortage=True,
                    is_certain=not each.is_spared,
                )


@error(
    "GPU073",
    question="do the hosts have the Neuron devices that the task asks for?",
    because="a container does not start if its host does not have a device that it is given",
    softer=WHILE_SPARED,
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference-task-def.html",
    unless=("GPU063",),
)
def enough_neuron_devices(context: Context) -> Problems:
    for assignment, each in _stuck(context):
        short = [short for short in each.fit.shortfalls if short.resource is HostResource.NEURON_DEVICES]
        none = [obstacle for obstacle in each.fit.obstacles if obstacle.kind is ObstacleKind.NEURON]
        if short or none:
            yield Problem(
                about=assignment.workload,
                involves=(assignment.task,),
                message=f"{assignment.task.name} cannot run on {each.pool.name}: "
                f"{'; '.join(map(str, (*short, *none)))}",
                fix="hosts with as many Neuron devices",
                ways=(hosts_for(assignment.task, each.pool, "hosts with as many Neuron devices,"),),
                property_name=PROPERTIES[HostResource.NEURON_DEVICES],
                value=short[0].asked if short else None,
                allowed=f"up to {short[0].available}" if short else "",
                is_shortage=bool(short),
                is_certain=not each.is_spared,
            )


def _stuck(context: Context) -> Iterator[tuple[Assignment, Destination]]:
    return ((assignment, each) for assignment in context.assignments for each in assignment.stuck)


def _less_shared(task: Task, most: int) -> Way:
    """Asking for no more of the memory of a GPU, tried with equal shares; how to divide it only the user knows."""
    share = most // sum(len(each.mps) for each in task.containers)
    containers = tuple(
        replace(
            container,
            requirements=tuple(
                each
                if each.nvidia_mps is None
                else replace(each, nvidia_mps=replace(each.nvidia_mps, memory_mib=share))
                for each in container.requirements
            ),
        )
        for container in task.containers
    )
    return Way(
        text=Text(Word("Memory of NvidiaMps"), f" no higher than {most} for all containers together"),
        things=(replace(task, containers=containers),),
    )
