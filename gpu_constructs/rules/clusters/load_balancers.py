"""Load balancers of a service: do they and its task definition go together, and do they reach its tasks?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_constructs.budget import brief
from gpu_constructs.fleet import SecurityGap, ServiceTarget, Task, Unknown, Workload
from gpu_constructs.hardware.aws_limits import DYNAMIC_PORTS, USUAL_DYNAMIC_PORTS
from gpu_constructs.hardware.servers import server_of_image
from gpu_constructs.rules.change import one_way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import accelerated_workloads
from gpu_constructs.rules.evidence.lists import and_list, or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_LOAD_BALANCER = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LoadBalancer.html"
# Less than that is for servers that answer at once; those that load a model are given 600 seconds (servers.json).
_LOADS_FOR = 120
_DYNAMIC = "{} to {}".format(*DYNAMIC_PORTS)
_SHIFTING = frozenset({"BLUE_GREEN", "CANARY", "LINEAR"})
# "has target type ip, which is incompatible with the bridge network mode specified in the task definition" says ECS
# (https://github.com/hashicorp/terraform/issues/24266).
_INCOMPATIBLE = {("awsvpc", "instance"): "ip", ("bridge", "ip"): "instance"}
# https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
_OTHER_TARGETS = {"lambda": "one Lambda function", "alb": "one Application Load Balancer"}


@error(
    "GPU204",
    question="does the target group of a service register what its tasks have?",
    because="tasks in network mode awsvpc have addresses of their own, those in bridge have ports of a host, and ECS "
    "refuses a target group of the other target type",
    source=_LOAD_BALANCER,
)
def target_type(context: Context) -> Problems:
    for workload, task, target in _targets(context):
        if other := _OTHER_TARGETS.get(str(target.target_type)):
            yield Problem(
                about=workload,
                origin=target.origin,
                property_name="TargetType",
                value=target.target_type,
                message=f"{workload.name} has a target group of target type {target.target_type}, which takes {other} "
                "and no tasks",
                fix=f"TargetType {'ip' if task.network_mode == 'awsvpc' else 'instance'}",
            )
            continue
        wanted = _INCOMPATIBLE.get((str(task.network_mode), str(target.target_type)))
        if wanted is not None:
            yield Problem(
                about=workload,
                origin=target.origin,
                property_name="TargetType",
                value=target.target_type,
                message=f"{workload.name} has a target group of target type {target.target_type}, and {task.name} has "
                f"network mode {task.network_mode}, whose tasks are registered by "
                f"{'their address' if wanted == 'ip' else 'host and port'}",
                fix=f"TargetType {wanted}",
            )


@error(
    "GPU205",
    question="does the task have the container and the port that load balancers send requests to?",
    because="ECS refuses a service with a container or a container port that its task definition does not have",
    source=_LOAD_BALANCER,
)
def a_port_for_requests(context: Context) -> Problems:
    for workload, task, target in _targets(context):
        container = next((each for each in task.containers if each.name == target.container), None)
        if task.is_part or not task.containers or isinstance(target.container, Unknown) or target.container is None:
            continue
        if container is None and task.has_open_name:
            continue
        if container is None:
            yield Problem(
                about=workload,
                origin=target.origin,
                property_name="ContainerName",
                value=target.container,
                message=f"{workload.name} has requests sent to container {target.container}, and {task.name} has none "
                "of that name",
                fix=or_list(each.name for each in task.containers),
            )
            continue
        mapped, port = container.port_mappings, target.port
        if isinstance(port, int) and not isinstance(mapped, Unknown) and port not in {inside for inside, _ in mapped}:
            yield Problem(
                about=workload,
                origin=target.origin,
                property_name="ContainerPort",
                value=port,
                message=f"{workload.name} has requests sent to port {port} of container {container.name}, which does "
                "not map it",
                fix=f'"PortMappings": [{{"ContainerPort": {port}}}] of the container'
                + (f", or ContainerPort {or_list(str(inside) for inside, _ in mapped)}" if mapped else ""),
            )


@warning(
    "GPU206",
    question="do security groups let requests of load balancers and of clients in Service Connect through to the port "
    "of the container?",
    because="a target that a load balancer cannot reach never becomes healthy, and ECS replaces its task again and "
    "again; clients in Service Connect connect to the proxy in the task; in network mode bridge a container without a "
    f"host port and the proxy have one of {_DYNAMIC}, usually up to {USUAL_DYNAMIC_PORTS[1]}",
    source=_LOAD_BALANCER,
    unless=("GPU204", "GPU205"),
)
def a_way_for_requests(context: Context) -> Problems:
    for workload, task, target in _targets(context):
        if target.gap is not None:
            whose = "tasks" if task.network_mode == "awsvpc" else "hosts"
            yield Problem(
                about=workload,
                origin=target.gap.origin or target.origin,
                changes="SecurityGroupEgress" if target.gap.is_of_load_balancer else "SecurityGroupIngress",
                message=f"load balancers do not reach container {target.container}: {_closed(target.gap, whose)}",
                fix=_rule_for(target.gap, whose),
            )
    for workload in context.once(accelerated_workloads):
        gap = workload.connect_gap
        if gap is not None:
            whose = "tasks" if workload.task is not None and workload.task.network_mode == "awsvpc" else "hosts"
            yield Problem(
                about=workload,
                origin=gap.origin,
                changes="SecurityGroupIngress",
                message=f"no client in Service Connect reaches {workload.name}: {_closed(gap, whose)}",
                fix=f"SecurityGroupIngress of {gap.group} from the security groups of its clients on {_ports(gap)}",
            )


@error(
    "GPU298",
    question="does a listener send requests to the target group of a service?",
    because='ECS refuses a service whose target group is behind no load balancer: "The target group does not have an '
    'associated load balancer"',
    source="https://github.com/hashicorp/terraform/issues/32908",
)
def has_listener(context: Context) -> Problems:
    for workload, _, target in _targets(context):
        if target.has_listener is False:
            yield Problem(
                about=workload,
                origin=target.origin,
                property_name="TargetGroupArn",
                message=f"no listener and no rule of one sends requests to the target group of {workload.name}, which "
                "then has no load balancer",
                fix="an AWS::ElasticLoadBalancingV2::Listener with a default action that forwards to it",
            )


@warning(
    "GPU299",
    question="is the listener there before the service?",
    because="CloudFormation creates a service beside a listener that it does not depend on, and ECS refuses it while "
    "its target group is behind no load balancer",
    source="https://github.com/Bayer-Group/cloudformation-template-generator/issues/181",
    changes="DependsOn",
)
def after_listener(context: Context) -> Problems:
    for workload, _, target in _targets(context):
        if target.late_listeners:
            listeners = or_list(target.late_listeners)
            yield Problem(
                about=workload,
                message=f"{workload.name} may be created before {listeners}, while its target group has no load "
                "balancer, and ECS refuses it then",
                fix=f"DependsOn: {target.late_listeners[0]}",
            )


@error(
    "GPU285",
    question="do load balancers say between what a deployment shifts their traffic?",
    because="with the deployment strategies BLUE_GREEN, LINEAR and CANARY, ECS refuses a load balancer without "
    'AdvancedConfiguration: "advancedConfiguration field is required for all loadBalancers when using a non-ROLLING '
    'deployment strategy"',
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/troubleshooting-blue-green.html",
)
def traffic_can_be_shifted(context: Context) -> Problems:
    for workload, _, target in _targets(context):
        if workload.deployment_strategy in _SHIFTING and target.shifts_traffic is False:
            yield Problem(
                about=workload,
                origin=target.origin,
                property_name="AdvancedConfiguration",
                message=f"{workload.name} has the deployment strategy {workload.deployment_strategy}, and a load "
                "balancer without AdvancedConfiguration",
                fix="AdvancedConfiguration with AlternateTargetGroupArn, ProductionListenerRule and RoleArn, or "
                "Strategy: ROLLING",
            )


@warning(
    "GPU263",
    question="does a model server have time to load before health checks count?",
    because="a server answers once its model is loaded, which takes minutes; until then ECS considers the task "
    "unhealthy, stops it and starts the next one, and the deployment never ends or is rolled back",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html",
    unless=("GPU204", "GPU205", "GPU206"),
)
def time_to_load(context: Context) -> Problems:
    for workload, task, target in _targets(context):
        grace = workload.health_check_grace_seconds or 0
        container = next((each for each in task.containers if each.name == target.container), None)
        image = None if container is None else container.image
        server = server_of_image(image) if isinstance(image, str) else None
        least = 0 if server is None else server.grace_seconds or 0
        if not isinstance(grace, Unknown) and grace < _LOADS_FOR <= least:
            yield Problem(
                about=workload,
                property_name="HealthCheckGracePeriodSeconds",
                value=grace,
                message=f"{workload.name} lets health checks of its load balancer count {grace} seconds after a task "
                f"has started, and {brief(str(image))} loads a model first",
                fix="a longer HealthCheckGracePeriodSeconds",
                ways=one_way(
                    f"HealthCheckGracePeriodSeconds: {least}", replace(workload, health_check_grace_seconds=least)
                ),
            )


@warning(
    "GPU307",
    question="do health checks go to a port at which the container is reached?",
    because="a container without a host port gets another port of the host each time, and its target group checks one "
    "fixed port instead: the target never becomes healthy, and ECS replaces its task again and again",
    source="https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html",
    unless=("GPU204", "GPU205"),
)
def checked_where_it_listens(context: Context) -> Problems:
    for workload, task, target in _targets(context):
        port = target.health_port
        is_dynamic = task.network_mode == "bridge" and target.target_type == "instance"
        if is_dynamic and isinstance(port, int) and _has_dynamic_port(task, target) and not _is_taken(context, port):
            yield Problem(
                about=workload,
                origin=target.group_origin or target.origin,
                property_name="HealthCheckPort",
                value=port,
                allowed="traffic-port",
                message=f"health checks of {workload.name} go to port {port} of its hosts, and container "
                f"{target.container} has a host port of {_DYNAMIC}, another one each time",
                fix="HealthCheckPort: traffic-port, which is the default",
            )


def _targets(context: Context) -> Iterator[tuple[Workload, Task, ServiceTarget]]:
    for workload in context.once(accelerated_workloads):
        for target in workload.targets:
            if workload.task is not None:
                yield workload, workload.task, target


def _closed(gap: SecurityGap, whose: str) -> str:
    """What is closed, and by which security group."""
    way, of = ("out", "the load balancer") if gap.is_of_load_balancer else ("in", f"its {whose}")
    group = f"{gap.group}, the security group of {of},"
    if gap.open_ports:
        return f"{group} lets them {way} on {and_list(map(_range, gap.open_ports))}, and not on all of {_ports(gap)}"
    by_address = ", and none by its address" if gap.from_addresses else ""
    return f"{group} lets none {way} on {_ports(gap)}{by_address}"


def _rule_for(gap: SecurityGap, whose: str) -> str:
    if gap.is_of_load_balancer:
        return f"SecurityGroupEgress of {gap.group} to the security group of the {whose} on {_ports(gap)}"
    source = "the load balancer's security group"
    if gap.from_addresses:
        source = "the addresses of clients and of the load balancer's subnets, or SecurityGroups of a new load balancer"
    return f"SecurityGroupIngress of {gap.group} from {source} on {_ports(gap)}"


def _ports(gap: SecurityGap) -> str:
    ports = DYNAMIC_PORTS if gap.ports == USUAL_DYNAMIC_PORTS else gap.ports
    return f"port {ports[0]}" if ports[0] == ports[1] else f"ports {_range(ports)}"


def _range(ports: tuple[int, int]) -> str:
    return str(ports[0]) if ports[0] == ports[1] else f"{ports[0]} to {ports[1]}"


def _has_dynamic_port(task: Task, target: ServiceTarget) -> bool:
    """Whether Docker certainly chooses the port of the host."""
    return any(
        not on_host and inside == target.port
        for each in task.containers
        if each.name == target.container and not isinstance(each.port_mappings, Unknown)
        for inside, on_host in each.port_mappings
    )


def _is_taken(context: Context, port: int) -> bool:
    """Whether a container may listen on this port of a host."""
    return any(
        task.network_mode == "host"
        or isinstance(each.port_mappings, Unknown)
        or any(on_host == port for _, on_host in each.port_mappings)
        for task in context.tasks
        for each in task.containers
    )
