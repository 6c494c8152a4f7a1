"""What the recovery does with events that repeat, cross or are wrong, and with calls that AWS refuses."""

from __future__ import annotations

from typing import Any

import pytest
from ecs_emulator.state_language import StateError, Waiting

from .recovery_world import DAEMON, World

pytestmark = pytest.mark.usefixtures("table")

DENIED = StateError("Ecs.AccessDeniedException", "no permission")


@pytest.fixture(name="host")
def _host(request: pytest.FixtureRequest) -> str:
    """A host that no other test has."""
    return f"i-{abs(hash(request.node.name)):x}"


def end(execution: Waiting, *, within: int = 6000) -> str:
    """How an execution ends: nothing, or its error; "RUNNING" where it does not within so many steps."""
    try:
        for _ in range(within):
            next(execution)
    except StopIteration:
        return ""
    except StateError as error:
        return error.error
    return "RUNNING"


def test_a_host_is_drained_told_of_and_replaced_once_it_is_empty(host: str) -> None:
    world = World(drain_seconds=3600)
    world.tasks = [DAEMON, "job"]
    execution = world.fault(host)
    assert end(execution, within=40) == "RUNNING"
    assert (world.draining, world.ended) == ({host}, [])
    world.tasks = [DAEMON]
    assert end(execution, within=40) == ""
    assert (world.ended, world.count("stopTask")) == ([(host, [DAEMON])], 0)
    (said,) = world.told
    assert said == (
        f"A GPU of host {host} failed: the ECS agent reports XID_79. The host is drained and replaced; tasks that are "
        "left after 1 hour are stopped."
    )


@pytest.mark.parametrize("daemons", [[DAEMON], []])
def test_tasks_that_are_left_when_their_time_is_over_are_stopped(host: str, daemons: list[str]) -> None:
    world = World()
    world.tasks = [*daemons, "one", "two"]
    assert end(world.fault(host)) == ""
    # Before the host ends, so that they have the reason that jobs know.
    assert world.ended == [(host, [])]


def test_a_task_that_ecs_does_not_stop_ends_with_its_host(host: str) -> None:
    world = World()
    world.tasks, world.fails = ["job"], {"stopTask": DENIED}
    assert end(world.fault(host)) == ""
    assert world.ended == [(host, ["job"])]


def test_a_topic_that_takes_no_message_hinders_nothing(host: str) -> None:
    world = World()
    world.fails = {"publish": DENIED}
    assert end(world.fault(host)) == ""
    assert world.ended == [(host, [])]


@pytest.mark.parametrize(
    ("described", "group"),
    [
        ({"CapacityProviderName": "other"}, None),
        ({}, None),
        ({"CapacityProviderName": "l4", "Status": "DRAINING"}, None),
        ({"CapacityProviderName": "l4"}, []),
        ({"CapacityProviderName": "l4"}, [{"LifecycleState": "Terminating:Wait"}]),
    ],
)
def test_a_host_that_is_not_ours_or_goes_already_is_not_ended(host: str, described: Any, group: Any) -> None:
    world = World()
    world.described = described
    if group is not None:
        world.group = group
    assert end(world.fault(host)) == ""
    assert world.ended == []
    assert bool(world.draining) is (group is not None)


def test_the_same_fault_counts_once_while_the_host_drains_and_after_midnight(host: str) -> None:
    world = World(most=1)
    world.tasks = ["job"]
    first = world.fault(host)
    assert end(first, within=30) == "RUNNING"
    assert end(world.fault(host)) == ""
    world.next_day()
    assert end(world.fault(host)) == ""
    assert end(first) == ""
    assert [each for each, _ in world.ended] == [host]
    assert end(world.fault(f"{host}2")) == ""


def test_a_host_past_the_budget_is_left_alone_until_the_next_day(host: str) -> None:
    world = World(most=1)
    assert end(world.fault(f"{host}1")) == ""
    assert end(world.fault(host)) == "BudgetUsed"
    assert world.draining == {f"{host}1"}
    world.next_day()
    assert end(world.fault(host)) == ""
    assert world.ended[-1][0] == host


@pytest.mark.parametrize("action", ["updateContainerInstancesState", "terminateInstanceInAutoScalingGroup"])
def test_a_call_that_fails_ends_the_execution_with_its_error(host: str, action: str) -> None:
    world = World()
    world.fails = {action: DENIED}
    assert end(world.fault(host)) == DENIED.error
    assert world.ended == []
