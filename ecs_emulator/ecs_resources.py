"""The ``AWS::ECS::*`` types: two that moto 5.2.5 has not, three of which it keeps only a few properties."""

from __future__ import annotations

from typing import ClassVar, cast

from moto.ecs.models import ecs_backends

from .ecs import EmulatedEcs
from .resource import AlreadyExistsError, HalfMadeError, Properties, Region, Resource, camel_case
from .services import EmulatedService

__all__ = ["CapacityProvider", "Cluster", "ClusterCapacityProviderAssociations", "Service", "TaskDefinition"]

STEADY_WITHIN_MINUTES = 60
"""How long CloudFormation waits for a service here; AWS gives up after three hours."""


OPTIONAL = frozenset(
    {
        "deploymentConfiguration",
        "loadBalancers",
        "networkConfiguration",
        "placementConstraints",
        "placementStrategy",
        "serviceConnectConfiguration",
        "serviceRegistries",
        "volumeConfigurations",
    }
)
"""What a service of a template can do without."""


def _of_service(properties: Properties) -> Properties:
    """The request that these properties of a service make."""
    api: Properties = camel_case(properties)
    if "placementStrategies" in api:
        api["placementStrategy"] = api.pop("placementStrategies")
    return api


def _ecs(region: Region) -> EmulatedEcs:
    return cast("EmulatedEcs", ecs_backends[region.account_id][region.name])


class Cluster(Resource):
    """moto drops settings, configuration, providers and tags."""

    type_name = "AWS::ECS::Cluster"
    name_property = "ClusterName"
    attribute_names = frozenset({"Arn"})
    create_only = frozenset({"ClusterName"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Cluster:
        api = camel_case(properties)
        if name in _ecs(region).clusters:
            raise AlreadyExistsError(cls.type_name, name)
        cluster = _ecs(region).create_cluster(
            name,
            tags=api.get("tags"),
            cluster_settings=api.get("clusterSettings"),
            configuration=api.get("configuration"),
            service_connect_defaults=api.get("serviceConnectDefaults"),
        )
        if "capacityProviders" in api or "defaultCapacityProviderStrategy" in api:
            _ecs(region).put_cluster_capacity_providers(
                name, api.get("capacityProviders"), api.get("defaultCapacityProviderStrategy")
            )
        return cls(cluster.name, {"Arn": cluster.arn})

    def update(self, region: Region, properties: Properties) -> None:
        api = camel_case(properties)
        _ecs(region).update_cluster(
            self.physical_resource_id,
            api.get("clusterSettings"),
            api.get("configuration"),
            api.get("serviceConnectDefaults"),
        )

    def remove(self, region: Region) -> None:
        _ecs(region).delete_cluster(self.physical_resource_id)


class CapacityProvider(Resource):
    """Skipped by moto: one with an Auto Scaling group, or one of Managed Instances."""

    type_name = "AWS::ECS::CapacityProvider"
    name_property = "Name"
    create_only = frozenset({"Name", "AutoScalingGroupProvider.AutoScalingGroupArn", "ClusterName"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> CapacityProvider:
        api = camel_case(properties)
        tags = api.get("tags")
        of_group, managed = api.get("autoScalingGroupProvider"), api.get("managedInstancesProvider")
        if (of_group is None) == (managed is None):
            raise ValueError("a capacity provider has either an Auto Scaling group or Managed Instances")
        if managed is None:
            if "clusterName" in api:
                raise ValueError("ClusterName is for capacity providers of Managed Instances alone")
            return cls(_ecs(region).create_capacity_provider(name, of_group, tags).name)
        if "clusterName" not in api:
            raise ValueError("a capacity provider of Managed Instances needs a ClusterName")
        return cls(_ecs(region).create_managed_instances(name, api["clusterName"], managed, tags).name)

    def update(self, region: Region, properties: Properties) -> None:
        api = camel_case(properties)
        details = api.get("managedInstancesProvider") or api["autoScalingGroupProvider"]
        details.pop("autoScalingGroupArn", None)
        _ecs(region).update_capacity_provider(self.physical_resource_id, details)

    def remove(self, region: Region) -> None:
        _ecs(region).delete_capacity_provider(self.physical_resource_id)


class ClusterCapacityProviderAssociations(Resource):
    """Skipped by moto."""

    type_name = "AWS::ECS::ClusterCapacityProviderAssociations"
    create_only = frozenset({"Cluster"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ClusterCapacityProviderAssociations:
        associations = cls(properties["Cluster"].split("/")[-1])
        associations.update(region, properties)
        return associations

    def update(self, region: Region, properties: Properties) -> None:
        api = camel_case(properties)
        _ecs(region).put_cluster_capacity_providers(
            self.physical_resource_id, api["capacityProviders"], api["defaultCapacityProviderStrategy"]
        )

    def remove(self, region: Region) -> None:
        _ecs(region).put_cluster_capacity_providers(self.physical_resource_id, [], [])


class TaskDefinition(Resource):
    """moto keeps family, containers, volumes and memory alone. Every change but that of tags makes a new revision."""

    type_name = "AWS::ECS::TaskDefinition"
    KEPT: ClassVar[dict[str, str]] = {
        "cpu": "cpu",
        "ephemeralStorage": "ephemeral_storage",
        "executionRoleArn": "execution_role_arn",
        "inferenceAccelerators": "inference_accelerators",
        "ipcMode": "ipc_mode",
        "memory": "memory",
        "networkMode": "network_mode",
        "pidMode": "pid_mode",
        "placementConstraints": "placement_constraints",
        "proxyConfiguration": "proxy_configuration",
        "requiresCompatibilities": "requires_compatibilities",
        "runtimePlatform": "runtime_platform",
        "tags": "tags",
        "taskRoleArn": "task_role_arn",
        "volumes": "volumes",
    }
    create_only = frozenset({"ContainerDefinitions", "EnableFaultInjection", "Family"}).union(
        name[0].upper() + name[1:] for name in KEPT if name != "tags"
    )

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> TaskDefinition:
        api = camel_case(properties)
        definition = _ecs(region).register_task_definition(
            api.get("family", name),
            api.get("containerDefinitions", []),
            **{ours: api[theirs] for theirs, ours in cls.KEPT.items() if theirs in api},
        )
        return cls(definition.arn)

    def update(self, region: Region, properties: Properties) -> None:
        _ecs(region).describe_task_definition(self.physical_resource_id).tags = camel_case(properties).get("tags", [])

    def remove(self, region: Region) -> None:
        _ecs(region).deregister_task_definition(self.physical_resource_id)


class Service(Resource):
    """moto drops the capacity provider strategy, constraints and deployment configuration, and runs no task."""

    type_name = "AWS::ECS::Service"
    name_property = "ServiceName"
    attribute_names = frozenset({"Name", "ServiceArn"})
    create_only = frozenset({"Cluster", "LaunchType", "Role", "ServiceName", "SchedulingStrategy"})

    def __init__(self, service: EmulatedService) -> None:
        super().__init__(service.arn, {"Name": service.name, "ServiceArn": service.arn})
        self._service = service
        self._forced: Properties = {}

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> Service:
        # "For new services, if a desired count is not specified, a default value of 1 is used", by CloudFormation.
        api = _of_service(properties)
        cluster = api.get("cluster", "default").rsplit("/", maxsplit=1)[-1]
        if any(each.name == name for each in _ecs(region).active_services(cluster)):
            raise AlreadyExistsError(cls.type_name, name)
        made = cls(_ecs(region).make_service({"desiredCount": 1, **api, "serviceName": name}))
        made._forced = api.pop("forceNewDeployment", {})
        try:
            made._await_steady(region)
        except Exception as error:
            raise HalfMadeError(made, str(error)) from error
        return made

    def update(self, region: Region, properties: Properties) -> None:
        api = _of_service(properties)
        forced, before = api.pop("forceNewDeployment", {}), self._forced
        is_forced = forced.get("enableForceNewDeployment") in (True, "true") and forced != before
        # CloudFormation unsets what the template no longer has; a request to UpdateService without it would keep it.
        gone = dict.fromkeys(OPTIONAL - api.keys())
        self._service.change({**gone, **api, "forceNewDeployment": is_forced})
        self._forced = forced
        self._await_steady(region)

    def remove(self, region: Region) -> None:
        self._service.stop()

    def _await_steady(self, region: Region) -> None:
        for _ in range(STEADY_WITHIN_MINUTES):
            if self._service.steady:
                return
            _ecs(region).pass_a_minute(self._service.cluster_name)
        event = f": {self._service.events[0]['message']}" if self._service.events else ""
        raise TimeoutError(f"Resource handler returned message: exceeded attempts to wait, service not stable{event}")
