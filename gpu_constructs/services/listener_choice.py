"""What was chosen for a listener or for its rule, which arguments go together, and which ports are taken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_elasticloadbalancingv2 as elbv2

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.cdk.calls import translated
from gpu_constructs.cluster.hosts.network import selected_subnets
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named
from gpu_constructs.facts.aws_limits import LARGEST_PORT

if TYPE_CHECKING:
    from aws_cdk import aws_certificatemanager as acm

# An Availability Zone; in a Local Zone, such as us-west-2-lax-1a, one is enough.
_ZONE = re.compile(r"[a-z]{2}(-gov|-iso[a-z]?)?-[a-z]+-[0-9][a-z]")
# https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateRule.html
_LARGEST_PRIORITY = 50_000

# What only a new load balancer has, what only a new listener has, and what only a rule of an existing listener has.
_OF_NEW_BALANCER = ("internet_facing", "vpc_subnets", "idle_timeout", "access_logs_bucket")
_OF_NEW_LISTENER = ("load_balancer", "certificate", "protocol", "port", "redirect_http", "ssl_policy", "open")
_OF_RULE = ("priority", "conditions")
_HTTP_PORT = 80
_SCHEMES = {elbv2.ApplicationProtocol.HTTPS: ("https", 443), elbv2.ApplicationProtocol.HTTP: ("http", _HTTP_PORT)}


def require_together(given: Mapping[str, object]) -> None:
    """Refuses arguments of a new load balancer or listener where an existing one is used, and the reverse.

    Args:
        given: The arguments; None, False and an empty list are not given.

    Raises:
        IncompatibleError: Two of them do not go together.
        InvalidValueError: A rule of a listener lacks its place or its conditions, or a rule of this app has its place.
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
        require_free_priority(given["listener"], given["priority"])
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


def require_encrypted(*, is_plain: bool, **given: object) -> None:
    """Refuses what only a listener with encryption has.

    Args:
        is_plain: Whether the user chose a protocol without encryption.
        given: Arguments of such a listener; None and False are not given.

    Raises:
        IncompatibleError: One of them was given for a listener without encryption.
    """
    for argument, value in given.items():
        if is_plain and value:
            raise IncompatibleError(
                "only a listener with encryption has it", argument=argument, value=value, fix=f"leave {argument} out"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewListener:
    """A new listener of an Application Load Balancer.

    Attributes:
        protocol: What it speaks.
        port: Where it listens.
        redirects: Whether port 80 redirects to it.
        certificate: For HTTPS.
        ssl_policy: Its protocols and ciphers, as given.
    """

    protocol: elbv2.ApplicationProtocol
    port: int
    redirects: bool
    certificate: acm.ICertificate | None
    ssl_policy: elbv2.SslPolicy | None

    @property
    def scheme(self) -> str:
        """How the address of the service begins."""
        return _SCHEMES[self.protocol][0]

    @property
    def has_usual_port(self) -> bool:
        """Whether it listens where clients look for it."""
        return self.port == _SCHEMES[self.protocol][1]

    @property
    def ports(self) -> frozenset[int]:
        """The ports that it takes of its load balancer."""
        return frozenset({self.port, *([_HTTP_PORT] if self.redirects else [])})


def new_listener(
    load_balancer: elbv2.IApplicationLoadBalancer | None,
    *,
    certificate: acm.ICertificate | None,
    protocol: elbv2.ApplicationProtocol | None,
    port: int | None,
    redirect_http: bool | None,
    ssl_policy: elbv2.SslPolicy | None,
) -> NewListener:
    """The listener that a user wants; a load balancer has one for each port.

    Args:
        load_balancer: One that is there; None for a new one.
        certificate: As given.
        protocol: As given; None for HTTPS.
        port: As given; None for the usual one.
        redirect_http: As given; None for the redirection of a new load balancer.
        ssl_policy: As given.

    Raises:
        InvalidValueError: A value is wrong by itself, or a service of this app has the port.
        IncompatibleError: Two of them do not go together.
    """
    is_plain = protocol is elbv2.ApplicationProtocol.HTTP
    require_certificate(certificate, is_plain=is_plain, plain="elbv2.ApplicationProtocol.HTTP")
    require_port(port)
    require_encrypted(is_plain=is_plain, redirect_http=redirect_http, ssl_policy=ssl_policy)
    spoken = protocol or elbv2.ApplicationProtocol.HTTPS
    by_default = load_balancer is None and not is_plain and port != _HTTP_PORT
    redirects = by_default if redirect_http is None else redirect_http
    new = NewListener(
        protocol=spoken,
        port=port or _SCHEMES[spoken][1],
        redirects=redirects,
        certificate=certificate,
        ssl_policy=ssl_policy,
    )
    if redirects and new.port == _HTTP_PORT:
        raise IncompatibleError(
            "port 80 cannot redirect to itself", argument="redirect_http", value=redirects, fix="leave it out"
        )
    for each in () if load_balancer is None else new.ports & ports_of(load_balancer):
        of_listener = each == new.port
        raise InvalidValueError(
            f"the load balancer has a listener on port {each} already",
            argument="port" if of_listener else "redirect_http",
            value=each if of_listener else redirects,
            fix="another port, or listener= with a rule of that listener" if of_listener else "leave it out",
        )
    return new


def require_path(path: str | None) -> str:
    """The path of a health check.

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


# Ports of load balancers and priorities of listeners that services of this app have, which CDK does not say.
_PORTS: WeakKeyDictionary[elbv2.IApplicationLoadBalancer, frozenset[int]] = WeakKeyDictionary()
_PRIORITIES: WeakKeyDictionary[elbv2.IApplicationListener, frozenset[int]] = WeakKeyDictionary()


def ports_of(balancer: elbv2.IApplicationLoadBalancer) -> frozenset[int]:
    """Where a load balancer listens for services of this app."""
    return _PORTS.get(balancer, frozenset())


def take_ports(balancer: elbv2.IApplicationLoadBalancer, ports: Iterable[int]) -> None:
    """Notes where a load balancer listens."""
    _PORTS[balancer] = ports_of(balancer).union(ports)


def require_free_priority(listener: object, priority: object) -> None:
    """Refuses a priority that a rule of a listener has already.

    Raises:
        InvalidValueError: A rule of a service of this app has it.
    """
    taken = _PRIORITIES.get(cast("elbv2.IApplicationListener", listener), frozenset())
    if priority in taken:
        raise InvalidValueError(
            f"the listener has a rule of priority {priority} already",
            argument="priority",
            value=priority,
            allowed=f"a number that no rule of the listener has; in use: {', '.join(map(str, sorted(taken)))}",
            fix=f"priority={max(taken) + 1}",
        )


def take_priority(listener: elbv2.IApplicationListener, priority: int) -> None:
    """Notes that a rule of a listener has this priority."""
    _PRIORITIES[listener] = _PRIORITIES.get(listener, frozenset()) | {priority}
