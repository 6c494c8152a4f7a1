"""Load balancers in front of a service: what users choose of them, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct
from typing_extensions import TypedDict

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.errors import IncompatibleError, InvalidValueError, unexpected
from gpu_constructs.facts.aws_limits import LARGEST_PORT
from gpu_constructs.services.endpoint import NetworkEndpoint, ServiceEndpoint, TargetPort, Targets

if TYPE_CHECKING:
    from aws_cdk import aws_certificatemanager as acm
    from aws_cdk import aws_s3 as s3

# TLS 1.3 and 1.2, which AWS recommends and its console chooses:
# https://docs.aws.amazon.com/elasticloadbalancing/latest/application/describe-ssl-policies.html
_TLS_POLICY = elbv2.SslPolicy.TLS13_12_RES_PQ
# A completion that is not streamed is silent until it is whole; ELB's default of 60 seconds would cut it off.
_LONGEST_SILENCE = cdk.Duration.minutes(10)
_HTTPS_PORT, _HTTP_PORT = 443, 80
_OF_RULE = ("priority", "conditions")
_LARGEST_PRIORITY = 50_000  # RulePriority of botocore's model of ELB
_OF_NEW_LISTENER = (
    "certificate",
    "protocol",
    "port",
    "open",
    "internet_facing",
    "vpc_subnets",
    "access_logs_bucket",
)


_Balancer = TypeVar("_Balancer", elbv2.ApplicationLoadBalancer, elbv2.NetworkLoadBalancer)
_Targets = TypeVar("_Targets", elbv2.ApplicationTargetGroup, elbv2.NetworkTargetGroup)
_Listener = TypeVar("_Listener", elbv2.ApplicationListener, elbv2.NetworkListener)


class BalancerOptions(TypedDict, total=False):
    """What both kinds of load balancers of a `GpuService` take.

    Attributes:
        certificate: For encryption, which is the default.
        port: Where it listens. By default 443, without encryption 80, and of a Network Load Balancer the container's.
        open: Who is let in: True for everyone, False for no one until the connections of the endpoint's listener, or of
            its Network Load Balancer, allow it. By default the addresses of the VPC, and everyone where it is
            internet-facing.
        internet_facing: Whether it is reached from the internet, in public subnets.
        vpc_subnets: Its subnets. By default private ones, public ones if it is internet-facing.
        access_logs_bucket: Where it writes access logs. By default it writes none.
        health_check_path: A path that answers 200 once the model is loaded, such as ``/health``. By default that of the
            server of `GpuTaskDefinition.add_model_server`; for a Network Load Balancer an open port is enough.
        container_name: The container that gets requests. By default the default container, the first with GPUs.
        container_port: Its port. By default the first that it maps.
    """

    certificate: acm.ICertificate | None
    port: int | None
    open: bool | None
    internet_facing: bool
    vpc_subnets: ec2.SubnetSelection | None
    access_logs_bucket: s3.IBucket | None
    health_check_path: str | None
    container_name: str | None
    container_port: int | None


class ApplicationBalancerOptions(BalancerOptions, total=False):
    """Arguments of `GpuService.add_application_load_balancer`.

    Attributes:
        protocol: HTTPS by default. With `elbv2.ApplicationProtocol.HTTP`, anyone on the way can read requests.
        listener: A listener of yours, which gets a rule with `priority` and `conditions`, instead of a new load
            balancer.
        priority: Of that rule. The lowest number comes first.
        conditions: Which requests of that listener the service gets.
    """

    protocol: elbv2.ApplicationProtocol | None
    listener: elbv2.IApplicationListener | None
    priority: int | None
    conditions: Sequence[elbv2.ListenerCondition] | None


class NetworkBalancerOptions(BalancerOptions, total=False):
    """Arguments of `GpuService.add_network_load_balancer`.

    Attributes:
        protocol: TLS by default, or `elbv2.Protocol.TCP`, which passes bytes on as they are.
    """

    protocol: elbv2.Protocol | None


def behind_application(
    service: ecs.Ec2Service, targets: Targets, construct_id: str, options: ApplicationBalancerOptions
) -> ServiceEndpoint:
    """Puts a service behind an Application Load Balancer, see `GpuService.add_application_load_balancer`."""
    given = options.get("listener")
    _require_together(options)
    target = targets.port(options.get("container_name"), options.get("container_port"))
    path = options.get("health_check_path") or targets.health_path(target.container_port)
    _require_path(path)
    vpc = targets.hosts.vpc
    peer = None
    if given is None:
        _require_certificate(options, plain=elbv2.ApplicationProtocol.HTTP)
        peer = _source_of(options, vpc)
    scope = Construct(service, construct_id)
    to_tasks = partial(elbv2.ApplicationTargetGroup, scope, "Targets", protocol=elbv2.ApplicationProtocol.HTTP)
    group = _targets(to_tasks, target, vpc, path)
    if given is None:
        kind = partial(elbv2.ApplicationLoadBalancer, idle_timeout=_LONGEST_SILENCE, drop_invalid_header_fields=True)
        balancer = _balancer(kind, scope, vpc, options)
        endpoint = _listen(scope, balancer, group, peer, options)
    else:
        elbv2.ApplicationListenerRule(
            scope,
            "Rule",
            listener=given,
            priority=cast("int", options["priority"]),
            conditions=list(options["conditions"] or ()),
            target_groups=[group],
        )
        endpoint = ServiceEndpoint(listener=given, target_group=group, url="", balancer=None)
    group.add_target(target.of(service))
    return endpoint


def _listen(
    scope: Construct,
    balancer: elbv2.ApplicationLoadBalancer,
    group: elbv2.ApplicationTargetGroup,
    peer: ec2.IPeer | None,
    options: ApplicationBalancerOptions,
) -> ServiceEndpoint:
    """The listener of a new load balancer; with encryption, port 80 redirects to it."""
    certificate = options.get("certificate")
    usual = _HTTP_PORT if certificate is None else _HTTPS_PORT
    port = options.get("port") or usual
    protocol = options.get("protocol") or elbv2.ApplicationProtocol.HTTPS
    kind = partial(elbv2.ApplicationListener, scope, "Listener", protocol=protocol, open=False)
    listener = _listener(kind, balancer, port, group, certificate)
    listeners = [listener]
    if certificate is not None and port != _HTTP_PORT:
        action = elbv2.ListenerAction.redirect(protocol="HTTPS", port=str(port), permanent=True)
        listeners.append(
            elbv2.ApplicationListener(
                scope, "Redirect", load_balancer=balancer, port=_HTTP_PORT, default_action=action, open=False
            )
        )
    if peer is not None:
        for each in listeners:
            each.connections.allow_default_port_from(peer)
    scheme = "http" if certificate is None else "https"
    url = f"{scheme}://{balancer.load_balancer_dns_name}" + ("" if port == usual else f":{port}")
    return ServiceEndpoint(listener=listener, target_group=group, url=url, balancer=balancer)


def behind_network(
    service: ecs.Ec2Service, targets: Targets, construct_id: str, options: NetworkBalancerOptions
) -> NetworkEndpoint:
    """Puts a service behind a Network Load Balancer, see `GpuService.add_network_load_balancer`."""
    protocol = options.get("protocol") or elbv2.Protocol.TLS
    if protocol not in {elbv2.Protocol.TLS, elbv2.Protocol.TCP}:
        raise unexpected(
            "protocol",
            protocol,
            "TLS or TCP",
            allowed="elbv2.Protocol.TLS, elbv2.Protocol.TCP",
            fix="for UDP an elbv2.NetworkLoadBalancer of your own, to whose listener add_targets gives "
            "service.load_balancer_target(…)",
        )
    target = targets.port(options.get("container_name"), options.get("container_port"))
    path = options.get("health_check_path")
    if path is not None:
        _require_path(path)
    _require_certificate(options, plain=elbv2.Protocol.TCP)
    vpc, certificate = targets.hosts.vpc, options.get("certificate")
    peer = _source_of(options, vpc)
    arrival = options.get("port") or (target.container_port if certificate is None else _HTTPS_PORT)
    scope = Construct(service, construct_id)
    # Without a group of its own, the hosts would have to let in the addresses of its clients.
    allowed = ec2.SecurityGroup(scope, "SecurityGroup", vpc=vpc, allow_all_outbound=False)
    balancer = _balancer(partial(elbv2.NetworkLoadBalancer, security_groups=[allowed]), scope, vpc, options)
    to_tasks = partial(elbv2.NetworkTargetGroup, scope, "Targets", protocol=elbv2.Protocol.TCP)
    group = _targets(to_tasks, target, vpc, path)
    kind = partial(elbv2.NetworkListener, scope, "Listener", protocol=protocol)
    listener = _listener(kind, balancer, arrival, group, certificate)
    if peer is not None:
        balancer.connections.allow_from(peer, ec2.Port.tcp(arrival))
    group.add_target(target.of(service))
    # CDK lets in an Application Load Balancer, but not a Network Load Balancer.
    service.connections.allow_from(balancer, target.port)
    return NetworkEndpoint(
        load_balancer=balancer,
        listener=listener,
        target_group=group,
        address=f"{balancer.load_balancer_dns_name}:{arrival}",
    )


def _require_together(options: ApplicationBalancerOptions) -> None:
    """Refuses arguments of a new load balancer for a listener of the user's, and the reverse."""
    names = [name for name, value in options.items() if not (value is None or value is False)]
    is_rule = "listener" in names
    why = "your listener has its own" if is_rule else "only a rule of a listener of yours has it"
    for name in names:
        if name in (_OF_NEW_LISTENER if is_rule else _OF_RULE):
            raise IncompatibleError(why, argument=name, fix=f"leave {name} out")
    for name in _OF_RULE if is_rule else ():
        if not options.get(name):
            raise InvalidValueError(
                "a listener sends requests to the service by a rule, which needs a priority and conditions",
                argument=name,
                value=options.get(name),
                fix="priority=10, conditions=[elbv2.ListenerCondition.path_patterns(['/*'])]",
            )
    if is_rule:
        whole_number("priority", options.get("priority"), smallest=1, largest=_LARGEST_PRIORITY, fix="priority=10")


def _require_certificate(
    options: ApplicationBalancerOptions | NetworkBalancerOptions,
    *,
    plain: elbv2.ApplicationProtocol | elbv2.Protocol,
) -> None:
    """Refuses encryption without a certificate, a certificate without encryption, and what is no port."""
    certificate, is_plain = options.get("certificate"), options.get("protocol") is plain
    name = f"elbv2.{plain}"
    if certificate is None and not is_plain:
        raise InvalidValueError(
            "a listener with encryption, the default, needs a certificate",
            argument="certificate",
            fix=f"certificate=acm.Certificate(self, 'Certificate', domain_name='…'), or protocol={name} for requests "
            "without encryption",
        )
    if certificate is not None and is_plain:
        raise IncompatibleError(
            "a listener without encryption has no use for a certificate",
            argument="protocol",
            value=name,
            fix="leave protocol out",
        )
    port = options.get("port")
    if port is not None:
        whole_number("port", port, smallest=1, largest=LARGEST_PORT, fix="leave it out for 443")


def _require_path(path: str | None) -> None:
    if path is None or not path.startswith("/"):
        raise InvalidValueError(
            "the health check asks each task for a path, and only tasks that answer 200 get requests",
            argument="health_check_path",
            value=path,
            allowed="a path that begins with /",
            fix="health_check_path='/health' for vLLM, SGLang and TGI, '/v2/health/ready' for Triton, and for a server "
            "of your own the path at which it answers 200",
        )


def _balancer(kind: Callable[..., _Balancer], scope: Construct, vpc: ec2.IVpc, options: BalancerOptions) -> _Balancer:
    made = kind(
        scope,
        "LoadBalancer",
        vpc=vpc,
        internet_facing=options.get("internet_facing"),
        vpc_subnets=options.get("vpc_subnets"),
    )
    logs = options.get("access_logs_bucket")
    if logs is not None:
        made.log_access_logs(logs)
    return made


def _targets(kind: Callable[..., _Targets], target: TargetPort, vpc: ec2.IVpc, path: str | None) -> _Targets:
    """Two good answers within 30 seconds let a task in; four bad ones, in a minute, replace it."""
    health = elbv2.HealthCheck(
        path=path,
        # ELB's own default; cfn-lint wants it in writing where Docker chooses the port (E3049).
        port="traffic-port",
        protocol=elbv2.Protocol.TCP if path is None else elbv2.Protocol.HTTP,
        interval=cdk.Duration.seconds(15),
        timeout=cdk.Duration.seconds(10),
        healthy_threshold_count=2,
        unhealthy_threshold_count=4,
    )
    return kind(vpc=vpc, port=target.container_port, target_type=target.target_type, health_check=health)


def _listener(
    kind: Callable[..., _Listener], balancer: object, port: float, group: object, certificate: acm.ICertificate | None
) -> _Listener:
    return kind(
        load_balancer=balancer,
        port=port,
        certificates=None if certificate is None else [certificate],
        ssl_policy=None if certificate is None else _TLS_POLICY,
        default_target_groups=[group],
    )


def _source_of(options: BalancerOptions, vpc: ec2.IVpc) -> ec2.IPeer | None:
    """Who is let in; None for no one."""
    is_open = options.get("open")
    if is_open is False:
        return None
    if is_open or options.get("internet_facing"):
        return ec2.Peer.any_ipv4()
    try:
        return ec2.Peer.ipv4(vpc.vpc_cidr_block)
    except RuntimeError:
        raise InvalidValueError(
            "the VPC was imported without its addresses, which are let in by default",
            argument="open",
            value=is_open,
            fix="vpc_cidr_block=… in from_vpc_attributes, or open=False and "
            "endpoint.listener.connections.allow_default_port_from(…)",
        ) from None
