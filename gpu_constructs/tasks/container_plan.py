"""What a container was asked to be, checked against every host it may land on before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.arguments import flag, known_or, variables, whole_number
from gpu_constructs.cdk.arguments import name as require_name
from gpu_constructs.cdk.refusal import require_served
from gpu_constructs.cdk.tokens import is_token, known_text
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.facts.aws_limits import MIN_CONTAINER_MEMORY_MIB
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Container, Pool, PoolKind, Task, Unknown
from gpu_constructs.placement.pool_profile import NOTHING_KEPT, FairShare
from gpu_constructs.tasks.container_options import REFUSED_ON_MANAGED, ContainerOptions, host_ports, refused_on_managed
from gpu_constructs.tasks.host_share import (
    default_shared_memory_mib,
    efa_devices,
    efa_variables,
    require_fit,
    share_of_host,
)

ARGUMENTS: Mapping[str, str] = {
    **REFUSED_ON_MANAGED,
    "Cpu": "cpu",
    "Environment": "environment",
    "LinuxParameters.SharedMemorySize": "shared_memory_mib",
    "Memory": "memory_mib",
    "MemoryReservation": "memory_reservation_mib",
    "PortMappings": "port_mappings",
    "IpcMode": "ipc_mode",
    "NetworkMode": "network_mode",
}
"""What settings of a container are called, by property."""

_FIX_SHARE = "leave it out for the share of the host that goes with its accelerators"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlan:
    """A container that may be made, with every default filled in.

    Attributes:
        cpu: CPU units, as given where it is a token.
        memory_mib: Memory in MiB above which it is stopped, as given where it is a token; None for no limit.
        shared_memory_mib: Size of ``/dev/shm`` in MiB; None where its hosts take no such setting.
        environment: Environment variables with the defaults.
        gpu_count: Its GPUs as CDK takes them; None for none, and where CDK cannot say it.
        requirement: Its entry of ``ResourceRequirements`` as CloudFormation takes it, where CDK cannot write it.
        capabilities: Linux capabilities in addition to Docker's own.
        ulimits: Names of the limits that are raised.
        default_sizes: What of its size was not given, by field of `container`, so that it follows what the hosts have.
    """

    container: Container
    cpu: int
    memory_mib: int | None
    shared_memory_mib: int | None
    environment: dict[str, str]
    gpu_count: float | None = None
    requirement: Mapping[str, object] | None = None
    capabilities: tuple[str, ...] = ()
    ulimits: tuple[str, ...] = ()
    default_sizes: frozenset[str] = frozenset()


def finish_plan(
    asked: Container,
    *,
    task: Task,
    pools: Sequence[Pool],
    options: ContainerOptions,
    variables_by_default: Mapping[str, str],
    arguments: Mapping[str, str],
    given: Mapping[str, object],
    kept: FairShare = NOTHING_KEPT,
) -> ContainerPlan:
    """Gives a container that asks for accelerators everything else, and checks it against the smallest hosts.

    `task` has the containers before it. Of arguments that only some containers have, `arguments` are the names by
    property (see `gpu_constructs.cdk.refusal.ARGUMENTS`), and `given` the values by name. `kept` is what daemons keep
    of every host, before it is shared.
    """
    cpu = options.get("cpu")
    limit_name, limit, reservation = _memory_of(options)
    is_shared = limit is None and reservation is None
    efa = options.get("efa", False)
    flag("efa", efa)
    devices, defaults = (efa_devices(pools), efa_variables(pools)) if efa else ((), {})
    refused = refused_on_managed(options)
    asked = replace(
        asked,
        cpu=_whole("cpu", cpu, smallest=0, unit="CPU units") or 0,
        memory_limit_mib=0 if is_shared else _whole(limit_name, limit),
        memory_reservation_mib=_whole("memory_reservation_mib", reservation),
        host_ports=host_ports(options.get("port_mappings"), task.network_mode),
        devices=(*asked.devices, *devices),
        used_keys=tuple(refused),
    )
    every = _variables({**variables_by_default, **defaults}, options)
    # Which GPUs a container sees may be said by a secret as well.
    hidden = {"Environment": "secrets"} if "NVIDIA_VISIBLE_DEVICES" in (options.get("secrets") or ()) else {}
    require_served(
        with_one_more(task, _as_far_as_known(asked, every, options, is_shared=is_shared)),
        pools,
        {**ARGUMENTS, "Memory": limit_name, **arguments, **hidden},
        given={**{REFUSED_ON_MANAGED[setting]: value for setting, value in refused.items()}, **given},
        # Which GPUs a container sees, and settings that Managed Instances do not support: none of them can work.
        also=("GPU037", "GPU047"),
    )
    # Accelerators first: a share of the host only exists for those that it has.
    named = {"ContainerDefinitions.Memory": limit_name}
    require_fit(with_one_more(task, asked), pools, named)
    if cpu is None or is_shared:
        share = share_for(asked, task=task, pools=pools, kept=kept)
        asked = replace(
            asked,
            cpu=share.cpu if cpu is None else asked.cpu,
            memory_limit_mib=share.memory_mib if is_shared else asked.memory_limit_mib,
        )
        require_fit(with_one_more(task, asked), pools, named)
    shared = _shared_memory(options, asked, pools, task.ipc_mode)
    asked = replace(
        asked,
        shared_memory_mib=UNKNOWN if is_token(shared) else shared,
        environment=known_variables(every),
    )
    by_default = {
        "cpu": cpu is None,
        "memory_limit_mib": is_shared,
        "shared_memory_mib": shared is not None and options.get("shared_memory_mib") is None,
    }
    return ContainerPlan(
        container=asked,
        cpu=known_or(cpu or 0, asked.cpu),
        memory_mib=None if asked.memory_limit_mib is None else known_or(limit or 0, asked.memory_limit_mib),
        shared_memory_mib=shared,
        environment=every,
        ulimits=("memlock",) if efa else (),
        default_sizes=frozenset(name for name, is_default in by_default.items() if is_default),
    )


def share_for(container: Container, *, task: Task, pools: Sequence[Pool], kept: FairShare) -> FairShare:
    """The share of a host that a container gets where its size was not given."""
    unsized = replace(container, cpu=0, memory_limit_mib=0, memory_reservation_mib=None)
    return share_of_host(with_one_more(task, unsized), pools, least_memory_mib=MIN_CONTAINER_MEMORY_MIB, kept=kept)


def _memory_of(options: ContainerOptions) -> tuple[str, int | None, int | None]:
    """What the user calls the memory limit, the limit as given, and the reservation as given."""
    ours, cdks, reservation = (
        options.get("memory_mib"),
        options.get("memory_limit_mib"),
        options.get("memory_reservation_mib"),
    )
    if ours is not None and cdks is not None:
        raise InvalidValueError(
            "is another name of memory_mib, which was given as well",
            argument="memory_limit_mib",
            value=cdks,
            fix="leave one of them out",
        )
    return ("memory_mib", ours, reservation) if cdks is None else ("memory_limit_mib", cdks, reservation)


def _whole(argument: str, value: int | None, *, smallest: int = 1, unit: str = "MiB") -> int | Unknown | None:
    """A part of a size that was given, None where it was not."""
    return None if value is None else whole_number(argument, value, smallest=smallest, unit=unit, fix=_FIX_SHARE)


def require_container_name(name: str, options: Mapping[str, object]) -> None:
    """Refuses a name that no container can have."""
    if not is_token(name):
        argument = "construct_id" if options.get("container_name") is None else "container_name"
        require_name(argument, name, fix="a name such as 'train'")


def known_variables(environment: Mapping[str, str]) -> tuple[tuple[str, str | Unknown], ...]:
    """Environment variables as the value that every check reads, in order of name."""
    return tuple(sorted((name, known_text(value)) for name, value in environment.items()))


def with_one_more(task: Task, container: Container) -> Task:
    """The task with one more container."""
    return replace(task, containers=(*task.containers, container))


def _variables(defaults: Mapping[str, str], options: ContainerOptions) -> dict[str, str]:
    plain = variables("environment", options.get("environment"), of=str, example="{'NAME': 'value'}")
    example = "{'NAME': ecs.Secret.from_secrets_manager(secret)}"
    hidden = variables("secrets", options.get("secrets"), of=ecs.Secret, example=example)
    return {**{name: value for name, value in defaults.items() if name not in hidden}, **plain}


def _as_far_as_known(
    asked: Container, variables_of_all: Mapping[str, str], options: ContainerOptions, *, is_shared: bool
) -> Container:
    """The container before its share of the host is worked out."""
    secrets = tuple((name, UNKNOWN) for name in options.get("secrets") or ())
    shared = options.get("shared_memory_mib")
    return replace(
        asked,
        cpu=UNKNOWN if options.get("cpu") is None else asked.cpu,
        memory_limit_mib=UNKNOWN if is_shared else asked.memory_limit_mib,
        shared_memory_mib=UNKNOWN if is_token(shared) else shared,
        environment=(*known_variables(variables_of_all), *secrets),
    )


def _shared_memory(
    options: ContainerOptions, container: Container, pools: Sequence[Pool], ipc_mode: object
) -> int | None:
    given = options.get("shared_memory_mib")
    if ipc_mode == "host":
        if given is not None:
            raise IncompatibleError(
                "in IPC mode host, containers have /dev/shm of the host",
                argument="shared_memory_mib",
                value=given,
                fix="leave it out, or leave ipc_mode out of the task definition",
            )
        return None
    if options.get("linux_parameters") is not None:
        if given is not None:
            raise InvalidValueError(
                "linux_parameters has the size of /dev/shm",
                argument="shared_memory_mib",
                value=given,
                fix=f"ecs.LinuxParameters(…, shared_memory_size={shown(given)}), or leave linux_parameters out",
            )
        return None
    if any(pool.kind is PoolKind.MANAGED_INSTANCES for pool in pools):
        return None
    if given is None:
        return default_shared_memory_mib(container.memory_mib)
    fix = "leave it out for half of the container's memory"
    return known_or(given, whole_number("shared_memory_mib", given, smallest=1, unit="MiB", fix=fix))
