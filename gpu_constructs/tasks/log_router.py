"""The containers of a task so far, and the log router that CDK adds by itself and that needs its place on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from aws_cdk import aws_ecs as ecs

from gpu_constructs.fleet import Container, Task
from gpu_constructs.tasks.container_plan import with_container
from gpu_constructs.tasks.container_values import host_ports

# What CDK adds at synth where a container logs with FireLens and there is no log router (``renderContainers`` of
# aws-cdk-lib 2.275).
LOG_ROUTER = Container(name="log-router", memory_reservation_mib=50)


@dataclass(slots=True)
class Containers:
    """The containers of a task so far.

    Attributes:
        task: The task with them.
        route_logs: Whether one of them logs with FireLens.
        have_router: Whether one of them is a log router.
        ids: Their construct ids, which CDK is not asked for.
    """

    task: Task
    route_logs: bool = False
    have_router: bool = False
    ids: set[str] = field(default_factory=set)

    def before(self, logging: ecs.LogDriver | None) -> Task:
        """The task, with the log router that CDK will add if another container logs like this.

        Args:
            logging: The log driver of the other container; None for the default one.
        """
        if self.have_router or not (self.route_logs or isinstance(logging, ecs.FireLensLogDriver)):
            return self.task
        return with_container(self.task, LOG_ROUTER)

    def add(
        self, construct_id: str, container: Container, logging: ecs.LogDriver | None, *, is_router: bool = False
    ) -> None:
        """Adds one.

        Args:
            construct_id: Its construct id.
            container: The container.
            logging: Its log driver; None for the default one.
            is_router: Whether it is a log router.
        """
        self.ids.add(construct_id)
        self.task = with_container(self.task, container)
        self.route_logs = self.route_logs or isinstance(logging, ecs.FireLensLogDriver)
        self.have_router = self.have_router or is_router

    def map_ports(self, containers: Sequence[ecs.ContainerDefinition]) -> None:
        """Takes over the host ports that containers have by now.

        Args:
            containers: The containers, in the order in which they were added.
        """
        mode = self.task.network_mode
        ports = [host_ports(each.port_mappings, mode) for each in containers]
        if len(ports) == len(self.task.containers):
            mapped = [replace(each, host_ports=of) for each, of in zip(self.task.containers, ports, strict=True)]
            self.task = replace(self.task, containers=tuple(mapped))
