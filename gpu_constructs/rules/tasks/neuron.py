"""Neuron devices: as a resource of ECS, what a request may say and where it can run; by path, who else gets them."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.budget import brief
from gpu_constructs.errors import shown
from gpu_constructs.fleet import NEURON_DEVICE, PoolKind, Scheduler, Task, Unknown, Workload
from gpu_constructs.placement import cpu_units, demand_of, expected_memory_mib
from gpu_constructs.placement.destinations import runs_on_fargate
from gpu_constructs.placement.route import Destination
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.evidence.walk import MANAGED_INSTANCES
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_ON_EC2 = (
    "on EC2 hosts, leave the entry out and give the container its devices, LinuxParameters.Devices with /dev/neuron0"
)


@rule(
    "GPU027",
    Severity.ERROR,
    about=Context,
    question="is each request for Neuron devices one that ECS takes, on ECS Managed Instances?",
    because="the value of NeuronDevice must be ALL, one container of a task can have it, and it is supported on ECS "
    "Managed Instances only",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ResourceRequirement.html",
)
def neuron(context: Context) -> Iterator[Problem]:
    asking = {each.name: each for each in context.tasks if each.scheduler is Scheduler.ECS and _asks(each)}
    elsewhere = {name for name, each in asking.items() if each.compatibilities and not _is_for_managed(each)}
    for name, task in asking.items():
        yield from _requests(task)
        if name in elsewhere:
            yield Problem(
                about=task,
                message=f"{task.name} asks for NeuronDevice, which ECS Managed Instances alone have, and is for "
                f"{and_list(map(brief, task.compatibilities))}",
                fix=f"RequiresCompatibilities of {MANAGED_INSTANCES}; {_ON_EC2}",
            )
    pools = {each.workload.name: each.destinations for each in context.assignments}
    for workload in context.fleet.workloads:
        if workload.task is not None and workload.task.name in asking.keys() - elsewhere:
            yield from _elsewhere(workload, pools.get(workload.name, ()))


@rule(
    "GPU181",
    Severity.WARNING,
    about=Context,
    question="do copies of a task that is given Neuron devices have hosts of their own?",
    because="only one task can run on a chip, and ECS does not count devices that are given by their path: it places a "
    "second copy on the same ones if CPU and memory are left",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference.html",
)
def apart(context: Context) -> Iterator[Problem]:
    for assignment in context.assignments:
        workload, demand = assignment.workload, demand_of(assignment.task)
        alone = workload.distinct_instances or workload.daemon is True or demand.host_ports or not _several(workload)
        if alone or not demand.neuron_devices:
            continue
        roomy = [
            each
            for destination in assignment.destinations
            for each in destination.types
            if 2 * demand.cpu <= cpu_units(each) and 2 * demand.memory_mib <= expected_memory_mib(each)
        ]
        if roomy:
            yield Problem(
                about=workload,
                message=f"two copies of {assignment.task.name} have room on one {roomy[0]}, where both are given the "
                "same Neuron devices by path, which one task at a time can use",
                fix=f"more than half of the host's memory for the task ({expected_memory_mib(roomy[0]) // 2 + 1} MiB), "
                "or the placement constraint distinctInstance",
            )


def _is_for_managed(task: Task) -> bool:
    return MANAGED_INSTANCES in task.compatibilities


def _several(workload: Workload) -> bool:
    counts = (workload.desired_count, workload.max_count)
    return any(isinstance(each, Unknown) or (each is not None and each > 1) for each in counts)


def _asks(task: Task) -> bool:
    return any(each.type == NEURON_DEVICE for container in task.containers for each in container.requirements)


def _requests(task: Task) -> Iterator[Problem]:
    asking = []
    for container in task.containers:
        entries = [each for each in container.requirements if each.type == NEURON_DEVICE]
        asking.extend([container.name] if entries else [])
        wrong = [each for each in entries if not isinstance(each.value, Unknown) and not each.is_all]
        if wrong:
            value = "no value" if wrong[0].value is None else f"the value {shown(wrong[0].value)}"
            yield Problem(
                about=task,
                container=container,
                message=f"container {container.name} asks for NeuronDevice with {value}; the value must be ALL, a "
                "container gets every Neuron device of its host",
                fix='{"Type": "NeuronDevice", "Value": "ALL"}',
            )
    if len(asking) > 1:
        yield Problem(
            about=task,
            message=f"{and_list(asking)} ask for NeuronDevice; one container of a task can have Neuron devices",
            fix="a task definition for each",
        )


def _elsewhere(workload: Workload, pools: tuple[Destination, ...]) -> Iterator[Problem]:
    where = [
        f"{each.pool.name} ({each.pool.kind.value})"
        for each in pools
        if each.is_certain and each.pool.kind is not PoolKind.MANAGED_INSTANCES
    ]
    fargate = runs_on_fargate(workload)
    if fargate:
        where = [fargate]
    elif isinstance(workload.launch_type, str) and workload.launch_type != MANAGED_INSTANCES:
        where = [f"launch type {brief(workload.launch_type)}"]
    if where:
        yield Problem(
            about=workload,
            message=f"{workload.name} runs a task that asks for NeuronDevice, which ECS Managed Instances alone have, "
            f"on {and_list(where)}",
            fix=f"a capacity provider of ECS Managed Instances; {_ON_EC2}",
        )
