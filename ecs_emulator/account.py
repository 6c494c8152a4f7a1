"""The emulator's account as a person would look at it: hosts, tasks and GPU ids, through the AWS API."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Account", "Clients", "HostView", "Outcome", "TaskView"]


class Clients(Protocol):
    """Whatever makes boto clients."""

    def client(self, service: str) -> Any:
        """A client of one service."""


@dataclass(frozen=True)
class HostView:
    """One container instance.

    Args:
        instance_id: Its EC2 instance.
        instance_type: Its type.
        provider: Its capacity provider.
        gpus: Ids of all its GPUs.
        free_gpus: Ids of those that no task has.
        cpu: CPU units that it registered.
        memory_mib: Memory that it registered.
    """

    instance_id: str
    instance_type: str
    provider: str
    gpus: tuple[str, ...]
    free_gpus: tuple[str, ...]
    cpu: int
    memory_mib: int


@dataclass(frozen=True)
class TaskView:
    """One task.

    Args:
        arn: Its name.
        family: Family of its task definition.
        status: Where it is in its life.
        instance_id: The host, or None while it waits.
        gpus: Ids of the GPUs of all its containers.
    """

    arn: str
    family: str
    status: str
    instance_id: str | None
    gpus: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What RunTask answered.

    Args:
        tasks: ARNs of the tasks it accepted.
        failures: EC2 instance to the reason why it takes none.
    """

    tasks: tuple[str, ...]
    failures: dict[str, str]


class Account:
    """Reads and starts things in the emulator's account.

    Args:
        emulator: The emulator: a server, or the one in this process.
    """

    def __init__(self, emulator: Clients) -> None:
        self.client: Callable[[str], Any] = functools.cache(emulator.client)
        self._ecs = self.client("ecs")

    def hosts(self, cluster: str) -> tuple[HostView, ...]:
        """The hosts of a cluster."""
        arns = self._ecs.list_container_instances(cluster=cluster)["containerInstanceArns"]
        if not arns:
            return ()
        described = self._ecs.describe_container_instances(cluster=cluster, containerInstances=arns)
        return tuple(_host(item) for item in described["containerInstances"])

    def tasks(self, cluster: str) -> tuple[TaskView, ...]:
        """The tasks of a cluster that have not stopped."""
        arns = self._ecs.list_tasks(cluster=cluster)["taskArns"]
        if not arns:
            return ()
        described = self._ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"]
        instances = self._instance_ids(cluster, [item.get("containerInstanceArn") for item in described])
        return tuple(_task(item, instances) for item in described if item["lastStatus"] != "STOPPED")

    def run_command(self, command: str) -> Outcome:
        """Do what an ``aws ecs run-task`` line of a stack's outputs does."""
        words = shlex.split(command)
        if words[:3] != ["aws", "ecs", "run-task"]:
            raise ValueError(f"not an `aws ecs run-task` line: {command}")
        options = dict(zip(words[3::2], words[4::2], strict=True))
        strategy = dict(item.split("=", 1) for item in options.pop("--capacity-provider-strategy").split(","))
        request = {
            "cluster": options.pop("--cluster"),
            "taskDefinition": options.pop("--task-definition"),
            "capacityProviderStrategy": [
                {"capacityProvider": strategy["capacityProvider"], "weight": int(strategy["weight"])}
            ],
        }
        if overrides := options.pop("--overrides", None):
            request["overrides"] = json.loads(overrides)
        if tags := options.pop("--propagate-tags", None):
            request["propagateTags"] = tags
        if options:
            raise ValueError(f"options that the emulator's account does not know: {options}")
        return self.run(**request)

    def run(self, **request: Any) -> Outcome:
        """RunTask."""
        answer = self._ecs.run_task(**request)
        instances = self._instance_ids(request["cluster"], [failure["arn"] for failure in answer["failures"]])
        return Outcome(
            tasks=tuple(task["taskArn"] for task in answer["tasks"]),
            failures={instances[failure["arn"]]: failure["reason"] for failure in answer["failures"]},
        )

    def stop_all(self, cluster: str) -> None:
        """Stop every task of a cluster."""
        for task in self.tasks(cluster):
            self._ecs.stop_task(cluster=cluster, task=task.arn, reason="the story goes on")

    def stack_resources(self, stack: str) -> dict[str, str]:
        """Logical id to type of what a stack holds."""
        pages = self.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
        return {
            item["LogicalResourceId"]: item["ResourceType"] for page in pages for item in page["StackResourceSummaries"]
        }

    def _instance_ids(self, cluster: str, arns: list[str | None]) -> dict[str, str]:
        """Container instance to EC2 instance."""
        known = [arn for arn in arns if arn]
        if not known:
            return {}
        described = self._ecs.describe_container_instances(cluster=cluster, containerInstances=known)
        return {item["containerInstanceArn"]: item["ec2InstanceId"] for item in described["containerInstances"]}


def _host(item: Any) -> HostView:
    registered = {resource["name"]: resource for resource in item["registeredResources"]}
    remaining = {resource["name"]: resource for resource in item["remainingResources"]}
    attributes = {attribute["name"]: attribute.get("value") for attribute in item["attributes"]}
    return HostView(
        instance_id=item["ec2InstanceId"],
        instance_type=attributes["ecs.instance-type"],
        provider=item.get("capacityProviderName", ""),
        gpus=tuple(registered.get("GPU", {}).get("stringSetValue", ())),
        free_gpus=tuple(remaining.get("GPU", {}).get("stringSetValue", ())),
        cpu=registered["CPU"]["integerValue"],
        memory_mib=registered["MEMORY"]["integerValue"],
    )


def _task(item: Any, instances: dict[str, str]) -> TaskView:
    return TaskView(
        arn=item["taskArn"],
        family=item["taskDefinitionArn"].rsplit("/", 1)[-1].split(":")[0],
        status=item["lastStatus"],
        instance_id=instances.get(item.get("containerInstanceArn", "")),
        gpus=tuple(gpu for container in item["containers"] for gpu in container.get("gpuIds", ())),
    )
