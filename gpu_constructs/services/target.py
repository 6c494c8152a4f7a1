"""Where requests arrive in the tasks of a service, and how long these may load before they are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.cluster.capacity.gpu_capacity import require_known_groups
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.facts.aws_limits import DYNAMIC_PORTS, LARGEST_PORT, MAX_TARGET_GROUPS
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.task_target import Capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPort:
    """A port of a container that load balancers send requests to.

    Attributes:
        container_name: The container.
        container_port: Where it listens.
        host_ports: The first and the last port of the host, or of the task's interface, at which it can be reached.
        target_type: What a target group registers: hosts, or in network mode ``awsvpc`` the addresses of the tasks.
    """

    container_name: str
    container_port: float
    host_ports: tuple[float, float]
    target_type: elbv2.TargetType

    @property
    def port(self) -> ec2.Port:
        """Its ports, as security groups take them."""
        first, last = self.host_ports
        return ec2.Port.tcp(first) if first == last else ec2.Port.tcp_range(first, last)


def target_port_of(
    task: GpuTaskDefinition, *, container_name: str | None = None, container_port: int | None = None
) -> TargetPort:
    """The port of a task that requests are sent to.

    Args:
        task: The task definition.
        container_name: One of its containers. By default its default container.
        container_port: One of the ports that this container maps. By default the first.

    Raises:
        InvalidValueError: There is no such container or port mapping.
        IncompatibleError: The task has no network.
    """
    mode = task.task.network_mode
    if mode == "none":
        raise IncompatibleError(
            "a load balancer cannot reach a task in network mode none",
            argument="network_mode",
            value="none",
            allowed="bridge, host, awsvpc",
            fix="leave network_mode out",
        )
    if container_port is not None:
        whole_number("container_port", container_port, smallest=1, largest=LARGEST_PORT, fix="container_port=8000")
    container = _container(task, container_name)
    mapping = _mapping(container, container_port)
    fixed = mapping.host_port
    is_dynamic = mode == "bridge" and not fixed
    port = fixed or mapping.container_port
    return TargetPort(
        container_name=container.container_name,
        container_port=mapping.container_port,
        host_ports=DYNAMIC_PORTS if is_dynamic else (port, port),
        target_type=elbv2.TargetType.IP if mode == "awsvpc" else elbv2.TargetType.INSTANCE,
    )


def _container(task: ecs.TaskDefinition, name: str | None) -> ecs.ContainerDefinition:
    found = task.default_container if name is None else task.find_container(name)
    if found is None:
        raise InvalidValueError(
            f"{task.node.path} has no container {shown(name)}",
            argument="container_name",
            value=name,
            fix="leave it out for the first container with GPUs",
        )
    return found


def _mapping(container: ecs.ContainerDefinition, port: int | None) -> ecs.PortMapping:
    mappings = [each for each in container.port_mappings if each.protocol is not ecs.Protocol.UDP]
    if not mappings:
        raise InvalidValueError(
            f"container {container.container_name} maps no TCP port, so no load balancer can reach it",
            argument="container_port",
            value=port,
            fix=f"container.add_port_mappings(ecs.PortMapping(container_port={port or 8000})) before this line",
        )
    found = next((each for each in mappings if port in {None, each.container_port}), None)
    if found is None:
        raise InvalidValueError(
            f"container {container.container_name} does not map this port",
            argument="container_port",
            value=port,
            allowed=_listed(mappings),
            fix=f"one of its ports, or container.add_port_mappings(ecs.PortMapping(container_port={port})) before this "
            "line",
        )
    return found


def _listed(mappings: Sequence[ecs.PortMapping]) -> str:
    return ", ".join(f"{each.container_port:g}" for each in mappings)


# Seven minutes were measured for 7 billion parameters in 4 bits on a host that had to start first
# (aws-samples/sample-ecs-inference-pipeline).
_LOADING_MINUTES = 10


@dataclass(slots=True, kw_only=True)
class Targets:
    """Where load balancers send the requests of a service.

    Attributes:
        task: What it runs.
        capacity: What it runs on.
        hosts: Those of its cluster.
        shifts_requests: Whether a deployment shifts requests from one target group to another.
        grace_is_chosen: Whether it is decided how long a new task may load before it is judged.
        count: Target groups that it has.
    """

    task: GpuTaskDefinition
    capacity: Sequence[Capacity]
    hosts: ClusterHosts
    shifts_requests: bool
    grace_is_chosen: bool
    count: int = 0

    @property
    def loading_seconds(self) -> float:
        """How long a task may take until it answers."""
        known = None if self.task.server is None else self.task.server.health_check_grace_seconds
        return 60 * _LOADING_MINUTES if known is None else known

    @property
    def names(self) -> tuple[str, ...]:
        """Ids of the target groups behind one load balancer."""
        return ("Targets", "OtherTargets")[: 1 + self.shifts_requests]

    def port(self, container_name: str | None, container_port: int | None) -> TargetPort:
        """The port that a load balancer sends requests to, on hosts or tasks that can let it in.

        Args:
            container_name: As given; None for the default container.
            container_port: As given; None for the first that it maps.

        Raises:
            InvalidValueError: There is no such port, or the service has too many target groups.
            IncompatibleError: The task has no network, or its hosts cannot let a load balancer in.
        """
        if self.count >= MAX_TARGET_GROUPS:
            raise InvalidValueError(
                f"the service has {self.count} target groups, and ECS takes no more",
                argument="construct_id",
                allowed=f"up to {MAX_TARGET_GROUPS} for each service",
                fix="another service for the others",
            )
        target = target_port_of(self.task, container_name=container_name, container_port=container_port)
        require_known_groups(self.capacity if target.target_type is elbv2.TargetType.INSTANCE else ())
        return target

    def health_path(self, port: float) -> str | None:
        """What answers once the server of the task is ready, if the port is the server's."""
        server = self.task.server
        return server.health_path if server is not None and server.port == port else None

    def add_to(self, resource: ecs.CfnService) -> None:
        """Counts one more target group of a service; with the first, its tasks get time to load."""
        if not self.grace_is_chosen:
            self.grace_is_chosen = True
            resource.health_check_grace_period_seconds = self.loading_seconds
        self.count += 1
