"""A service: which task it runs, how many copies and where, and what their number follows.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-service.html
https://docs.aws.amazon.com/autoscaling/application/APIReference/API_RegisterScalableTarget.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import (
    STEPS_IN_PERCENT,
    UNKNOWN,
    Place,
    Pool,
    ServiceScaling,
    StrategyItem,
    Task,
    Unknown,
    Workload,
)
from gpu_constructs.template.model import Reference, Resource, Text, Value
from gpu_constructs.template.resources.clusters import Clusters, ProviderKey, provider_key
from gpu_constructs.template.resources.index import Index, last_step
from gpu_constructs.template.resources.networks import Networks, subnets_of
from gpu_constructs.template.resources.section import Notes, Section, given
from gpu_constructs.template.resources.tasks import TASK_DEFINITION, constraints_of

SERVICE = "AWS::ECS::Service"
_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
# The predefined metrics by what a customized one calls them: namespace, name, and the dimension that says of what.
_PREDEFINED: Mapping[object, str] = {
    ("AWS/ApplicationELB", "RequestCountPerTarget", "TargetGroup"): "ALBRequestCountPerTarget",
    ("AWS/ECS", "CPUUtilization", "ServiceName"): "ECSServiceAverageCPUUtilization",
    ("AWS/ECS", "MemoryUtilization", "ServiceName"): "ECSServiceAverageMemoryUtilization",
}


def scaled_services(index: Index, notes: Notes) -> Mapping[Reference, ServiceScaling]:
    """The scaling of each service that is scaled; of several targets of one service, the widest range."""
    found: dict[Reference, ServiceScaling] = {}
    by: dict[Reference, list[str | Unknown]] = defaultdict(list)
    of_target: dict[Reference, Resource] = {}
    for resource in index.all(_TARGET):
        properties = Section.of(resource, notes)
        service = _scaled(properties, index)
        if service is not None:
            of_target[resource.reference] = service
            by[service.reference] += ("ScheduledScaling",) if properties.has("ScheduledActions") else ()
            here = ServiceScaling(
                most=given(properties.integer("MaxCapacity"), UNKNOWN),
                least=given(properties.integer("MinCapacity"), UNKNOWN),
            )
            before = found.get(service.reference, here)
            found[service.reference] = ServiceScaling(
                most=_of_both(max, before.most, here.most), least=_of_both(min, before.least, here.least)
            )
    for resource in index.all("AWS::ApplicationAutoScaling::ScalingPolicy"):
        properties = Section.of(resource, notes)
        target = index.find(properties.get("ScalingTargetId"), _TARGET)
        service = _scaled(properties, index) if target is None else of_target.get(target.reference)
        if service is not None and service.reference in found:
            by[service.reference].append(_followed(properties, service, index))
    return {each: replace(scaling, by=tuple(sorted(by[each], key=str))) for each, scaling in found.items()}


def _of_both(
    choose: Callable[[int, int], int], one: int | Unknown | None, other: int | Unknown | None
) -> int | Unknown:
    return choose(one, other) if isinstance(one, int) and isinstance(other, int) else UNKNOWN


def _followed(policy: Section, service: Resource, index: Index) -> str | Unknown:
    """The predefined metric that a policy tracks, if as a customized one, or its type, or that its steps are parts."""
    steps = policy.section("StepScalingPolicyConfiguration")
    if steps.text("AdjustmentType") == "PercentChangeInCapacity" and not steps.has("MinAdjustmentMagnitude"):
        return STEPS_IN_PERCENT
    tracking = policy.section("TargetTrackingScalingPolicyConfiguration")
    own = tracking.section("CustomizedMetricSpecification")
    of = {str(each.text("Name")): each.get("Value") for each in own.sections("Dimensions")}
    is_of_another = "ServiceName" in of and index.find(of["ServiceName"], SERVICE, service.origin.place) is not service
    names = [] if is_of_another else [(own.text("Namespace"), own.text("MetricName"), each) for each in of]
    same = next((_PREDEFINED[each] for each in names if each in _PREDEFINED), None)
    predefined = tracking.section("PredefinedMetricSpecification").text("PredefinedMetricType")
    return predefined or same or policy.text("PolicyType") or UNKNOWN


def _scaled(properties: Section, index: Index) -> Resource | None:
    """The service of ``service/cluster/name``, be it followed by ``|ecs:service:DesiredCount|ecs``."""
    if properties.text("ScalableDimension") not in {None, "ecs:service:DesiredCount"}:
        return None
    resource_id: Value = properties.get("ResourceId") or properties.get("ScalingTargetId")
    if isinstance(resource_id, Text):
        references = [each for each in resource_id.pieces if isinstance(each, Reference)]
        found = [index.at(each, SERVICE) for each in references]
        service = next((each for each in found if each is not None), None)
        return service or index.find(last_step(resource_id), SERVICE, properties.resource.place)
    if isinstance(resource_id, str) and resource_id.startswith("service/"):
        name = resource_id.partition("|")[0].rpartition("/")[2]
        return index.named(name, SERVICE, properties.resource.place)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Reads services.

    Attributes:
        defaults: Default strategies by cluster, each of which is read once for all services.
    """

    index: Index
    networks: Networks
    clusters: Clusters
    pools: Mapping[ProviderKey, Pool]
    tasks: Mapping[Reference, Task]
    scaling: Mapping[Reference, ServiceScaling]
    notes: Notes
    defaults: dict[str | Unknown | None, tuple[StrategyItem, ...]] = field(default_factory=dict)

    def workload(self, resource: Resource, name: str) -> Workload:
        """Reads a service."""
        properties = Section.of(resource, self.notes)
        cluster = self.clusters.named(properties.get("Cluster"), resource.origin.place)
        launch_type = properties.text("LaunchType")
        scheduling = properties.text("SchedulingStrategy")
        daemon = UNKNOWN if isinstance(scheduling, Unknown) else scheduling == "DAEMON"
        network = properties.section("NetworkConfiguration")
        interfaces = network.section("AwsvpcConfiguration")
        connect = properties.section("ServiceConnectConfiguration")
        deployment = properties.section("DeploymentConfiguration")
        scaling = self.scaling.get(resource.reference)
        desired = properties.integer("DesiredCount")
        if desired is None:
            desired = 1 if scaling is None else UNKNOWN
        task = self.task(properties.get("TaskDefinition"), resource.origin.place)
        strategy = self.strategy(properties, cluster, has_default=daemon is not True)
        return Workload(
            name=name,
            task=task,
            cluster=cluster,
            strategy=strategy,
            follows_cluster=bool(strategy) and not properties.has("CapacityProviderStrategy"),
            launch_type=launch_type,
            desired_count=desired,
            scaling=scaling,
            daemon=daemon,
            min_healthy_percent=deployment.integer("MinimumHealthyPercent"),
            max_healthy_percent=deployment.integer("MaximumPercent"),
            deployment_strategy=deployment.text("Strategy"),
            deployment_controller=properties.section("DeploymentController").text("Type"),
            service_connect=connect.flag("Enabled") or False,
            constraints=constraints_of(properties),
            network_configuration=UNKNOWN if network.is_unknown else network.has("AwsvpcConfiguration"),
            subnets=subnets_of(interfaces.get("Subnets"), self.index),
            way_out=self.networks.way_out(interfaces.get("Subnets"), public_address=False),
            assigns_public_ip=interfaces.text("AssignPublicIp") == "ENABLED",
            origin=resource.origin,
        )

    def strategy(
        self, properties: Section, cluster: str | Unknown | None, *, has_default: bool = True
    ) -> tuple[StrategyItem, ...]:
        """The strategy of whatever starts tasks: its own, or that of the cluster where it has no launch type either."""
        own = tuple(map(self._item, properties.sections("CapacityProviderStrategy")))
        if own or properties.get("LaunchType") is not None or not has_default:
            return own
        if cluster not in self.defaults:
            self.defaults[cluster] = tuple(map(self._item, self.clusters.default_strategy(cluster)))
        return self.defaults[cluster]

    def task(self, value: Value, near: Place) -> Task | None:
        """The task definition that a property names, by reference, ARN, or family with or without a revision."""
        resource = self.index.revised(value, TASK_DEFINITION, near)
        return None if resource is None else self.tasks.get(resource.reference)

    def _item(self, section: Section) -> StrategyItem:
        """One item; a provider whose name CloudFormation makes is called as its pool is."""
        value = section.get("CapacityProvider")
        key = provider_key(value, self.index, section.resource.place)
        pool = None if key is None else self.pools.get(key)
        name: str | Unknown = value if isinstance(value, str) else UNKNOWN
        if pool is not None and not isinstance(value, str):
            name = pool.provider_name
        return StrategyItem(
            provider=name, pool=pool, weight=section.integer("Weight") or 0, base=section.integer("Base") or 0
        )
