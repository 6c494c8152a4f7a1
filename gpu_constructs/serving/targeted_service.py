"""A service to which load balancers send requests: where they arrive, and how long its tasks may load before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import cast

from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct, Node

from gpu_constructs.capacity.imported_capacity import require_known_groups
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.hardware.aws_limits import MAX_TARGET_GROUPS
from gpu_constructs.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.models.model_server import ModelServer
from gpu_constructs.serving.target_port import TargetPort, target_port_of
from gpu_constructs.tasks.task_definition import GpuTaskDefinition

# Seven minutes were measured for 7 billion parameters in 4 bits on a host that had to start first
# (aws-samples/sample-ecs-inference-pipeline).
_LOADING_MINUTES = 10


class TargetedService(ecs.Ec2Service):
    """An `ecs.Ec2Service` whose tasks get time to load before a load balancer judges them."""

    _grace_is_chosen = False
    _shifts_requests = False
    _server: ModelServer | None = None
    _used: Sequence[Construct] = ()
    _hosts: ClusterHosts
    _gpu_task: GpuTaskDefinition
    _target_groups = 0

    @cached_property
    def _resource(self) -> ecs.CfnService:
        return cast("ecs.CfnService", self._node.find_child("Service"))

    @cached_property
    def _node(self) -> Node:
        return self.node

    @property
    def _loading_seconds(self) -> float:
        """How long a task may take until it answers."""
        known = None if self._server is None else self._server.health_check_grace_seconds
        return 60 * _LOADING_MINUTES if known is None else known

    def load_balancer_target(
        self,
        *,
        container_name: str,
        alternate_target: ecs.IAlternateTarget | None = None,
        container_port: float | None = None,
        protocol: ecs.Protocol | None = None,
    ) -> ecs.IEcsLoadBalancerTarget:
        """As in CDK. Every load balancer of the service comes through here, so here its tasks get time to load.

        Args:
            container_name: The container that gets requests.
            alternate_target: The second target group of a blue/green deployment.
            container_port: Its port. By default the first that it maps.
            protocol: Of that port. By default TCP.
        """
        if not self._grace_is_chosen:
            self._grace_is_chosen = True
            self._resource.health_check_grace_period_seconds = self._loading_seconds
        self._target_groups += 1
        return super().load_balancer_target(
            container_name=container_name,
            alternate_target=alternate_target,
            container_port=container_port,
            protocol=protocol,
        )

    def _target(self, container_name: str | None, container_port: int | None) -> TargetPort:
        """The port that a load balancer sends requests to, on hosts or tasks that can let it in."""
        if self._target_groups >= MAX_TARGET_GROUPS:
            raise InvalidValueError(
                f"the service has {self._target_groups} target groups, and ECS takes no more",
                argument="construct_id",
                allowed=f"up to {MAX_TARGET_GROUPS} for each service",
                fix="another service for the others",
            )
        target = target_port_of(self._gpu_task, container_name=container_name, container_port=container_port)
        require_known_groups(self._used if target.target_type is elbv2.TargetType.INSTANCE else ())
        return target

    def _health_path(self, port: float) -> str | None:
        """What answers once the server of the task is ready, if the port is the server's."""
        return self._server.health_path if self._server is not None and self._server.port == port else None

    def _to(self, target: TargetPort, alternate: ecs.IAlternateTarget | None) -> ecs.IEcsLoadBalancerTarget:
        return self.load_balancer_target(
            container_name=target.container_name,
            container_port=target.container_port,
            alternate_target=alternate,
        )
