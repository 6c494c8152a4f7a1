"""ECS services: tasks kept running, and replaced within the limits of the deployment configuration.

moto 5.2.5 keeps a desired count and starts no task for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from moto.core.utils import utcnow
from moto.ecs.models import Cluster, Service, TaskDefinition

from . import cloud_map
from .targets import register_tasks, require_load_balancer, unhealthy

if TYPE_CHECKING:
    from .running import RunningEcs
    from .tasks import EmulatedTask

__all__ = ["EmulatedService"]

NEEDS_NEW_TASKS = (
    "loadBalancers",
    "networkConfiguration",
    "serviceConnectConfiguration",
    "serviceRegistries",
    "volumeConfigurations",
)
"""What "triggers a new service deployment" when it changes, beside the task definition, by UpdateService.

https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateService.html
"""

UNABLE = "was unable to place a task because no container instance met all of its requirements."


class EmulatedService(Service):
    """One service.

    Args:
        cluster: Its cluster.
        name: Its name.
        definition: The task definition it runs.
        count: How many tasks it wants.
        backend: The ECS backend of its region.
        settings: The rest of CreateService, keys in camel case.
    """

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        definition: TaskDefinition,
        count: int,
        backend: RunningEcs,
        settings: dict[str, Any],
    ) -> None:
        strategy = settings.get("capacityProviderStrategy")
        if not strategy and not settings.get("launchType"):
            strategy = cluster.default_capacity_provider_strategy
        self.deployment = 0
        """Goes up when its tasks are to be replaced although their task definition stays."""
        self._ecs = backend
        self._cluster = cluster
        self.registered: dict[str, dict[str, dict[str, Any]]] = {}
        """The targets that its tasks are, by target group."""
        self._connected: Mapping[str, str] = {}
        """What it is called by Service Connect."""
        super().__init__(
            cluster,
            name,
            count,
            backend,
            definition,
            launch_type=None if strategy else "EC2",
            scheduling_strategy=settings.get("schedulingStrategy"),
            tags=settings.get("tags"),
        )
        self.settings: dict[str, Any] = {}
        self._take({**settings, "capacityProviderStrategy": strategy or []})
        try:
            self.catch_up()
        except BaseException:
            self.stop()  # a service that is refused keeps no task
            raise

    def change(self, asked: Mapping[str, Any]) -> None:
        """UpdateService: what the request leaves out stays; its tasks follow in the next minutes.

        Raises:
            ECSException: ECS refuses it, and nothing has changed.
        """
        definition = asked.get("taskDefinition") and self._ecs.active_definition(asked["taskDefinition"])
        settings, task_definition = self.settings, self.task_definition
        self.task_definition = definition.arn if definition else self.task_definition
        try:
            self._take({**self.settings, **asked})
        except BaseException:
            self.task_definition = task_definition
            self._take(settings)
            raise
        self.desired_count = int(asked.get("desiredCount", self.desired_count))
        replaces = any(self.settings.get(key) != settings.get(key) for key in NEEDS_NEW_TASKS)
        self.deployment += replaces or asked.get("forceNewDeployment") in (True, "true")

    def _take(self, settings: dict[str, Any]) -> None:
        """Takes these settings, keys in camel case."""
        self.capacity_provider_strategy: list[dict[str, Any]] = settings["capacityProviderStrategy"]
        # It refuses one that is not there.
        self._ecs.providers(self._cluster, self.launch_type, self.capacity_provider_strategy, 0)
        self.placement_constraints: list[dict[str, str]] = settings.get("placementConstraints") or []
        self.placement_strategy: list[dict[str, str]] = settings.get("placementStrategy") or []
        self.deployment_configuration: dict[str, Any] = settings.get("deploymentConfiguration") or {}
        self.load_balancers = settings.get("loadBalancers") or []
        self.service_registries = settings.get("serviceRegistries") or []
        network = settings.get("networkConfiguration")
        self.network_configuration = self._validate_network(network) if network else {}
        require_load_balancer(self)
        self._connect(settings.get("serviceConnectConfiguration") or {})
        self.settings = settings

    def _connect(self, settings: Mapping[str, Any]) -> None:
        """Takes the names in Service Connect that these settings give it."""
        cloud_map.disconnect(self._ecs.where, self._connected)
        self._connected = {}
        containers: list[dict[str, Any]] = self._ecs.describe_task_definition(
            str(self.task_definition)
        ).container_definitions
        ports = {
            port["name"] for container in containers for port in container.get("portMappings") or () if "name" in port
        }
        default = (self._cluster.service_connect_defaults or {}).get("namespace")
        self._connected = cloud_map.connect(self._ecs.where, settings, default, ports)

    # moto leaves these two abstract; stacks hold a resource of their own for a service.
    @classmethod
    def delete_from_cloudformation_json(cls, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    def is_created(self) -> bool:
        return True

    @property
    def active_tasks(self) -> list[EmulatedTask]:
        """Its tasks that have not stopped."""
        return [task for task in self._ecs.active_tasks(self.cluster_name) if task.group == f"service:{self.name}"]

    @property
    def steady(self) -> bool:
        """Whether it runs exactly what it should."""
        tasks = self.active_tasks
        return (
            len(tasks) == self.desired_count
            and all(task.last_status == "RUNNING" and self._is_current(task) for task in tasks)
            and not unhealthy(self)
        )

    def _is_current(self, task: EmulatedTask) -> bool:
        return task.task_definition_arn == self.task_definition and task.deployment == self.deployment

    def catch_up(self) -> None:
        """Do what one minute allows: stop old tasks, start new ones."""
        tasks = self.active_tasks
        # A host that drains loses its tasks like those of an old deployment: within the percentages.
        current = [task for task in tasks if self._is_current(task) and not (task.host and task.host.is_draining)]
        old = [task for task in tasks if task not in current]
        running = [task for task in tasks if task.last_status == "RUNNING"]
        floor = math.ceil(self.desired_count * self._percent("minimumHealthyPercent", 100) / 100)
        ceiling = self.desired_count * self._percent("maximumPercent", 200) // 100
        surplus = current[self.desired_count :]
        spare = max(len(running) - floor, 0)
        doomed = [task for task in old if task not in running] + [task for task in old if task in running][:spare]
        for task in [*surplus, *doomed]:
            task.stop("Scaling activity initiated by deployment", "ServiceSchedulerInitiated")
        missing = self.desired_count - len(current)
        self._start(max(0, min(missing, ceiling - len(self.active_tasks))))
        self._count()

    def stop(self) -> None:
        """Stop its tasks and end it."""
        for task in self.active_tasks:
            task.stop("Service deleted", "ServiceSchedulerInitiated")
        self.desired_count = 0
        self.status = "INACTIVE"
        cloud_map.disconnect(self._ecs.where, self._connected)
        self._count()

    def _percent(self, name: str, default: int) -> int:
        return int(self.deployment_configuration.get(name, default))

    def _start(self, count: int) -> None:
        definition = self._ecs.describe_task_definition(str(self.task_definition))
        for provider in self._ecs.providers(self._cluster, self.launch_type, self.capacity_provider_strategy, count):
            outcome = self._ecs.start(
                self._cluster,
                definition,
                group=f"service:{self.name}",
                provider=provider,
                constraints=self.placement_constraints,
                options={"networking_configuration": self.network_configuration or None},
            )
            if not isinstance(outcome, tuple):
                outcome.deployment = self.deployment
            else:
                reasons = sorted({failure.reason for failure in outcome}) or ["No Container Instances were found"]
                self._say(f"(service {self.name}) {UNABLE} Reason: {', '.join(reasons)}")

    def _say(self, message: str) -> None:
        if not self.events or self.events[0]["message"] != message:
            self.events.insert(0, {"id": str(len(self.events)), "createdAt": utcnow(), "message": message})

    def _count(self) -> None:
        tasks = self.active_tasks
        register_tasks(self)
        for problem in unhealthy(self):
            self._say(f"(service {self.name}) {problem}")
        self.running_count = sum(1 for task in tasks if task.last_status == "RUNNING")
        self.pending_count = len(tasks) - self.running_count
        for deployment in self.deployments:
            deployment |= {
                "taskDefinition": self.task_definition,
                "desiredCount": self.desired_count,
                "runningCount": self.running_count,
                "pendingCount": self.pending_count,
                "capacityProviderStrategy": self.capacity_provider_strategy,
                "networkConfiguration": self.network_configuration or None,
                "serviceConnectConfiguration": self.settings.get("serviceConnectConfiguration"),
                "rolloutState": "COMPLETED" if self.steady else "IN_PROGRESS",
            }
