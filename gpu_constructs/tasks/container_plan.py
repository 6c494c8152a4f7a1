"""What a container was asked to be, checked against every host it may land on before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.arguments import flag, known_or, texts, variables, whole_number
from gpu_constructs.cdk.arguments import name as require_name
from gpu_constructs.cdk.refusal import require_served
from gpu_constructs.cdk.tokens import is_token, known_text
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.fleet import UNKNOWN, Container, Pool, PoolKind, Task, Unknown
from gpu_constructs.hardware.aws_limits import LARGEST_INTEGER, MIN_CONTAINER_MEMORY_MIB
from gpu_constructs.tasks.efa_container import efa_devices, efa_variables
from gpu_constructs.tasks.fit import require_fit
from gpu_constructs.tasks.host_share import share_of_host

__all__ = [
    "ContainerPlan",
    "ContainerSettings",
    "finish_plan",
    "known_variables",
    "require_container_name",
    "with_container",
]

_LARGEST_DEFAULT_SHARED_MEMORY_MIB = 65536  # it counts as the container's memory as it is used

_ARGUMENTS: Mapping[str, str] = {
    "Cpu": "cpu",
    "Environment": "environment",
    "LinuxParameters.SharedMemorySize": "shared_memory_mib",
    "Memory": "memory_mib",
}
# Which GPUs a container sees, and settings that Managed Instances refuse: the constructor knows that neither can work.
_REFUSED_WARNINGS = ("GPU037", "GPU047")

_FIX_SHARE = "leave it out for the share of the host that goes with its accelerators"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSettings:
    """What every container with accelerators may be given.

    The attributes are arguments of `GpuTaskDefinition.add_gpu_container`, which explains them.
    """

    image: ecs.ContainerImage
    cpu: int | None
    memory_mib: int | None
    shared_memory_mib: int | None
    efa: bool
    command: Sequence[str] | None
    entry_point: Sequence[str] | None
    environment: Mapping[str, str] | None
    secrets: Mapping[str, ecs.Secret] | None
    essential: bool
    health_check: ecs.HealthCheck | None
    stop_timeout: cdk.Duration | None
    user: str | None
    working_directory: str | None
    readonly_root_filesystem: bool
    logging: ecs.LogDriver | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlan:
    """A container that may be made, with every default filled in.

    Attributes:
        container: What it asks of a host.
        task: The task with it.
        cpu: CPU units, as given where it is a token.
        memory_mib: Memory in MiB, as given where it is a token.
        shared_memory_mib: Size of ``/dev/shm`` in MiB; None where its hosts take no such setting.
        command: Its command; None for the image's own.
        environment: Environment variables with the defaults.
        gpu_count: Its GPUs as CDK takes them; None for none, and where CDK cannot say it.
        requirement: Its entry of ``ResourceRequirements`` as CloudFormation takes it, where CDK cannot write it.
        devices: Paths of devices of the host, the same in the container.
        capabilities: Linux capabilities in addition to Docker's own.
        ulimits: Names of the limits that are raised.
    """

    container: Container
    task: Task
    cpu: int
    memory_mib: int
    shared_memory_mib: int | None
    command: list[str] | None
    environment: dict[str, str]
    gpu_count: float | None = None
    requirement: Mapping[str, object] | None = None
    devices: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    ulimits: tuple[str, ...] = ()


def finish_plan(
    asked: Container,
    *,
    task: Task,
    pools: Sequence[Pool],
    settings: ContainerSettings,
    variables_by_default: Mapping[str, str],
    arguments: Mapping[str, str],
    given: Mapping[str, object],
) -> ContainerPlan:
    """Gives a container that asks for accelerators everything else, and checks it against the smallest hosts.

    Args:
        asked: The container with what it asks of accelerators.
        task: The containers before it.
        pools: Where the task may run.
        settings: The arguments that all containers with accelerators have.
        variables_by_default: Environment variables that it gets where nothing else was given.
        arguments: The other arguments by property, see `gpu_constructs.cdk.refusal.ARGUMENTS`.
        given: Their values as given, by argument.

    Raises:
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: The hosts of a pool have no such accelerators, or no EFA where that was asked for.
        DoesNotFitError: A pool's smallest host has less of something than the task asks for.
    """
    cpu, memory_mib = settings.cpu, settings.memory_mib
    flag("efa", settings.efa, fix="efa=True")
    devices, defaults = (efa_devices(pools), efa_variables(pools)) if settings.efa else ((), {})
    asked = replace(
        asked,
        cpu=0 if cpu is None else whole_number("cpu", cpu, smallest=0, unit="CPU units", fix=_FIX_SHARE),
        memory_limit_mib=0
        if memory_mib is None
        else whole_number("memory_mib", memory_mib, smallest=1, unit="MiB", fix=_FIX_SHARE),
        devices=(*asked.devices, *devices),
    )
    every = _variables({**variables_by_default, **defaults}, settings.environment, settings.secrets)
    require_served(
        with_container(task, _as_far_as_known(asked, every, settings)),
        pools,
        {**_ARGUMENTS, **arguments, **_hidden(settings)},
        given=given,
        also=_REFUSED_WARNINGS,
    )
    # Accelerators first: a share of the host only exists for those that it has.
    require_fit(with_container(task, asked), pools)
    if cpu is None or memory_mib is None:
        share = share_of_host(with_container(task, _unsized(asked)), pools, least_memory_mib=MIN_CONTAINER_MEMORY_MIB)
        asked = replace(
            asked,
            cpu=share.cpu if cpu is None else asked.cpu,
            memory_limit_mib=share.memory_mib if memory_mib is None else asked.memory_mib,
        )
        require_fit(with_container(task, asked), pools)
    shared = _shared_memory(settings.shared_memory_mib, asked, pools)
    asked = replace(
        asked,
        shared_memory_mib=UNKNOWN if is_token(shared) else shared,
        environment=known_variables(every),
        essential=settings.essential,
    )
    command = settings.command
    return ContainerPlan(
        container=asked,
        task=with_container(task, asked),
        cpu=known_or(cpu or 0, asked.cpu),
        memory_mib=known_or(memory_mib or 0, asked.memory_mib),
        shared_memory_mib=shared,
        command=None if command is None else texts("command", command, example="['sh', '-c', 'nvidia-smi']"),
        environment=every,
        devices=asked.devices,
        ulimits=("memlock",) if settings.efa else (),
    )


def require_container_name(name: str) -> None:
    """Refuses a construct id that cannot name a container.

    Raises:
        InvalidValueError: ECS takes no such name.
    """
    if not is_token(name):
        require_name("construct_id", name, fix="a name such as 'train'")


def known_variables(environment: Mapping[str, str]) -> tuple[tuple[str, str | Unknown], ...]:
    """Environment variables as the value that every check reads, in order of name.

    Args:
        environment: As CDK takes them, tokens among them.
    """
    return tuple(sorted((name, known_text(value)) for name, value in environment.items()))


def with_container(task: Task, container: Container) -> Task:
    """The task with one more container.

    Args:
        task: The containers before it.
        container: The newest.
    """
    return replace(task, containers=(*task.containers, container))


def _variables(
    defaults: Mapping[str, str], environment: Mapping[str, str] | None, secrets: Mapping[str, ecs.Secret] | None
) -> dict[str, str]:
    plain = variables("environment", environment, of=str, example="{'NAME': 'value'}")
    hidden = variables("secrets", secrets, of=ecs.Secret, example="{'NAME': ecs.Secret.from_secrets_manager(secret)}")
    twice = sorted(plain.keys() & hidden.keys())
    if twice:
        raise InvalidValueError(
            f"{', '.join(twice)} is an environment variable already, and ECS takes each name once",
            argument="secrets",
            value=twice,
            fix="leave it out of one of them",
        )
    return {**{name: value for name, value in defaults.items() if name not in hidden}, **plain}


def _as_far_as_known(asked: Container, variables_of_all: Mapping[str, str], settings: ContainerSettings) -> Container:
    """The container before its share of the host is worked out; containers after it may be essential."""
    secrets = tuple((name, UNKNOWN) for name in settings.secrets or ())
    shared = settings.shared_memory_mib
    return replace(
        asked,
        cpu=UNKNOWN if settings.cpu is None else asked.cpu,
        memory_limit_mib=UNKNOWN if settings.memory_mib is None else asked.memory_limit_mib,
        shared_memory_mib=UNKNOWN if is_token(shared) else shared,
        environment=(*known_variables(variables_of_all), *secrets),
        essential=UNKNOWN,
    )


def _hidden(settings: ContainerSettings) -> Mapping[str, str]:
    """The argument of an environment variable that is a secret."""
    return {"Environment": "secrets"} if "NVIDIA_VISIBLE_DEVICES" in (settings.secrets or ()) else {}


def _unsized(container: Container) -> Container:
    return replace(container, cpu=0, memory_limit_mib=0)


def _shared_memory(given: int | None, container: Container, pools: Sequence[Pool]) -> int | None:
    if any(pool.kind is PoolKind.MANAGED_INSTANCES for pool in pools):
        return None
    memory_mib = container.memory_mib
    if given is None:
        largest = _LARGEST_DEFAULT_SHARED_MEMORY_MIB
        return largest if isinstance(memory_mib, Unknown) else max(1, min(memory_mib // 2, largest))
    largest = LARGEST_INTEGER if isinstance(memory_mib, Unknown) else memory_mib
    fix = "leave it out for half of the container's memory, which it is part of"
    return known_or(given, whole_number("shared_memory_mib", given, smallest=1, largest=largest, unit="MiB", fix=fix))
