"""Hosts of one group and what runs on them, for executions of the recovery that go on one call after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ecs_emulator.process import ACCOUNT, REGION
from ecs_emulator.resource import Region
from ecs_emulator.sdk_calls import CALLS
from ecs_emulator.state_language import StateError, Waiting, run_machine
from gpu_constructs.cluster.monitoring.recovery_states import RecoveryRun, recovery_definition

__all__ = ["DAEMON", "World"]

DAEMON = "daemon"
_days = (f"{year}-{month:02}-{day:02}" for year in range(2026, 2126) for month in range(1, 13) for day in range(1, 29))


class World:
    """Hosts of one group; between any two calls of an execution, the others may go on.

    Attributes:
        draining: Hosts that drain.
        ended: Hosts that were ended, in that order, with the tasks that they had then.
        told: What the topic was told.
        tasks: What runs on every host; `DAEMON` is the daemon.
        fails: Actions that fail, with the error of each.
        described: What ECS says of each host beside its tasks.
        group: What its group says of each host.
    """

    def __init__(self, *, most: int = 3, drain_seconds: int = 600) -> None:
        run = RecoveryRun(
            partition="aws",
            cluster_arn="cluster/c",
            providers=["l4"],
            daemon=DAEMON,
            table="counts",
            topic="topic",
            replacements_per_day=most,
            drain_seconds=drain_seconds,
        )
        self._definition = recovery_definition(run)
        self._state = {"EnteredTime": ""}
        self._calls: Counter[str] = Counter()
        self.next_day()
        self.draining: set[str] = set()
        self.ended: list[tuple[str, list[str]]] = []
        self.told: list[str] = []
        self.tasks: list[str] = []
        self.fails: dict[str, StateError] = {}
        self.described: dict[str, Any] = {"CapacityProviderName": "l4"}
        self.group: list[dict[str, str]] = [{"LifecycleState": "InService"}]

    def next_day(self) -> None:
        """Midnight passes in UTC."""
        self._state["EnteredTime"] = f"{next(_days)}T00:00:00Z"

    def fault(self, host: str = "i-1") -> Waiting:
        """An execution for a fault that the daemon reports."""
        detail = {"containerInstanceArn": host, "reason": "the ECS agent reports XID_79"}
        return self.start({"source": "gpu-constructs", "detail": detail})

    def start(self, event: Any) -> Waiting:
        """An execution for an event."""
        return run_machine(self._definition, event, {"State": self._state}, self._call)

    def count(self, action: str) -> int:
        """How often AWS was asked for something."""
        return self._calls[action]

    def _call(self, resource: str, asked: Any, _: Mapping[str, Any]) -> Waiting:
        yield
        action = resource.partition(":states:::")[2]
        name = action.rpartition(":")[2]
        self._calls[name] += 1
        if name in self.fails:
            raise self.fails[name]
        if action.startswith("dynamodb:"):
            return CALLS[action](Region(ACCOUNT, REGION), asked)
        return getattr(self, f"_{name}")(asked)

    def _describeContainerInstances(self, asked: Any) -> Any:  # noqa: N802 - AWS's names
        (host,) = asked["ContainerInstances"]
        if host in [each for each, _ in self.ended]:
            return {"ContainerInstances": []}
        status = "DRAINING" if host in self.draining else "ACTIVE"
        counts = {"RunningTasksCount": len(self.tasks), "PendingTasksCount": 0}
        return {"ContainerInstances": [{"Ec2InstanceId": host, "Status": status, **counts, **self.described}]}

    def _updateContainerInstancesState(self, asked: Any) -> Any:  # noqa: N802
        self.draining.update(asked["ContainerInstances"])

    def _listTasks(self, asked: Any) -> Any:  # noqa: N802
        return {"TaskArns": [each for each in self.tasks if asked.get("ServiceName") in (None, each)]}

    def _stopTask(self, asked: Any) -> Any:  # noqa: N802
        assert asked["Reason"] == "GPU recovery: the ECS agent reports XID_79"
        self.tasks = [each for each in self.tasks if each != asked["Task"]]

    def _describeAutoScalingInstances(self, _: Any) -> Any:  # noqa: N802
        return {"AutoScalingInstances": self.group}

    def _terminateInstanceInAutoScalingGroup(self, asked: Any) -> Any:  # noqa: N802
        self.ended.append((asked["InstanceId"], self.tasks))

    def _publish(self, asked: Any) -> Any:
        self.told.append(asked["Message"])
