"""Services with scheduling strategy ``DAEMON``: one task on each host that meets the constraints; moto 5.2.5 runs none.

Hosts get the daemon before anything else; it stays on a host that drains, and a host with nothing else is idle.
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service-options.html and
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instance-draining.html
"""

from __future__ import annotations

from typing import Any

from .services import EmulatedService
from .tasks import EmulatedTask

__all__ = ["DaemonService"]


class DaemonService(EmulatedService):
    """One such service."""

    @property
    def steady(self) -> bool:
        """Whether it runs on every host that it should."""
        tasks = self.active_tasks
        return len(tasks) == self.desired_count and all(
            each.last_status == "RUNNING" and self._is_current(each) for each in tasks
        )

    def catch_up(self) -> None:
        """Stop tasks of an old deployment, and start one on each host without."""
        for task in self.active_tasks:
            if not self._is_current(task):
                task.stop("Scaling activity initiated by deployment", "ServiceSchedulerInitiated")
        covered = {task.host for task in self.active_tasks}
        definition = self._ecs.describe_task_definition(str(self.task_definition))
        for host in self._ecs.hosts(self.cluster_name):
            if host in covered or host.status != "ACTIVE":
                continue
            options: dict[str, Any] = {"networking_configuration": self.network_configuration or None}
            started = self._ecs.start(
                self._cluster,
                definition,
                group=f"service:{self.name}",
                constraints=self.placement_constraints,
                options=options,
                hosts=[host],
            )
            if isinstance(started, EmulatedTask):
                started.is_daemon, started.deployment = True, self.deployment
        self.desired_count = len(self.active_tasks)
        self._count()
