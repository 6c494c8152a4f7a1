"""Task definitions outside of any template, as ``register-task-definition`` takes and ``describe-...`` gives them.

The API writes names in camel case, CloudFormation in Pascal case, and a few of them differ in more than that:
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html and
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_constructs.fleet import Origin
from gpu_constructs.template.model import Resource, Value
from gpu_constructs.template.node import Node, Path

__all__ = ["TaskDocument", "task_document"]

TASK_DEFINITION = "AWS::ECS::TaskDefinition"

# Where CloudFormation's name is not the API's with a capital.
_NAMES = {
    "efsVolumeConfiguration": "EFSVolumeConfiguration",
    "fsxWindowsFileServerVolumeConfiguration": "FSxWindowsFileServerVolumeConfiguration",
    "iam": "IAM",
}
_NAMES_BELOW = {
    ("efsVolumeConfiguration", "fileSystemId"): "FilesystemId",
    ("proxyConfiguration", "properties"): "ProxyConfigurationProperties",
}
# Objects whose keys are the user's own.
_FREE = frozenset({"dockerLabels", "driverOpts", "labels", "options"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDocument(Resource):
    """A task definition in a file of its own, as CloudFormation would write it.

    It belongs to no stack: where a resource has its stack's name, this one has its file's. Its logical id is its
    family.
    """

    @property
    def file(self) -> str:
        """The file as the user named it."""
        return self.stack

    @property
    def resource(self) -> Resource:
        """The task definition as a resource, which it is."""
        return self


def task_document(data: Mapping[str, Node], *, file: str, region: str | None) -> TaskDocument | None:
    """Takes a file for a task definition; None if it is none.

    Args:
        data: What is in the file.
        file: The file as the user named it.
        region: Where it will be registered, where that is known.
    """
    path: Path = ()
    inner = data.get("taskDefinition", data.get("TaskDefinition"))
    if isinstance(inner, dict):
        key = "taskDefinition" if "taskDefinition" in data else "TaskDefinition"
        path, data = (key,), inner
    if not isinstance(data.get("containerDefinitions", data.get("ContainerDefinitions")), list):
        return None
    properties = {_pascal(key): _value(key, child) for key, child in data.items()}
    family = properties.get("Family")
    name = family if isinstance(family, str) and family else file
    return TaskDocument(
        logical_id=name,
        type=TASK_DEFINITION,
        stack=file,
        properties=properties,
        origin=Origin(resource=name, file=file, path=path, region=region),
    )


def _value(key: str, node: Node) -> Value:
    if isinstance(node, dict):
        if key[:1].lower() + key[1:] in _FREE:
            return dict(node)
        return {_pascal(name, below=key): _value(name, child) for name, child in node.items()}
    if isinstance(node, list):
        return [_value("", child) for child in node]
    return node


def _pascal(key: str, *, below: str = "") -> str:
    return _NAMES_BELOW.get((below, key)) or _NAMES.get(key) or key[:1].upper() + key[1:]
