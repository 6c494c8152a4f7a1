"""Host ports: is each free on a host for every copy, and taken once by a task?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial

from gpu_constructs.facts.aws_limits import RESERVED_PORTS
from gpu_constructs.fleet import RESERVED_TCP, Task, Unknown
from gpu_constructs.placement import ObstacleKind, demand_of, profile_of
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.copies import wanted_copies
from gpu_constructs.rules.finding import Way, Ways, one_way
from gpu_constructs.rules.rule import Problem, Problems, error
from gpu_constructs.rules.words import and_list, or_list, with_verb

_PORTS = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html"


@error(
    "GPU084",
    question="is the host port free on a host for every copy?",
    because="each host has a host port once, and the ECS agent keeps some from tasks",
    softer="for the ports that the agent keeps by default, which ECS_RESERVED_PORTS changes, and where other hosts may "
    "join the cluster",
    source=_PORTS,
    changes="PortMappings.HostPort",
)
def static_ports(context: Context) -> Problems:
    yield from {each.message: each for each in _of_agents(context)}.values()
    for each, wanted in wanted_copies(context):
        ports = each.ports
        if ports and not isinstance(each.hosts, Unknown) and wanted > each.hosts:
            yield Problem(
                about=each.workload,
                message=f"{wanted} tasks take host port {_port_list(ports)}, which each host has once, and "
                f"{with_verb(each.pool_names, 'has', 'have')} {'1 host' if each.hosts == 1 else f'{each.hosts} hosts'} "
                "at most: the others never start",
                fix="more hosts, or no host port",
                ways=(
                    *_dynamic(each.task, ports, " behind a load balancer"),
                    *one_way("network mode awsvpc", replace(each.task, network_mode="awsvpc")),
                ),
                is_certain=each.assignment.is_closed,
            )


def _of_agents(context: Context) -> Problems:
    """Tasks that take a port which the agents of all their hosts keep, as user data says or by default."""
    for route in context.routed(lambda task: bool(demand_of(task).certain_ports)):
        barred = [each.pool for each in route.stuck if each.barred_by(ObstacleKind.PORT)]
        pools = barred or [each.pool for each in route.destinations]
        reserved = frozenset[tuple[int, str]]().union(*(profile_of(each).may_reserve_ports for each in pools))
        kept = demand_of(route.task).certain_ports & (reserved if barred else reserved & RESERVED_PORTS)
        if kept:
            which = f"agents of {and_list(each.name for each in barred)} keep from tasks ({RESERVED_TCP})"
            yield Problem(
                about=route.task,
                message=f"{route.task.name} takes host port {_port_list(kept)}, which the "
                f"{which if barred else 'ECS agent reserves on every host by default'}",
                fix="another host port",
                ways=(*_dynamic(route.task, kept), (Way(text="another host port"),)),
                is_certain=bool(barred),
            )


@error(
    "GPU086",
    question="do the containers of a task take different host ports?",
    because="the first container reserves the host port, so the second never starts",
    source=_PORTS,
    changes="PortMappings.HostPort",
)
def ports_once(task: Task) -> Problems:
    if not demand_of(task).certain_ports:
        return
    for port in _taken_twice(task):
        names = [each.name for each in task.containers if port in each.host_ports]
        yield Problem(
            message=f"{and_list(names)} of {task.name} {'take' if len(names) > 1 else 'takes'} host port "
            f"{_port_list((port,))} more than once, and a host has it once",
            fix="another host port for one of them",
            ways=((Way(text="another host port for one of them"),), *_dynamic(task, {port})),
            property_name="PortMappings",
            value=port[0],
        )


def _dynamic(task: Task, ports: Collection[tuple[int, str]], where: str = "") -> Ways:
    """Host ports that Docker chooses, which it does not in network mode host."""
    if task.network_mode == "host":
        return ()
    return one_way(f"a dynamic host port (0){where}", partial(_without_ports, task, ports))


def _without_ports(task: Task, ports: Collection[tuple[int, str]]) -> Task:
    containers = (
        replace(container, host_ports=tuple(each for each in container.host_ports if each not in ports))
        for container in task.containers
    )
    return replace(task, containers=tuple(containers))


def _taken_twice(task: Task) -> list[tuple[int, str]]:
    """Host ports that the task asks for more than once.

    In network mode ``host`` nothing is mapped, so two mappings of one container mean the same port.
    """
    once = frozenset if task.network_mode == "host" else tuple
    taken = Counter(port for container in task.containers for port in once(container.host_ports))
    return [port for port, times in taken.items() if times > 1]


def _port_list(ports: Iterable[tuple[int, str]]) -> str:
    return or_list(f"{number}/{protocol}" for number, protocol in sorted(ports))
