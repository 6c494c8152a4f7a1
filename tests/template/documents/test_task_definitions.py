"""A task definition in a file of its own is read as CloudFormation would write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template import UnreadableError, read_stacks
from gpu_constructs.template.model import Resource
from tests.template.written import read_text, save

TASK = {
    "family": "chat",
    "containerDefinitions": [
        {
            "name": "server",
            "resourceRequirements": [{"type": "GPU", "sharingStrategy": {"nvidiaMps": {"memory": 8192}}}],
            "dockerLabels": {"com.example.team": "ml"},
            "logConfiguration": {"logDriver": "awslogs", "options": {"awslogs-group": "chat"}},
            "environment": [{"name": "lower", "value": "case"}],
        }
    ],
    "volumes": [
        {"name": "v", "efsVolumeConfiguration": {"fileSystemId": "fs-1", "authorizationConfig": {"iam": "ENABLED"}}}
    ],
    "proxyConfiguration": {"properties": [{"name": "n", "value": "v"}]},
}
AS_CLOUDFORMATION = {
    "Family": "chat",
    "ContainerDefinitions": [
        {
            "Name": "server",
            "ResourceRequirements": [{"Type": "GPU", "SharingStrategy": {"NvidiaMps": {"Memory": 8192}}}],
            "DockerLabels": {"com.example.team": "ml"},
            "LogConfiguration": {"LogDriver": "awslogs", "Options": {"awslogs-group": "chat"}},
            "Environment": [{"Name": "lower", "Value": "case"}],
        }
    ],
    "Volumes": [
        {"Name": "v", "EFSVolumeConfiguration": {"FilesystemId": "fs-1", "AuthorizationConfig": {"IAM": "ENABLED"}}}
    ],
    "ProxyConfiguration": {"ProxyConfigurationProperties": [{"Name": "n", "Value": "v"}]},
}


def only(content: Any) -> Resource:
    stacks = read_stacks([content])
    (task,) = stacks.tasks
    assert stacks.stacks == ()
    return task


@pytest.mark.parametrize(
    "content", [TASK, AS_CLOUDFORMATION, {"taskDefinition": TASK, "tags": []}, {"TaskDefinition": TASK}]
)
def test_every_form_is_the_same_task(content: Any) -> None:
    task = only(content)
    assert task.properties == AS_CLOUDFORMATION
    assert (task.stack, task.type, task.logical_id) == (
        "template",
        "AWS::ECS::TaskDefinition",
        "chat",
    )


def test_a_task_without_a_family_is_called_after_its_file(tmp_path: Path) -> None:
    file = save(tmp_path / "train.json", {"containerDefinitions": []})
    assert read_stacks([file]).tasks[0].logical_id == str(file)


def test_a_place_in_a_task_has_a_line_whatever_the_case_of_its_names() -> None:
    text = "taskDefinition:\n  family: chat\n  containerDefinitions:\n    - name: a\n      memory: 512\n"
    stacks = read_text(text)
    place = stacks.tasks[0].origin.at("ContainerDefinitions", 0, "Memory")
    assert stacks.locate(place).line == 5


def test_tasks_and_templates_are_read_together(tmp_path: Path) -> None:
    task = save(tmp_path / "task.json", TASK)
    template = save(tmp_path / "web.yaml", "Resources: {A: {Type: 'AWS::ECS::Cluster'}}")
    stacks = read_stacks([task, template], region="eu-west-1")
    assert [each.name for each in stacks.stacks] == ["web"]
    assert [each.origin.place.region for each in stacks.tasks] == ["eu-west-1"]


@pytest.mark.parametrize(
    "content",
    [{}, {"containerDefinitions": {}}, {"taskDefinition": "arn"}, {"kind": "Deployment"}, {"taskDefinitionArns": []}],
)
def test_an_object_that_is_neither_is_told_what_is_read(content: Any) -> None:
    with pytest.raises(UnreadableError, match="neither Resources nor containerDefinitions; allowed: a CloudFormation"):
        read_stacks([content])


def test_the_containers_of_terraform_are_a_task_that_is_named_after_its_file(tmp_path: Path) -> None:
    given, expected = cast("Any", (TASK["containerDefinitions"], AS_CLOUDFORMATION["ContainerDefinitions"]))
    containers = [{"image": "x", **each} for each in given]
    (task,) = read_stacks([save(tmp_path / "chat.containers.json", containers)], region="eu-west-1").tasks
    assert task.properties["ContainerDefinitions"] == [{"Image": "x", **expected[0]}]
    assert task.is_part
    assert task.properties["NetworkMode"] is task.properties["IpcMode"] is UNKNOWN
    assert (task.logical_id, task.origin.resource, task.origin.place.region) == ("chat", "chat", "eu-west-1")


@pytest.mark.parametrize("content", ["[]", "[1]", '[{"name": "a"}]', '[{"name": "a", "image": "x"}, {}]'])
def test_any_other_list_is_refused(content: str) -> None:
    with pytest.raises(UnreadableError, match="a list, not an object"):
        read_text(content)


@pytest.mark.parametrize(
    "text", ["${family}", "chat-${var.environment}", "{{ family }}", "$FAMILY", "${AWS::StackName}"]
)
def test_a_text_that_a_program_fills_in_is_unknown(text: str) -> None:
    task = only({"family": text, "containerDefinitions": [{"name": text, "dockerLabels": {text: text}}]})
    assert task.logical_id == "template"
    assert task.properties == {
        "Family": UNKNOWN,
        "ContainerDefinitions": [{"Name": UNKNOWN, "DockerLabels": {text: text}}],
    }


@pytest.mark.parametrize("text", ["chat$", "$5", "{chat}", "a{b"])
def test_other_signs_are_the_text_that_they_are(text: str) -> None:
    assert only({"family": text, "containerDefinitions": []}).properties["Family"] == text
