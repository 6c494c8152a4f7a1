"""A task definition in a file of its own is read as CloudFormation would write it."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.template import UnreadableError
from gpu_constructs.template.model import Resource
from tests.template.written import read_stacks, read_text

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


def test_a_place_in_a_task_has_a_line_whatever_the_case_of_its_names() -> None:
    text = "taskDefinition:\n  family: chat\n  containerDefinitions:\n    - name: a\n      memory: 512\n"
    stacks = read_text(text)
    place = stacks.tasks[0].origin.at("ContainerDefinitions", 0, "Memory")
    assert stacks.locate(place).line == 5


@pytest.mark.parametrize(
    "content",
    [{}, {"containerDefinitions": {}}],
)
def test_an_object_that_is_neither_is_told_what_is_read(content: Any) -> None:
    with pytest.raises(
        UnreadableError, match="neither Resources nor a request of .*a task definition .containerDefinitions."
    ):
        read_stacks([content])
