"""What runs in a cluster: hosts that register, tasks that find one, services that follow, and the time all this takes.

There is no clock: a minute passes each time somebody looks at the tasks or the hosts of a cluster. In that minute tasks
start, instances register, waiting tasks find a host, services catch up and Auto Scaling groups grow or shrink. Whoever
polls sees what AWS would show over time, at once and always in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from moto.autoscaling.models import ASG_NAME_TAG
from moto.ec2.models import ec2_backends
from moto.ecs import urls
from moto.ecs.exceptions import InvalidParameterException, ServiceNotFoundException
from moto.ecs.models import CapacityProvider, Cluster, EC2ContainerServiceBackend, Service, Task, TaskDefinition

from . import (
    autoscaling,
    ends,
    executions,
    group_minutes,
    joining,
    lifecycle_hooks,
    managed_scaling,
    pipes,
    schedules,
    service_scaling,
    warm_pools,
)
from .agent import AgentConfig, agent_config
from .autoscaling import EmulatedGroup
from .daemons import DaemonService
from .demands import TaskDefinitionError
from .hosts import EcsHost
from .managed_instances import ManagedInstances
from .placement import Demand, Failure, Placement, place
from .resource import Region
from .services import EmulatedService
from .strategy import Share, distribute
from .tasks import EmulatedTask, task_demand

__all__ = ["RunningEcs"]


class RunningEcs(EC2ContainerServiceBackend):
    """Hosts, tasks and services of the clusters in one account and region."""

    @property
    def _url_module(self) -> ModuleType:
        # moto derives this from the backend's module name, which is not one of its own here.
        return urls

    # Hosts

    def group_of(self, provider: CapacityProvider) -> EmulatedGroup | None:
        """The Auto Scaling group of a capacity provider; one of Managed Instances has none."""
        if isinstance(provider, ManagedInstances):
            return None
        arn = provider.auto_scaling_group_provider["autoScalingGroupArn"]
        return autoscaling.find(self.account_id, self.region_name, arn)

    @property
    def where(self) -> Region:
        """Its account and region."""
        return Region(self.account_id, self.region_name)

    def managed_instances(self, cluster_name: str) -> list[ManagedInstances]:
        """The capacity providers of Managed Instances of a cluster."""
        return [
            provider
            for provider in self.capacity_providers.values()
            if isinstance(provider, ManagedInstances) and provider.cluster == cluster_name
        ]

    def hosts(self, cluster_name: str, provider: str | None = None) -> list[EcsHost]:
        """The registered hosts of a cluster, or those of one of its capacity providers."""
        registered: Iterable[Any] = self.container_instances.setdefault(cluster_name, {}).values()
        return [host for host in registered if provider in (None, host.capacity_provider_name)]

    # The name is moto's, which calls it for a request.
    def register_container_instance(self, cluster_str: str, ec2_instance_id: str) -> EcsHost:
        cluster = self._get_cluster(cluster_str)
        return self._register(cluster, ec2_instance_id, AgentConfig(cluster.name))

    def _register(self, cluster: Cluster, instance_id: str, config: AgentConfig) -> EcsHost:
        instance = ec2_backends[self.account_id][self.region_name].get_instance(instance_id)
        group = next((tag["value"] for tag in instance.get_tags() if tag["key"] == ASG_NAME_TAG), None)
        provider = next(
            (
                name
                for name, provider in self.capacity_providers.items()
                if group and self.group_of(provider) is autoscaling.find(self.account_id, self.region_name, group)
            ),
            None,
        )
        host = EcsHost(instance, config, provider, self)
        self.container_instances.setdefault(cluster.name, {})[host.id] = host
        return host

    def _forget_terminated(self, cluster: Cluster) -> None:
        """Deregister the hosts whose instance is gone, as ECS does; their tasks stop."""
        ec2 = ec2_backends[self.account_id][self.region_name]
        for host in self.hosts(cluster.name):
            if ec2.get_instance(host.ec2_instance_id).is_running():
                continue
            for task in host.tasks:
                task.stop(f"Host EC2 (instance {host.ec2_instance_id}) terminated.", "TerminationNotice")
            del self.container_instances[cluster.name][host.id]

    def _register_launched(self, cluster: Cluster) -> None:
        ec2 = ec2_backends[self.account_id][self.region_name]
        known = {host.ec2_instance_id for host in self.hosts(cluster.name)}
        for instance in ec2.all_running_instances():
            started = lifecycle_hooks.agent_starts(instance) and warm_pools.agent_starts(instance)
            if instance.id in known or not started or getattr(instance, "ecs_managed", False):
                continue
            config = agent_config(instance.user_data.decode() if instance.user_data else "")
            if config.cluster == cluster.name and joining.joins(self.where, instance, cluster.arn):
                self._register(cluster, instance.id, config)
        for provider in self.managed_instances(cluster.name):
            for instance in provider.instances:
                if instance.id not in known:
                    host = EcsHost(instance, AgentConfig(cluster.name), provider.name, self)
                    self.container_instances[cluster.name][host.id] = host

    def _run_daemons(self, cluster: Cluster) -> None:
        for service in self.active_services(cluster.name):
            if isinstance(service, DaemonService):
                service.catch_up()

    # Tasks

    def active_tasks(self, cluster_name: str) -> list[EmulatedTask]:
        """The tasks of a cluster that have not stopped."""
        started: Iterable[Any] = self.tasks.setdefault(cluster_name, {}).values()
        return [task for task in started if task.last_status != "STOPPED"]

    def start(self, cluster: Cluster, definition: TaskDefinition, **how: Any) -> EmulatedTask | tuple[Failure, ...]:
        """Start one task.

        Args:
            cluster: Where.
            definition: What.
            how: ``group``, ``provider`` and ``options`` of `EmulatedTask`, ``constraints``, and ``hosts`` to choose
                from in place of all.

        Returns:
            The task, which waits for a host if it goes to a capacity provider; else why no host takes it.
        """
        hosts = how.pop("hosts", None)
        try:
            demand = task_demand(definition, how.pop("constraints", None), group=how.get("group"))
        except TaskDefinitionError as error:
            raise InvalidParameterException(str(error)) from error
        self._check_compatibility(definition, how.get("provider"))
        task = EmulatedTask(cluster, definition, demand, self, **how)
        failures = self._find_host(task, hosts)
        if failures is not None and task.capacity_provider_name is None:
            task.stop("")
            return failures
        self.tasks.setdefault(cluster.name, {})[task.task_arn] = task
        return task

    def _check_compatibility(self, definition: TaskDefinition, provider: str | None) -> None:
        managed = provider is not None and isinstance(self.capacity_providers.get(provider), ManagedInstances)
        wanted, declared = "MANAGED_INSTANCES" if managed else "EC2", definition.requires_compatibilities
        if declared and wanted not in declared:
            raise InvalidParameterException(
                f"Task definition does not support launch_type {wanted}: it requires {', '.join(declared)}."
            )

    def _find_host(self, task: EmulatedTask, among: list[EcsHost] | None = None) -> tuple[Failure, ...] | None:
        known = self.hosts(task.cluster_name, task.capacity_provider_name) if among is None else among
        hosts = [host for host in known if host.status == "ACTIVE"]
        outcome = place(task.demand, [host.free for host in hosts])
        if not isinstance(outcome, Placement):
            return outcome
        arn = outcome.host.arn
        task.run_on(next(host for host in hosts if host.container_instance_arn == arn), outcome)
        return None

    def run(
        self, cluster_str: str, definition_str: str, count: int, **request: Any
    ) -> tuple[list[Task], list[Failure]]:
        """RunTask, with the failures that moto's own does not return.

        Args:
            cluster_str: Name or ARN of the cluster.
            definition_str: Family, revision or ARN of the task definition.
            count: How many tasks.
            request: ``launch_type``, ``strategy``, ``group``, ``constraints``, ``propagate_tags`` and ``options`` of
                the request.
        """
        cluster, definition = self._get_cluster(cluster_str), self.active_definition(definition_str)
        self._forget_terminated(cluster)
        providers = self.providers(cluster, request.get("launch_type"), request.get("strategy"), count)
        if providers[:1] == (None,) and not self.hosts(cluster.name):
            raise InvalidParameterException("No Container Instances were found in your cluster.")
        options = {**(request.get("options") or {})}
        if request.get("propagate_tags") == "TASK_DEFINITION":
            own = {each["key"] for each in options.get("tags") or ()}
            options["tags"] = [
                *(options.get("tags") or ()),
                *(each for each in definition.tags or () if each["key"] not in own),
            ]
        tasks: list[Task] = []
        failures: list[Failure] = []
        for provider in providers:
            outcome = self.start(
                cluster,
                definition,
                group=request.get("group") or f"family:{definition.family}",
                provider=provider,
                constraints=request.get("constraints"),
                options=options,
            )
            if isinstance(outcome, EmulatedTask):
                tasks.append(outcome)
            else:
                failures.extend(outcome)
        return tasks, failures

    def providers(
        self, cluster: Cluster, launch_type: str | None, strategy: list[dict[str, Any]] | None, count: int
    ) -> tuple[str | None, ...]:
        """The capacity provider of each task; None where the launch type is EC2."""
        if launch_type and strategy:
            raise InvalidParameterException("Specify either launchType or capacityProviderStrategy, but not both.")
        if launch_type not in (None, "EC2"):
            raise InvalidParameterException(f"launch type {launch_type} is not modelled here")
        strategy = strategy or (None if launch_type else cluster.default_capacity_provider_strategy)
        if not strategy:
            return (None,) * count
        shares = [
            Share(item["capacityProvider"].split("/")[-1], item.get("weight", 0), item.get("base", 0))
            for item in strategy
        ]
        # A strategy of one provider may leave its weight out.
        if len(shares) == 1 and "weight" not in strategy[0]:
            shares = [Share(shares[0].provider, 1, shares[0].base)]
        for share in shares:
            managed = [provider.name for provider in self.managed_instances(cluster.name)]
            if share.provider not in [*(cluster.capacity_providers or []), *managed]:
                raise InvalidParameterException(
                    f"The specified capacity provider '{share.provider}' is not associated with the cluster."
                )
        try:
            return distribute(count, shares)
        except ValueError as error:
            raise InvalidParameterException(str(error)) from error

    def stop_task(self, cluster_str: str, task_str: str, reason: str) -> Task:
        cluster = self._get_cluster(cluster_str)
        for task in self.active_tasks(cluster.name):
            if task_str in (task.task_arn, task.id):
                task.stop(reason or "Task stopped by user")
                return task
        raise InvalidParameterException("The referenced task was not found.")

    def active_definition(self, name: str) -> TaskDefinition:
        """The task definition of a new task or service.

        "You can't use an INACTIVE task definition to run new tasks or create new services":
        https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeregisterTaskDefinition.html
        """
        definition = self.describe_task_definition(name)
        if definition.status != "ACTIVE":
            raise InvalidParameterException("TaskDefinition is inactive")
        return definition

    # Services

    def active_services(self, cluster_name: str) -> list[EmulatedService]:
        """The services of a cluster."""
        existing: Iterable[Any] = self.services.values()
        return [service for service in existing if service.cluster_name == cluster_name and service.status == "ACTIVE"]

    def make_service(self, settings: dict[str, Any]) -> EmulatedService:
        """CreateService, from its request in camel case."""
        cluster = self._get_cluster(settings.get("cluster", "default"))
        name = settings["serviceName"]
        if any(service.name == name for service in self.active_services(cluster.name)):
            raise InvalidParameterException("Creation of service was not idempotent.")
        definition = self.active_definition(settings["taskDefinition"])
        # https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-service.html
        count = int(settings.get("desiredCount", 1))
        kind = DaemonService if settings.get("schedulingStrategy") == "DAEMON" else EmulatedService
        service = kind(cluster, name, definition, count, self, settings)
        self.services[f"{cluster.name}:{name}"] = service
        return service

    def change_service(self, asked: dict[str, Any]) -> Service:
        """UpdateService, from its request in camel case."""
        service = self._get_service(asked.get("cluster", "default"), asked["service"].split("/")[-1])
        assert isinstance(service, EmulatedService)
        service.change({key: value for key, value in asked.items() if key not in ("cluster", "service")})
        return service

    def delete_service(self, cluster_name: str, service_name: str, force: bool) -> Service:
        cluster = self._get_cluster(cluster_name)
        name = service_name.rsplit("/", maxsplit=1)[-1]
        for service in self.active_services(cluster.name):
            if service.name == name:
                if service.desired_count and not force:
                    raise InvalidParameterException("The service cannot be stopped while it is scaled above 0.")
                service.stop()
                return service
        raise ServiceNotFoundException

    # Looking, which takes a minute

    def pass_a_minute(self, cluster_str: str) -> None:
        """Let everything in a cluster happen that takes about a minute."""
        cluster = self._get_cluster(cluster_str)
        self._forget_terminated(cluster)
        schedules.run_due(self, cluster.arn)
        pipes.deliver(self.where)
        ends.end_tasks(self, self.active_tasks(cluster.name))
        for task in self.active_tasks(cluster.name):
            if task.last_status == "PENDING":
                task.begin()
        for group in autoscaling.groups_of(self.where, cluster.name):
            group_minutes.pass_a_minute(group)
        self._forget_terminated(cluster)
        self._register_launched(cluster)
        self._run_daemons(cluster)
        for task in self.active_tasks(cluster.name):
            if task.waiting:
                self._find_host(task)
        for service in self.active_services(cluster.name):
            service_scaling.follow_alarms(self.where, service)
            service.catch_up()
        for name in cluster.capacity_providers or []:
            self._scale(cluster, self.capacity_providers[name])
        for provider in self.managed_instances(cluster.name):
            hosts = self.hosts(cluster.name, provider.name)
            provider.scale_out(self._waiting(cluster, provider.name), len(hosts))
            provider.scale_in(hosts)
        self._forget_terminated(cluster)
        ends.give_up(self.active_tasks(cluster.name))
        executions.advance(self.where, cluster.name)
        self._count(cluster)

    def _scale(self, cluster: Cluster, provider: CapacityProvider) -> None:
        group, settings = self.group_of(provider), provider.auto_scaling_group_provider
        if group is None:
            return
        hosts = self.hosts(cluster.name, provider.name)
        managed_scaling.scale_out(group, settings["managedScaling"], self._waiting(cluster, provider.name), len(hosts))
        managed_scaling.scale_in(group, settings, hosts)

    def _waiting(self, cluster: Cluster, provider: str) -> list[Demand]:
        """What the tasks ask that wait for a provider."""
        return [
            task.demand
            for task in self.active_tasks(cluster.name)
            if task.waiting and task.capacity_provider_name == provider
        ]

    def _count(self, cluster: Cluster) -> None:
        tasks = self.active_tasks(cluster.name)
        cluster.running_tasks_count = sum(1 for task in tasks if task.last_status == "RUNNING")
        cluster.pending_tasks_count = len(tasks) - cluster.running_tasks_count
        cluster.registered_container_instances_count = len(self.hosts(cluster.name))
        cluster.active_services_count = len(self.active_services(cluster.name))

    def describe_tasks(self, cluster_str: str, tasks: list[str]) -> list[Task]:
        self.pass_a_minute(cluster_str)
        wanted = {name.split("/")[-1] for name in tasks}
        known = self.tasks[self._get_cluster(cluster_str).name].values()
        return [task for task in known if task.id in wanted]

    def list_container_instances(self, cluster_str: str, status: str | None = None) -> list[str]:
        self.pass_a_minute(cluster_str)
        return super().list_container_instances(cluster_str, status)
