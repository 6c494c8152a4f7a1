"""A service: which task it runs, how many, and where.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-service.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gpu_constructs.fleet import UNKNOWN, Place, Pool, ServiceScaling, StrategyItem, Task, Unknown, Workload
from gpu_constructs.template.model import Reference, Resource, Value
from gpu_constructs.template.resources.clusters import Clusters, ProviderKey, provider_key
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.networks import subnets_of
from gpu_constructs.template.resources.section import Notes, Section
from gpu_constructs.template.resources.tasks import TASK_DEFINITION, constraints_of
from gpu_constructs.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Reads services.

    Attributes:
        defaults: Default strategies by cluster, each of which is read once for all services.
    """

    index: Index
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
            subnets=subnets_of(network.section("AwsvpcConfiguration").get("Subnets"), None, self.index),
            assigns_public_ip=network.section("AwsvpcConfiguration").text("AssignPublicIp") == "ENABLED",
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
