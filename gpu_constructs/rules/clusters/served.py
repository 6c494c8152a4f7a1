"""Model servers of a service: do they have time to load, and do they listen where requests go?"""

from __future__ import annotations

from gpu_constructs.errors import brief
from gpu_constructs.facts.servers import server_of_image
from gpu_constructs.fleet import Unknown, Workload, known
from gpu_constructs.rules.clusters.balancing import targets_of
from gpu_constructs.rules.evidence.accelerated import accelerated_workloads
from gpu_constructs.rules.evidence.server_commands import listens_elsewhere
from gpu_constructs.rules.finding import Text, Word
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning
from gpu_constructs.template.resources.containers import container_name
from gpu_constructs.template.resources.section import Section, given

# Less than that is for servers that answer at once; those that load a model are given 600 seconds (servers.json).
_LOADS_FOR = 120


@warning(
    "GPU263",
    question="does a model server have time to load before health checks count?",
    because="a server answers once its model is loaded, which takes minutes; until then ECS considers the task "
    "unhealthy, stops it and starts the next one, and the deployment may never end or is rolled back",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html",
    unless=("GPU204", "GPU206"),
)
def time_to_load(context: Context) -> Problems:
    for target in targets_of(context):
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
        least = _seconds_to_load(image)
        # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html has the defaults.
        written = (check.integer("StartPeriod"), 0), (check.integer("Interval"), 30), (check.integer("Retries"), 3)
        start, interval, retries = (known(given(*number), otherwise=_LOADS_FOR) for number in written)
        grace = known(given(service.integer("HealthCheckGracePeriodSeconds"), 0), otherwise=_LOADS_FOR)
        seconds = max(grace, start + interval * retries)
        asks_it = any("http" in str(word) for word in check.texts("Command"))
        if asks_it and seconds < _LOADS_FOR <= least and each.flag("Essential") is not False:
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
    for target in targets_of(context):
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
