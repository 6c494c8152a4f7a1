"""The ECS of the emulator: moto's backend with a scheduler, hosts that register, and the refusals that AWS makes."""

from __future__ import annotations

from typing import Any, cast

from moto.ecs import models
from moto.ecs.exceptions import EcsClientException, ECSException, InvalidParameterException
from moto.ecs.models import CapacityProvider, CapacityProviderFailure, Cluster

from . import autoscaling, cloud_map
from .demands import TaskDefinitionError
from .managed_instances import ManagedInstances, task_refusals
from .placement import Demand
from .running import RunningEcs
from .tasks import task_demand

__all__ = ["EmulatedEcs", "install"]

RESERVED_PREFIXES = ("aws", "ecs", "fargate")
"""What the name of a capacity provider must not begin with
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCapacityProvider.html)."""


class EmulatedEcs(RunningEcs):
    """ECS in one account and region."""

    # Capacity providers

    def create_capacity_provider(
        self, name: str, asg_details: dict[str, Any], tags: list[dict[str, str]] | None
    ) -> CapacityProvider:
        self._check_name(name)
        group = autoscaling.find(self.account_id, self.region_name, asg_details["autoScalingGroupArn"])
        if group is None:
            raise EcsClientException("The specified Auto Scaling group ARN does not exist.")
        if any(self.group_of(provider) is group for provider in self.capacity_providers.values()):
            raise EcsClientException("The Auto Scaling group is already used by another capacity provider.")
        self._check_termination_protection(group.new_instances_protected_from_scale_in, asg_details)
        return super().create_capacity_provider(name, {**asg_details, "autoScalingGroupArn": group.arn}, tags)

    def create_managed_instances(
        self, name: str, cluster: str, details: dict[str, Any], tags: list[dict[str, str]] | None
    ) -> ManagedInstances:
        """CreateCapacityProvider for Managed Instances, which moto has not."""
        self._check_name(name)
        provider = ManagedInstances(self.where, name, self._get_cluster(cluster).name, details, tags)
        self.capacity_providers[name] = provider
        return provider

    def _check_name(self, name: str) -> None:
        if name.lower().startswith(RESERVED_PREFIXES):
            raise EcsClientException(
                f"The specified capacity provider name is invalid: {name}. "
                "Names must not begin with 'aws', 'ecs' or 'fargate'. Specify a valid name and try again."
            )
        if name in self.capacity_providers:
            raise EcsClientException("A capacity provider with the same name already exists.")

    @staticmethod
    def _check_termination_protection(protected: bool, details: dict[str, Any]) -> None:
        if details.get("managedTerminationProtection") == "ENABLED" and not protected:
            raise EcsClientException(
                "The managed termination protection setting for the capacity provider is invalid. To enable it, "
                "the Auto Scaling group must have instance protection from scale in enabled."
            )

    def describe_capacity_providers(
        self, names: list[str] | None
    ) -> tuple[list[CapacityProvider], list[CapacityProviderFailure]]:
        # Without names moto answers with a server error; ECS describes them all.
        return super().describe_capacity_providers(names or list(self.capacity_providers))

    def delete_capacity_provider(self, name_or_arn: str) -> CapacityProvider:
        name = name_or_arn.rsplit("/", maxsplit=1)[-1]
        if any(name in (cluster.capacity_providers or []) for cluster in self.clusters.values()):
            raise EcsClientException("The specified capacity provider is in use and cannot be removed.")
        provider = self.capacity_providers.get(name)
        if isinstance(provider, ManagedInstances):
            cluster = self._get_cluster(provider.cluster)
            if name in self._used_providers(cluster):
                raise EcsClientException("The specified capacity provider is in use and cannot be removed.")
            provider.end()
            self._forget_terminated(cluster)
        return super().delete_capacity_provider(name_or_arn)

    def _used_providers(self, cluster: Cluster) -> set[str | None]:
        """The capacity providers of a cluster that a task or a service uses."""
        used = {task.capacity_provider_name for task in self.active_tasks(cluster.name)}
        return used | {
            item["capacityProvider"].rsplit("/", 1)[-1]
            for service in self.active_services(cluster.name)
            for item in service.capacity_provider_strategy
        }

    def put_cluster_capacity_providers(
        self,
        cluster_name: str,
        capacity_providers: list[str] | None,
        default_capacity_provider_strategy: list[dict[str, Any]] | None,
    ) -> Cluster:
        cluster = self._get_cluster(cluster_name)
        wanted = capacity_providers or []
        unknown = [name for name in wanted if name not in self.capacity_providers]
        if unknown:
            raise InvalidParameterException(f"The specified capacity provider '{unknown[0]}' was not found.")
        if any(isinstance(self.capacity_providers[name], ManagedInstances) for name in wanted):
            # botocore's documentation of this operation: "Managed Instances doesn't support this".
            raise InvalidParameterException("A capacity provider of Managed Instances belongs to its cluster already.")
        if self._used_providers(cluster) & (set(cluster.capacity_providers or []) - set(wanted)):
            raise ECSException(
                "ResourceInUseException", "The specified capacity provider is in use and cannot be removed."
            )
        return super().put_cluster_capacity_providers(cluster_name, wanted, default_capacity_provider_strategy or [])

    # Clusters

    def create_cluster(self, *args: Any, service_connect_defaults: Any = None, **kwargs: Any) -> Cluster:
        cluster = super().create_cluster(*args, **kwargs)
        cluster.service_connect_defaults = cloud_map.namespace_for(self.where, service_connect_defaults)
        return cluster

    def update_cluster(
        self, cluster_name: str, cluster_settings: Any, configuration: Any, service_connect_defaults: Any
    ) -> Cluster:
        cluster = super().update_cluster(cluster_name, cluster_settings, configuration, None)
        if service_connect_defaults is not None:
            cluster.service_connect_defaults = cloud_map.namespace_for(self.where, service_connect_defaults)
        return cluster

    def delete_cluster(self, cluster_str: str) -> Cluster:
        cluster = self._get_cluster(cluster_str)
        self._forget_terminated(cluster)
        if self.hosts(cluster.name):
            raise ECSException(
                "ClusterContainsContainerInstancesException",
                "The Cluster cannot be deleted while Container Instances are active or draining.",
            )
        if self.active_services(cluster.name):
            raise ECSException(
                "ClusterContainsServicesException", "The Cluster cannot be deleted while Services are active."
            )
        if self.active_tasks(cluster.name):
            raise ECSException("ClusterContainsTasksException", "The Cluster cannot be deleted while Tasks are active.")
        if self.managed_instances(cluster.name):
            raise ECSException(
                "ClusterContainsCapacityProviderException",
                "The Cluster cannot be deleted while it contains capacity providers.",
            )
        cluster.status = "INACTIVE"
        # ListClusters shows no inactive cluster; moto keeps listing it.
        return self.clusters.pop(cluster.name)

    # Task definitions

    def register_task_definition(self, *args: Any, **kwargs: Any) -> models.TaskDefinition:
        compatibilities = kwargs.pop("requires_compatibilities", None)
        # moto refuses a container with only a memory reservation where EC2 is asked for; ECS takes it.
        definition = super().register_task_definition(*args, **kwargs)
        definition.requires_compatibilities = compatibilities
        try:
            _check_containers(definition)
            _check(definition, task_demand(definition), compatibilities or [])
        except TaskDefinitionError as error:
            del self.task_definitions[definition.family][definition.revision]
            raise EcsClientException(str(error)) from error
        return definition


_AFTER_ITS_END = frozenset({"SUCCESS", "COMPLETE"})


def _check_containers(definition: models.TaskDefinition) -> None:
    """Refuse what names something that is not there, or waits for an end that ends the task, in the words of ECS.

    They are those of https://github.com/boto/boto3/issues/2436 and https://github.com/ansible/ansible/issues/35751, and
    of the rules that cdk-preflight tried on AWS.
    """
    containers = {each["name"]: each for each in cast("list[dict[str, Any]]", definition.container_definitions)}
    volumes = {each["name"]: each for each in definition.volumes or ()}
    for container in containers.values():
        for mount in container.get("mountPoints") or ():
            if mount["sourceVolume"] not in volumes:
                raise TaskDefinitionError(f"Unknown volume '{mount['sourceVolume']}'.")
        for wait in container.get("dependsOn") or ():
            awaited = containers.get(wait["containerName"])
            if awaited is None:
                raise TaskDefinitionError(
                    f"Cannot depend on container + '{wait['containerName']}' because it does not exist"
                )
            if wait["condition"] in _AFTER_ITS_END and awaited.get("essential", True):
                raise TaskDefinitionError(
                    "A dependency container with SUCCESS or COMPLETE condition cannot be an essential container"
                )
    for volume in volumes.values():
        efs = volume.get("efsVolumeConfiguration") or {}
        by_iam = (efs.get("authorizationConfig") or {}).get("iam") == "ENABLED"
        if by_iam and efs.get("transitEncryption") != "ENABLED":
            raise TaskDefinitionError("EFS IAM authorization requires TransitEncryption to be enabled")


def _check(definition: models.TaskDefinition, demand: Demand, compatibilities: list[str]) -> None:
    if (demand.gpus or demand.shared_gpu) and "FARGATE" in compatibilities:
        raise TaskDefinitionError("Tasks using the Fargate launch type do not support GPU resource requirements.")
    if demand.shared_gpu and "EXTERNAL" in compatibilities:
        raise TaskDefinitionError("Tasks using the External launch type do not support GPU sharing.")
    if demand.neuron and compatibilities != ["MANAGED_INSTANCES"]:
        raise TaskDefinitionError("NeuronDevice resource requirements are supported on Managed Instances only.")
    if "MANAGED_INSTANCES" in compatibilities and (found := task_refusals(definition)):
        raise TaskDefinitionError(f"Managed Instances do not support {', '.join(found)}.")


def install() -> None:
    """Put this ECS in the place of moto's, in every account and region that moto sets up from now on."""
    models.ecs_backends.backend = EmulatedEcs
