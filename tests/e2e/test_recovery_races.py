"""However the executions of several events interleave, each host counts once, and no more are replaced than may be."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from gpu_constructs.monitoring.recovery.definition import recovery_definition
from gpu_constructs.monitoring.recovery.recovery_run import RecoveryRun
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .emulator.resource import Region
from .emulator.sdk_calls import CALLS
from .emulator.state_language import StateError, Waiting, run_machine
from .local import Local
from .server import ACCOUNT, REGION

_days = (f"2026-{month:02}-{day:02}T{hour:02}" for month in range(1, 13) for day in range(1, 29) for hour in range(24))


class World:
    """Idle hosts of one group; between any two calls of an execution, the others may go on."""

    def __init__(self, most: int) -> None:
        run = RecoveryRun(
            partition="aws",
            cluster_arn="cluster/c",
            cluster_name="c",
            services="service/c/",
            providers=["l4"],
            table="counts",
            topic="topic",
            replacements_per_day=most,
            drain_seconds=600,
            ends_remaining_tasks=True,
        )
        self._definition = recovery_definition(run)
        self._context = {"State": {"EnteredTime": next(_days).replace("T", "-") + "T00:00:00Z"}}
        self.draining: set[str] = set()
        self.ended: list[str] = []
        self.told: list[str] = []

    def start(self, host: str) -> Waiting:
        detail = {"ec2InstanceId": host, "gpuIndex": 0, "gpuUuid": "GPU-0", "xid": 79, "reason": ""}
        event = {"detail-type": "GPU Fault", "detail": detail}
        return run_machine(self._definition, event, self._context, self._call)

    def _call(self, resource: str, asked: Any, _: Mapping[str, Any]) -> Waiting:
        yield
        action = resource.partition(":states:::")[2]
        if action == "dynamodb:updateItem":
            return CALLS[action](Region(ACCOUNT, REGION), asked)
        return getattr(self, f"_{action.rpartition(':')[2]}")(asked)

    def _listContainerInstances(self, asked: Any) -> Any:  # noqa: N802 - AWS's names
        return {"ContainerInstanceArns": [asked["Filter"].split("'")[1]]}

    def _describeContainerInstances(self, asked: Any) -> Any:  # noqa: N802
        (host,) = asked["ContainerInstances"]
        counts = {"RunningTasksCount": 0, "PendingTasksCount": 0}
        status = "DRAINING" if host in self.draining else "ACTIVE"
        described = {"ContainerInstanceArn": host, "Status": status, "CapacityProviderName": "l4", **counts}
        return {"ContainerInstances": [described]}

    def _updateContainerInstancesState(self, asked: Any) -> Any:  # noqa: N802
        self.draining.update(asked["ContainerInstances"])

    def _listServices(self, _: Any) -> Any:  # noqa: N802
        return {"ServiceArns": []}

    def _listTasks(self, _: Any) -> Any:  # noqa: N802
        return {"TaskArns": []}

    def _describeAutoScalingInstances(self, _: Any) -> Any:  # noqa: N802
        return {"AutoScalingInstances": [{"AutoScalingGroupName": "g"}]}

    def _terminateInstanceInAutoScalingGroup(self, asked: Any) -> Any:  # noqa: N802
        self.ended.append(asked["InstanceId"])

    def _describeAutoScalingGroups(self, _: Any) -> Any:  # noqa: N802
        return {"AutoScalingGroups": [{"DesiredCapacity": 0, "Instances": []}]}

    def _publish(self, asked: Any) -> Any:
        self.told.append(asked["Subject"])


@pytest.fixture(name="table")
def _table(cloud: Local) -> Iterator[None]:
    tables = cloud.account.client("dynamodb")
    key = {"AttributeName": "Day"}
    tables.create_table(
        TableName="counts",
        KeySchema=[{**key, "KeyType": "HASH"}],
        AttributeDefinitions=[{**key, "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    yield
    tables.delete_table(TableName="counts")


@pytest.mark.usefixtures("table")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    hosts=st.lists(st.sampled_from(["i-1", "i-2", "i-3"]), min_size=2, max_size=5),
    most=st.integers(1, 3),
    order=st.lists(st.integers(0, 4), max_size=60),
)
def test_each_host_counts_once_and_no_more_are_replaced_than_may_be(
    hosts: list[str], most: int, order: list[int]
) -> None:
    world = World(most)
    executions = dict(enumerate(map(world.start, hosts)))
    failed = []
    for number in itertools.chain(order, itertools.cycle(range(len(hosts)))):
        if not executions:
            break
        if number in executions:
            try:
                next(executions[number])
            except StopIteration:
                del executions[number]
            except StateError as error:
                del executions[number]
                failed.append(error.error)
    replaced = min(len(set(hosts)), most)
    assert len(world.ended) == len(set(world.ended)) == replaced
    assert world.draining == set(world.ended)
    assert sum(each.endswith("is draining") for each in world.told) == replaced
    assert failed == ["BudgetUsed"] * (len(set(hosts)) - replaced)
