"""How a service is reached: what its methods for load balancers return, and where requests arrive in its tasks."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2

from gpu_constructs.cluster.capacity.gpu_capacity import require_known_groups
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.facts.aws_limits import DYNAMIC_PORTS
from gpu_constructs.facts.values import dataclass
from gpu_constructs.tasks.task_definition import GpuTaskDefinition
from gpu_constructs.tasks.task_target import Capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceEndpoint:
    """An Application Load Balancer's way to a service.

    Attributes:
        url: Where the service answers, by the name that AWS gives the load balancer; a certificate is for your own
            domain, which an alias record leads to `load_balancer`. Empty for a listener of yours.
        balancer: The load balancer; None for a listener of yours.
    """

    listener: elbv2.IApplicationListener
    target_group: elbv2.ApplicationTargetGroup
    url: str
    balancer: elbv2.ApplicationLoadBalancer | None

    @property
    def load_balancer(self) -> elbv2.ApplicationLoadBalancer:
        """The load balancer, whose other settings CDK's `set_attribute` writes."""
        if self.balancer is None:
            raise InvalidValueError(
                "the service is a rule of your listener, and made no load balancer",
                argument="listener",
                fix="the load balancer that your listener belongs to",
            )
        return self.balancer


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkEndpoint:
    """A Network Load Balancer's way to a service.

    Attributes:
        address: Where the service answers, as ``name:port``, by the name that AWS gives the load balancer.
    """

    load_balancer: elbv2.INetworkLoadBalancer
    listener: elbv2.NetworkListener
    target_group: elbv2.NetworkTargetGroup
    address: str


# Seven minutes were measured for 7 billion parameters in 4 bits on a host that had to start first
# (aws-samples/sample-ecs-inference-pipeline).
_LOADING_MINUTES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPort:
    """A port of a container that load balancers send requests to.

    Attributes:
        port: The ports of the host, or of the task's interface, at which it can be reached, as security groups take
            them.
        target_type: What a target group registers: hosts, or in network mode ``awsvpc`` the addresses of the tasks.
    """

    container_name: str
    container_port: float
    port: ec2.Port
    target_type: elbv2.TargetType

    def of(self, service: ecs.Ec2Service) -> ecs.IEcsLoadBalancerTarget:
        """The port in the tasks of a service."""
        return service.load_balancer_target(container_name=self.container_name, container_port=self.container_port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Where load balancers send the requests of a service: to its task, on its capacity among hosts of its cluster."""

    task: GpuTaskDefinition
    capacity: Sequence[Capacity]
    hosts: ClusterHosts

    @property
    def loading_seconds(self) -> float:
        """How long a task may take until it answers."""
        known = None if self.task.server is None else self.task.server.health_check_grace_period
        return 60 * _LOADING_MINUTES if known is None else known.to_seconds()

    def port(self, container_name: str | None, container_port: int | None) -> TargetPort:
        """The port that a load balancer sends requests to, on hosts or tasks that can let it in."""
        target = target_port_of(self.task, container_name=container_name, container_port=container_port)
        require_known_groups(self.capacity if target.target_type is elbv2.TargetType.INSTANCE else ())
        return target

    def health_path(self, port: float) -> str | None:
        """What answers once the server of the task is ready, if the port is the server's."""
        server = self.task.server
        return server.health_path if server is not None and server.port == port else None


def target_port_of(
    task: GpuTaskDefinition, *, container_name: str | None = None, container_port: int | None = None
) -> TargetPort:
    """The port of a task that requests are sent to, see `Targets.port`."""
    mode = task.task.network_mode
    if mode == "none":
        raise IncompatibleError(
            "a load balancer cannot reach a task in network mode none",
            argument="network_mode",
            value="none",
            allowed="bridge, host, awsvpc",
            fix="leave network_mode out",
        )
    container = task.default_container if container_name is None else task.find_container(container_name)
    if container is None:
        raise InvalidValueError(
            f"{task.node.path} has no container {shown(container_name)}",
            argument="container_name",
            value=container_name,
            fix="leave it out for the first container with GPUs",
        )
    mapping = _mapping(container, container_port)
    fixed = mapping.host_port
    port = fixed or mapping.container_port
    return TargetPort(
        container_name=container.container_name,
        container_port=mapping.container_port,
        port=ec2.Port.tcp_range(*DYNAMIC_PORTS) if mode == "bridge" and not fixed else ec2.Port.tcp(port),
        target_type=elbv2.TargetType.IP if mode == "awsvpc" else elbv2.TargetType.INSTANCE,
    )


def _mapping(container: ecs.ContainerDefinition, port: int | None) -> ecs.PortMapping:
    """The port mapping, which CDK's own error for a missing one does not list."""
    mappings = [each for each in container.port_mappings if each.protocol is not ecs.Protocol.UDP]
    found = next((each for each in mappings if port in {None, each.container_port}), None)
    if found is None:
        raise InvalidValueError(
            f"container {container.container_name} does not map this port"
            if mappings
            else f"container {container.container_name} maps no TCP port, so no load balancer can reach it",
            argument="container_port",
            value=port,
            allowed=", ".join(f"{each.container_port:g}" for each in mappings) or None,
            fix=f"container.add_port_mappings(ecs.PortMapping(container_port={shown(port or 8000)})) before this line",
        )
    return found
