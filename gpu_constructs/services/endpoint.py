"""Load balancers in front of a service: what they listen on, whom they let in, and which arguments go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.services.listener_choice import NewListener, take_ports

if TYPE_CHECKING:
    from aws_cdk import aws_certificatemanager as acm

TLS = elbv2.SslPolicy.TLS13_12_RES_PQ
"""TLS 1.3 and 1.2, which AWS recommends and its console chooses.

https://docs.aws.amazon.com/elasticloadbalancing/latest/application/describe-ssl-policies.html
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceEndpoint:
    """An Application Load Balancer's way to a service.

    Attributes:
        listener: Where requests arrive.
        target_group: The tasks that they are sent to.
        url: Where the service answers, by the name that AWS gives the load balancer; a certificate is for your own
            domain, which an alias record leads to `load_balancer`. Empty for an existing listener, and for a load
            balancer that was imported without its name.
        balancer: The load balancer; None for an imported listener.
    """

    listener: elbv2.IApplicationListener
    target_group: elbv2.ApplicationTargetGroup
    url: str
    balancer: elbv2.IApplicationLoadBalancer | None

    @property
    def load_balancer(self) -> elbv2.IApplicationLoadBalancer:
        """The load balancer.

        Raises:
            InvalidValueError: The listener was imported, so CDK does not know its load balancer.
        """
        if self.balancer is None:
            raise InvalidValueError(
                "an imported listener does not say which load balancer it belongs to",
                argument="listener",
                fix="the load balancer itself, imported with elbv2.ApplicationLoadBalancer.from_lookup",
            )
        return self.balancer


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkEndpoint:
    """A Network Load Balancer's way to a service.

    Attributes:
        load_balancer: The load balancer.
        listener: Where connections arrive.
        target_group: The tasks that they are passed to.
        address: Where the service answers, as ``name:port``, by the name that AWS gives the load balancer.
    """

    load_balancer: elbv2.INetworkLoadBalancer
    listener: elbv2.NetworkListener
    target_group: elbv2.NetworkTargetGroup
    address: str


def health_check(path: str | None, protocol: elbv2.Protocol = elbv2.Protocol.HTTP) -> elbv2.HealthCheck:
    """Two good answers within 30 seconds let a task in; four bad ones, in a minute, replace it.

    Args:
        path: What is asked. None for a port that only has to be open.
        protocol: How it is asked.
    """
    return elbv2.HealthCheck(
        path=path,
        # ELB's own default; cfn-lint wants it in writing where Docker chooses the port (E3049).
        port="traffic-port",
        protocol=protocol,
        interval=cdk.Duration.seconds(15),
        timeout=cdk.Duration.seconds(10),
        healthy_threshold_count=2,
        unhealthy_threshold_count=4,
    )


def source_of(open_to: bool | None, *, internet_facing: bool, vpc: ec2.IVpc) -> ec2.IPeer | None:  # noqa: FBT001 - as in CDK
    """Who is let in; None for no one.

    Raises:
        InvalidValueError: The VPC was imported without its range of addresses.
    """
    if open_to is False:
        return None
    if open_to or internet_facing:
        return ec2.Peer.any_ipv4()
    try:
        return ec2.Peer.ipv4(vpc.vpc_cidr_block)
    except RuntimeError:
        raise InvalidValueError(
            "the VPC was imported without its addresses, which are let in by default",
            argument="open",
            value=open_to,
            fix="vpc_cidr_block=… in from_vpc_attributes, or open=False and "
            "endpoint.listener.connections.allow_default_port_from(…)",
        ) from None


def url_of(balancer: elbv2.IApplicationLoadBalancer, listener: NewListener) -> str:
    """Where a load balancer answers; empty for one that was imported without its name."""
    try:
        name = balancer.load_balancer_dns_name
    except RuntimeError:
        return ""
    return f"{listener.scheme}://{name}" + ("" if listener.has_usual_port else f":{listener.port}")


def listen(
    scope: Construct,
    balancer: elbv2.IApplicationLoadBalancer,
    new: NewListener,
    peer: ec2.IPeer | None,
    *,
    default_target: elbv2.IApplicationTargetGroup | None,
) -> elbv2.ApplicationListener:
    """A listener of a load balancer, with the port that redirects to it.

    Args:
        scope: Where it is defined.
        balancer: The load balancer.
        new: What was chosen for it.
        peer: Who is let in; None for no one.
        default_target: Where requests go; None where a rule says it.
    """
    listener = elbv2.ApplicationListener(
        scope,
        "Listener",
        load_balancer=balancer,
        protocol=new.protocol,
        port=new.port,
        certificates=certificates_of(new.certificate),
        ssl_policy=None if new.certificate is None else new.ssl_policy or TLS,
        default_action=elbv2.ListenerAction.fixed_response(404) if default_target is None else None,
        default_target_groups=None if default_target is None else [default_target],
        open=False,
    )
    listeners = [listener]
    if new.redirects:
        action = elbv2.ListenerAction.redirect(protocol="HTTPS", port=str(new.port), permanent=True)
        listeners.append(
            elbv2.ApplicationListener(
                scope, "Redirect", load_balancer=balancer, port=80, default_action=action, open=False
            )
        )
    if peer is not None:
        for each in listeners:
            each.connections.allow_default_port_from(peer)
    take_ports(balancer, new.ports)
    return listener


def certificates_of(certificate: acm.ICertificate | None) -> list[elbv2.IListenerCertificate] | None:
    """A certificate as a listener takes it."""
    return None if certificate is None else [cast("elbv2.IListenerCertificate", certificate)]


def alternate_target(
    construct_id: str, others: Sequence[elbv2.ITargetGroup], production: ecs.ListenerRuleConfiguration
) -> ecs.AlternateTarget | None:
    """The second target group, to which a blue/green deployment shifts requests; None without one.

    Args:
        construct_id: Id of the load balancer's part of the service.
        others: The second target group, if there is one.
        production: What ECS rewrites to shift requests.
    """
    if not others:
        return None
    return ecs.AlternateTarget(f"{construct_id}Shift", alternate_target_group=others[0], production_listener=production)
