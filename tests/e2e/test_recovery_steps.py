"""What the recovery does with events that repeat, cross or are wrong, and with calls that AWS refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from emulator.local import Local
from emulator.state_language import StateError, Waiting

from .recovery_world import Running, World, counting

pytestmark = pytest.mark.usefixtures("table")

DAEMON = Running("daemon", is_daemon=True)
REBALANCE = "EC2 Instance Rebalance Recommendation"
DAYS = 48 * 3600
DENIED = StateError("Ecs.AccessDeniedException", "no permission")


@pytest.fixture(name="table")
def _table(cloud: Local) -> Iterator[None]:
    with counting(cloud):
        yield


@pytest.fixture(name="host")
def _host(request: pytest.FixtureRequest) -> str:
    """A host that no other test has."""
    return f"i-{abs(hash(request.node.name)):x}"


def end(execution: Waiting, *, within: int = 6000) -> str:
    """How an execution ends: nothing, or its error; "RUNNING" where it does not within so many minutes."""
    try:
        for _ in range(within):
            next(execution)
    except StopIteration:
        return ""
    except StateError as error:
        return error.error
    return "RUNNING"


def rebalance(world: World, host: str) -> Waiting:
    return world.start(REBALANCE, {"instance-id": host})


@pytest.mark.parametrize("keeps", [True, False])
def test_a_host_is_empty_when_only_daemons_are_left_or_not_even_these(host: str, keeps: bool) -> None:
    world = World()
    world.tasks, world.keeps_daemons = [DAEMON, Running("job", ["GPU-9"])], keeps
    assert end(world.fault(host)) == ""
    assert world.outcomes == ["is draining", "ends with tasks", "is replaced"]
    # Stopped when their time was over, and not with the host.
    assert world.ended == [(host, [])]
    assert world.count("stopTask") == 1


def test_daemons_alone_hold_no_host(host: str) -> None:
    world = World()
    world.tasks = [DAEMON]
    assert end(world.fault(host), within=40) == ""
    assert world.outcomes == ["is draining", "is replaced"]


def test_a_fault_of_a_host_that_drains_for_another_reason_stops_what_runs_on_the_gpu(host: str) -> None:
    world = World(drain_seconds=DAYS)
    world.tasks = [Running("bad", ["GPU-0"]), Running("good", ["GPU-1"])]
    draining = rebalance(world, host)
    assert end(draining, within=60) == "RUNNING"
    assert [each.name for each in world.tasks] == ["bad", "good"]
    fault = world.fault(host)
    assert end(fault, within=60) == "RUNNING"
    assert [each.name for each in world.tasks] == ["good"]
    assert "failed with Xid 79" in world.told[-1][1]


def test_a_second_gpu_of_a_host_loses_its_tasks_too(host: str) -> None:
    world = World()
    world.tasks = [Running("one", ["GPU-0"]), Running("two", ["GPU-1"]), Running("three", ["GPU-2"])]
    assert end(first := world.fault(host), within=3) == "RUNNING"
    # Before the first one drains the host.
    second = world.fault(host, gpuUuid="GPU-1", gpuIndex=1)
    assert end(second, within=3) == "RUNNING"
    assert end(first, within=30) == "RUNNING"
    assert end(second) == ""
    assert [each.name for each in world.tasks] == ["three"]
    assert end(world.fault(host, gpuUuid="GPU-1", gpuIndex=1)) == ""
    assert world.outcomes == ["is draining"] * 2


def test_an_event_of_the_next_day_does_not_count_a_host_that_drains_again(host: str) -> None:
    world = World(most=1)
    world.tasks = [Running("job")]
    first = world.fault(host)
    assert end(first, within=30) == "RUNNING"
    world.next_day()
    assert end(world.fault(host)) == ""
    assert end(first) == ""
    assert [each for each, _ in world.ended] == [host]
    assert end(world.fault(f"{host}2")) == ""


def test_recommendations_take_nothing_of_the_budget_of_faults(host: str) -> None:
    world = World(most=1)
    assert end(rebalance(world, f"{host}1")) == ""
    world.told.clear()
    assert end(rebalance(world, f"{host}2")) == ""
    assert world.told == []
    assert end(world.fault(f"{host}2")) == ""
    assert world.outcomes == ["is draining", "is replaced"]
    assert end(world.fault(f"{host}3")) == "BudgetUsed"


def test_a_fault_is_told_where_a_recommendation_was_left_alone_before(host: str) -> None:
    world = World(most=1)
    for each in (rebalance(world, f"{host}1"), world.fault(f"{host}1"), rebalance(world, host)):
        assert end(each) == ""
    world.told.clear()
    assert end(world.fault(host)) == "BudgetUsed"
    assert world.outcomes == ["is left alone"]
    # Each repetition of the day is silent, and the next day begins anew.
    assert end(world.fault(host)) == ""
    assert world.outcomes == ["is left alone"]
    world.next_day()
    assert end(world.fault(host)) == ""
    assert world.ended[-1][0] == host


@pytest.mark.parametrize(
    "action", ["updateContainerInstancesState", "listTasks", "terminateInstanceInAutoScalingGroup"]
)
def test_the_next_event_goes_on_where_an_execution_failed(host: str, action: str) -> None:
    world = World(most=1)
    world.fails = {action: DENIED}
    assert end(world.fault(host)) == "NotRecovered"
    assert world.outcomes[-1] == "did not end"
    world.fails = {}
    assert end(world.fault(host)) == ""
    assert world.ended == [(host, [])]


def test_a_task_that_ecs_does_not_stop_is_said_to_run(host: str) -> None:
    world = World(drain_seconds=DAYS)
    world.tasks, world.fails = [Running("bad", ["GPU-0"])], {"stopTask": DENIED}
    assert end(world.fault(host), within=60) == "RUNNING"
    (_, drained), (_, refused) = world.told
    assert "Stopped, to run elsewhere: []" in drained
    assert 'They could not be stopped: ["family:bad"]. ECS says: ["no permission"]' in refused


def test_a_task_that_ended_by_itself_is_no_trouble(host: str) -> None:
    world = World(drain_seconds=DAYS)
    world.tasks = [Running("bad", ["GPU-0"])]
    world.fails = {"stopTask": StateError("Ecs.InvalidParameterException", "The referenced task was not found.")}
    assert end(world.fault(host), within=60) == "RUNNING"
    assert world.outcomes == ["is draining"]


@pytest.mark.parametrize("others", [99, 100, 130])
def test_a_task_on_the_failed_gpu_is_found_on_each_page(host: str, others: int) -> None:
    world = World(drain_seconds=DAYS)
    world.tasks = [*(Running(f"job{each}") for each in range(others)), Running("bad", ["GPU-0"]), DAEMON]
    assert end(world.fault(host), within=100) == "RUNNING"
    assert "bad" not in {each.name for each in world.tasks}
    assert len(world.tasks) == others + 1


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"xid": 79}, "a GPU failed with Xid 79, GPU has fallen off the bus"),
        ({"xid": 79, "gpuUuid": "GPU-0"}, "GPU ? (GPU-0) failed with Xid 79"),
        ({"xid": 200}, "a GPU failed: the event gives no reason"),
        ({"xid": None, "gpuUuid": None, "reason": "the driver is gone"}, "a GPU failed: the driver is gone"),
    ],
)
def test_an_event_need_not_say_everything(host: str, said: Any, words: str) -> None:
    world = World()
    assert end(world.start("GPU Fault", {"ec2InstanceId": host, **said})) == ""
    assert words in world.told[0][1]


@pytest.mark.parametrize(
    "named", [None, "", 7, "x", "i-1'] or agentConnected == true or ec2InstanceId in ['i-2", "i-1' or 'i-2"]
)
def test_an_event_that_names_no_host_asks_for_none(named: Any) -> None:
    world = World()
    assert end(world.start("GPU Fault", {"ec2InstanceId": named, "xid": 79})) == ""
    assert world.count("listContainerInstances") == 0


def test_only_the_host_that_was_named_is_drained(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    for found in ([f"{host}2"], [host, f"{host}2"]):
        monkeypatch.setattr(world, "_listContainerInstances", lambda _, found=found: {"ContainerInstanceArns": found})
        assert end(world.fault(host)) == ""
    assert world.draining == set()
