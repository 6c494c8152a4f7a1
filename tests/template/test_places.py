"""A place is where the change has to be made: in a launch template, in a task definition, in a parameter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.fleet import Origin, SourceLine
from gpu_constructs.template import Inputs, Places
from tests.cli.templates import app
from tests.pace import paces

HOSTS = """\
Parameters:
  Image:
    Type: String
    Default: ami-1
  Largest: {Type: Number}
Resources:
  Provider:
    Type: AWS::ECS::CapacityProvider
    Properties:
      Name: gpus
      AutoScalingGroupProvider: {AutoScalingGroupArn: !Ref Hosts}
  Hosts:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MaxSize: !Ref Largest
      MixedInstancesPolicy:
        LaunchTemplate:
          LaunchTemplateSpecification: {LaunchTemplateId: !Ref Template, Version: '1'}
          Overrides:
            - InstanceType: g6.xlarge
            - InstanceType: g6.2xlarge
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData:
        ImageId: !Ref Image
        NetworkInterfaces: [{InterfaceType: efa}]
  Warm:
    Type: AWS::AutoScaling::WarmPool
    Properties: {AutoScalingGroupName: !Ref Hosts, MinSize: 2}
"""
PROVIDER = ("Resources", "Provider")


def place(name: str, value: object = None, text: str = HOSTS) -> Origin:
    stacks = Inputs(["-"], stdin=text.encode()).stacks()
    return Places(stacks).of(Origin(resource="Provider", file="-", path=PROVIDER), name, value)


@pytest.mark.parametrize(
    ("name", "value", "resource", "line", "column"),
    [
        ("Name", None, "Provider", 10, 7),
        ("CapacityProvider.Name", None, "Provider", 10, 7),
        ("InstanceType", None, "Hosts", 20, 15),
        ("InstanceType", "g6.2xlarge", "Hosts", 21, 15),
        ("ImageId", None, "Template", 4, 5),
        ("MaxSize", None, "Hosts", 5, 3),
        ("NetworkInterfaces.InterfaceType", None, "Template", 27, 30),
        ("NetworkInterfaces.Groups", None, "Template", 27, 9),
        ("UserData", None, "Template", 25, 7),
        ("MinSize", None, "Warm", 30, 52),
        ("WarmPool.PoolState", None, "Warm", 28, 3),
        ("NoSuchProperty", None, "Provider", 7, 3),
        ("", None, "Provider", 7, 3),
    ],
)
def test_a_place_is_that_of_the_property(name: str, value: object, resource: str, line: int, column: int) -> None:
    found = place(name, value)
    assert (found.resource, found.line, found.column) == (resource, line, column)


def test_the_image_of_an_environment_may_be_called_an_override() -> None:
    text = HOSTS.replace("Name: gpus", "Ec2Configuration: [{ImageIdOverride: ami-2}]").replace(
        "ImageId: !Ref Image", ""
    )
    assert place("ImageId", text=text).path == (*PROVIDER, "Properties", "Ec2Configuration", 0, "ImageIdOverride")


@pytest.mark.parametrize("property_name", ["ContainerDefinitions.Memory", "Overrides.Memory"])
def test_a_resource_with_thousands_of_findings_is_searched_once(property_name: str) -> None:
    numbers = range(3000)
    tasks = [{"Overrides": {"Memory": each}} for each in numbers]
    machine = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"States": tasks, "Task": {"Ref": "Task"}}}
    containers = [{"Memory": each} for each in numbers]
    task = {"Type": "AWS::ECS::TaskDefinition", "Properties": {"ContainerDefinitions": containers}}
    text = json.dumps({"Resources": {"Machine": machine, "Task": task}})
    places = Places(Inputs(["-"], stdin=text.encode()).stacks())
    origin = Origin(resource="Machine", file="-", path=("Resources", "Machine"))
    found: list[Origin] = []

    assert paces(lambda: found.extend([places.of(origin, property_name, each) for each in numbers])) < 25
    assert [step for each in found for step in each.path if isinstance(step, int)] == [*numbers]


def test_a_property_is_named_as_its_resource_has_it() -> None:
    assert place("InterfaceType").property_name == "LaunchTemplateData.NetworkInterfaces[0].InterfaceType"
    assert place("ImageId").property_name == "Parameters.Image.Default"
    assert place("").property_name == ""


def test_resources_that_refer_to_each_other_in_a_circle_end_the_search() -> None:
    circle = HOSTS.replace("Name: gpus", "Name: !Ref Provider").replace("InterfaceType: efa", "X: !Ref Hosts")
    assert place("NoSuchProperty", text=circle).resource == "Provider"


CONTAINER = {"name": "train", "image": "train:1", "resourceRequirements": [{"type": "GPU", "value": "1.5"}]}


@pytest.mark.parametrize(
    "content",
    [
        {"family": "train", "requiresCompatibilities": ["EC2"], "containerDefinitions": [CONTAINER]},
        {"taskDefinition": {"family": "train", "containerDefinitions": [CONTAINER]}},
        [CONTAINER],
    ],
)
def test_a_task_definition_in_json_has_lines_too(content: Any) -> None:
    text = json.dumps(content, indent=2)
    (found,) = [each for each in check_files(["-"], stdin=text.encode()).findings if each.rule == "GPU020"]
    assert found.origin is not None
    assert found.origin.line is not None
    assert text.splitlines()[found.origin.line - 1].lstrip().startswith('"value"')
    assert found.origin.path[-1] == "value"


FRAMES = ["...new Queue2 in aws-cdk-lib...", "make ({}/lib/stack.ts:3:25)", "<anonymous> ({}/bin/app.ts:4:1)"]


def source(folder: Path, entry: dict[str, Any]) -> SourceLine | None:
    notes = {"/Demo/Train/Resource": [{"type": "aws:cdk:logicalId", "data": "Train"}, entry]}
    container = {"Name": "train", "Image": "train:1", "ResourceRequirements": [{"Type": "GPU", "Value": "1.5"}]}
    task = {
        "Type": "AWS::ECS::TaskDefinition",
        "Properties": {"ContainerDefinitions": [container]},
        "Metadata": {"aws:cdk:path": "Demo/Train/Resource"},
    }
    report = check_files([app(folder, notes, body={"Resources": {"Train": task}}, in_manifest=True)])
    (found,) = [each for each in report.findings if each.rule == "GPU020"]
    assert found.origin is not None
    assert found.origin.construct_path == "Demo/Train/Resource"
    assert found.origin.line is not None
    return found.origin.source


@pytest.mark.parametrize("kind", [("aws:cdk:creationStack", "data"), ("aws:cdk:logicalId", "trace")])
def test_an_app_with_stack_traces_has_the_line_that_made_the_construct(
    kind: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"type": kind[0], kind[1]: [each.format(tmp_path) for each in FRAMES]}
    monkeypatch.chdir(tmp_path)
    assert source(tmp_path, entry) == SourceLine(file="lib/stack.ts", line=3, column=25)


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (["(no user code in 10 frames)", "<module> (/srv/app.py:5)"], SourceLine(file="/srv/app.py", line=5)),
        (["run (node:internal/main:1:2)", 7, None, "x" * 9000], None),
    ],
)
def test_a_line_of_a_library_is_not_the_line_of_the_app(
    frames: Any, expected: SourceLine | None, tmp_path: Path
) -> None:
    assert source(tmp_path, {"type": "aws:cdk:creationStack", "data": frames}) == expected
