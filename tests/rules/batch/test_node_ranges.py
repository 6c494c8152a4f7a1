"""Ranges of nodes of multi-node jobs, as they are written and as they are submitted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.checking.report import check_files
from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.rules.batch.node_ranges import ends_with_its_nodes, few_ranges, names_all_nodes
from tests.rules.batch.test_jobs import job
from tests.rules.given import container, fleet_of, gpu, only, said
from tests.template.resources.declared import fleet
from tools.rule_examples import example_of

GANG = replace(job(gpu("1"), cpu=4096), nodes=4, missed_node=3)
_SUBMIT = {"JobName": "x", "JobQueue": "${Queue}", "JobDefinition": "${Job}"}


def test_each_node_is_named() -> None:
    assert "none of its ranges names node 3" in only(names_all_nodes, fleet_of(GANG)).message
    assert "its main node is 4" in only(names_all_nodes, fleet_of(replace(GANG, missed_node=4))).message
    for other in ({"missed_node": None}, {"nodes": UNKNOWN}, {"containers": (container(),)}):
        assert said(names_all_nodes, fleet_of(replace(GANG, **other))) == []


@pytest.mark.parametrize(
    ("ranges", "main", "missed", "ranged"),
    [
        (["0:"], 0, None, None),
        ([":3"], 0, None, 4),
        (["0:3"], 3, None, 4),
        (["0:4"], 3, None, 5),
        (["2:", "0:1"], 0, None, None),
        (["2:", "0:7"], 0, None, None),  # for submissions of more nodes
        (["0:3", "1:2"], 0, None, 4),  # a nested range overrides a part
        (["0:2"], 0, 3, 3),
        (["1:3"], 0, 0, 4),
        (["0:0", "2:3"], 0, 1, 4),
        (["0:"], 4, 4, None),
        ([], 0, None, None),
        (["odd"], 0, None, None),
        (["0:4", "odd"], 0, None, None),
        ([{"Unknown": 0}], 0, None, None),
    ],
)
def test_ranges_are_read_together(ranges: list[Any], main: int, missed: int | None, ranged: int | None) -> None:
    written = [{"TargetNodes": each, "Container": {"Image": "x"}} for each in ranges] or [{"Container": {"Image": "x"}}]
    nodes = {"NumNodes": 4, "MainNode": main, "NodeRangeProperties": written}
    tasks = fleet({"Job": {"Type": "AWS::Batch::JobDefinition", "Properties": {"NodeProperties": nodes}}}).tasks
    read = [(each.missed_node, each.ranged_nodes) for each in tasks]
    assert read == [(missed, ranged), *[(None, None)] * (len(tasks) - 1)]


def test_a_range_that_was_counted_from_one_is_said() -> None:
    long = replace(GANG, missed_node=None, ranged_nodes=5)
    finding = only(ends_with_its_nodes, fleet_of(long))
    assert "has 4 nodes, counted from 0, and a range of them ends with node 4" in finding.message
    assert 'such as "0:", or NumNodes 5' in finding.fix
    for other in ({"ranged_nodes": 4}, {"ranged_nodes": None}, {"nodes": UNKNOWN}, {"containers": (container(),)}):
        assert said(ends_with_its_nodes, fleet_of(replace(long, **other))) == []


@pytest.mark.parametrize(("count", "is_found"), [(5, False), (6, True)])
def test_ranges_are_few(count: int, is_found: bool) -> None:
    one = {"Image": "x", "ResourceRequirements": [{"Type": "GPU", "Value": "1"}]}
    ranges = [{"TargetNodes": f"{each}:{each}", "Container": one} for each in range(count)]
    ranges[0] = {**ranges[0], "Container": {"Image": "x"}}  # a main node without GPUs
    nodes = {"NumNodes": count, "MainNode": 0, "NodeRangeProperties": ranges}
    job = {"Type": "AWS::Batch::JobDefinition", "Properties": {"NodeProperties": nodes}}
    findings = said(few_ranges, fleet({"Job": job}))
    assert [(each.subject, each.allowed) for each in findings] == [("Job[1:1]", "1 to 5")] * is_found


def found(ranges: str = "0:", **overrides: Any) -> list[tuple[str, str]]:
    """Errors about a gang of four nodes of one GPU each that a state submits."""
    parameters = {**_SUBMIT, "NodeOverrides": overrides}
    state = {"Type": "Task", "Resource": "arn:aws:states:::batch:submitJob", "Parameters": parameters, "End": True}
    definition = {"Fn::Sub": json.dumps({"States": {"Train": state}})}
    example = example_of("GPU355")
    template = json.loads(example.file(example.right.replace("0:3", ranges)))
    properties = {"RoleArn": "x", "DefinitionString": definition}
    template["Resources"]["Machine"] = {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}
    findings = check_files(["-"], stdin=json.dumps(template).encode()).findings
    return [(each.rule, each.subject) for each in findings if each.severity.value == "error"]


def _gpus(nodes: str) -> dict[str, Any]:
    asked = {"ResourceRequirements": [{"Type": "GPU", "Value": "4"}]}
    return {"NodePropertyOverrides": [{"TargetNodes": nodes, "ContainerOverrides": asked}]}


@pytest.mark.parametrize(
    ("overrides", "errors"),
    [
        ({}, []),
        ({"NumNodes": 2}, []),
        ({"NumNodes": 100}, [("GPU340", "Machine[Train]")]),
        (_gpus("0:"), [("GPU061", "Machine[Train]")]),
        (_gpus("1:"), []),  # what a part of the nodes asks for is not judged
    ],
)
def test_a_gang_is_judged_as_it_is_submitted(overrides: dict[str, Any], errors: list[tuple[str, str]]) -> None:
    assert found(**overrides) == errors


@pytest.mark.parametrize(("nodes", "errors"), [(4, []), (2, [("GPU349", "Machine[Train]")])])
def test_a_submission_changes_the_nodes_of_open_ranges_alone(nodes: int, errors: list[tuple[str, str]]) -> None:
    assert found("0:3", NumNodes=nodes) == errors


def test_types_that_a_submission_changes_are_not_judged() -> None:
    overrides = {"NodePropertyOverrides": [{"TargetNodes": "0:", "InstanceTypes": ["g6.xlarge"]}]}
    parameters = {"JobName": "x", "JobQueue": "queue", "JobDefinition": "Job", "NodeOverrides": overrides}
    state = {"Type": "Task", "Resource": "arn:aws:states:::batch:submitJob", "Parameters": parameters, "End": True}
    one = {"TargetNodes": "0:", "InstanceTypes": ["g5.xlarge"], "Container": {"Image": "x"}}
    nodes = {"NumNodes": 2, "MainNode": 0, "NodeRangeProperties": [one]}
    definition = {"DefinitionString": json.dumps({"StartAt": "Train", "States": {"Train": state}})}
    found = fleet(
        {
            "Job": {
                "Type": "AWS::Batch::JobDefinition",
                "Properties": {"JobDefinitionName": "Job", "NodeProperties": nodes},
            },
            "Machine": {"Type": "AWS::StepFunctions::StateMachine", "Properties": definition},
        }
    )
    (task,) = found.tasks
    assert task.node_types == ("g5.xlarge",)
    assert [(each.node_types, each.node_groups) for each in task.submissions] == [((), ())]
