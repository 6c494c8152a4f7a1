"""Jobs of AWS Batch: their definitions and queues, and what is submitted: to which environments, with which sizes.

https://docs.aws.amazon.com/batch/latest/APIReference/API_CreateJobQueue.html and API_SubmitJob.html,
https://docs.aws.amazon.com/batch/latest/APIReference/API_RegisterJobDefinition.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from gpu_constructs.facts.aws_limits import CPU_UNITS_PER_VCPU
from gpu_constructs.fleet import UNKNOWN, Container, JobQueue, Relations, Scheduler, Submission, Task, Unknown
from gpu_constructs.template.model import JOB_DEFINITION, Reference, Resource
from gpu_constructs.template.resources.calls import SUBMIT_JOB, Call
from gpu_constructs.template.resources.containers import (
    container_name,
    environment_of,
    has_open_name,
    mount_paths_of,
    needs_in,
    requirements_of,
)
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.names import Names
from gpu_constructs.template.resources.section import Notes, Section, given
from gpu_constructs.template.resources.tasks import amount_of, architecture_of, built_for

ENVIRONMENT = "AWS::Batch::ComputeEnvironment"
QUEUE = "AWS::Batch::JobQueue"
_POLICY = "AWS::Batch::SchedulingPolicy"
_OF_NODES = "NodeOverrides"
_OF_PARTS = ("EcsPropertiesOverride", "EksPropertiesOverride")
# They only take the place of old sizes.
_OLD_SIZES = ("Memory", "Vcpus")


def environments_of(queue: Resource, index: Index) -> list[Resource | None]:
    """The compute environments of a queue, in order; None for each that is not among the files."""
    order = Section.of(queue, []).sections("ComputeEnvironmentOrder")
    return [index.find(each.get("ComputeEnvironment"), ENVIRONMENT, each.resource.place) for each in order]


def is_managed(environment: Resource) -> bool:
    """Whether AWS Batch certainly launches the hosts of a compute environment."""
    return str(environment.properties.get("Type")).upper() == "MANAGED"


def job_queues(index: Index, names: Names) -> Iterator[tuple[Reference, JobQueue]]:
    """Reads every queue."""
    for resource, name in names.named(index.all(QUEUE)):
        properties = Section.of(resource, [])
        limits = properties.sections("JobStateTimeLimitActions")
        queue = JobQueue(
            name=name,
            has_shares=_has_shares(properties, index),
            wait_seconds=tuple(given(each.integer("MaxTimeSeconds"), UNKNOWN) for each in limits),
            origin=resource.origin,
        )
        yield resource.reference, queue


def _has_shares(properties: Section, index: Index) -> bool | Unknown:
    """Whether its policy is one of fair shares; there are others."""
    if not properties.has("SchedulingPolicyArn"):
        return False
    policy = index.find(properties.get("SchedulingPolicyArn"), _POLICY, properties.resource.place)
    return True if policy is not None and "FairsharePolicy" in policy.properties else UNKNOWN


class Submissions:
    """Finds what states of state machines and events submit."""

    def __init__(self, index: Index, calls: Iterable[tuple[str, Call]], pools: Mapping[Reference, str]) -> None:
        self._index = index
        self._pools = pools
        self._by_job: dict[Reference, list[tuple[str, Call]]] = {}
        self._all: list[tuple[str, Call, Resource | None]] = []
        for name, each in calls:
            if each.action != SUBMIT_JOB:
                continue
            job = index.revised(each.request.get("JobDefinition"), JOB_DEFINITION, each.request.resource.place)
            if job is not None:
                self._by_job.setdefault(job.reference, []).append((name, each))
            self._all.append((name, each, job))

    def with_submissions(self, task: Task, job: Reference, suffix: str) -> Task:
        """A job, or one range of its nodes, with everything that is submitted of it; the same where that is no more."""
        runs = [self._run(task, f"{name}{suffix}", call) for name, call in self._by_job.get(job, ())]
        if all(each is task for each in runs):
            return task
        # Of a command, or of variables, that all of them override, nothing is known.
        own, *others = ([(of.command, of.environment) for of in each.containers] for each in (task, *runs))
        containers = tuple(each if own in others else replace(each, command=(UNKNOWN,)) for each in task.containers)
        return replace(task, submissions=tuple(runs), containers=containers)

    def all(self, tasks: Mapping[Reference, Task], queues: Mapping[Reference, JobQueue]) -> Iterator[Submission]:
        """Everything that submits a job."""
        for name, call, job in self._all:
            request, queue = call.request, self._queue(call)
            defined = Section({} if job is None else job.properties, call.resource.origin)
            priority = given(request.integer("SchedulingPriorityOverride"), defined.integer("SchedulingPriority"))
            yield Submission(
                name=name,
                starter=call.starter,
                queue=None if queue is None else queues.get(queue.reference),
                task=None if job is None else tasks.get(job.reference),
                share=UNKNOWN if request.is_unknown else request.has("ShareIdentifier"),
                priority=UNKNOWN if request.is_unknown else priority is not None,
                attempt_seconds=request.section("Timeout").integer("AttemptDurationSeconds"),
                attempts=request.section("RetryStrategy").integer("Attempts"),
                copies=request.section("ArrayProperties").integer("Size"),
                origin=request.origin,
            )

    def _queue(self, call: Call) -> Resource | None:
        return self._index.find(call.target, QUEUE, call.resource.origin.place)

    def _run(self, task: Task, name: str, call: Call) -> Task:
        request = call.request
        environments, containers = self._environments(call), _containers(task, request)
        nodes = given(request.section(_OF_NODES).integer("NumNodes"), task.nodes) if task.is_multi_node else None
        if environments is None and containers is task.containers and nodes == task.nodes:
            return task
        # Types that a part of the nodes gets instead are not told apart.
        if any(each.has("InstanceTypes") for each in request.section(_OF_NODES).sections("NodePropertyOverrides")):
            task = replace(task, node_types=())
        key = next(filter(request.has, ("ContainerOverrides", _OF_NODES)), _OF_PARTS[0])
        origin = task.origin if containers is task.containers else request.origin.at(key)
        return replace(task, name=name, environments=environments, containers=containers, nodes=nodes, origin=origin)

    def _environments(self, call: Call) -> frozenset[str] | None:
        """The compute environments of the queue; none of a queue of other files, None where not all are known."""
        queue = self._queue(call)
        if queue is None:
            return None if call.target is None else frozenset()
        found = environments_of(queue, self._index)
        managed = [each for each in found if each is not None and is_managed(each)]
        if not found or len(managed) < len(found):
            return None
        return frozenset(self._pools.get(each.reference, each.logical_id) for each in managed)


def _containers(task: Task, request: Section) -> tuple[Container, ...]:
    """What the containers ask for where the request asks for something else.

    Unknown where only the deploy knows it, and where the request names one of several containers or a part of the
    nodes.
    """
    nodes, only = request.section(_OF_NODES), request.section("ContainerOverrides")
    resizes = any(map(only.has, ("ResourceRequirements", *_OLD_SIZES)))
    names_a_part = any(map(request.has, _OF_PARTS)) or nodes.has("NodePropertyOverrides")
    is_open = only.is_unknown or nodes.is_unknown or names_a_part
    if is_open or (resizes and (len(task.containers) > 1 or any(map(only.has, _OLD_SIZES)))):
        return tuple(map(_open, task.containers))
    return tuple(_changed(each, only) for each in task.containers) if only.keys else task.containers


def _changed(container: Container, override: Section) -> Container:
    asked = job_container(override, "")
    kinds = {each.type for each in asked.requirements}
    if any(isinstance(each, Unknown) for each in kinds):
        return _open(container)
    kept = (each for each in container.requirements if each.type not in kinds)
    return replace(
        container,
        requirements=(*kept, *asked.requirements),
        cpu=asked.cpu or container.cpu,
        command=asked.command or container.command,
        environment=(*container.environment, *asked.environment),
        memory_limit_mib=given(asked.memory_limit_mib, container.memory_limit_mib),
        origin=override.origin,
    )


def _open(container: Container) -> Container:
    """The same with sizes and a command that are only known when it is submitted."""
    requirements = tuple(replace(each, value=UNKNOWN) for each in container.requirements)
    return replace(container, requirements=requirements, cpu=UNKNOWN, memory_limit_mib=UNKNOWN, command=(UNKNOWN,))


_ONLY_CONTAINER = "default"  # what Batch calls the container of a job that has one


def batch_tasks(index: Index, notes: Notes) -> Iterator[tuple[Resource, str, Task]]:
    """Reads every job definition that runs on ECS; one task for each range of nodes.

    Yields:
        The job definition, what stands behind its name for one of several ranges, and the task.
    """
    for resource in index.all(JOB_DEFINITION):
        properties = Section.of(resource, notes)
        nodes_of_job, has_nodes = properties.section("NodeProperties"), properties.has("NodeProperties")
        platforms = properties.known_texts("PlatformCapabilities")
        common = Task(
            name=resource.logical_id,
            # On EC2, jobs share the network of their host; Fargate gives each its own, and so do multi-node jobs:
            # https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html
            network_mode="awsvpc" if "FARGATE" in platforms or has_nodes else "host",
            family=properties.text("JobDefinitionName"),
            compatibilities=platforms,
            scheduler=Scheduler.BATCH,
            attempt_seconds=properties.section("Timeout").integer("AttemptDurationSeconds"),
            attempts=given(properties.section("RetryStrategy").integer("Attempts"), 1),
            nodes=given(nodes_of_job.integer("NumNodes"), UNKNOWN) if has_nodes else None,
            origin=resource.origin,
        )
        ranges = nodes_of_job.sections("NodeRangeProperties")
        read = [(each, _task(resource, each, "Container", common)) for each in ranges]
        types = tuple(dict.fromkeys(chain.from_iterable(map(_node_types, ranges))))
        # What is true of all ranges is said of one of them.
        speaker = next(
            (number for number, (_, task) in enumerate(read) if task is not None and task.wants_accelerator), 0
        )
        for number, (each, task) in enumerate(read):
            nodes = each.text("TargetNodes")
            named = f"[{nodes if isinstance(nodes, str) else number}]" if len(ranges) > 1 else ""
            if task is not None:
                of_nodes = replace(task, node_types=types if number == speaker else (), origin=each.origin)
                yield resource, named, _with_needs(of_nodes, resource, notes)
        # What has node properties is a multi-node job, whatever stands beside them.
        task = None if read else _task(resource, properties, "ContainerProperties", common)
        if task is not None:
            yield resource, "", _with_needs(task, resource, notes)


def _with_needs(task: Task, resource: Resource, notes: Notes) -> Task:
    needs = needs_in(resource, notes)
    containers = tuple(replace(each, needs=needs.get(each.name)) for each in task.containers)
    return replace(task, containers=containers) if needs else task


def _node_types(section: Section) -> tuple[str | Unknown, ...]:
    """The types that a range of nodes names: its own, which go with EcsProperties, or the one of its container."""
    older = section.section("Container").text("InstanceType")
    return section.texts("InstanceTypes") or (() if older is None else (older,))


def _task(resource: Resource, section: Section, container_key: str, common: Task) -> Task | None:
    """The task of one container, or of several; None where it is none of ECS."""
    properties = section.section("EcsProperties").sections("TaskProperties")
    if properties:
        task = properties[0]
        read = tuple((each, container_name(each)) for each in task.sections("Containers"))
        ipc = task.text("IpcMode")
    elif section.get(container_key) is not None:
        task = section.section(container_key)
        read = ((task, _ONLY_CONTAINER),)
        ipc = None
    else:
        return None
    platform = task.section("RuntimePlatform")
    return replace(
        common,
        containers=tuple(
            replace(job_container(each, name), built_for=built_for(resource, each)) for each, name in read
        ),
        architecture=architecture_of(platform),
        operating_system=platform.text("OperatingSystemFamily"),
        ipc_mode=ipc,
        used_keys=() if ipc is None else ("IpcMode",),
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
        requirements=tuple(each for each in requirements if each.type not in {"MEMORY", "VCPU"}),
        cpu=cpu_units or 0,
        memory_limit_mib=memory,
        shared_memory_mib=linux.integer("SharedMemorySize"),
        devices=linux.known_texts("Devices", "HostPath"),
        privileged=given(section.flag("Privileged"), default=False),
        environment=environment_of(section),
        image=section.text("Image"),
        command=section.texts("Command"),
        relations=Relations(mount_paths=mount_paths_of(section)),
        has_open_name=has_open_name(section),
        origin=section.origin,
    )
