"""Whether a task has enough CPU to keep its GPUs busy."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import Unknown
from gpu_constructs.hardware import InstanceType
from gpu_constructs.hardware.aws_limits import CPU_UNITS_PER_VCPU
from gpu_constructs.placement import cpu_units, demand_of
from gpu_constructs.placement.route import Assignment
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.rule import Problem, warning

_PLENTY_FOR_A_GPU = 4  # vCPUs of the host for each GPU


@warning(
    "GPU074",
    question="does a task with a CPU limit have at least one vCPU for each GPU?",
    because="the CPU of a task definition is a hard limit for all its containers together; with less than one vCPU for "
    "each GPU, the GPUs wait for data and for kernels to be launched (a heuristic: instance types have four vCPUs or "
    "more for each GPU)",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html#task_size",
)
def fed(context: Context) -> Iterator[Problem]:
    reported = set()
    for assignment in context.assignments:
        task = assignment.task
        limit = task.cpu_limit
        if limit is None or isinstance(limit, Unknown) or not limit or task.name in reported:
            continue
        thin = [
            (host, gpus)
            for host in _hosts(assignment)
            if (gpus := _gpus(assignment, host)) and limit < gpus * CPU_UNITS_PER_VCPU
        ]
        if thin and all(host.vcpus >= _PLENTY_FOR_A_GPU * host.gpus for host, _ in thin):
            host, gpus = thin[0]
            reported.add(task.name)
            share = cpu_units(host) * gpus // host.gpus
            yield Problem(
                about=task,
                message=f"{task.name} has a hard limit of {limit} CPU units, {limit / CPU_UNITS_PER_VCPU:g} vCPU, for "
                f"all containers with {gpus} GPUs together, while {host} has {host.vcpus // host.gpus} vCPUs for each "
                "GPU",
                fix=f"Cpu of {share}, the share of {gpus} GPUs, or no Cpu of the task",
            )


def _hosts(assignment: Assignment) -> Iterator[InstanceType]:
    return (host for each in assignment.destinations for host in each.types if host.gpus)


def _gpus(assignment: Assignment, host: InstanceType) -> int:
    demand = demand_of(assignment.task)
    if demand.shared_memory_mib is not None or "ResourceRequirements" in demand.unknown:
        return 0
    return host.gpus if demand.all_gpus else demand.gpus
