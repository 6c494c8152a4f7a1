"""A service that a load balancer reaches, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct

from gpu_constructs.cdk.arguments import whole_seconds
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cluster.hosts.network import require_balancer_in
from gpu_constructs.services.endpoint import (
    TLS,
    NetworkEndpoint,
    ServiceEndpoint,
    alternate_target,
    certificates_of,
    health_check,
    listen,
    source_of,
    url_of,
)
from gpu_constructs.services.listener_choice import (
    new_listener,
    require_certificate,
    require_encrypted,
    require_path,
    require_port,
    require_together,
    require_zones,
    take_priority,
)
from gpu_constructs.services.target import TargetPort, Targets

if TYPE_CHECKING:
    from aws_cdk import aws_certificatemanager as acm
    from aws_cdk import aws_s3 as s3

_HTTP = elbv2.ApplicationProtocol.HTTP
_TCP, _TLS = elbv2.Protocol.TCP, elbv2.Protocol.TLS
# A completion that is not streamed is silent until it is whole; ELB's default of 60 seconds would cut it off.
_LONGEST_SILENCE_MINUTES = 10
# In seconds: idle_timeout.timeout_seconds and deregistration_delay.timeout_seconds of
# https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_LoadBalancerAttribute.html and
# https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetGroupAttribute.html
_LONGEST_IDLE, _LONGEST_DELAY = 4000, 3600


class LoadBalancedService(ecs.Ec2Service):
    """An `ecs.Ec2Service` that gets a load balancer in one line, with time for its tasks to load."""

    _targets: Targets

    @cached_property
    def _resource(self) -> ecs.CfnService:
        return cast("ecs.CfnService", self.node.find_child("Service"))

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
        self._targets.add_to(self._resource)
        return super().load_balancer_target(
            container_name=container_name,
            alternate_target=alternate_target,
            container_port=container_port,
            protocol=protocol,
        )

    @checked
    def add_application_load_balancer(
        self,
        construct_id: str,
        *,
        certificate: acm.ICertificate | None = None,
        protocol: elbv2.ApplicationProtocol | None = None,
        port: int | None = None,
        redirect_http: bool | None = None,
        ssl_policy: elbv2.SslPolicy | None = None,
        open: bool | None = None,  # noqa: A002 - as in CDK
        internet_facing: bool = False,
        vpc_subnets: ec2.SubnetSelection | None = None,
        idle_timeout: cdk.Duration | None = None,
        access_logs_bucket: s3.IBucket | None = None,
        load_balancer: elbv2.IApplicationLoadBalancer | None = None,
        listener: elbv2.IApplicationListener | None = None,
        priority: int | None = None,
        conditions: Sequence[elbv2.ListenerCondition] | None = None,
        health_check_path: str | None = None,
        deregistration_delay: cdk.Duration | None = None,
        container_name: str | None = None,
        container_port: int | None = None,
    ) -> ServiceEndpoint:
        """Puts the service behind an Application Load Balancer: a new one, an existing one, or an existing listener.

        A new one is internal, because each request takes a GPU, and lets in the addresses of the VPC. It speaks TLS 1.3
        and 1.2, redirects port 80, drops header fields that are not valid, and may reach the container's port alone. A
        task gets requests after two good answers to its health check, 15 seconds apart; it is replaced after four bad
        ones, once `health_check_grace_period` of the service is over.

        Args:
            construct_id: Its id under the service.
            certificate: For HTTPS.
            protocol: HTTPS by default. With `elbv2.ApplicationProtocol.HTTP`, anyone on the way can read requests.
            port: Where it listens. By default 443, for HTTP 80.
            redirect_http: Whether port 80 redirects to HTTPS. By default that of a new load balancer does.
            ssl_policy: Protocols and ciphers. By default those that AWS recommends.
            open: Who is let in: True for everyone, False for no one until
                ``endpoint.listener.connections.allow_default_port_from(…)``. By default the addresses of the VPC, and
                everyone where it is internet-facing.
            internet_facing: Whether a new load balancer is reached from the internet, in public subnets.
            vpc_subnets: Subnets of a new load balancer. By default private ones, public ones if it is internet-facing.
            idle_timeout: How long an answer may be silent, 4,000 seconds at most. By default 10 minutes.
            access_logs_bucket: Where it writes access logs. By default it writes none.
            load_balancer: An existing one, which gets a listener.
            listener: An existing one, which gets a rule with `priority` and `conditions`.
            priority: Of that rule. The lowest number comes first.
            conditions: Which requests of that listener the service gets.
            health_check_path: A path that answers 200 once the model is loaded, such as ``/health``. By default that of
                the server of `GpuTaskDefinition.add_model_server`.
            deregistration_delay: How long the last requests of a task may take. By default five minutes, as in ELB; a
                task without requests leaves at once.
            container_name: The container that gets requests. By default the default container, the first with GPUs.
            container_port: Its port. By default the first that it maps.

        Raises:
            InvalidValueError: An argument is wrong by itself, or missing.
            IncompatibleError: Two arguments cannot work together.
            RefusedByCdkError: CDK refuses it for another reason.
        """
        require_together(
            {
                "load_balancer": load_balancer,
                "certificate": certificate,
                "protocol": protocol,
                "port": port,
                "redirect_http": redirect_http,
                "ssl_policy": ssl_policy,
                "open": open,
                "internet_facing": internet_facing,
                "vpc_subnets": vpc_subnets,
                "idle_timeout": idle_timeout,
                "access_logs_bucket": access_logs_bucket,
                "listener": listener,
                "priority": priority,
                "conditions": conditions,
            }
        )
        target = self._targets.port(container_name, container_port)
        path = require_path(health_check_path or self._targets.health_path(target.container_port))
        vpc = self._targets.hosts.vpc
        if listener is None:
            new = new_listener(
                load_balancer,
                certificate=certificate,
                protocol=protocol,
                port=port,
                redirect_http=redirect_http,
                ssl_policy=ssl_policy,
            )
            if idle_timeout is not None:
                whole_seconds("idle_timeout", idle_timeout, smallest=1, largest=_LONGEST_IDLE)
            peer = source_of(open, internet_facing=internet_facing, vpc=vpc)
        if load_balancer is not None:
            require_balancer_in(vpc.vpc_id, load_balancer)
        elif listener is None:
            require_zones(vpc, vpc_subnets, internet_facing=internet_facing, at_least=2)
        _require_delay(deregistration_delay)
        scope = Construct(self, construct_id)
        targets, *others = (
            elbv2.ApplicationTargetGroup(
                scope,
                name,
                vpc=vpc,
                protocol=_HTTP,
                port=target.container_port,
                target_type=target.target_type,
                deregistration_delay=deregistration_delay,
                health_check=health_check(path),
            )
            for name in self._targets.names
        )
        if listener is not None:
            url = ""
            balancer = listener.load_balancer if isinstance(listener, elbv2.ApplicationListener) else None
        else:
            balancer = load_balancer or elbv2.ApplicationLoadBalancer(
                scope,
                "LoadBalancer",
                vpc=vpc,
                internet_facing=internet_facing,
                vpc_subnets=vpc_subnets,
                idle_timeout=idle_timeout or cdk.Duration.minutes(_LONGEST_SILENCE_MINUTES),
                drop_invalid_header_fields=True,
            )
            if access_logs_bucket is not None:
                cast("elbv2.ApplicationLoadBalancer", balancer).log_access_logs(access_logs_bucket)
            listener = listen(scope, balancer, new, peer, default_target=None if others else targets)
            url = url_of(balancer, new)
            conditions = [elbv2.ListenerCondition.path_patterns(["/*"])] if others else None
        alternate = None
        if conditions:
            rule = elbv2.ApplicationListenerRule(
                scope,
                "Rule",
                listener=listener,
                priority=priority or 1,
                conditions=list(conditions),
                target_groups=[targets],
            )
            take_priority(listener, priority or 1)
            # ECS shifts requests by rewriting a rule, and the default action of a listener is not a rule.
            alternate = alternate_target(
                construct_id, others, ecs.ListenerRuleConfiguration.application_listener_rule(rule)
            )
        targets.add_target(self._to(target, alternate))
        return ServiceEndpoint(listener=listener, target_group=targets, url=url, balancer=balancer)

    @checked
    def add_network_load_balancer(
        self,
        construct_id: str,
        *,
        certificate: acm.ICertificate | None = None,
        protocol: elbv2.Protocol | None = None,
        port: int | None = None,
        ssl_policy: elbv2.SslPolicy | None = None,
        open: bool | None = None,  # noqa: A002 - as in CDK
        internet_facing: bool = False,
        vpc_subnets: ec2.SubnetSelection | None = None,
        access_logs_bucket: s3.IBucket | None = None,
        health_check_path: str | None = None,
        deregistration_delay: cdk.Duration | None = None,
        container_name: str | None = None,
        container_port: int | None = None,
    ) -> NetworkEndpoint:
        """Puts the service behind a new Network Load Balancer, for connections that are not HTTP or are private.

        As with `add_application_load_balancer` it is internal, lets in the addresses of the VPC, and may reach the
        container's port alone.

        Args:
            construct_id: Its id under the service.
            certificate: For TLS.
            protocol: TLS by default. With `elbv2.Protocol.TCP`, bytes are passed on as they are.
            port: Where it listens. By default 443, for TCP the container's port.
            ssl_policy: Protocols and ciphers. By default those that AWS recommends.
            open: Who is let in: True for everyone, False for no one until
                ``endpoint.load_balancer.connections.allow_from(…)``. By default the addresses of the VPC, and everyone
                where it is internet-facing.
            internet_facing: Whether it is reached from the internet, in public subnets.
            vpc_subnets: Its subnets. By default private ones, public ones if it is internet-facing.
            access_logs_bucket: Where it writes access logs. By default it writes none.
            health_check_path: A path that answers 200 once the model is loaded. By default an open port is enough.
            deregistration_delay: How long the last connections of a task may take. By default five minutes, as in ELB.
            container_name: The container that gets connections. By default the default container, the first with GPUs.
            container_port: Its port. By default the first that it maps.

        Raises:
            InvalidValueError: An argument is wrong by itself, or missing.
            IncompatibleError: Two arguments cannot work together.
            RefusedByCdkError: CDK refuses it for another reason.
        """
        target = self._targets.port(container_name, container_port)
        path = None if health_check_path is None else require_path(health_check_path)
        require_certificate(certificate, is_plain=protocol is _TCP, plain="elbv2.Protocol.TCP")
        require_encrypted(is_plain=protocol is _TCP, ssl_policy=ssl_policy)
        require_port(port)
        vpc = self._targets.hosts.vpc
        require_zones(vpc, vpc_subnets, internet_facing=internet_facing, at_least=1)
        peer = source_of(open, internet_facing=internet_facing, vpc=vpc)
        arrival = port or (443 if certificate is not None else target.container_port)
        _require_delay(deregistration_delay)
        scope = Construct(self, construct_id)
        # Without a group of its own, the hosts would have to let in the addresses of its clients.
        group = ec2.SecurityGroup(scope, "SecurityGroup", vpc=vpc, allow_all_outbound=False)
        balancer = elbv2.NetworkLoadBalancer(
            scope,
            "LoadBalancer",
            vpc=vpc,
            internet_facing=internet_facing,
            vpc_subnets=vpc_subnets,
            security_groups=[group],
        )
        if access_logs_bucket is not None:
            balancer.log_access_logs(access_logs_bucket)
        targets, *others = (
            elbv2.NetworkTargetGroup(
                scope,
                name,
                vpc=vpc,
                protocol=_TCP,
                port=target.container_port,
                target_type=target.target_type,
                deregistration_delay=deregistration_delay,
                health_check=health_check(path, _TCP if path is None else elbv2.Protocol.HTTP),
            )
            for name in self._targets.names
        )
        listener = elbv2.NetworkListener(
            scope,
            "Listener",
            load_balancer=balancer,
            protocol=protocol or _TLS,
            port=arrival,
            certificates=certificates_of(certificate),
            ssl_policy=None if certificate is None else ssl_policy or TLS,
            default_target_groups=[targets],
        )
        if peer is not None:
            balancer.connections.allow_from(peer, ec2.Port.tcp(arrival))
        alternate = alternate_target(construct_id, others, ecs.ListenerRuleConfiguration.network_listener(listener))
        targets.add_target(self._to(target, alternate))
        # CDK lets in an Application Load Balancer, but not a Network Load Balancer.
        self.connections.allow_from(balancer, target.port)
        return NetworkEndpoint(
            load_balancer=balancer,
            listener=listener,
            target_group=targets,
            address=f"{balancer.load_balancer_dns_name}:{arrival}",
        )

    def _to(self, target: TargetPort, alternate: ecs.IAlternateTarget | None) -> ecs.IEcsLoadBalancerTarget:
        return self.load_balancer_target(
            container_name=target.container_name,
            container_port=target.container_port,
            alternate_target=alternate,
        )


def _require_delay(deregistration_delay: cdk.Duration | None) -> None:
    if deregistration_delay is not None:
        whole_seconds("deregistration_delay", deregistration_delay, largest=_LONGEST_DELAY)
