"""The arguments that all containers with accelerators share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from typing_extensions import TypedDict

from gpu_constructs.cdk.arguments import whole, whole_number, whole_seconds
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import unexpected
from gpu_constructs.facts.aws_limits import CONTAINER_SETTINGS_REFUSED, LARGEST_PORT
from gpu_constructs.tasks.gpu_ask import GpuNeedOptions


class PassedOn(TypedDict, total=False):
    """Arguments of CDK's own ``add_container``, which explains them; they reach CDK as they are given.

    Host ports of `port_mappings` count as taken on every host.
    """

    command: Sequence[str] | None
    container_name: str | None
    credential_specs: Sequence[ecs.CredentialSpec] | None
    disable_networking: bool | None
    dns_search_domains: Sequence[str] | None
    dns_servers: Sequence[str] | None
    docker_labels: Mapping[str, str] | None
    docker_security_options: Sequence[str] | None
    enable_restart_policy: bool | None
    entry_point: Sequence[str] | None
    environment_files: Sequence[ecs.EnvironmentFile] | None
    extra_hosts: Mapping[str, str] | None
    health_check: ecs.HealthCheck | None
    hostname: str | None
    interactive: bool | None
    port_mappings: Sequence[ecs.PortMapping] | None
    privileged: bool | None
    pseudo_terminal: bool | None
    restart_attempt_period: cdk.Duration | None
    restart_ignored_exit_codes: Sequence[int] | None
    secrets: Mapping[str, ecs.Secret] | None
    start_timeout: cdk.Duration | None
    stop_timeout: cdk.Duration | None
    system_controls: Sequence[ecs.SystemControl] | None
    user: str | None
    version_consistency: ecs.VersionConsistency | None
    working_directory: str | None


class ContainerOptions(PassedOn, total=False):
    """Arguments of `GpuTaskDefinition.add_gpu_container` and `GpuTaskDefinition.add_neuron_container`.

    They are those of CDK's own ``add_container``, under the same names, and three of this library: `efa`, `memory_mib`
    and `shared_memory_mib`. The others are explained at `PassedOn`.

    Attributes:
        cpu: CPU units, 1024 to a vCPU. By default the share of the smallest host that goes with its accelerators, for a
            `GpuShare` with its part of one GPU's memory.
        memory_mib: Memory in MiB; the container is stopped if it takes more. By default the same share of the smallest
            host's, less what the agent and the system keep.
        memory_limit_mib: CDK's name of `memory_mib`; one of them is given.
        memory_reservation_mib: Memory in MiB that is kept for it; it may take more, up to `memory_mib`. Without that
            there is no limit.
        shared_memory_mib: Size of ``/dev/shm`` in MiB, which counts as memory as it is used and may be larger than
            the memory. By default half of the memory, 64 GiB at most; Docker's own default of 64 MiB stops data loaders
            and NCCL.
        linux_parameters: Linux settings, instead of those that are made by default. It says the size of ``/dev/shm``
            itself; devices that the container asks for are added to it.
        efa: Whether it talks to containers on other hosts through Elastic Fabric Adapters. Its capacity must have them;
            choose network mode ``host``. On P6 some of the devices are NVLink controllers, and no page says which: a
            warning says so (GPU132).
        environment: Environment variables.
        essential: Whether the task stops with this container.
        readonly_root_filesystem: Whether it may not write to its own file system. By default it may.
        ulimits: Limits, instead of those of the same name that are made by default.
        logging: Where its logs go. By default to the task definition's log group.
    """

    cpu: int | None
    memory_mib: int | None
    memory_limit_mib: int | None
    memory_reservation_mib: int | None
    shared_memory_mib: int | None
    linux_parameters: ecs.LinuxParameters | None
    efa: bool
    environment: Mapping[str, str] | None
    essential: bool
    readonly_root_filesystem: bool
    ulimits: Sequence[ecs.Ulimit] | None
    logging: ecs.LogDriver | None


class GpuContainerOptions(ContainerOptions, GpuNeedOptions, total=False):
    """Arguments of `GpuTaskDefinition.add_gpu_container` that `GpuTaskDefinition.add_model_server` takes as well.

    Attributes:
        driver_capabilities: What of the driver the container is given besides ``compute`` and ``utility``: ``video`` to
            encode and decode, ``graphics`` for OpenGL and Vulkan, ``display``, ``compat32``, ``ngx``, or ``all``.
    """

    driver_capabilities: Sequence[str] | None


def passed_on(options: ContainerOptions) -> PassedOn:
    """The arguments that reach CDK as they are given; jsii takes a tuple or a mapping of another kind for neither."""
    given = {name: value for name, value in options.items() if name in PassedOn.__annotations__ and value is not None}
    return cast("PassedOn", {name: _plain(value) for name, value in given.items()})


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


REFUSED_ON_MANAGED: Mapping[str, str] = {
    each: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", each).lower() for each in CONTAINER_SETTINGS_REFUSED if "." not in each
}
"""Settings that Managed Instances refuse, with CDK's argument: ``dns_servers`` for ``DnsServers``."""


# CDK's own limits, which it states only at synth; ECS has the same but for the timeout, 60 (`HealthCheck`, botocore
# 1.44.5).
_HEALTH_CHECK_SECONDS = {"interval": (5, 300), "timeout": (2, 120), "start_period": (0, 300)}


def require_health_check(check: object) -> None:
    """Refuses a health check that CDK refuses at synth, or ECS."""
    said = {name: _field(check, name) for name in ("command", "retries", *_HEALTH_CHECK_SECONDS)}
    if check is not None and not said["command"]:
        raise unexpected("health_check.command", said["command"], "a command", fix="['CMD-SHELL', 'curl -f …']")
    if (retries := said["retries"]) is not None:
        whole_number("health_check.retries", whole(retries), smallest=1, largest=10, fix="3, which is the default")
    for name, (smallest, largest) in _HEALTH_CHECK_SECONDS.items():
        if isinstance(given := said[name], cdk.Duration):
            said[name] = whole_seconds(f"health_check.{name}", given, smallest=smallest, largest=largest)
    interval, timeout = said["interval"], said["timeout"]
    if isinstance(interval, int) and isinstance(timeout, int) and interval < timeout:
        what, fix = f"no more than the interval of {interval} seconds", f"cdk.Duration.seconds({interval})"
        raise unexpected("health_check.timeout", timeout, what, fix=fix)


def host_ports(mappings: object, network_mode: object) -> tuple[tuple[int, str], ...]:
    """Ports of the host that a container certainly takes: static ones in mode bridge, all of them in mode host."""
    found = []
    for each in mappings if network_mode in {"bridge", "host"} and isinstance(mappings, (list, tuple)) else ():
        port = _field(each, "host_port") or (_field(each, "container_port") if network_mode == "host" else None)
        if isinstance(port, (int, float)) and not is_token(port) and 0 < port <= LARGEST_PORT:
            protocol = _field(each, "protocol")
            found.append((int(port), "tcp" if protocol is None else str(getattr(protocol, "name", protocol)).lower()))
    return tuple(found)


def refused_on_managed(options: Mapping[str, object]) -> dict[str, object]:
    """Settings that are used and that Managed Instances refuse: the value by the property."""
    used = {setting: options.get(argument) for setting, argument in REFUSED_ON_MANAGED.items()}
    return {setting: value for setting, value in used.items() if value is not None}


def _field(struct: object, name: str) -> object:
    """A value of one of CDK's structs, which may be written as a mapping."""
    return struct.get(name) if isinstance(struct, Mapping) else getattr(struct, name, None)
