"""The arguments that all containers with accelerators share, and what ECS or CDK would refuse of them.

What they would refuse only at synth or deploy is refused where it is written
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from typing_extensions import TypedDict

from gpu_constructs.cdk.arguments import whole, whole_number, whole_seconds
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError, brief, shown
from gpu_constructs.facts.aws_limits import (
    CONTAINER_SETTINGS_REFUSED,
    HEALTH_CHECK_LIMITS,
    LARGEST_INTEGER,
    LARGEST_PORT,
)
from gpu_constructs.fleet import Task
from gpu_constructs.rules.words import and_list
from gpu_constructs.tasks.gpu_ask import GpuNeedOptions


class PassedOn(TypedDict, total=False):
    """Arguments that reach CDK as they are given, under CDK's own names.

    Attributes:
        command: Command. By default the image's own.
        container_name: Name of the container. By default its construct id.
        credential_specs: Credential specification for Active Directory, one at most.
        disable_networking: Whether it has no network.
        dns_search_domains: Domains that its DNS client searches.
        dns_servers: DNS servers.
        docker_labels: Labels of the container.
        docker_security_options: Labels for SELinux and AppArmor.
        enable_restart_policy: Whether ECS restarts the container in its task when it stops.
        entry_point: Entry point. By default the image's own.
        environment_files: Files with environment variables.
        extra_hosts: Host names with their addresses, for ``/etc/hosts``.
        health_check: How ECS checks that the container is healthy. By default it does not ask.
        hostname: Its host name.
        interactive: Whether standard input stays open.
        port_mappings: Ports that it listens on. Host ports count as taken on every host.
        privileged: Whether it has the privileges of root on the host.
        pseudo_terminal: Whether it has a terminal.
        restart_attempt_period: How long it must run before it may be restarted, 60 to 1800 seconds.
        restart_ignored_exit_codes: Exit codes after which it is not restarted, 50 at most.
        secrets: Environment variables from Secrets Manager or Parameter Store.
        start_timeout: How long containers that depend on it wait for it.
        stop_timeout: How long the container may take to stop. By default 30 seconds.
        system_controls: Kernel parameters of its namespaces.
        user: Who it runs as. By default the image's own.
        version_consistency: Whether a tag of the image is resolved to one digest for all tasks.
        working_directory: Where its command runs. By default the image's own.
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
        shared_memory_mib: Size of ``/dev/shm`` in MiB, which counts as memory as it is used. By default half of the
            memory, 64 GiB at most; Docker's own default of 64 MiB stops data loaders and NCCL.
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
    """Arguments of `GpuTaskDefinition.add_gpu_container` that `GpuTaskDefinition.add_model_server` takes as well."""


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

_HEALTH_SECONDS = {"interval": "Interval", "timeout": "Timeout", "start_period": "StartPeriod"}
# "Valid namespace values" of
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html#container_definition_systemcontrols
_IPC_PARAMETERS = ("fs.mqueue.", "kernel.msg", "kernel.sem", "kernel.shm")
_NETWORK_PARAMETERS = ("net.",)
# API_ContainerRestartPolicy
_RESTART_SECONDS = (60, 1800)
_MOST_EXIT_CODES = 50


def require_values(options: Mapping[str, object]) -> None:
    """Refuses settings that no container can have.

    Raises:
        InvalidValueError: A number is out of its limits, or a command is empty.
    """
    for argument in ("start_timeout", "stop_timeout"):
        _require_seconds(argument, options.get(argument))
    _require_seconds("restart_attempt_period", options.get("restart_attempt_period"), *_RESTART_SECONDS)
    for mapping in _listed(options.get("port_mappings")):
        _require_ports(mapping)
    if options.get("health_check") is not None:
        _require_health_check(options["health_check"])
    for file in _listed(options.get("environment_files")):
        _require_there(file)
    codes = _listed(options.get("restart_ignored_exit_codes"))
    if len(codes) > _MOST_EXIT_CODES:
        raise InvalidValueError(
            f"got {len(codes)} exit codes",
            argument="restart_ignored_exit_codes",
            value=codes,
            allowed=f"up to {_MOST_EXIT_CODES}",
            fix="fewer of them",
        )
    for code in codes:
        whole_number("restart_ignored_exit_codes", code, smallest=0, fix="restart_ignored_exit_codes=[0, 143]")


def host_ports(mappings: object, network_mode: object) -> tuple[tuple[int, str], ...]:
    """Ports of the host that a container certainly takes: static ones in mode bridge, all of them in mode host.

    Raises:
        IncompatibleError: One has a name for Service Connect, which cannot be used in network mode host.
    """
    if network_mode not in {"bridge", "host"}:
        return ()
    found = []
    for each in _listed(mappings):
        if network_mode == "host":
            _require_no_name(each)
        port = _field(each, "host_port") or (_field(each, "container_port") if network_mode == "host" else None)
        if isinstance(port, (int, float)) and port and not is_token(port):
            protocol = _field(each, "protocol")
            found.append((int(port), "tcp" if protocol is None else str(getattr(protocol, "name", protocol)).lower()))
    return tuple(found)


def refused_on_managed(options: Mapping[str, object]) -> dict[str, object]:
    """Settings that are used and that Managed Instances refuse: the value by the property."""
    used = {setting: options.get(argument) for setting, argument in REFUSED_ON_MANAGED.items()}
    return {setting: value for setting, value in used.items() if value is not None}


def require_own_namespaces(name: str, controls: object, task: Task) -> None:
    """Refuses kernel parameters of a namespace that the task shares with its host, which ECS does not support.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_SystemControl.html

    Raises:
        IncompatibleError: A parameter is of the IPC namespace in IPC mode host, or of the network in network mode host.
    """
    named = [each for one in _listed(controls) if isinstance(each := _field(one, "namespace"), str)]
    for argument, mode, parameters in (
        ("ipc_mode", task.ipc_mode, _IPC_PARAMETERS),
        ("network_mode", task.network_mode, _NETWORK_PARAMETERS),
    ):
        wrong = [each for each in named if each.startswith(parameters)]
        if wrong and mode == "host":
            raise IncompatibleError(
                f"container {name} sets {and_list(map(brief, wrong))}, and {task.name} shares that namespace with its "
                f"host ({argument} host)",
                argument="system_controls",
                value=wrong,
                fix=f"leave it out, or another {argument}",
            )


def _require_no_name(mapping: object) -> None:
    """Refuses a name, and a protocol of requests, in network mode host, in which CDK takes neither."""
    for field in ("name", "app_protocol"):
        value = _field(mapping, field)
        if value is not None:
            raise IncompatibleError(
                f"{field} of a port is for Service Connect, which cannot reach a task in network mode host",
                argument="port_mappings",
                value=value,
                fix=f"leave {field} out, or network_mode=ecs.NetworkMode.AWS_VPC of the task definition",
                rule="GPU230",
            )


def _require_ports(mapping: object) -> None:
    port, ports, on_host = (_field(mapping, each) for each in ("container_port", "container_port_range", "host_port"))
    fix = "container_port=8000"
    # 0 stands for a range (ContainerDefinition.CONTAINER_PORT_USE_RANGE).
    smallest = 0 if ports is not None else 1
    whole_number("container_port", whole(port), smallest=smallest, largest=LARGEST_PORT, fix=fix)
    if on_host is not None:
        fix = "leave it out for a dynamic port"
        whole_number("host_port", whole(on_host), smallest=0, largest=LARGEST_PORT, fix=fix)


def _require_there(file: object) -> None:
    if isinstance(file, ecs.AssetEnvironmentFile) and not Path(file.path).exists():
        raise InvalidValueError(
            f"there is no file {file.path}",
            argument="environment_files",
            value=file.path,
            fix="the path of a file of lines NAME=value",
        )


def _require_health_check(check: object) -> None:
    command = _field(check, "command")
    if isinstance(command, str) or not _listed(command) or not all(isinstance(each, str) for each in _listed(command)):
        raise InvalidValueError(
            f"runs a command, got {shown(command)}",
            argument="health_check",
            value=command,
            allowed="a list of text that is not empty",
            fix="ecs.HealthCheck(command=['CMD-SHELL', 'curl -f http://localhost:8000/health'])",
        )
    for argument, key in _HEALTH_SECONDS.items():
        _require_seconds(argument, _field(check, argument), *HEALTH_CHECK_LIMITS[key])
    retries = _field(check, "retries")
    if retries is not None:
        (least, most), fix = HEALTH_CHECK_LIMITS["Retries"], "leave it out for 3"
        whole_number("retries", whole(retries), smallest=least, largest=most, unit="retries", fix=fix)


def _require_seconds(argument: str, value: object, smallest: int = 0, largest: int = LARGEST_INTEGER) -> None:
    if isinstance(value, cdk.Duration):
        whole_seconds(argument, value, smallest=smallest, largest=largest)


def _field(struct: object, name: str) -> object:
    """A value of one of CDK's structs, which may be written as a mapping."""
    return struct.get(name) if isinstance(struct, Mapping) else getattr(struct, name, None)


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()
