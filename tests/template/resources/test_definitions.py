"""Definitions of state machines: their numbers, and the ways between their states."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, MisplacedField, StateMachine
from gpu_constructs.template.model import Text
from tests.template.resources.declared import fleet

TASK = {
    "Type": "AWS::ECS::TaskDefinition",
    "Properties": {"Family": "train", "ContainerDefinitions": [{"Name": "main", "Memory": 100}]},
}
END = {"Type": "Succeed"}
RETRY = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": -1, "BackoffRate": 0.5}]


def machine(train: dict[str, Any], start: Any = "Train", **others: Any) -> StateMachine:
    state = {"Type": "Task", "Resource": "arn:aws:states:::ecs:runTask.sync", "Parameters": {"TaskDefinition": "train"}}
    definition = {"StartAt": start, "States": {"Train": {**state, **train}, **others}}
    resource = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"DefinitionString": json.dumps(definition)}}
    (found,) = fleet({"Task": TASK, "Machine": resource}).machines
    return found


def test_numbers_of_states_and_of_their_retries_are_read() -> None:
    found = machine({"TimeoutSeconds": 60, "Retry": RETRY, "End": True})
    assert (found.name, [each.name for each in found.tasks]) == ("Machine", ["Task"])
    assert [(each.state, each.key, each.value) for each in found.numbers] == [
        ("Train", "TimeoutSeconds", 60),
        ("Train", "Retry.MaxAttempts", -1),
        ("Train", "Retry.BackoffRate", 0.5),
    ]


@pytest.mark.parametrize("value", ["{% $seconds %}", "60", None, True])
def test_what_is_no_number_is_not_one(value: Any) -> None:
    assert machine({"TimeoutSeconds": value, "End": True}).numbers == ()


@pytest.mark.parametrize(
    ("train", "given", "lost"),
    [
        ({"Next": "Done"}, {"Done": END}, []),
        ({"Next": "Finished"}, {"Done": END}, [("Train", "Next", "Finished")]),
        ({"End": True}, {"start": "Trai"}, [("", "StartAt", "Trai")]),
        ({}, {}, [("Train", "Next", None)]),
        ({"End": False}, {}, [("Train", "Next", None)]),
        ({"End": True, "Catch": [{"Next": "Pause"}]}, {}, [("Train", "Catch.Next", "Pause")]),
        ({"End": True}, {"Done": END}, [("Done", "", None)]),
        ({"Next": "Ask"}, {"Ask": {"Type": "Choice", "Choices": [{"Next": "Done"}]}, "Done": END}, []),
        (
            {"Next": "Ask"},
            {"Ask": {"Type": "Choice", "Choices": [{"Next": "Train"}], "Default": "Not"}},
            [("Ask", "Default", "Not")],
        ),
        # A branch leads to its own states only.
        (
            {"Next": "Both"},
            {
                "Both": {
                    "Type": "Parallel",
                    "End": True,
                    "Branches": [{"StartAt": "A", "States": {"A": {"Type": "Pass"}}}],
                }
            },
            [("A", "Next", None)],
        ),
        (
            {"Next": "Both"},
            {
                "Both": {
                    "Type": "Map",
                    "End": True,
                    "ItemProcessor": {"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "Train"}}},
                }
            },
            [("A", "Next", "Train")],
        ),
        ({"End": True}, {"Odd": {"Type": ["Pass"]}}, [("Odd", "", None)]),
        # What only the deploy knows may be any state.
        ({"Next": {"Ref": "Name"}}, {"Done": END}, []),
    ],
)
def test_ways_that_lead_nowhere_are_found(train: Any, given: Any, lost: Any) -> None:
    assert [(each.state, each.key, each.target) for each in machine(train, **given).lost] == lost


def test_names_that_only_the_deploy_knows_are_not_judged() -> None:
    task = '{"Type": "Task", "Resource": "arn:aws:states:::ecs:runTask", "Parameters": {"TaskDefinition": "train"}'
    start = f'{{"StartAt": "Run", "States": {{"Run": {task}, "Next": "Done"}}, "'
    definition = Text((start, UNKNOWN, '": {"Type": "Succeed"}}}'))
    resource = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"DefinitionString": definition}}
    (found,) = fleet({"Task": TASK, "Machine": resource}).machines
    assert found.lost == ()


def test_limits_of_other_states_than_tasks_are_found() -> None:
    pause = {"Type": "Wait", "Seconds": 1, "TimeoutSeconds": 5, "End": True}
    found = machine({"TimeoutSeconds": 5, "Next": "Pause"}, Pause=pause).misplaced
    assert found == (MisplacedField(state="Pause", kind="Wait", key="TimeoutSeconds"),)
