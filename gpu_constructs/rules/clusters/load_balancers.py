"""Load balancers of a service: do they and its task definition go together, and do its servers answer them in time?

Only templates define load balancers, so these rules read the properties of the resources.
"""

from __future__ import annotations

from gpu_constructs.errors import brief
from gpu_constructs.facts.aws_limits import DYNAMIC_PORTS, RESERVED_PORTS, USUAL_DYNAMIC_PORTS
from gpu_constructs.facts.servers import server_of_image
from gpu_constructs.fleet import Unknown, Workload, known
from gpu_constructs.rules.clusters.balancing import Balancing, Gap, Target
from gpu_constructs.rules.evidence.accelerated import accelerated_workloads
from gpu_constructs.rules.evidence.server_commands import listens_elsewhere, port_of, server_of_entry_point
from gpu_constructs.rules.finding import Text, Word, and_list, or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning
from gpu_constructs.template.model import Resource, references_in
from gpu_constructs.template.resources.containers import container_name
from gpu_constructs.template.resources.section import Section, given

_DYNAMIC = "{} to {}".format(*DYNAMIC_PORTS)
_LOAD_BALANCER = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LoadBalancer.html"
# "has target type ip, which is incompatible with the bridge network mode specified in the task definition" says ECS
# (https://github.com/hashicorp/terraform/issues/24266).
_INCOMPATIBLE = {("awsvpc", "instance"): "ip", ("bridge", "ip"): "instance", ("host", "ip"): "instance"}
# Less than that is for servers that answer at once; those that load a model are given 600 seconds (servers.json).
_LOADS_FOR = 120


@error(
    "GPU204",
    question="does the task of a service have what its target groups register?",
    because="a target group registers addresses of tasks in network mode awsvpc or ports of hosts in the others, each "
    "for a container and a port that it maps; ECS refuses a service whose task has something else, which is created "
    "last, after load balancers and hosts, so that the deploy fails after minutes",
    softer="for target type ip in network mode host, of which no refusal is recorded",
    source=_LOAD_BALANCER,
)
def registers_the_tasks(context: Context) -> Problems:
    for target in context.once(Balancing).targets:
        yield from _of_target_type(target)
        yield from _of_port(target)


def _of_target_type(target: Target) -> Problems:
    task, target_type = target.task, str(target.target_type)
    wanted = _INCOMPATIBLE.get((str(task.network_mode), target_type))
    if wanted is not None:
        yield Problem(
            about=target.workload,
            origin=target.entry.origin,
            property_name="TargetType",
            value=target_type,
            message=f"{target.workload.name} has a target group of target type {target_type}, and {task.name} has "
            f"network mode {task.network_mode}, whose tasks are registered by "
            + ("their address" if wanted == "ip" else "host and port"),
            fix=f"TargetType {wanted}",
            is_certain=task.network_mode != "host",
        )


def _of_port(target: Target) -> Problems:
    workload, task, container, name = target.workload, target.task, target.container, target.container_name
    if task.is_part or not task.containers or not isinstance(name, str):
        return
    if container is None:
        if not task.has_open_name:
            yield Problem(
                about=workload,
                origin=target.entry.origin,
                property_name="ContainerName",
                value=name,
                message=f"{workload.name} has requests sent to container {name}, and {task.name} has none of that name",
                fix=or_list(each.name for each in task.containers),
            )
        return
    mapped, port = container.port_mappings, target.port
    if isinstance(port, int) and not isinstance(mapped, Unknown) and port not in {inside for inside, _ in mapped}:
        yield Problem(
            about=workload,
            origin=target.entry.origin,
            property_name="ContainerPort",
            value=port,
            message=f"{workload.name} has requests sent to port {port} of container {container.name}, which does not "
            "map it",
            fix=f'"PortMappings": [{{"ContainerPort": {port}}}] of the container'
            + (f", or ContainerPort {or_list(str(inside) for inside, _ in mapped)}" if mapped else ""),
        )


@error(
    "GPU298",
    question="does a listener send requests to the target group of a service before the service is created?",
    because='ECS refuses a service whose target group is behind no load balancer: "The target group does not have an '
    'associated load balancer"; CloudFormation creates a service beside a listener that it does not depend on, so that '
    "the same files deploy one time and fail another",
    softer="where there is a listener, which may be made after the service",
    source="https://github.com/hashicorp/terraform/issues/32908",
)
def has_listener(context: Context) -> Problems:
    balancing = context.once(Balancing)
    for target in balancing.targets:
        workload, group, service = target.workload, target.group, context.resource(target.workload)
        if group is None or service is None:
            continue
        if balancing.has_no_listener(group):
            yield Problem(
                about=workload,
                origin=target.entry.origin,
                property_name="TargetGroupArn",
                message=f"no listener and no rule of one sends requests to the target group of {workload.name}, which "
                "then has no load balancer",
                fix="an AWS::ElasticLoadBalancingV2::Listener with a default action that forwards to it",
            )
        elif late := balancing.late_listeners(group, service):
            yield Problem(
                about=workload,
                changes="DependsOn",
                message=f"{workload.name} may be created before {or_list(late)}, while its target group has no load "
                "balancer, and ECS refuses it then",
                fix=f"DependsOn: {late[0]}",
                is_certain=False,
            )


@error(
    "GPU206",
    question="do security groups let requests of load balancers through to the port of the container?",
    because="a target that a load balancer cannot reach never becomes healthy, and ECS replaces its task again and "
    f"again; in network mode bridge a container without a host port has one of {_DYNAMIC}, usually up to "
    f"{USUAL_DYNAMIC_PORTS[1]}",
    softer="where some of the ports are open, or other files may have more rules",
    source=_LOAD_BALANCER,
    unless=("GPU204",),
)
def a_way_for_requests(context: Context) -> Problems:
    balancing = context.once(Balancing)
    for target in balancing.targets:
        gap = balancing.gap(target)
        if gap is not None:
            whose = "tasks" if target.task.network_mode == "awsvpc" else "hosts"
            yield Problem(
                about=target.workload,
                origin=gap.group.origin,
                changes="SecurityGroupEgress" if gap.is_of_load_balancer else "SecurityGroupIngress",
                message=f"load balancers do not reach container {target.container_name}: {_closed(gap, whose)}",
                fix=_rule_for(gap, whose),
                is_certain=context.fleet.is_whole and not gap.open_ports,
            )


@error(
    "GPU307",
    question="do health checks of tasks, and of their hosts, go to a port and a path that the container answers?",
    because="a container without a host port gets another port of the host each time, and its target group checks one "
    "fixed port instead: the target never becomes healthy, and ECS replaces its task again and again; a group with "
    "HealthCheckType ELB registers its hosts at the port of its target groups, and replaces those that do not answer; "
    "without HealthCheckPath, / is asked, which vLLM and Triton answer with an error, as Ollama does /health",
    softer="for a path; and for a port where something else on the hosts may listen, or for which another target of a "
    "host may count",
    source="https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html",
    unless=("GPU204",),
)
def checked_where_it_listens(context: Context) -> Problems:
    for target in context.once(Balancing).targets:
        yield from _of_path(target)
        if target.group is None or target.task.network_mode != "bridge" or target.target_type != "instance":
            continue
        properties = Section.of(target.group, [])
        is_fixed = properties.text("HealthCheckPort") not in {None, "traffic-port"}
        port = properties.integer("HealthCheckPort" if is_fixed else "Port")
        if not isinstance(port, int) or not _has_dynamic_port(target) or _is_taken(context, port):
            continue
        chosen = f"container {target.container_name} has a host port of {_DYNAMIC}, another one each time"
        if is_fixed:
            yield Problem(
                about=target.workload,
                origin=target.group.origin,
                property_name="HealthCheckPort",
                message=f"health checks of {target.workload.name} go to port {port} of its hosts, and {chosen}",
                fix="HealthCheckPort: traffic-port, which is the default",
                is_certain=not _may_listen(context, port),
            )
            continue
        for pool in () if _may_listen(context, port) else context.fleet.pools:
            if _replaces_unhealthy(context.group(pool), target.group):
                yield Problem(
                    about=pool,
                    property_name="HealthCheckType",
                    message=f"the group of {pool.name} replaces hosts that do not answer at port {port}, where "
                    f"{target.group.logical_id} registers them, and {chosen}",
                    fix="HealthCheckType EC2, or a group without target groups: ECS registers the tasks itself",
                    is_certain=False,  # a target of the same host that is healthy may count for it
                )


def _of_path(target: Target) -> Problems:
    """A health check of a path that the server of the container answers with an error."""
    container, group = target.container, None if target.group is None else Section.of(target.group, [])
    server = None if container is None else server_of_entry_point(container)
    if container is None or server is None or group is None or "--middleware" in f"{container.command}":
        return
    path, matched = group.text("HealthCheckPath") or "/", group.section("Matcher").get("HttpCode")
    is_http = (group.text("HealthCheckProtocol") or group.text("Protocol")) in {"HTTP", "HTTPS"}
    is_usual = group.text("HealthCheckPort") in {None, "traffic-port"} and not group.has("ProtocolVersion")
    port = port_of(container)
    is_asked = is_http and is_usual and port is not None and port == target.port
    if is_asked and path in server.unanswered and matched in {None, "200", 200}:
        yield Problem(
            about=target.workload,
            origin=group.origin,
            property_name="HealthCheckPath",
            message=f"health checks of {target.workload.name} ask {path} of container {container.name}, where "
            f"{brief(str(container.image))} has nothing",
            fix=f"HealthCheckPath {server.health_path}",
            is_certain=False,
        )


def _replaces_unhealthy(group: Resource | None, target_group: Resource) -> bool:
    """Whether a group has no other hosts than those that a target group finds healthy."""
    written = {} if group is None else group.properties
    is_checked = "ELB" in str(written.get("HealthCheckType")).split(",")
    is_suspended = "ReplaceUnhealthy" in str(written.get("SuspendedProcesses"))  # of Terraform
    listed = [written.get("TargetGroupARNs"), written.get("TrafficSources")] if is_checked and not is_suspended else []
    return target_group.reference in references_in(listed)


def _closed(gap: Gap, whose: str) -> str:
    way, of = ("out", "the load balancer") if gap.is_of_load_balancer else ("in", f"its {whose}")
    group = f"{gap.name}, the security group of {of},"
    if gap.open_ports:
        return f"{group} lets them {way} on {and_list(map(_range, gap.open_ports))}, and not on all of {_ports(gap)}"
    by_address = ", and none by its address" if gap.from_addresses else ""
    return f"{group} lets none {way} on {_ports(gap)}{by_address}"


def _rule_for(gap: Gap, whose: str) -> str:
    if gap.is_of_load_balancer:
        return f"SecurityGroupEgress of {gap.name} to the security group of the {whose} on {_ports(gap)}"
    source = "the load balancer's security group"
    if gap.from_addresses:
        source = "the addresses of clients and of the load balancer's subnets, or SecurityGroups of a new load balancer"
    return f"SecurityGroupIngress of {gap.name} from {source} on {_ports(gap)}"


def _ports(gap: Gap) -> str:
    ports = DYNAMIC_PORTS if gap.ports == USUAL_DYNAMIC_PORTS else gap.ports
    return f"port {ports[0]}" if ports[0] == ports[1] else f"ports {_range(ports)}"


def _range(ports: tuple[int, int]) -> str:
    return str(ports[0]) if ports[0] == ports[1] else f"{ports[0]} to {ports[1]}"


def _has_dynamic_port(target: Target) -> bool:
    """Whether Docker certainly chooses the port of the host."""
    mapped = () if target.container is None else target.container.port_mappings
    return not isinstance(mapped, Unknown) and any(not on_host and inside == target.port for inside, on_host in mapped)


def _is_taken(context: Context, port: int) -> bool:
    return any(
        task.network_mode == "host"
        or isinstance(each.port_mappings, Unknown)
        or any(on_host == port for _, on_host in each.port_mappings)
        for task in context.tasks
        for each in task.containers
    )


def _may_listen(context: Context, port: int) -> bool:
    """Whether something else than the tasks of the files may answer at a port of the hosts."""
    fleet = context.fleet
    return (
        not fleet.is_whole
        or bool(fleet.strays)
        or (port, "tcp") in RESERVED_PORTS  # the agent, or SSH
        or any(not each.has_image_of_aws or not each.user_data.complete for each in fleet.pools)
        or any(str(port) in each.user_data.text for each in fleet.pools)
    )


@warning(
    "GPU263",
    question="does a model server have time to load before health checks count?",
    because="a server answers once its model is loaded, which takes minutes; until then ECS considers the task "
    "unhealthy, stops it and starts the next one, and the deployment may never end or is rolled back",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html",
    unless=("GPU204", "GPU206"),
)
def time_to_load(context: Context) -> Problems:
    for target in context.once(Balancing).targets:
        grace = target.service.integer("HealthCheckGracePeriodSeconds") or 0
        image = None if target.container is None else target.container.image
        least = _seconds_to_load(image)
        if not isinstance(grace, Unknown) and grace < _LOADS_FOR <= least:
            yield Problem(
                about=target.workload,
                property_name="HealthCheckGracePeriodSeconds",
                message=f"{target.workload.name} lets health checks of its load balancer count {grace} seconds after a "
                f"task has started, and {brief(str(image))} loads a model first",
                fix=Text("a ", Word("HealthCheckGracePeriodSeconds"), f" of {least} seconds"),
            )
    for workload in context.once(accelerated_workloads):
        service = context.section(workload) if workload.is_service else None
        if service is not None and workload.task is not None and not service.has("LoadBalancers"):
            yield from _checked_while_it_loads(context.section(workload.task), workload, service)


def _checked_while_it_loads(definition: Section | None, workload: Workload, service: Section) -> Problems:
    """Servers with a health check in the task definition that fails often enough while they load."""
    for each in () if definition is None else definition.sections("ContainerDefinitions"):
        image, check = each.text("Image"), each.section("HealthCheck")
        if (least := _seconds_to_load(image)) < _LOADS_FOR:
            continue
        # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html has the defaults.
        written = (check.integer("StartPeriod"), 0), (check.integer("Interval"), 30), (check.integer("Retries"), 3)
        start, interval, retries = (known(given(*number), otherwise=_LOADS_FOR) for number in written)
        grace = known(given(service.integer("HealthCheckGracePeriodSeconds"), 0), otherwise=_LOADS_FOR)
        seconds = max(grace, start + interval * retries)
        asks_it = any("http" in str(word) for word in check.texts("Command"))
        if asks_it and seconds < _LOADS_FOR and each.flag("Essential") is not False:
            yield Problem(
                about=workload,
                property_name="HealthCheckGracePeriodSeconds",
                message=f"ECS stops a task of {workload.name} whose container {brief(container_name(each))} fails its "
                f"health check for {seconds} seconds, and {brief(str(image))} loads a model first",
                fix=Text("a ", Word("HealthCheckGracePeriodSeconds"), f" of {least} seconds"),
            )


def _seconds_to_load(image: object) -> int:
    """How long health checks should wait for the server of an image; 0 where it is none that loads a model."""
    server = server_of_image(image) if isinstance(image, str) else None
    return 0 if server is None else server.grace_seconds or 0


@error(
    "GPU395",
    question="does a model server listen where load balancers send its requests?",
    because="a server listens where its arguments or variables say, or else at a port of its own, and SGLang and "
    "ComfyUI at 127.0.0.1, which nothing outside of its container or host reaches; the target never becomes healthy, "
    "and ECS replaces its task again and again",
    softer="where another container of the task may listen there, or the proxy of Service Connect, and for images of "
    "ComfyUI, which anybody may publish",
    source="https://github.com/sgl-project/sglang/issues/1927",
    unless=("GPU204", "GPU394"),
)
def served_where_requests_go(context: Context) -> Problems:
    for target in context.once(Balancing).targets:
        task, container, port = target.task, target.container, target.port
        if container is None or not isinstance(port, int) or context.has_unknown_variables(task, container):
            continue
        server, found = server_of_image(str(container.image)), listens_elsewhere(container, port)
        others = [each for each in task.containers if each is not container and task.network_mode != "bridge"]
        mapped = [each.port_mappings for each in others]
        if found is None or any(isinstance(each, Unknown) or port in {inside for inside, _ in each} for each in mapped):
            continue
        yield Problem(
            about=target.workload,
            involves=(task,),
            container=container,
            origin=container.origin,
            property_name=found.property_name,
            message=f"{target.workload.name} has requests sent to port {port} of container {container.name}, and "
            f"{brief(str(container.image))} {found.listens}",
            fix=found.fix,
            is_certain=not others
            and not target.service.has("ServiceConnectConfiguration")
            and (server is None or server.repository is not None),
        )
