"""A job definition of AWS Batch: tasks that Batch places itself.

https://docs.aws.amazon.com/batch/latest/APIReference/API_RegisterJobDefinition.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from gpu_constructs.facts.aws_limits import CPU_UNITS_PER_VCPU
from gpu_constructs.fleet import UNKNOWN, Container, Relations, Scheduler, Task, Unknown
from gpu_constructs.template.model import Resource
from gpu_constructs.template.resources.containers import (
    container_name,
    environment_of,
    has_open_name,
    mount_paths_of,
    requirements_of,
)
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Notes, Section, given
from gpu_constructs.template.resources.tasks import amount_of, architecture_of, efs_volumes_of, needs_in

JOB_DEFINITION = "AWS::Batch::JobDefinition"
_GENERAL = frozenset({"MEMORY", "VCPU"})
_ONLY_CONTAINER = "default"  # what Batch calls the container of a job that has one


def batch_tasks(index: Index, notes: Notes) -> Iterator[tuple[Resource, str, Task]]:
    """Reads every job definition that runs on ECS; one task for each range of nodes.

    Yields:
        The job definition, what stands behind its name for one of several ranges, and the task.
    """
    for resource in index.all(JOB_DEFINITION):
        properties = Section.of(resource, notes)
        platforms = properties.known_texts("PlatformCapabilities")
        common = Task(
            name=resource.logical_id,
            # On EC2, jobs share the network of their host; Fargate gives each its own, and so do multi-node jobs:
            # https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html
            network_mode="awsvpc" if "FARGATE" in platforms or properties.has("NodeProperties") else "host",
            family=properties.text("JobDefinitionName"),
            compatibilities=platforms,
            scheduler=Scheduler.BATCH,
            attempt_seconds=properties.section("Timeout").integer("AttemptDurationSeconds"),
            nodes=_nodes(properties),
            origin=resource.origin,
        )
        ranges = properties.section("NodeProperties").sections("NodeRangeProperties")
        read = [(each, _task(each, "Container", common, index)) for each in ranges]
        types = tuple(dict.fromkeys(chain.from_iterable(map(_node_types, ranges))))
        # What is true of all ranges is said of one of them.
        speaker = next((number for number, (_, task) in enumerate(read) if task is not None and task.wants_gpu), 0)
        for number, (each, task) in enumerate(read):
            nodes = each.text("TargetNodes")
            which = nodes if isinstance(nodes, str) else str(number)
            if task is not None:
                named = f"[{which}]" if len(ranges) > 1 else ""
                speaks = number == speaker
                yield (
                    resource,
                    named,
                    replace(
                        _with_needs(task, resource, notes),
                        node_types=types if speaks else (),
                        origin=each.origin,
                    ),
                )
        task = _task(properties, "ContainerProperties", common, index)
        if task is not None:
            yield resource, "", _with_needs(task, resource, notes)


def _nodes(properties: Section) -> int | Unknown | None:
    if not properties.has("NodeProperties"):
        return None
    number = properties.section("NodeProperties").integer("NumNodes")
    return UNKNOWN if number is None else number


def _with_needs(task: Task, resource: Resource, notes: Notes) -> Task:
    needs = needs_in(resource, notes)
    containers = tuple(replace(each, needs=needs.get(each.name)) for each in task.containers)
    return replace(task, containers=containers) if needs else task


def _node_types(section: Section) -> tuple[str | Unknown, ...]:
    """The types that a range of nodes names: its own, which go with EcsProperties, or the one of its container."""
    older = section.section("Container").text("InstanceType")
    return section.texts("InstanceTypes") or (() if older is None else (older,))


def _task(section: Section, container_key: str, common: Task, index: Index) -> Task | None:
    """The task of one container, or of several; None where it is none of ECS."""
    properties = section.section("EcsProperties").sections("TaskProperties")
    if properties:
        task = properties[0]
        containers = tuple(job_container(each, container_name(each)) for each in task.sections("Containers"))
        ipc = task.text("IpcMode")
    elif section.get(container_key) is not None:
        task = section.section(container_key)
        containers = (job_container(task, _ONLY_CONTAINER),)
        ipc = None
    else:
        return None
    platform = task.section("RuntimePlatform")
    return replace(
        common,
        containers=containers,
        architecture=architecture_of(platform),
        operating_system=platform.text("OperatingSystemFamily"),
        ipc_mode=ipc,
        used_keys=() if ipc is None else ("IpcMode",),
        efs_volumes=tuple(efs_volumes_of(task, index)),
    )


def job_container(section: Section, name: str) -> Container:
    """A container of a job, or what a submission has instead of one."""
    requirements = requirements_of(section)
    asked = {each.type: each.value for each in requirements if isinstance(each.type, str)}
    cpu = section.integer("Vcpus")
    memory = section.integer("Memory")
    if "VCPU" in asked:
        cpu_units = amount_of(section, "ResourceRequirements", asked["VCPU"], {"": CPU_UNITS_PER_VCPU})
    else:
        cpu_units = cpu * CPU_UNITS_PER_VCPU if isinstance(cpu, int) else cpu
    if "MEMORY" in asked:
        memory = amount_of(section, "ResourceRequirements", asked["MEMORY"], {"": 1})
    linux = section.section("LinuxParameters")
    return Container(
        name=name,
        requirements=tuple(each for each in requirements if each.type not in _GENERAL),
        cpu=cpu_units or 0,
        memory_limit_mib=memory,
        shared_memory_mib=linux.integer("SharedMemorySize"),
        devices=linux.known_texts("Devices", "HostPath"),
        environment=environment_of(section),
        essential=given(section.flag("Essential"), default=True),
        image=section.text("Image"),
        relations=Relations(mount_paths=mount_paths_of(section)),
        has_open_name=has_open_name(section),
        origin=section.origin,
    )
