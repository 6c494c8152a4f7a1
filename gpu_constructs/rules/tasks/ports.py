"""Ports of containers: does ECS take them in the network mode of the task?"""

from __future__ import annotations

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Scheduler, Task, Unknown
from gpu_constructs.rules.evidence.accelerated import where_accelerated
from gpu_constructs.rules.rule import Problem, Problems, error

_SAME_PORTS = frozenset({"awsvpc", "host"})


@where_accelerated
@error(
    "GPU280",
    question="are the ports of host and container the same in network modes awsvpc and host?",
    because="in these network modes nothing translates ports, and ECS refuses a host port that differs from the "
    "container port",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html",
)
def same_ports(task: Task) -> Problems:
    if task.network_mode not in _SAME_PORTS or task.scheduler is not Scheduler.ECS:
        return
    for container in task.containers:
        mappings = () if isinstance(container.port_mappings, Unknown) else container.port_mappings
        for inside, on_host in mappings:
            if on_host not in {0, inside}:
                yield Problem(
                    property_name="PortMappings.HostPort",
                    container=container,
                    value=on_host,
                    allowed=str(inside),
                    message=f"container {brief(container.name)} of {task.name} maps host port {on_host} to port "
                    f"{inside}, and in network mode {task.network_mode} both are the same",
                    fix=f"HostPort {inside}, or leave it out",
                )
