"""Gangs that state machines start, as templates say it."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Gang, GangMember
from tests.template.resources.declared import fleet

TASK = {
    "Type": "AWS::ECS::TaskDefinition",
    "Properties": {"Family": "train", "ContainerDefinitions": [{"Name": "main", "Memory": 100}]},
}
SYNC = "arn:aws:states:::ecs:runTask.sync"


def run(told: Any = "4", *, name: str = "WORLD_SIZE", task: str = "train", **changes: Any) -> dict[str, Any]:
    """A state that runs a task which is told that there are others."""
    overrides = {"ContainerOverrides": [{"Name": "main", "Environment": [{"Name": name, "Value": told}]}]}
    count = {} if "Count" not in changes else {"Count": changes.pop("Count")}
    parameters = {"TaskDefinition": task, "Overrides": overrides, **count}
    return {"Type": "Task", "Resource": SYNC, "Parameters": parameters, "End": True, **changes}


def of(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def mapped(inner: Any, **changes: Any) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": of(Host=inner), "End": True, **changes}


def beside(*branches: Any) -> dict[str, Any]:
    return {"Type": "Parallel", "Branches": list(branches), "End": True}


def gangs(definition: dict[str, Any], task: Any = None) -> tuple[Gang, ...]:
    machine = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"Definition": definition}}
    return fleet({"Task": task or TASK, "Machine": machine}).gangs


def counts(definition: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    return [(each.name, [one.count for one in each.members]) for each in gangs(definition)]


RANKS = {"Type": "Pass", "Result": [1, 2, 3], "ResultPath": "$.ranks", "Next": "Others"}
OTHERS = mapped(run(), ItemsPath="$.ranks")


@pytest.mark.parametrize(
    ("definition", "found"),
    [
        (of(Train=mapped(run())), [("Machine[Train]", [UNKNOWN])]),
        (of(Ranks=RANKS, Others=OTHERS), [("Machine[Others]", [3])]),
        (of(Run=beside(of(A=run()), of(B=run()))), [("Machine[Run]", [1, 1])]),
        # One after the other, each with its own hosts.
        (of(First=run(), Second=run()), []),
        # Each of these is complete without the others.
        (of(Sweep=mapped(run(Count=4), Items=[1, 2])), [("Machine[Host]", [4])]),
        (of(Run=beside(of(A=run(Count=2)), of(B=run(Count=2)))), [("Machine[A]", [2]), ("Machine[B]", [2])]),
    ],
)
def test_tasks_of_one_start_are_a_gang(definition: dict[str, Any], found: Any) -> None:
    assert counts(definition) == found


@pytest.mark.parametrize(
    ("told", "name"),
    [("1:4", "PET_NNODES"), ("localhost", "MASTER_ADDR")],
)
def test_tasks_that_wait_for_no_others_are_no_gang(told: str, name: str) -> None:
    assert gangs(of(Train=run(told, name=name, Count=4))) == ()


@pytest.mark.parametrize(
    ("command", "is_gang"),
    [
        (["torchrun", "--nnodes=4", "train.py"], True),
        (["torchrun", "--nnodes=1:4", "--rdzv-endpoint=x:1", "train.py"], False),
    ],
)
def test_arguments_of_torchrun_tell_as_well(command: list[str], is_gang: bool) -> None:
    container = {"Name": "main", "Memory": 100, "Command": command}
    task = {**TASK, "Properties": {"Family": "train", "ContainerDefinitions": [container]}}
    assert bool(gangs(of(Train=run(name="A", Count=4)), task)) is is_gang


@pytest.mark.parametrize(
    ("items", "changes", "at_once"),
    [(8, {"MaxConcurrency": 0}, None), (8, {"MaxConcurrency": 2}, 2), (41, {}, 40)],
)
def test_iterations_at_once_are_read(items: int, changes: dict[str, Any], at_once: int | None) -> None:
    (gang,) = gangs(of(Train=mapped(run(), Items=list(range(items)), **changes)))
    assert gang.members[0].at_once == at_once


def test_how_a_gang_ends_is_read() -> None:
    (waits,) = gangs(of(Train=run(Count=4, TimeoutSeconds=60)))
    assert waits.members == (GangMember(workload="Machine[Train]", count=4, waits=True, is_limited=True),)
    (leaves,) = gangs(of(Train=run(Count=4, Resource=SYNC.removesuffix(".sync"))))
    assert leaves.members == (GangMember(workload="Machine[Train]", count=4, waits=False, is_limited=False),)
    stop = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:ecs:stopTask", "End": True}
    (stopped,) = gangs(of(Train=run(Count=4), Stop=stop))
    assert (waits.can_stop, stopped.can_stop) == (False, True)
