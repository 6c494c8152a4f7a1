"""What a job was asked to be, checked against every host it may land on before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from gpu_constructs.cdk.arguments import flag, known_number, of_kind, seconds_of, variables, whole_seconds
from gpu_constructs.cdk.refusal import ARGUMENTS, is_error, raise_first
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.aws_limits import CPU_UNITS_PER_VCPU, MIN_JOB_MEMORY_MIB, MIN_JOB_TIMEOUT_SECONDS
from gpu_constructs.facts.declared import MOST_DEVICES
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Container, Fleet, Pool, ResourceRequirement, Scheduler, Task
from gpu_constructs.jobs.batch.job_options import BatchRetries, JobOptions, require_volumes
from gpu_constructs.jobs.data import JobPlaces
from gpu_constructs.jobs.job_run import CHECKPOINTS
from gpu_constructs.jobs.job_task import require_cost
from gpu_constructs.placement.fit import refusals
from gpu_constructs.rules import check
from gpu_constructs.tasks.container_plan import known_variables
from gpu_constructs.tasks.gpu_ask import NEEDS, plan_needs
from gpu_constructs.tasks.host_share import (
    default_shared_memory_mib,
    efa_devices,
    efa_variables,
    require_fit,
    require_met,
    share_of_host,
    types_for,
)

ONLY_CONTAINER = "default"
"""What AWS Batch calls the container of a job that has one."""

_DRIVER_CAPABILITIES = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
_NCCL_OF_TASKS: Mapping[str, str] = {"NCCL_SOCKET_IFNAME": "^lo,docker,ecs"}
"""In network mode ``awsvpc`` a container also has the interface ecs-eth0, which leads nowhere but to its host."""
_RESERVED = "AWS_BATCH"
_DAY_SECONDS = 86_400  # how long an attempt may take by default
_WHY_KNOWN = "cannot be compared with hosts; AWS Batch takes another one with each submission"

_ARGUMENTS: Mapping[str, str] = {
    **ARGUMENTS,
    **NEEDS,
    "ContainerProperties.ResourceRequirements": "gpus",
    "ContainerDefinitions.ResourceRequirements": "gpus",
    "ResourceRequirements": "gpus",
    "ContainerDefinitions.Cpu": "vcpus",
    "ContainerDefinitions.Memory": "memory_mib",
    "ContainerDefinitions.LinuxParameters.Devices": "efa",
    "Cpu": "vcpus",
    "Memory": "memory_mib",
    "Environment": "environment",
    "LinuxParameters.SharedMemorySize": "shared_memory_mib",
    "ComputeResources.MaxvCpus": "vcpus",
    "MaxvCpus": "max_instances",
    "ComputeResources.InstanceTypes": "gpus",
    "InstanceType": "gpus",
    "InstanceTypes": "instance_types",
    "NodeProperties.NumNodes": "hosts",
    "ComputeResources.Type": "queue",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """How many hosts a multi-node parallel job has at once, and their type."""

    number: int
    host: InstanceType


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """A job that may be made, with every default filled in.

    Attributes:
        task: The job as the value that every check reads.
        environment: Environment variables with the defaults.
    """

    task: Task
    environment: dict[str, str]
    options: JobOptions
    retries: BatchRetries
    places: JobPlaces
    pools: Sequence[Pool]

    @property
    def asked(self) -> Container:
        """What its one container asks for; all its numbers are known."""
        return self.task.containers[0]

    def resuming(self, job: str) -> JobPlan:
        """The same job under its own name, after which the directory of its checkpoints is called."""
        if self.places.checkpoints is None:
            return self
        place = f"{self.places.checkpoints.location}{self.places.key or job}/"
        environment = {**self.environment, CHECKPOINTS: place}
        asked = replace(self.asked, environment=known_variables(environment))
        return replace(self, environment=environment, task=replace(self.task, containers=(asked,)))

    def definition(self) -> dict[str, object]:
        """Its part of the arguments of CDK's job definitions, which those for several hosts have as well."""
        priority, share = self.options.get("scheduling_priority"), self.options.get("share")
        return {
            "job_definition_name": self.options.get("job_definition_name"),
            "timeout": self.options.get("timeout") or seconds_of(_DAY_SECONDS),
            "retry_attempts": self.retries.attempts,
            "retry_strategies": self.retries.conditions(of_gang=self.task.is_multi_node) or None,
            # AWS Batch takes no job without one in a queue with shares.
            "scheduling_priority": 0 if priority is None and share is not None else priority,
            "propagate_tags": True,
        }


def plan_job(
    name: str,
    options: JobOptions,
    *,
    gpus: int,
    efa: bool,
    pools: Sequence[Pool],
    nodes: Nodes | None = None,
    words: Mapping[str, str] | None = None,
) -> JobPlan:
    """Checks a job by the rules that files are checked with.

    `words` are what arguments of its own are called, by property.
    """
    needs, timeout = plan_needs(options), options.get("timeout")
    require_volumes(options.get("volumes"))
    retries = of_kind("retries", options.get("retries"), BatchRetries, example="BatchRetries(attempts=5)")
    retries.conditions(of_gang=nodes is not None)
    vcpus, memory, shared = options.get("vcpus"), options.get("memory_mib"), options.get("shared_memory_mib")
    gpus = known_number(
        "gpus",
        gpus,
        smallest=1,
        largest=MOST_DEVICES,
        unit="GPUs",
        fix="gpus=1; AWS Batch hands out whole GPUs by number",
        why=_WHY_KNOWN,
        rule="GPU020",
    )
    flag("efa", efa)
    given = variables("environment", options.get("environment"), of=str, example="{'NAME': 'value'}")
    reserved = next((each for each in given if each.startswith(_RESERVED)), None)
    if reserved is not None:
        raise InvalidValueError(
            f"{reserved} begins with {_RESERVED}, which AWS Batch keeps for its own variables",
            argument="environment",
            value=reserved,
            fix="another name",
        )
    places = JobPlaces.of(options, reserved=frozenset({CHECKPOINTS, *given}))
    _require_mounted(places, options)
    # Accelerators first: a share of the host only exists for those that it has.
    asked = Container(
        name=ONLY_CONTAINER,
        requirements=(ResourceRequirement.gpus(gpus),),
        needs=needs,
        cpu=CPU_UNITS_PER_VCPU,
        memory_limit_mib=MIN_JOB_MEMORY_MIB,
    )
    task = Task(
        name=name,
        containers=(asked,),
        network_mode="host" if nodes is None else "awsvpc",
        compatibilities=("EC2",),
        scheduler=Scheduler.BATCH,
        attempt_seconds=_DAY_SECONDS
        if timeout is None
        else whole_seconds("timeout", timeout, smallest=MIN_JOB_TIMEOUT_SECONDS),
        nodes=None if nodes is None else nodes.number,
        node_types=() if nodes is None else (nodes.host.name,),
        attempts=retries.attempts,
    )
    able = _able(task, pools)
    devices, defaults = (efa_devices(able), efa_variables(able)) if efa else ((), {})
    told = places.variables if places.checkpoints is None else {**places.variables, CHECKPOINTS: ""}
    every = {**_DRIVER_CAPABILITIES, **defaults, **(_NCCL_OF_TASKS if nodes else {}), **told, **given}
    asked = replace(asked, devices=devices, environment=known_variables(every), cpu=0, memory_limit_mib=0)
    share = share_of_host(replace(task, containers=(asked,)), able, least_memory_mib=MIN_JOB_MEMORY_MIB)
    vcpus = (
        max(1, share.cpu // CPU_UNITS_PER_VCPU)
        if vcpus is None
        else _whole("vcpus", vcpus, 1, "vCPUs", "leave it out for the share that goes with its GPUs")
    )
    memory = (
        share.memory_mib
        if memory is None
        else _whole("memory_mib", memory, MIN_JOB_MEMORY_MIB, "MiB", "leave it out for the same share")
    )
    shared = (
        default_shared_memory_mib(memory)
        if shared is None
        else _whole("shared_memory_mib", shared, 1, "MiB", "leave it out for half of the job's memory")
    )
    asked = replace(asked, cpu=vcpus * CPU_UNITS_PER_VCPU, memory_limit_mib=memory, shared_memory_mib=shared)
    task = replace(task, containers=(asked,))
    with argument_named("vcpus and memory_mib"):
        _require_possible(task, pools, words)
    seconds = task.attempt_seconds
    longest = seconds * retries.attempts if isinstance(seconds, int) else UNKNOWN
    alone = Fleet(pools=tuple(pools), tasks=(task,))
    require_cost(alone, longest, options.get("max_cost_usd"), "BatchRetries(attempts=…) with fewer attempts")
    return JobPlan(task=task, environment=every, options=options, retries=retries, places=places, pools=able)


def arguments_of(name: str) -> Mapping[str, str]:
    """Arguments of a job by property, and what the job is called whose container has a name of AWS Batch."""
    container = f"container {ONLY_CONTAINER}"
    return {**_ARGUMENTS, f"{container} of {name}": name, container: name}


def _require_mounted(places: JobPlaces, options: JobOptions) -> None:
    """Refuses checkpoints in a directory that ends with its container."""
    where, volumes = places.checkpoints, options.get("volumes") or ()
    if where is None or where.bucket is not None or is_token(where.location):
        return
    directory, mounted = PurePosixPath(where.location), [each.container_path for each in volumes]
    if not any(is_token(each) or directory.is_relative_to(each) for each in mounted):
        raise IncompatibleError(
            f"{where.location} is in none of the volumes, so that checkpoints end with their container",
            argument="checkpoints",
            value=where.location,
            allowed=", ".join(mounted) or None,
            fix=f"batch.EcsVolume.efs(name='shared', container_path={str(directory)!r}, …) in volumes",
        )


def _able(task: Task, pools: Sequence[Pool]) -> list[Pool]:
    """The environments that AWS Batch may place a job in, which all have to meet its needs: it counts GPUs only."""
    (asked,) = task.containers
    plain = replace(task, containers=(replace(asked, needs=None),))
    found = [
        replace(pool, instance_types=types)
        for pool in pools
        if (types := tuple(each for each in pool.instance_types if not refusals(plain, each, pool)))
    ]
    words = arguments_of(task.name)
    if not found:
        with argument_named("gpus"):
            _require_possible(plain, pools)
    for pool in found:
        require_fit(task, [replace(pool, instance_types=(each,)) for each in pool.instance_types], words)
    require_met(task, found, words)
    return found


def _require_possible(task: Task, pools: Sequence[Pool], words: Mapping[str, str] | None = None) -> None:
    # A multi-node job has to work on each of them.
    for each in [[one] for one in pools] if task.is_multi_node else [pools]:
        raise_first(
            check(Fleet(pools=tuple(each), tasks=(task,), is_whole=True), rules=is_error),
            {**arguments_of(task.name), **(words or {})},
        )
    if not any(not refusals(task, one, pool) for pool in pools for one in types_for(task, pool)):
        raise IncompatibleError(
            f"no compute environment of the queue has hosts for {task.name}",
            argument="gpus",
            value=task.least_gpus,
            allowed=", ".join(f"{each.name}: {each.shape}" for each in pools),
            fix="fewer GPUs, or an environment of a larger type",
        )


def _whole(argument: str, value: int, smallest: int, unit: str, fix: str) -> int:
    return known_number(argument, value, smallest=smallest, unit=unit, fix=fix, why=_WHY_KNOWN)
