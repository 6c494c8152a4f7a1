"""Metrics that alarms, dashboards and scaling policies read: do they ever have a value?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.budget import brief
from gpu_constructs.fleet import MetricUse, PoolKind, Unknown, Watch
from gpu_constructs.hardware.cloudwatch import MetricFacts, NamespaceFacts, is_slip_of, namespace_facts, namespaces
from gpu_constructs.placement.destinations import carries_gpus
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list, or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_METRICS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/available-metrics.html"
_CONCEPTS = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html"
_INSIGHTS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cloudwatch-container-insights.html"
_ENHANCED_NAMES = frozenset({"ContainerInstanceId", "ContainerName", "TaskId"})
_NO_USE_OF_GPUS = (
    "GPUReservation for the GPUs that are reserved; for their use a metric that the hosts send, such as "
    "nvidia_smi_utilization_gpu of the CloudWatch agent (CWAgent)"
)
_MANAGED = "Managed Instances"
# Collectors of OpenTelemetry may publish these under the same names.
# https://aws-otel.github.io/docs/components/ecs-metrics-receiver
_COLLECTED = """
    CpuReserved CpuUtilized MemoryReserved MemoryUtilized NetworkRxBytes NetworkTxBytes StorageReadBytes
    StorageWriteBytes
"""
_ALSO_COLLECTED = frozenset(_COLLECTED.split())


@error(
    "GPU372",
    question="does the namespace have the metric?",
    because="CloudWatch takes any name and matches it letter by letter: a metric that nothing publishes never has a "
    "value, the alarm stays in INSUFFICIENT_DATA or in what missing data makes of it, and the graph stays empty",
    softer="for a name that may be newer than the list, or that somebody may publish themselves",
    source=_METRICS,
)
def metric_exists(context: Context) -> Problems:
    for watch, use, facts in _known_uses(context):
        name = use.name
        if isinstance(name, Unknown) or not facts.is_complete or name in facts.metrics:
            continue
        meant, elsewhere = facts.meant_by(name), _other_namespaces(name)
        of_gpus = "gpu" in name.lower() and facts.is_of_aws
        fix = meant or (f"the namespace {or_list(elsewhere)}" if elsewhere else facts.nearest(name))
        yield Problem(
            about=watch.name,
            origin=use.origin,
            property_name="MetricName",
            value=name,
            message=f"{watch.name} reads {brief(name)}, which {facts.name} does not have"
            + (f"; {or_list(elsewhere)} has it" if elsewhere and not meant else ""),
            allowed=meant or facts.nearest(name),
            fix=_NO_USE_OF_GPUS if of_gpus else fix or f"a metric of {facts.source}",
            is_certain=facts.is_of_aws and bool(meant or elsewhere or of_gpus),
        )


@error(
    "GPU373",
    question="does the metric have values under these dimensions?",
    because="a value is stored under its whole set of dimensions, and CloudWatch adds nothing up over dimensions "
    "that are left out: under another set there never is one",
    softer="in a namespace in which others than AWS may publish",
    source=_CONCEPTS,
    unless=("GPU372",),
)
def dimensions_exist(context: Context) -> Problems:
    for watch, use, facts in _known_uses(context):
        given = use.dimension_names
        sets = None if isinstance(use.name, Unknown) else facts.sets_of(use.name)
        if isinstance(given, Unknown) or sets is None or given in sets:
            continue
        known = frozenset[str]().union(*sets)
        slips = {each: name for each in given - known for name in known if is_slip_of(each, name)}
        nearest = min(sets, key=lambda each: (len(each ^ {slips.get(one, one) for one in given}), len(each)))
        yield Problem(
            about=watch.name,
            origin=use.origin,
            property_name="Dimensions",
            value=_sorted(given),
            message=f"{watch.name} reads {use.name} of {facts.name} {_under(given)}, and it only has values "
            f"{or_list(_under(each) for each in sorted(sets, key=len))}",
            allowed=or_list(_sorted(each) or "none" for each in sorted(sets, key=len)),
            fix=f"the dimensions {_sorted(nearest)}" if nearest else "no dimensions",
            is_certain=facts.is_of_aws or bool(slips),
        )


@error(
    "GPU374",
    question="is the value of each dimension a name where the metric has names?",
    because="the dimension of a metric holds the name, as in ClusterName and ServiceName, or the ARN, as in "
    "StateMachineArn, and is matched as a whole; Ref of a service, a task definition and a job queue is its ARN",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-service.html",
    unless=("GPU372", "GPU373"),
)
def values_are_names(context: Context) -> Problems:
    for watch, use, facts in _known_uses(context):
        for each in () if isinstance(use.dimensions, Unknown) else use.dimensions:
            if isinstance(each.name, Unknown) or not each.is_arn or not each.name.endswith(("Name", "Family")):
                continue
            if facts.metrics and use.name not in facts.metrics:
                continue
            what = f"{each.refers_to}'s ARN" if each.refers_to else "an ARN"
            yield Problem(
                about=watch.name,
                origin=each.origin,
                property_name="Value",
                value=each.value if isinstance(each.value, str) else None,
                message=f"{watch.name} reads {use.name} with {what} as the {each.name}, and the metric has the name",
                allowed="the name",
                fix=_name_of(each.name, each.refers_to),
            )


@error(
    "GPU375",
    question="does the cluster collect what its Container Insights metrics need?",
    because="metrics of ECS/ContainerInsights only exist while the setting containerInsights of the cluster collects "
    "them: enabled those of clusters and services, enhanced also those of tasks, containers and GPUs",
    softer="where the cluster says nothing, so that a setting of the account decides, and for a metric that a "
    "collector in a task may send instead",
    source=_INSIGHTS,
    unless=("GPU372", "GPU373", "GPU374"),
)
def insights_are_on(context: Context) -> Problems:
    for watch, use, facts in _known_uses(context):
        metric = _facts_of(use, facts)
        given = use.dimension_names
        if metric is None or not metric.insights or isinstance(given, Unknown):
            continue
        needed = "enhanced" if given & _ENHANCED_NAMES else metric.insights
        said = use.insights
        if isinstance(said, Unknown) or said in {needed, "enhanced"} or said not in {"", "disabled", "enabled"}:
            continue
        on = f"has Container Insights {said}" if said else "does not say whether it collects Container Insights"
        yield Problem(
            about=watch.name,
            origin=use.origin,
            property_name="Dimensions" if said else "MetricName",
            value=metric.name,
            message=f"{watch.name} reads {metric.name}, which needs Container Insights {needed}, and the cluster {on}",
            allowed=f"containerInsights: {needed}",
            fix=f"ClusterSettings of the cluster with containerInsights {needed}",
            is_certain=bool(said) and metric.name not in _ALSO_COLLECTED,
        )


@warning(
    "GPU376",
    question="are GPU metrics of Container Insights read of hosts that have them?",
    because="AWS lists the GPU metrics of tasks, containers and instances as available only on ECS Managed Instances; "
    "on hosts of an Auto Scaling group the alarm sees nothing",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/monitoring-managed-instances.html",
    unless=("GPU372", "GPU373", "GPU374", "GPU375"),
)
def hosts_have_gpu_metrics(context: Context) -> Problems:
    for watch, use, facts in _known_uses(context):
        metric = _facts_of(use, facts)
        if metric is None or metric.hosts != _MANAGED or isinstance(use.cluster, Unknown):
            continue
        pools = [each for each in context.fleet.pools if each.cluster == use.cluster]
        strays = [
            each for each in context.fleet.strays if isinstance(each.cluster, Unknown) or each.cluster == use.cluster
        ]
        others = [each for each in pools if each.kind is PoolKind.AUTO_SCALING_GROUP and carries_gpus(each)]
        if not others or strays or any(each.kind is PoolKind.MANAGED_INSTANCES for each in pools):
            continue
        yield Problem(
            about=watch.name,
            origin=use.origin,
            property_name="MetricName",
            value=metric.name,
            message=f"{watch.name} reads {metric.name}, which AWS lists for {_MANAGED} only, and the GPUs of the "
            f"cluster are on {and_list(each.name for each in others)}",
            fix="a metric that the hosts send, such as nvidia_smi_utilization_gpu of the CloudWatch agent",
        )


@warning(
    "GPU383",
    question="does the metric filter publish the metric under the dimensions that are read?",
    because="a metric filter publishes under its own dimensions, the names of fields of the log, or under none; "
    "CloudWatch has no values under another set, unless something else publishes them",
    source="https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_MetricTransformation.html",
)
def filters_publish(context: Context) -> Problems:
    for watch in context.fleet.watches:
        for use in dict.fromkeys(watch.metrics):
            given = use.dimension_names
            if use.published is None or isinstance(given, Unknown) or given in use.published:
                continue
            yield Problem(
                about=watch.name,
                origin=use.origin,
                property_name="Dimensions" if given else "MetricName",
                value=_sorted(given),
                message=f"{watch.name} reads {use.name} of {use.namespace} {_under(given)}, and its metric filter "
                f"publishes it {or_list(_under(each) for each in use.published)}",
                allowed=or_list(_sorted(each) or "none" for each in use.published),
                fix=f"the dimensions {_sorted(use.published[0])}" if use.published[0] else "no dimensions",
            )


@error(
    "GPU384",
    question="does the Auto Scaling group publish the metrics that are read of it?",
    because="an Auto Scaling group publishes its metrics only while their collection is switched on, and "
    "CloudFormation switches it on for the metrics in MetricsCollection alone",
    source="https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-metrics.html",
    unless=("GPU372", "GPU373", "GPU374"),
)
def group_metrics_are_on(context: Context) -> Problems:
    for watch, use, facts in _known_uses(context):
        metric = _facts_of(use, facts)
        if metric is not None and metric.switched_on and use.is_switched_off:
            yield Problem(
                about=watch.name,
                origin=use.origin,
                property_name="MetricName",
                value=metric.name,
                message=f"{watch.name} reads {metric.name} of an Auto Scaling group that does not publish it",
                fix=f"{metric.switched_on} of the group, with {metric.name} if it lists metrics",
            )


def _known_uses(context: Context) -> Iterator[tuple[Watch, MetricUse, NamespaceFacts]]:
    """Every metric that is read of a namespace of which something is known, once for each of its watches."""
    for watch in context.fleet.watches:
        seen: set[MetricUse] = set()
        for use in watch.metrics:
            facts = namespace_facts(use.namespace)
            if facts is not None and use not in seen:
                seen.add(use)
                yield watch, use, facts


def _facts_of(use: MetricUse, facts: NamespaceFacts) -> MetricFacts | None:
    return None if isinstance(use.name, Unknown) else facts.metrics.get(use.name)


def _other_namespaces(metric: str) -> list[str]:
    return [each.name for each in namespaces().values() if metric in each.metrics]


def _sorted(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _under(names: frozenset[str]) -> str:
    return f"under {and_list(sorted(names))}" if names else "without dimensions"


def _name_of(dimension: str, resource: str) -> str:
    """How the name is written that a dimension needs."""
    attribute = {"ServiceName": "Name"}.get(dimension)
    if not resource:
        return "the name at the end of the ARN"
    return f"!GetAtt {resource}.{attribute}" if attribute else f"the name that {resource} is given"
