"""Load balancers in front of a service: what they listen on, whom they let in, and which arguments go together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.cdk.atomic import translated
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named
from gpu_constructs.hardware.aws_limits import LARGEST_PORT
from gpu_constructs.hosts.subnets import selected_subnets

__all__ = [
    "TLS",
    "NetworkEndpoint",
    "ServiceEndpoint",
    "alternate_target",
    "health_check",
    "redirect_to_https",
    "require_certificate",
    "require_path",
    "require_port",
    "require_same_vpc",
    "require_together",
    "require_zones",
    "source_of",
    "url_of",
]

TLS = elbv2.SslPolicy.TLS13_12_RES_PQ
"""TLS 1.3 and 1.2, which AWS recommends and its console chooses.

https://docs.aws.amazon.com/elasticloadbalancing/latest/application/describe-ssl-policies.html
"""

# An Availability Zone; in a Local Zone, such as us-west-2-lax-1a, one is enough.
_ZONE = re.compile(r"[a-z]{2}(-gov|-iso[a-z]?)?-[a-z]+-[0-9][a-z]")
# https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html
_LARGEST_PRIORITY = 50_000

# What only a new load balancer has, what only a new listener has, and what only a rule of an existing listener has.
_OF_NEW_BALANCER = ("internet_facing", "vpc_subnets", "idle_timeout", "access_logs_bucket")
_OF_NEW_LISTENER = ("load_balancer", "certificate", "protocol", "port", "redirect_http", "ssl_policy", "open")
_OF_RULE = ("priority", "conditions")


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

    Args:
        open_to: As the user chose.
        internet_facing: Whether the load balancer is.
        vpc: Where it is.

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


def require_together(given: Mapping[str, object]) -> None:
    """Refuses arguments of a new load balancer or listener where an existing one is used, and the reverse.

    Args:
        given: The arguments; None, False and an empty list are not given.

    Raises:
        IncompatibleError: Two of them do not go together.
        InvalidValueError: A rule of a listener lacks its place or its conditions.
    """
    names = [name for name, value in given.items() if not (value is None or value is False or value in ([], ()))]
    if "listener" in names:
        _refuse(names, (*_OF_NEW_LISTENER, *_OF_NEW_BALANCER), "an existing listener has its own", "listener")
        for name in _OF_RULE:
            if name not in names:
                raise InvalidValueError(
                    "a listener sends requests to the service by a rule, which needs a priority and conditions",
                    argument=name,
                    value=given[name],
                    fix="priority=10, conditions=[elbv2.ListenerCondition.path_patterns(['/*'])]",
                )
        whole_number("priority", given["priority"], smallest=1, largest=_LARGEST_PRIORITY, fix="priority=10")
        return
    _refuse(names, _OF_RULE, "only a rule of an existing listener has it", "no listener")
    if "load_balancer" in names:
        _refuse(names, _OF_NEW_BALANCER, "an existing load balancer has its own", "load_balancer")


def _refuse(names: list[str], wrong: tuple[str, ...], why: str, because_of: str) -> None:
    for name in names:
        if name in wrong:
            raise IncompatibleError(f"{why} ({because_of} was given)", argument=name, fix=f"leave {name} out")


def require_certificate(certificate: acm.ICertificate | None, *, is_plain: bool, plain: str) -> None:
    """Refuses encryption without a certificate, and a certificate without encryption.

    Args:
        certificate: As given.
        is_plain: Whether the user chose a protocol without encryption.
        plain: How that is chosen.

    Raises:
        InvalidValueError: A listener with encryption has no certificate.
        IncompatibleError: A listener without encryption has one.
    """
    if certificate is None and not is_plain:
        raise InvalidValueError(
            "a listener with encryption, the default, needs a certificate",
            argument="certificate",
            fix=f"certificate=acm.Certificate(self, 'Certificate', domain_name='…'), or protocol={plain} for requests "
            "without encryption",
        )
    if certificate is not None and is_plain:
        raise IncompatibleError(
            "a listener without encryption has no use for a certificate",
            argument="protocol",
            value=plain,
            fix="leave protocol out",
        )


def require_path(path: str | None) -> str:
    """The path of a health check.

    Args:
        path: As given.

    Raises:
        InvalidValueError: There is none, or it is not a path.
    """
    if path is None or not path.startswith("/"):
        raise InvalidValueError(
            "the health check asks each task for a path, and only tasks that answer 200 get requests",
            argument="health_check_path",
            value=path,
            allowed="a path that begins with /",
            fix="health_check_path='/health' for vLLM, SGLang and TGI, '/v2/health/ready' for Triton",
        )
    return path


def require_port(port: float | None) -> None:
    """Refuses what no listener can have as its port.

    Args:
        port: As given; None for the usual one.

    Raises:
        InvalidValueError: It is not a port.
    """
    if port is not None:
        whole_number("port", port, smallest=1, largest=LARGEST_PORT, fix="leave it out for 443")


def require_same_vpc(balancer: elbv2.IApplicationLoadBalancer, vpc: ec2.IVpc) -> None:
    """Refuses a load balancer of another VPC, whose target groups cannot be in that of the service.

    Two VPCs that this app makes are certain to be different; what is imported may be the same VPC in other words.

    Args:
        balancer: As given.
        vpc: Of the service.

    Raises:
        IncompatibleError: They are certain to be in different VPCs.
    """
    there = balancer.vpc
    if isinstance(there, ec2.Vpc) and isinstance(vpc, ec2.Vpc) and there.node.path != vpc.node.path:
        raise IncompatibleError(
            f"the load balancer is in VPC {there.node.path}, and the service in {vpc.node.path}",
            argument="load_balancer",
            value=there.node.path,
            allowed=vpc.node.path,
            fix="a load balancer in the VPC of the cluster",
        )


def require_zones(vpc: ec2.IVpc, chosen: ec2.SubnetSelection | None, *, internet_facing: bool, at_least: int) -> None:
    """Refuses a selection without subnets, or with subnets in too few zones, as far as the zones are known.

    "You must specify subnets from at least two Availability Zones" (CreateLoadBalancer of the ELB API, of Application
    Load Balancers).

    Args:
        vpc: Where they are.
        chosen: As given.
        internet_facing: Whether they are public by default.
        at_least: How many zones there must be.

    Raises:
        InvalidValueError: There are none, or in too few zones.
        RefusedByCdkError: CDK finds none.
    """
    argument = "internet_facing" if chosen is None else "vpc_subnets"
    if chosen is None and not internet_facing:
        zones = frozenset(vpc.availability_zones)
    else:
        wanted = chosen or ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)
        wanted = ec2.SubnetSelection(**wanted) if isinstance(wanted, Mapping) else wanted
        with argument_named(argument), translated():
            zones = frozenset(selected_subnets(vpc, wanted).availability_zones)
    if zones and all(map(_ZONE.fullmatch, zones)) and len(zones) < at_least:
        raise InvalidValueError(
            f"an Application Load Balancer has subnets in two Availability Zones at least, got {', '.join(zones)}",
            argument="vpc_subnets",
            value=sorted(zones),
            fix="subnets of two zones, or add_network_load_balancer",
        )


def url_of(balancer: elbv2.IApplicationLoadBalancer, scheme: str, *, port: int | None) -> str:
    """Where a load balancer answers; empty for one that was imported without its name.

    Args:
        balancer: The load balancer.
        scheme: ``https`` or ``http``.
        port: Its port; None for the usual one of the scheme.
    """
    try:
        name = balancer.load_balancer_dns_name
    except RuntimeError:
        return ""
    return f"{scheme}://{name}" + ("" if port is None else f":{port}")


def redirect_to_https(
    scope: Construct, balancer: elbv2.IApplicationLoadBalancer, port: int
) -> elbv2.ApplicationListener:
    """Port 80, which sends everyone to HTTPS.

    Args:
        scope: Where it is defined.
        balancer: Whose port it is.
        port: Where HTTPS is.
    """
    action = elbv2.ListenerAction.redirect(protocol="HTTPS", port=str(port), permanent=True)
    return elbv2.ApplicationListener(
        scope, "Redirect", load_balancer=balancer, port=80, default_action=action, open=False
    )


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
