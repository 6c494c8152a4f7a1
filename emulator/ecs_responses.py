"""The ECS API operations whose answers moto 5.2.5 shortens: RunTask without failures, services without a strategy.

It also lists stopped tasks among those that run.
"""

from __future__ import annotations

from typing import Any, cast

from moto.core.responses import ActionResult
from moto.ecs.exceptions import InvalidParameterException
from moto.ecs.responses import EC2ContainerServiceResponse

from .ecs import EmulatedEcs

__all__ = ["install"]


def _run_task(self: EC2ContainerServiceResponse) -> ActionResult:
    ecs, ask = _backend(self), self._get_param
    tasks, failures = ecs.run(
        ask("cluster", "default"),
        ask("taskDefinition"),
        int(ask("count") or 1),
        launch_type=ask("launchType"),
        strategy=ask("capacityProviderStrategy"),
        group=ask("group"),
        constraints=ask("placementConstraints"),
        propagate_tags=ask("propagateTags"),
        options={
            "overrides": ask("overrides"),
            "started_by": ask("startedBy") or "",
            "tags": ask("tags"),
            "networking_configuration": ask("networkConfiguration"),
        },
    )
    return ActionResult({"tasks": tasks, "failures": failures})


def _list_tasks(self: EC2ContainerServiceResponse) -> ActionResult:
    ask = self._get_param
    # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ListTasks.html
    wanted = ask("desiredStatus") or "RUNNING"
    filters = (ask("containerInstance"), ask("family"), ask("startedBy"), ask("serviceName"))
    tasks = _backend(self).list_tasks(ask("cluster", "default"), *filters, wanted)
    return ActionResult({"taskArns": [each.task_arn for each in tasks]})


def _create_capacity_provider(self: EC2ContainerServiceResponse) -> ActionResult:
    ecs, ask = _backend(self), self._get_param
    managed = ask("managedInstancesProvider")
    provider = (
        ecs.create_managed_instances(ask("name"), ask("cluster"), managed, ask("tags"))
        if managed
        else ecs.create_capacity_provider(ask("name"), ask("autoScalingGroupProvider"), ask("tags"))
    )
    return ActionResult({"capacityProvider": provider})


def _start_task(self: EC2ContainerServiceResponse) -> ActionResult:
    raise InvalidParameterException("StartTask is not modelled here, use RunTask")


def _create_service(self: EC2ContainerServiceResponse) -> ActionResult:
    settings = {key: value for key, value in self._get_params().items() if value is not None}
    return ActionResult({"service": _backend(self).make_service(settings)})


def _backend(response: EC2ContainerServiceResponse) -> EmulatedEcs:
    return cast("EmulatedEcs", response.ecs_backend)


def install() -> None:
    """Answer these operations from the emulator."""
    operations: dict[str, Any] = {
        "create_capacity_provider": _create_capacity_provider,
        "list_tasks": _list_tasks,
        "run_task": _run_task,
        "start_task": _start_task,
        "create_service": _create_service,
    }
    for name, operation in operations.items():
        setattr(EC2ContainerServiceResponse, name, operation)
