"""What user data tells the ECS agent of a host, and what its host then takes no task for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from gpu_constructs.fleet import INSTANCE_ATTRIBUTES, RESERVED_TCP, RESERVED_UDP, UNKNOWN, Task, Unknown, UserData
from gpu_constructs.hardware.aws_limits import MAX_USER_DATA_BYTES, RESERVED_PORTS

_LOG_DRIVERS: Final = "ECS_AVAILABLE_LOGGING_DRIVERS"
_LOG_DRIVER = "logging-driver."
# Which value of which variable leaves out what an agent can do: `capabilities` in agent/app/agent_capability.go of
# github.com/aws/amazon-ecs-agent. What user data says goes before what ecs-init sets.
_SWITCHES = {
    "privileged-container": ("ECS_DISABLE_PRIVILEGED", frozenset({"true", "1", "t"})),
    "task-iam-role": ("ECS_ENABLE_TASK_IAM_ROLE", frozenset({"false", "0", "f"})),
    "task-iam-role-network-host": ("ECS_ENABLE_TASK_IAM_ROLE_NETWORK_HOST", frozenset({"false", "0", "f"})),
}


def needed_capabilities(task: Task) -> tuple[str, ...]:
    """What the agent of its host must be able to do of that which user data can leave out.

    ECS places a task where an agent registered all of it: ``requiresAttributes`` of
    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_TaskDefinition.html
    """
    # Every agent registers awsfirelens, whatever is listed.
    drivers = {each.relations.log_driver for each in task.containers} - {None, "awsfirelens"}
    role = {"host": "task-iam-role-network-host", "bridge": "task-iam-role", "awsvpc": "task-iam-role"}
    mode = task.network_mode if isinstance(task.network_mode, str) else ""
    return (
        *sorted(f"{_LOG_DRIVER}{each}" for each in drivers if isinstance(each, str)),
        *(["privileged-container"] if any(each.privileged is True for each in task.containers) else []),
        *([role[mode]] if task.has_task_role is True and mode in role else []),
    )


def capability_settings(user_data: UserData) -> tuple[tuple[str, str], ...]:
    """What user data certainly says of what agents leave out."""
    variables = {_LOG_DRIVERS, *(variable for variable, _ in _SWITCHES.values())}
    return tuple([(name, value) for name, value in user_data.agent if name in variables and isinstance(value, str)])


def left_out(capabilities: tuple[str, ...], settings: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    """Those capabilities that agents with these settings certainly do not have, each with the variable."""
    told = dict(settings)
    listed = _json(told.get(_LOG_DRIVERS))
    for each in capabilities:
        variable, values = _SWITCHES.get(each, ("", frozenset[str]()))
        if told.get(variable, "").strip().lower() in values:
            yield each, variable
        driver = each.removeprefix(_LOG_DRIVER)
        # An empty list counts as none.
        if driver != each and isinstance(listed, list) and listed and driver not in listed:
            yield each, _LOG_DRIVERS


def attributes_of(user_data: UserData) -> tuple[tuple[str, str], ...]:
    """``ECS_INSTANCE_ATTRIBUTES``, a JSON object of names and values; nothing where it is something else.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html
    """
    read = _json(user_data.get(INSTANCE_ATTRIBUTES))
    if not isinstance(read, dict):
        return ()
    # Names that begin with "ecs." are ECS's own.
    return tuple((name, value) for name, value in read.items() if isinstance(value, str) and name[:4] != "ecs.")


def reserved_ports_of(user_data: UserData) -> tuple[frozenset[tuple[int, str]] | Unknown, frozenset[tuple[int, str]]]:
    """Ports that agents certainly keep, and those that they are expected to: of TCP what is written, or the usual ones.

    An empty list counts as none: ``ZeroOrNil`` in agent/utils of github.com/aws/amazon-ecs-agent.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-config.html
    """
    certain: set[tuple[int, str]] = set()
    expected: set[tuple[int, str]] = set()
    for variable, protocol in ((RESERVED_TCP, "tcp"), (RESERVED_UDP, "udp")):
        written = user_data.get(variable)
        ports = _json(written)
        if written is not None and not (isinstance(ports, list) and all(type(each) is int for each in ports)):
            return UNKNOWN, RESERVED_PORTS
        if isinstance(ports, list) and ports:
            certain |= {(each, protocol) for each in ports}
        else:
            expected |= {each for each in RESERVED_PORTS if each[1] == protocol}
    return frozenset(certain), frozenset(certain | expected)


def _json(text: str | Unknown | None) -> object:
    """What a setting in JSON says; None where that cannot be read."""
    if not isinstance(text, str) or len(text) > MAX_USER_DATA_BYTES:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
