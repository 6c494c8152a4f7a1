"""A service: which task it runs, how many, and where.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-service.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_constructs.fleet import UNKNOWN, Pool, StrategyItem, Task, Unknown, Workload
from gpu_constructs.template.model import Reference, Resource, Text, Value
from gpu_constructs.template.resources.clusters import Clusters, ProviderKey, provider_key
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Notes, Section
from gpu_constructs.template.resources.tasks import TASK_DEFINITION, constraints_of

__all__ = ["SERVICE", "Services", "scaled_services"]

SERVICE = "AWS::ECS::Service"
_SCALABLE_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
_SCALED_COUNT = "ecs:service:DesiredCount"

_Counts = Mapping[Reference, "int | Unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Reads services; `counts` are the most copies that scaling may ask for."""

    index: Index
    clusters: Clusters
    pools: Mapping[ProviderKey, Pool]
    tasks: Mapping[Reference, Task]
    counts: _Counts
    notes: Notes

    def workload(self, resource: Resource, name: str) -> Workload:
        """Reads a service."""
        properties = Section.of(resource, self.notes)
        cluster = self.clusters.named(properties.get("Cluster"))
        launch_type = properties.text("LaunchType")
        scheduling = properties.text("SchedulingStrategy")
        daemon = UNKNOWN if isinstance(scheduling, Unknown) else scheduling == "DAEMON"
        network = properties.section("NetworkConfiguration")
        items: Sequence[Section] = properties.sections("CapacityProviderStrategy")
        if not items and launch_type is None and daemon is not True:
            items = self.clusters.default_strategy(cluster)
        deployment = properties.section("DeploymentConfiguration")
        max_count = self.counts.get(resource.reference)
        desired = properties.integer("DesiredCount")
        if desired is None:
            desired = 1 if max_count is None else UNKNOWN
        return Workload(
            name=name,
            task=self._task(properties.get("TaskDefinition")),
            cluster=cluster,
            strategy=tuple(self._item(each) for each in items),
            launch_type=launch_type,
            desired_count=desired,
            max_count=max_count,
            daemon=daemon,
            min_healthy_percent=deployment.integer("MinimumHealthyPercent"),
            max_healthy_percent=deployment.integer("MaximumPercent"),
            deployment_strategy=deployment.text("Strategy"),
            constraints=constraints_of(properties),
            network_configuration=UNKNOWN if network.is_unknown else network.has("AwsvpcConfiguration"),
            origin=resource.origin,
        )

    def _task(self, value: Value) -> Task | None:
        resource = self.index.find(value, TASK_DEFINITION)
        if resource is None and isinstance(value, str):
            # "family:revision", which is also how the ARN ends.
            family = value.rpartition("/")[2].partition(":")[0]
            resource = self.index.named(family, TASK_DEFINITION)
        return None if resource is None else self.tasks.get(resource.reference)

    def _item(self, section: Section) -> StrategyItem:
        """One item; a provider whose name CloudFormation makes is called as its pool is."""
        value = section.get("CapacityProvider")
        key = provider_key(value, self.index)
        pool = None if key is None else self.pools.get(key)
        given = pool.provider if pool is not None else None
        name: str | Unknown = value if isinstance(value, str) else UNKNOWN
        if pool is not None and not isinstance(value, str):
            name = given if isinstance(given, str) else pool.name
        return StrategyItem(
            provider=name, pool=pool, weight=section.integer("Weight") or 0, base=section.integer("Base") or 0
        )


def scaled_services(index: Index, notes: Notes) -> _Counts:
    """The most copies that scaling may ask for, by service.

    https://docs.aws.amazon.com/autoscaling/application/APIReference/API_RegisterScalableTarget.html
    """
    counts: dict[Reference, int | Unknown] = {}
    for resource in index.all(_SCALABLE_TARGET):
        properties = Section.of(resource, notes)
        dimension = properties.text("ScalableDimension")
        service = _scaled(properties.get("ResourceId"), index) if dimension in {None, _SCALED_COUNT} else None
        if service is not None:
            most = properties.integer("MaxCapacity")
            before = counts.get(service.reference, 0)
            if isinstance(most, int) and isinstance(before, int):
                counts[service.reference] = max(most, before)
            else:
                counts[service.reference] = UNKNOWN
    return counts


def _scaled(resource_id: Value, index: Index) -> Resource | None:
    """The service of ``service/cluster/name``."""
    if isinstance(resource_id, Text):
        references = [each for each in resource_id.pieces if isinstance(each, Reference)]
        found = [index.at(each, SERVICE) for each in references]
        service = next((each for each in found if each is not None), None)
        last = resource_id.pieces[-1] if resource_id.pieces else None
        return service or (index.named(last.rpartition("/")[2], SERVICE) if isinstance(last, str) else None)
    if isinstance(resource_id, str) and resource_id.startswith("service/"):
        return index.named(resource_id.rpartition("/")[2], SERVICE)
    return None
