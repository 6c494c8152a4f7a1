"""Tasks that no service keeps: those that somebody started by hand, and those of jobs. They hold up a deletion.

ECS deletes no cluster with tasks, and no capacity provider that tasks use
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeleteCluster.html).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gpu_constructs.account.answers import Thing, policy, short_name, text, texts, things
from gpu_constructs.account.calls import Calls, Clients
from gpu_constructs.errors import GpuConstructsError, brief
from gpu_constructs.facts.values import dataclass

POLICY: Final[Mapping[str, object]] = policy(
    {
        "*": ("cloudformation:ListStackResources", "ecs:DescribeClusters", "ecs:DescribeTasks", "ecs:ListTasks"),
        "arn:aws:ecs:*:*:task/*": ("ecs:StopTask",),
    }
)
"""The least policy of IAM that it needs."""

_PAGE = 100
_PAGES = 500
_POLL_SECONDS = 5.0
_OF_SERVICE = ("service:", "ecs-svc/")  # how ECS begins the group and the startedBy of a service's tasks
_REASON = "gpu-constructs stop-tasks"
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html
_ENDED = frozenset({"STOPPED", "DELETED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseTask:
    """A task that no service keeps.

    Attributes:
        definition: The family and revision of its task definition.
        is_stopping: Whether it was told to stop; it holds up a deletion until it has ended.
        started_by: What started it, as whoever did so said it; empty for nobody.
        provider: The capacity provider that it was given to; empty for none.
    """

    arn: str
    definition: str
    status: str
    is_stopping: bool
    started_by: str
    provider: str

    def __str__(self) -> str:
        by = f", started by {self.started_by}" if self.started_by else ""
        return f"{short_name(self.arn)} of {self.definition}, {self.status}{by}"


class StopTasks:
    """The tasks of one cluster that no service keeps.

    `cluster` is its name or ARN, `region` by default the one that the AWS CLI takes. `capacity` limits them to those of
    these capacity providers.
    """

    def __init__(
        self, clients: Clients, *, cluster: str, region: str | None = None, capacity: Sequence[str] = ()
    ) -> None:
        self.cluster = cluster
        self._capacity = capacity
        self._calls = Calls(clients, region, if_denied="gpu-constructs stop-tasks --policy prints the policy")

    def found(self) -> tuple[LooseTask, ...]:
        """Those that have not ended."""
        # Without a status, ListTasks leaves out those that are stopping.
        arns = [arn for status in ("RUNNING", "STOPPED") for arn in self._arns(status)]
        return tuple(self._of(list(dict.fromkeys(arns))))

    def providers(self) -> tuple[str, ...]:
        """The capacity providers of the cluster.

        Raises:
            GpuConstructsError: There is no such cluster, or AWS did not answer.
        """
        found = things(self._calls.ask("ecs:DescribeClusters", clusters=[self.cluster]), "clusters")
        if not found:
            raise GpuConstructsError(f"there is no cluster {brief(self.cluster)}")
        return tuple(name for each in found for name in texts(each, "capacityProviders"))

    def stop(self, tasks: Sequence[LooseTask], *, seconds: float) -> Iterator[tuple[str, str | None]]:
        """Stops tasks that are not stopping already, and waits until all have ended.

        Returns:
            What is known of a task by then, each time that more is: its ARN, and why it may still run, or None once
            it has ended.
        """
        waiting: list[str] = []
        for each in tasks:
            why = "it was stopping already"
            if not each.is_stopping:
                yield each.arn, "it may have been told to stop"
                why = self._calls.problem("ecs:StopTask", cluster=self.cluster, task=each.arn, reason=_REASON)
            yield each.arn, why or "it was told to stop, and may not have ended"
            if not why or each.is_stopping:
                waiting.append(each.arn)
        end = time.monotonic() + seconds
        while waiting:
            left = {each.arn for each in self._of(waiting)}
            yield from ((arn, None) for arn in waiting if arn not in left)
            waiting = [arn for arn in waiting if arn in left]
            if waiting and time.monotonic() >= end:
                yield from ((arn, f"it has not ended in {seconds:g} seconds") for arn in waiting)
                return
            if waiting:
                time.sleep(_POLL_SECONDS)

    def _arns(self, status: str) -> list[str]:
        pages, has_more = self._calls.pages("ecs:ListTasks", _PAGES, cluster=self.cluster, desiredStatus=status)
        if has_more:
            raise GpuConstructsError(f"cluster {self.cluster} has more than {_PAGE * _PAGES:,} tasks")
        return [arn for page in pages for arn in texts(page, "taskArns")]

    def _of(self, arns: Sequence[str]) -> Iterator[LooseTask]:
        tasks = map(_task, filter(_is_loose, self._calls.tasks(self.cluster, arns)))
        yield from (each for each in tasks if not self._capacity or each.provider in self._capacity)


def _is_loose(task: Thing) -> bool:
    of = text(task, "group"), text(task, "startedBy")
    return text(task, "lastStatus") not in _ENDED and not any(each.startswith(_OF_SERVICE) for each in of)


def _task(task: Thing) -> LooseTask:
    return LooseTask(
        arn=text(task, "taskArn"),
        definition=short_name(text(task, "taskDefinitionArn")),
        status=text(task, "lastStatus") or "of no status",
        is_stopping=text(task, "desiredStatus") == "STOPPED",
        started_by=text(task, "startedBy"),
        provider=text(task, "capacityProviderName"),
    )
