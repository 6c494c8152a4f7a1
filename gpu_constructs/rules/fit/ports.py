"""Host ports: whether hosts have those that tasks take, for every copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gpu_constructs.fleet import Task, Unknown
from gpu_constructs.hardware.aws_limits import RESERVED_PORTS
from gpu_constructs.placement import demand_of
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.copies import wanted_copies
from gpu_constructs.rules.evidence.lists import and_list, or_list, with_verb
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_PORTS = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html"


@warning(
    "GPU084",
    question="is the host port free on a host for every copy?",
    because="each host has a host port once, and the ECS agent reserves some for itself",
    source=_PORTS,
)
def static_ports(context: Context) -> Problems:
    for task in context.tasks:
        kept = demand_of(task).certain_ports & RESERVED_PORTS
        if kept:
            yield Problem(
                about=task,
                message=f"{task.name} takes host port {_port_list(kept)}, which the ECS agent reserves on every host "
                "by default",
                fix="a dynamic host port (0), or another port below 32768",
            )
    for each, wanted in wanted_copies(context):
        ports = each.ports
        if ports and not isinstance(each.hosts, Unknown) and wanted > each.hosts:
            yield Problem(
                about=each.workload,
                message=f"{wanted} tasks take host port {_port_list(ports)}, which each host has once, and "
                f"{with_verb(each.pool_names, 'has', 'have')} {'1 host' if each.hosts == 1 else f'{each.hosts} hosts'} "
                "at most: the others never start",
                fix="a dynamic host port (0) behind a load balancer, or network mode awsvpc",
            )


@error(
    "GPU086",
    question="do the containers of a task take different host ports?",
    because="the first container reserves the host port, so the second never starts",
    source=_PORTS,
)
def ports_once(task: Task) -> Problems:
    if not demand_of(task).certain_ports:
        return
    for port in _taken_twice(task):
        names = [each.name for each in task.containers if port in each.host_ports]
        yield Problem(
            message=f"{and_list(names)} of {task.name} {'take' if len(names) > 1 else 'takes'} host port "
            f"{_port_list((port,))} more than once, and a host has it once",
            fix="another host port for one of them, or a dynamic one (0)",
            property_name="PortMappings",
            value=port[0],
        )


def _taken_twice(task: Task) -> list[tuple[int, str]]:
    """Host ports that the task asks for more than once.

    In network mode ``host`` nothing is mapped, so two mappings of one container mean the same port.
    """
    once = frozenset if task.network_mode == "host" else tuple
    taken = Counter(port for container in task.containers for port in once(container.host_ports))
    return [port for port, times in taken.items() if times > 1]


def _port_list(ports: Iterable[tuple[int, str]]) -> str:
    return or_list(f"{number}/{protocol}" for number, protocol in sorted(ports))
