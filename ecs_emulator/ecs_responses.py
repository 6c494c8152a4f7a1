"""The ECS API operations whose answers moto 5.2.5 shortens: RunTask without failures, services without a strategy.

It also lists stopped tasks among those that run, and those of all services, lists services that are deleted, and reads
two parameters of UpdateService.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from moto.core.responses import ActionResult
from moto.ecs.exceptions import InvalidParameterException
from moto.ecs.responses import EC2ContainerServiceResponse

from .ecs import EmulatedEcs
from .tasks import EmulatedTask

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
    tasks: list[Any] = _backend(self).list_tasks(ask("cluster", "default"), desiredStatus=wanted)
    found = [each.task_arn for each in tasks if _is_asked_for(each, ask)]
    return ActionResult({"taskArns": found})


def _is_asked_for(task: EmulatedTask, ask: Callable[[str], str | None]) -> bool:
    """Whether it passes the filters of ListTasks; a name and an ARN mean the same."""
    it_has = {
        "containerInstance": task.container_instance_arn,
        "family": task.family,
        "serviceName": (task.group or "").removeprefix("service:"),
        "startedBy": task.started_by,
    }
    short = {name: str(ask(name)).rsplit("/", maxsplit=1)[-1] for name in it_has if ask(name)}
    return all(str(it_has[name]).rsplit("/", maxsplit=1)[-1] == wanted for name, wanted in short.items())


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


def _update_service(self: EC2ContainerServiceResponse) -> ActionResult:
    asked = {key: value for key, value in self._get_params().items() if value is not None}
    return ActionResult({"service": _backend(self).change_service(asked)})


def _list_services(self: EC2ContainerServiceResponse) -> ActionResult:
    ask = self._get_param
    services = _backend(self).active_services(ask("cluster", "default").rsplit("/", maxsplit=1)[-1])
    wanted = {"scheduling_strategy": ask("schedulingStrategy"), "launch_type": ask("launchType")}
    asked = {name: value for name, value in wanted.items() if value}
    found = [each.arn for each in services if all(getattr(each, name) == value for name, value in asked.items())]
    return ActionResult({"serviceArns": sorted(found)})


def _backend(response: EC2ContainerServiceResponse) -> EmulatedEcs:
    return cast("EmulatedEcs", response.ecs_backend)


def install() -> None:
    """Answer these operations from the emulator."""
    operations: dict[str, Any] = {
        "create_capacity_provider": _create_capacity_provider,
        "list_services": _list_services,
        "list_tasks": _list_tasks,
        "run_task": _run_task,
        "start_task": _start_task,
        "create_service": _create_service,
        "update_service": _update_service,
    }
    for name, operation in operations.items():
        setattr(EC2ContainerServiceResponse, name, operation)
