"""What ECS or CDK would refuse of a container's settings only at synth or deploy, refused where it is written.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import aws_cdk as cdk

from gpu_constructs.budget import brief
from gpu_constructs.cdk.arguments import whole, whole_number
from gpu_constructs.cdk.durations import whole_seconds
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.fleet import Task
from gpu_constructs.hardware.aws_limits import HEALTH_CHECK_LIMITS, LARGEST_INTEGER, LARGEST_PORT
from gpu_constructs.hardware.managed_instances import CONTAINER_SETTINGS_REFUSED
from gpu_constructs.rules.evidence.lists import and_list

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
