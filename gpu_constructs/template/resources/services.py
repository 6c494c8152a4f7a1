"""A service: which task it runs, how many, and where.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-service.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gpu_constructs.fleet import UNKNOWN, Place, Pool, PoolKind, ServiceScaling, StrategyItem, Task, Unknown, Workload
from gpu_constructs.hardware.aws_limits import FARGATE_PROVIDERS
from gpu_constructs.template.model import Reference, Resource, Value
from gpu_constructs.template.resources.clusters import CLUSTER, Clusters, ProviderKey, provider_key
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Notes, Section, given
from gpu_constructs.template.resources.subnets import subnets_of
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
            service_name=properties.text("ServiceName") if resource.exists is True else UNKNOWN,
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
            connect_ports=connect.known_texts("Services", "PortName"),
            constraints=constraints_of(properties),
            network_configuration=UNKNOWN if network.is_unknown else network.has("AwsvpcConfiguration"),
            subnets=subnets_of(network.section("AwsvpcConfiguration").get("Subnets"), None, self.index),
            assigns_public_ip=network.section("AwsvpcConfiguration").text("AssignPublicIp") == "ENABLED",
            lacks_namespace=self._lacks_namespace(properties, connect),
            has_default_strategy=bool(strategy) and not properties.sections("CapacityProviderStrategy"),
            may_precede_providers=bool(strategy) and self.clusters.may_come_before_providers(resource, cluster),
            missing_providers=self.missing_providers(properties, cluster),
            execute_command=given(properties.flag("EnableExecuteCommand"), default=False),
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

    def _lacks_namespace(self, properties: Section, connect: Section) -> bool:
        """Whether a service in Service Connect certainly has no namespace, of its own or of its cluster."""
        cluster = self.index.find(properties.get("Cluster"), CLUSTER, properties.resource.place)
        if connect.flag("Enabled") is not True or connect.has("Namespace") or cluster is None:
            return False
        return cluster.properties.get("ServiceConnectDefaults") is None

    def missing_providers(self, properties: Section, cluster: str | Unknown | None) -> tuple[str, ...]:
        """Capacity providers that its own strategy names and its cluster does not have."""
        found: dict[str, None] = {}
        for item in properties.sections("CapacityProviderStrategy"):
            key = provider_key(item.get("CapacityProvider"), self.index, properties.resource.place)
            pool = None if key is None else self.pools.get(key)
            # Those of Managed Instances name their cluster themselves, and references to what is no provider are open.
            is_known = isinstance(key, str) if pool is None else pool.kind is not PoolKind.MANAGED_INSTANCES
            if key is not None and is_known and key not in FARGATE_PROVIDERS and self.clusters.lacks(key, cluster):
                found[str(key) if pool is None else pool.provider_name] = None
        return tuple(found)

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
