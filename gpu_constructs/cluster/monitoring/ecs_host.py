"""What ECS says of the host that the daemon runs on, and of the tasks there that have GPUs.

The daemon's container gets this file as text, between `readings` and `collector`. The ECS agent lists the tasks each
minute; ECS is asked for each of them once, so that its calls follow starts of tasks:
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-introspection.html
"""

from __future__ import annotations

import json
import math
import re
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpu_constructs.cluster.monitoring.readings import MOST_BYTES, Unreadable

__all__ = ["EcsHost", "TaskGpus"]

SECONDS_OF_AGENT = 10  # for an answer
MOST_TASKS = 1000
TASKS_AT_ONCE = 100  # of one ecs:DescribeTasks
COUNT = re.compile(r"[0-9]{1,3}(\.[0-9]{1,9})?")


@dataclass(frozen=True)
class TaskGpus:
    """What a task has of the GPUs of the host.

    Attributes:
        service: The service that it is of; None without.
        gpus: UUIDs of its GPUs.
        is_known: Whether ECS has said it.
    """

    service: str | None = None
    gpus: frozenset[str] = frozenset()
    is_known: bool = True


@dataclass
class EcsHost:
    """The host as a container instance of ECS.

    Attributes:
        cluster: Name of the cluster.
        agent: Address of the ECS agent.
        client: Makes a client of boto3.
        instance: The container instance as ECS describes it; its ARN alone until then.
        tasks: Its running tasks, by ARN.
    """

    cluster: str
    agent: str
    client: Callable[[str], Any]
    instance: dict[str, Any] = field(default_factory=dict)
    tasks: dict[str, TaskGpus] = field(default_factory=dict)

    @property
    def instance_id(self) -> str | None:
        """The instance of EC2."""
        return self.instance.get("ec2InstanceId")

    @property
    def capacity_provider(self) -> str | None:
        """Its capacity provider."""
        return self.instance.get("capacityProviderName")

    @property
    def services_by_gpu(self) -> dict[str, list[str]]:
        """The services that hold each GPU that a task holds; none for a GPU of other tasks."""
        held: dict[str, set[str]] = {}
        for task in self.tasks.values():
            for gpu in task.gpus:
                held.setdefault(gpu, set()).update([task.service] if task.service else [])
        return {gpu: sorted(services) for gpu, services in held.items()}

    @property
    def expected_gpus(self) -> int:
        """GPUs that its type has, by the attribute that user data gave it; else those that it registered; else 0."""
        for each in self.instance.get("attributes", ()):
            if each.get("name") == "gpu.count" and COUNT.fullmatch(str(each.get("value"))):
                return math.ceil(float(each["value"]))
        registered = (each for each in self.instance.get("registeredResources", ()) if each.get("name") == "GPU")
        return max((len(each.get("stringSetValue") or ()) for each in registered), default=0)

    def ask_agent(self) -> None:
        """Asks the agent which host this is, and which tasks run on it."""
        if not self.instance:
            arn = self._get("/v1/metadata").get("ContainerInstanceArn")
            if not isinstance(arn, str):
                raise Unreadable("the ECS agent has not registered this host yet")
            self.instance["containerInstanceArn"] = arn
        tasks = self._get("/v1/tasks")["Tasks"] or ()
        running = [str(each["Arn"]) for each in tasks if each.get("KnownStatus") == "RUNNING"]
        unknown = TaskGpus(is_known=False)
        self.tasks = {arn: self.tasks.get(arn, unknown) for arn in running[:MOST_TASKS]}

    def _get(self, path: str) -> Any:  # noqa: ANN401  # JSON
        with urllib.request.urlopen(self.agent + path, timeout=5) as answer:  # noqa: S310  # of the host itself
            # The timeout is that of each part.
            text, until = b"", time.monotonic() + SECONDS_OF_AGENT
            while time.monotonic() < until and len(text) < MOST_BYTES and (part := answer.read1(MOST_BYTES)):
                text += part
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise Unreadable(f"the ECS agent answers {path} with something else than JSON") from None

    def ask_ecs(self) -> None:
        """Asks ECS for what is not known yet."""
        if self.instance and self.instance_id is None:
            arn = self.instance["containerInstanceArn"]
            answer = self.client("ecs").describe_container_instances(cluster=self.cluster, containerInstances=[arn])
            for found in answer["containerInstances"]:
                self.instance.update(found)
        new = [arn for arn, task in self.tasks.items() if not task.is_known]
        for start in range(0, len(new), TASKS_AT_ONCE):
            asked = new[start : start + TASKS_AT_ONCE]
            for task in self.client("ecs").describe_tasks(cluster=self.cluster, tasks=asked)["tasks"]:
                kind, _, name = str(task.get("group", "")).partition(":")
                gpus = (gpu for container in task.get("containers", ()) for gpu in container.get("gpuIds") or ())
                self.tasks[task["taskArn"]] = TaskGpus(
                    service=name if kind == "service" else None, gpus=frozenset(map(str, gpus))
                )
