"""Hosts of one group and what runs on them, for executions of the recovery that go on one call after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from emulator.local import Local
from emulator.process import ACCOUNT, REGION
from emulator.resource import Region
from emulator.sdk_calls import CALLS
from emulator.state_language import StateError, Waiting, run_machine
from gpu_constructs.cluster.monitoring.recovery import recovery_definition
from gpu_constructs.cluster.monitoring.which_host import RecoveryRun

__all__ = ["Running", "World", "counting"]

_PAGE = 100
_days = (f"{year}-{month:02}-{day:02}" for year in range(2026, 2126) for month in range(1, 13) for day in range(1, 29))


@dataclass(frozen=True)
class Running:
    """A task on the host."""

    name: str
    gpus: Sequence[str] = ()
    is_daemon: bool = False

    @property
    def described(self) -> Any:
        """It, as ECS describes it."""
        group = "service:daemon" if self.is_daemon else f"family:{self.name}"
        containers = [{"Name": "main", "GpuIds": list(self.gpus)}]
        return {"TaskArn": self.name, "Group": group, "DesiredStatus": "RUNNING", "Containers": containers}


class World:
    """Hosts of one group; between any two calls of an execution, the others may go on.

    Attributes:
        draining: Hosts that drain.
        ended: Hosts that were ended, in that order, with the tasks that they had then.
        told: What the topic was told: subject and message.
        tasks: What runs on every host.
        fails: Actions that fail, with the error of each.
        keeps_daemons: Whether ECS leaves daemons alone when a host drains.
    """

    def __init__(self, *, most: int = 3, drain_seconds: int = 600, ends_remaining_tasks: bool = True) -> None:
        run = RecoveryRun(
            partition="aws",
            cluster_arn="cluster/c",
            cluster_name="c",
            providers=["l4"],
            table="counts",
            topic="topic",
            replacements_per_day=most,
            drain_seconds=drain_seconds,
            ends_remaining_tasks=ends_remaining_tasks,
        )
        self._definition = recovery_definition(run)
        self._state = {"EnteredTime": ""}
        self._calls: Counter[str] = Counter()
        self._started = 0
        self.next_day()
        self.draining: set[str] = set()
        self.ended: list[tuple[str, list[str]]] = []
        self.told: list[tuple[str, str]] = []
        self.tasks: list[Running] = []
        self.fails: dict[str, StateError] = {}
        self.keeps_daemons = True

    def next_day(self) -> None:
        """Midnight passes in UTC."""
        self._state["EnteredTime"] = f"{next(_days)}T00:00:00Z"

    def fault(self, host: str = "i-1", **said: Any) -> Waiting:
        """An execution for a fault of a GPU."""
        detail = {"ec2InstanceId": host, "gpuIndex": 0, "gpuUuid": "GPU-0", "xid": 79, "reason": ""}
        return self.start("GPU Fault", {**detail, **said})

    def start(self, kind: str, detail: Any) -> Waiting:
        """An execution for an event."""
        self._started += 1
        context = {"State": self._state, "Execution": {"Id": f"execution-{self._started}"}}
        return run_machine(self._definition, {"detail-type": kind, "detail": detail}, context, self._call)

    @property
    def outcomes(self) -> list[str]:
        """What the topic was told, without the host."""
        return [subject.split(" ", 4)[-1] for subject, _ in self.told]

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
        if action == "dynamodb:updateItem":
            return CALLS[action](Region(ACCOUNT, REGION), asked)
        return getattr(self, f"_{name}")(asked)

    def _listContainerInstances(self, asked: Any) -> Any:  # noqa: N802 - AWS's names
        return {"ContainerInstanceArns": asked["Filter"].split("'")[1::2]}

    def _describeContainerInstances(self, asked: Any) -> Any:  # noqa: N802
        (host,) = asked["ContainerInstances"]
        counts = {"RunningTasksCount": len(self.tasks), "PendingTasksCount": 0}
        status = "DRAINING" if host in self.draining else "ACTIVE"
        named = {"ContainerInstanceArn": host, "Ec2InstanceId": host, "CapacityProviderName": "l4"}
        return {"ContainerInstances": [{**named, "Status": status, **counts}]}

    def _updateContainerInstancesState(self, asked: Any) -> Any:  # noqa: N802
        self.draining.update(asked["ContainerInstances"])

    def _listServices(self, _: Any) -> Any:  # noqa: N802
        return {"ServiceArns": ["arn:aws:ecs:us-east-1:1:service/c/daemon"]}

    def _listTasks(self, asked: Any) -> Any:  # noqa: N802
        names = [each.name for each in self.tasks if each.is_daemon or asked.get("ServiceName") is None]
        begin = int(asked.get("NextToken", 0))
        more = {"NextToken": str(begin + _PAGE)} if begin + _PAGE < len(names) else {}
        return {"TaskArns": names[begin : begin + _PAGE], **more}

    def _describeTasks(self, asked: Any) -> Any:  # noqa: N802
        found = [each.described for each in self.tasks if each.name in asked["Tasks"]]
        if not self.keeps_daemons:
            self.tasks = [each for each in self.tasks if not each.is_daemon]
        return {"Tasks": found}

    def _stopTask(self, asked: Any) -> Any:  # noqa: N802
        self.tasks = [each for each in self.tasks if each.name != asked["Task"]]

    def _describeAutoScalingInstances(self, _: Any) -> Any:  # noqa: N802
        return {"AutoScalingInstances": [{"AutoScalingGroupName": "g", "LifecycleState": "InService"}]}

    def _terminateInstanceInAutoScalingGroup(self, asked: Any) -> Any:  # noqa: N802
        self.ended.append((asked["InstanceId"], [each.name for each in self.tasks if not each.is_daemon]))

    def _describeAutoScalingGroups(self, _: Any) -> Any:  # noqa: N802
        return {"AutoScalingGroups": [{"DesiredCapacity": 0, "Instances": []}]}

    def _publish(self, asked: Any) -> Any:
        self.told.append((asked["Subject"], asked["Message"]))


@contextmanager
def counting(cloud: Local) -> Iterator[None]:
    """With the table that a `World` counts in."""
    tables = cloud.account.client("dynamodb")
    key = {"AttributeName": "Id"}
    tables.create_table(
        TableName="counts",
        KeySchema=[{**key, "KeyType": "HASH"}],
        AttributeDefinitions=[{**key, "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    yield
    tables.delete_table(TableName="counts")
