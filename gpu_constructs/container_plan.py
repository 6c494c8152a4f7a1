"""What a GPU container was asked to be, checked against every host it may land on before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from aws_cdk import aws_ecs as ecs

from gpu_constructs.arguments import LARGEST_INTEGER, known_or, texts, variables, whole_number
from gpu_constructs.arguments import name as require_name
from gpu_constructs.errors import DoesNotFitError, IncompatibleError, InvalidValueError
from gpu_constructs.fleet import UNKNOWN, Container, Pool, ResourceRequirement, Task, Unknown, known
from gpu_constructs.gpu_needs import plan_needs, require_met
from gpu_constructs.hardware import InstanceType, Vendor, find
from gpu_constructs.placement import FairShare, Resource, Shortfall, expected_memory_mib, fair_share, shortfalls
from gpu_constructs.tokens import is_token, known_text

__all__ = ["ContainerPlan", "plan_container", "plan_sidecar"]

MIN_MEMORY_MIB = 6
"""Docker's own minimum (memory of the ECS ContainerDefinition API)."""

_LARGEST_DEFAULT_SHARED_MEMORY_MIB = 65536  # it counts as the container's memory as it is used

_DRIVER_CAPABILITIES = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
_VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"

_FIX_GPUS = "gpus=1, or a type with more memory per GPU instead of a part of a GPU"
_FIX_SHARE = "leave it out for the share of the host that goes with the GPUs"

_ARGUMENT = {
    Resource.GPU: "gpus",
    Resource.GPU_MEMORY: "gpu_memory_gib",
    Resource.CPU: "cpu",
    Resource.MEMORY: "memory_mib",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlan:
    """A container that may be made, with every default filled in.

    Attributes:
        container: What it asks of a host.
        task: The task with it.
        cpu: CPU units, as given where it is a token.
        memory_mib: Memory in MiB, as given where it is a token.
        shared_memory_mib: Size of ``/dev/shm`` in MiB.
        command: Its command; None for the image's own.
        environment: Environment variables with the defaults.
    """

    container: Container
    task: Task
    cpu: int
    memory_mib: int
    shared_memory_mib: int
    command: list[str] | None
    environment: dict[str, str]


def plan_container(
    name: str,
    *,
    task: Task,
    pools: Sequence[Pool],
    gpus: int,
    gpu_memory_gib: float | None,
    min_compute_capability: tuple[int, int] | None,
    precision: str | None,
    nvlink: bool,
    cpu: int | None,
    memory_mib: int | None,
    shared_memory_mib: int | None,
    command: Sequence[str] | None,
    environment: Mapping[str, str] | None,
    secrets: Mapping[str, ecs.Secret] | None,
    essential: bool,
) -> ContainerPlan:
    """Checks a container against the smallest host of every pool.

    The arguments are those of `GpuTaskDefinition.add_gpu_container`; `task` holds the containers before it.

    Raises:
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: A pool has no NVIDIA GPUs to give.
        DoesNotFitError: A pool's smallest host has less of something than the task asks for.
    """
    _require_gpu_pools(pools)
    if not is_token(name):
        require_name("construct_id", name, fix="a name such as 'train'")
    asked = Container(
        name=name,
        requirements=(ResourceRequirement.gpus(whole_number("gpus", gpus, smallest=1, unit="GPUs", fix=_FIX_GPUS)),),
        needs=plan_needs(
            gpu_memory_gib=gpu_memory_gib,
            min_compute_capability=min_compute_capability,
            precision=precision,
            nvlink=nvlink,
        ),
        cpu=0 if cpu is None else whole_number("cpu", cpu, smallest=0, unit="CPU units", fix=_FIX_SHARE),
        memory_limit_mib=0
        if memory_mib is None
        else whole_number("memory_mib", memory_mib, smallest=MIN_MEMORY_MIB, unit="MiB", fix=_FIX_SHARE),
    )
    # GPUs and GPU memory first: a share of the host only exists for GPUs that it has.
    _require_fit(_with(task, asked), pools)
    require_met(_with(task, asked), pools)
    if cpu is None or memory_mib is None:
        share = _share(task, asked, pools)
        asked = replace(
            asked,
            cpu=share.cpu if cpu is None else asked.cpu,
            memory_limit_mib=share.memory_mib if memory_mib is None else asked.memory_mib,
        )
        _require_fit(_with(task, asked), pools)
    shared = _shared_memory(shared_memory_mib, asked)
    every = _variables(environment, secrets)
    asked = replace(
        asked,
        shared_memory_mib=UNKNOWN if is_token(shared) else shared,
        environment=_known_variables(every),
        essential=essential,
    )
    return ContainerPlan(
        container=asked,
        task=_with(task, asked),
        cpu=known_or(cpu or 0, asked.cpu),
        memory_mib=known_or(memory_mib or 0, asked.memory_mib),
        shared_memory_mib=shared,
        command=None if command is None else texts("command", command, example="['sh', '-c', 'nvidia-smi']"),
        environment=every,
    )


def plan_sidecar(
    name: str,
    *,
    task: Task,
    pools: Sequence[Pool],
    cpu: float | None,
    memory_limit_mib: float | None,
    memory_reservation_mib: float | None,
    essential: bool | None,
    environment: Mapping[str, str] | None,
) -> Task:
    """Counts a container without GPUs.

    Args:
        name: Its name.
        task: The containers before it.
        pools: Where the task may run.
        cpu: CPU units; None asks for none.
        memory_limit_mib: Memory in MiB above which it is stopped; None sets no limit.
        memory_reservation_mib: Memory in MiB that is kept for it; None keeps the limit.
        essential: Whether the task stops with it; None is CDK's default, that it does.
        environment: Its environment variables.

    Returns:
        The task with it.

    Raises:
        InvalidValueError: A number is wrong by itself.
        DoesNotFitError: A pool's smallest host has less of something than the task asks for.
    """
    container = Container(
        name=name,
        cpu=0 if cpu is None else whole_number("cpu", _whole(cpu), smallest=0, unit="CPU units", fix="cpu=256"),
        memory_limit_mib=_memory("memory_limit_mib", memory_limit_mib),
        memory_reservation_mib=_memory("memory_reservation_mib", memory_reservation_mib),
        essential=essential is not False,
        environment=_known_variables(environment or {}),
    )
    _require_fit(_with(task, container), pools)
    return _with(task, container)


def _memory(argument: str, value: float | None) -> int | Unknown | None:
    if value is None:
        return None
    return whole_number(argument, _whole(value), smallest=MIN_MEMORY_MIB, unit="MiB", fix=f"{argument}=256")


def _known_variables(environment: Mapping[str, str]) -> tuple[tuple[str, str | Unknown], ...]:
    return tuple(sorted((name, known_text(value)) for name, value in environment.items()))


def _whole(number: float) -> int:
    # CDK's own signature says float; 256.0 reaches the template as 256.
    return (
        int(number)
        if isinstance(number, float) and number.is_integer() and not is_token(number)
        else cast("int", number)
    )


def _with(task: Task, container: Container) -> Task:
    return replace(task, containers=(*task.containers, container))


def _require_gpu_pools(pools: Sequence[Pool]) -> None:
    for pool in pools:
        shape = pool.shape
        if shape is None or (shape.vendor is Vendor.NVIDIA and shape.partition == 1):
            continue
        first = pool.instance_types[0]
        if shape.vendor is None:
            problem = f"{pool.name} is CPU capacity, {first} has no GPU"
            fix = "add_container for a container without GPUs, or capacity of a type such as g6.xlarge"
        elif shape.vendor is Vendor.NVIDIA:
            problem = f"a host of {pool.name} has {shape}, and a whole GPU never fits on {first}"
            fix = "capacity with whole GPUs, such as g6.xlarge"
        else:
            devices = first.accelerators
            model = devices.model if devices else shape.vendor
            problem = f"{pool.name} has {model} devices ({first}), and ECS hands out NVIDIA GPUs only as GPU"
            fix = "capacity with NVIDIA GPUs, such as g6.xlarge"
        raise IncompatibleError(problem, argument="capacity", value=pool.name, fix=fix)


def _variables(environment: Mapping[str, str] | None, secrets: Mapping[str, ecs.Secret] | None) -> dict[str, str]:
    plain = variables("environment", environment, of=str, example="{'NAME': 'value'}")
    hidden = variables("secrets", secrets, of=ecs.Secret, example="{'NAME': ecs.Secret.from_secrets_manager(secret)}")
    for argument, names in (("environment", plain), ("secrets", hidden)):
        if _VISIBLE_DEVICES in names:
            raise InvalidValueError(
                f"{_VISIBLE_DEVICES} is written by the ECS agent over whatever is set, with the GPUs it reserved",
                argument=argument,
                value=_VISIBLE_DEVICES,
                fix=f"leave {_VISIBLE_DEVICES} out, and say how many with gpus=…",
            )
    twice = sorted(plain.keys() & hidden.keys())
    if twice:
        raise InvalidValueError(
            f"{', '.join(twice)} is an environment variable already, and ECS takes each name once",
            argument="secrets",
            value=twice,
            fix="leave it out of one of them",
        )
    return {**{name: value for name, value in _DRIVER_CAPABILITIES.items() if name not in hidden}, **plain}


def _share(task: Task, wanted: Container, pools: Sequence[Pool]) -> FairShare:
    """The share of the whole task by its GPUs, less what the containers before this one have."""
    types = [each for pool in pools for each in pool.instance_types]
    before = task.cpu, task.memory_mib
    total = _with(task, wanted).gpus
    unknown_hosts = any(pool.has_unknown_types for pool in pools)
    if isinstance(total, Unknown) or unknown_hosts or any(isinstance(each, Unknown) for each in before):
        raise InvalidValueError(
            "the share of a host cannot be told from values that are only known at deploy time",
            argument="cpu and memory_mib",
            fix="give both cpu and memory_mib",
        )
    whole = fair_share(types, gpus=total)
    cpu, memory = whole.cpu - known(before[0]), whole.memory_mib - known(before[1])
    if cpu < 0 or memory < MIN_MEMORY_MIB:
        raise InvalidValueError(
            f"the containers before it leave {max(cpu, 0)} CPU units and {max(memory, 0)} MiB of the share that goes "
            f"with {total} GPUs",
            argument="cpu and memory_mib",
            fix="give both cpu and memory_mib, or ask for less in the other containers",
        )
    return FairShare(cpu=cpu, memory_mib=memory)


def _shared_memory(given: int | None, container: Container) -> int:
    memory_mib = container.memory_mib
    if given is None:
        largest = _LARGEST_DEFAULT_SHARED_MEMORY_MIB
        return largest if isinstance(memory_mib, Unknown) else max(1, min(memory_mib // 2, largest))
    largest = LARGEST_INTEGER if isinstance(memory_mib, Unknown) else memory_mib
    fix = "leave it out for half of the container's memory, which it is part of"
    return known_or(given, whole_number("shared_memory_mib", given, smallest=1, largest=largest, unit="MiB", fix=fix))


def _require_fit(task: Task, pools: Sequence[Pool]) -> None:
    for pool in pools:
        short = shortfalls(task, pool.instance_types)
        if short:
            raise DoesNotFitError(
                f"the smallest host of {pool.name} is too small for {task.name}: {'; '.join(map(str, short))}",
                argument=_ARGUMENT[short[0].resource],
                value=short[0].asked,
                allowed=f"up to {short[0].resource.amount(short[0].available)}",
                fix=_fix(task, short[0]),
            )


def _fix(task: Task, short: Shortfall) -> str:
    enough = _smallest_that_fits(task, short.instance_type)
    larger = f"capacity of a larger type, such as {enough}" if enough else "no instance type has as much: ask for less"
    if short.resource is Resource.GPU_MEMORY:
        return f"{larger}, or gpu_memory_gib no higher than {(short.available or 0) * 100 // 1024 / 100:g}"
    available = short.available
    if short.resource is Resource.MEMORY:
        # What the host may have at most is not what it will register.
        available = expected_memory_mib(short.instance_type)
    return f"{larger}, or {_ARGUMENT[short.resource]} no higher than {available}"


def _smallest_that_fits(task: Task, like: InstanceType) -> InstanceType | None:
    candidates = find(
        vendor=Vendor.NVIDIA,
        architecture=like.architecture,
        min_gpus=max(known(task.gpus), 1),
        gpu_memory_mib=task.gpu_memory_mib,
    )
    fitting = [each for each in candidates if each.is_offered_anywhere and not shortfalls(task, (each,))]
    same_family = [each for each in fitting if each.family == like.family]
    return next(iter(same_family or fitting), None)
