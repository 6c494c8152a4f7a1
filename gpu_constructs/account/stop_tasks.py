"""Tasks that no service keeps: those that somebody started by hand, and those of jobs. They hold up a deletion.

ECS deletes no cluster with tasks, and no capacity provider that tasks use
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeleteCluster.html).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from gpu_constructs.account.calls import Calls
from gpu_constructs.account.clients import Clients
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.live.described import Thing, listed, short_name, text
from gpu_constructs.values import dataclass

POLICY: Final[Mapping[str, object]] = MappingProxyType(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": ["cloudformation:ListStackResources", "ecs:DescribeTasks", "ecs:ListTasks"],
                "Resource": "*",
            },
            {"Effect": "Allow", "Action": ["ecs:StopTask"], "Resource": "arn:aws:ecs:*:*:task/*"},
        ],
    }
)
"""The least policy of IAM that it needs."""

_PAGE = 100
_PAGES = 500
_POLL_SECONDS = 5.0
_OF_SERVICE = ("service:", "ecs-svc/")  # how ECS begins the group and the startedBy of a service's tasks
_REASON = "gpu-constructs stop-tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseTask:
    """A task that no service keeps.

    Attributes:
        arn: Its ARN.
        definition: The family and revision of its task definition.
        status: Its last status.
        started_by: What started it, as whoever did so said it; empty for nobody.
        provider: The capacity provider that it was given to; empty for none.
    """

    arn: str
    definition: str
    status: str
    started_by: str
    provider: str

    def __str__(self) -> str:
        by = f", started by {self.started_by}" if self.started_by else ""
        return f"{short_name(self.arn)} of {self.definition}, {self.status}{by}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopTasks:
    """The tasks of one cluster that no service keeps.

    Args:
        clients: Clients of boto3.
        cluster: Name or ARN of the cluster.
        region: Where it is; None for the region of the profile.
        capacity: Capacity providers whose tasks are meant; those of any where there is none.
    """

    clients: Clients
    cluster: str
    region: str | None = None
    capacity: Sequence[str] = ()

    def found(self) -> tuple[LooseTask, ...]:
        """Those that have not ended.

        Raises:
            GpuConstructsError: AWS did not answer.
        """
        return tuple(self._of(self._calls, self._arns(self._calls)))

    def stop(self, tasks: Sequence[LooseTask], *, seconds: float) -> Mapping[str, str]:
        """Stops tasks, and waits until they have ended.

        Args:
            tasks: Those to stop.
            seconds: How long it waits for all of them.

        Returns:
            Why a task may still run, by its ARN; empty where all have ended.

        Raises:
            GpuConstructsError: AWS does not say whether they have ended.
        """
        calls, left = self._calls, {}
        for each in tasks:
            if why := self._refused(calls, each):
                left[each.arn] = why
        waiting, end = [each.arn for each in tasks if each.arn not in left], time.monotonic() + seconds
        while waiting := [each.arn for each in self._of(calls, waiting)]:
            if not time.monotonic() < end:  # of no number, as well
                return {**left, **dict.fromkeys(waiting, f"it has not ended in {seconds:g} seconds")}
            time.sleep(_POLL_SECONDS)
        return left

    @property
    def _calls(self) -> Calls:
        return Calls(self.clients, self.region, "gpu-constructs stop-tasks --policy prints the policy")

    def _refused(self, calls: Calls, task: LooseTask) -> str:
        try:
            calls.ask("ecs:StopTask", cluster=self.cluster, task=task.arn, reason=_REASON)
        except GpuConstructsError as problem:
            return str(problem)
        return ""

    def _arns(self, calls: Calls) -> list[str]:
        found: list[str] = []
        more: dict[str, str] = {}
        for _ in range(_PAGES):
            answer = calls.ask("ecs:ListTasks", cluster=self.cluster, **more)
            arns = answer.get("taskArns")
            found += [each for each in arns if isinstance(each, str)] if isinstance(arns, list) else []
            if not text(answer, "nextToken"):
                return found
            more = {"nextToken": text(answer, "nextToken")}
        raise GpuConstructsError(f"cluster {self.cluster} has more than {_PAGE * _PAGES:,} tasks")

    def _of(self, calls: Calls, arns: Sequence[str]) -> Iterator[LooseTask]:
        for first in range(0, len(arns), _PAGE):
            answer = calls.ask("ecs:DescribeTasks", cluster=self.cluster, tasks=list(arns[first : first + _PAGE]))
            yield from filter(self._is_meant, map(_task, filter(_is_loose, listed(answer, "tasks"))))

    def _is_meant(self, task: LooseTask) -> bool:
        return not self.capacity or task.provider in self.capacity


def _is_loose(task: Thing) -> bool:
    of = text(task, "group"), text(task, "startedBy")
    return text(task, "lastStatus") != "STOPPED" and not any(each.startswith(_OF_SERVICE) for each in of)


def _task(task: Thing) -> LooseTask:
    return LooseTask(
        arn=text(task, "taskArn"),
        definition=short_name(text(task, "taskDefinitionArn")),
        status=text(task, "lastStatus") or "of no status",
        started_by=text(task, "startedBy"),
        provider=text(task, "capacityProviderName"),
    )
