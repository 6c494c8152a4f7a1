"""Task definitions outside of any template, as ``register-task-definition`` takes and ``describe-...`` gives them.

The API writes names in camel case, CloudFormation in Pascal case, and a few of them differ in more than that:
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html and
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html
"""

from __future__ import annotations

import os
import re

from gpu_constructs.fleet import UNKNOWN, Origin, Place
from gpu_constructs.template.documents.node import Node, Path
from gpu_constructs.template.model import Resource, Value

_TYPE = "AWS::ECS::TaskDefinition"

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
# What a program fills in before the file is a task definition: `${name}` of Terraform's `templatefile`, of `Fn::Sub`
# and of `envsubst`, which also takes `$NAME`, and `{{ name }}` of Jinja.
# https://developer.hashicorp.com/terraform/language/functions/templatefile
# https://www.gnu.org/software/gettext/manual/html_node/envsubst-Invocation.html
# https://jinja.palletsprojects.com/en/stable/templates/
_PLACEHOLDER = re.compile(r"\$\{|\$[A-Za-z_]|\{\{")
# Settings of the task itself, whose defaults do not hold where it is written elsewhere.
_ELSEWHERE = {"IpcMode": UNKNOWN, "NetworkMode": UNKNOWN}
# Objects whose keys are the user's own.
_FREE = frozenset({"dockerLabels", "driverOpts", "labels", "options"})


def task_definition(data: Node, *, file: str, region: str | None) -> Resource | None:
    """A task definition in a separate file, as CloudFormation would write it; None if it is none.

    The list of containers alone, which Terraform's ``container_definitions`` is, is a task definition that is named
    after its file (https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/ecs_task_definition).

    A text with a placeholder in it is unknown, as a program puts another text there before ECS sees it.

    It belongs to no stack: where a resource has its stack's name, this one has its file's. Its logical id is its
    family.
    """
    path: Path = ()
    properties: dict[str, Value]
    if isinstance(data, list):
        # The list is the file itself, so that what is below it has no path.
        name = os.path.basename(file).partition(".")[0] or file  # noqa: PTH119 - a path keeps the user's spelling
        properties = {"ContainerDefinitions": _value("", data), **_ELSEWHERE}
        is_one = bool(data) and all(map(_is_container, data))
    else:
        key = "taskDefinition" if isinstance(data, dict) and "taskDefinition" in data else "TaskDefinition"
        inner = data.get(key) if isinstance(data, dict) else None
        if isinstance(inner, dict):
            path, data = (key,), inner
        properties = {_pascal(key): _value(key, child) for key, child in data.items()} if isinstance(data, dict) else {}
        is_one = isinstance(properties.get("ContainerDefinitions"), list)
        family = properties.get("Family")
        name = family if isinstance(family, str) and family else file
    if not is_one:
        return None
    origin = Origin(resource=name, file=file, path=path, place=Place(region))
    is_part = isinstance(data, list)
    return Resource(
        logical_id=name, type=_TYPE, stack=file, properties=properties, origin=origin, is_part=is_part, below=()
    )


def _is_container(node: Node) -> bool:
    names = {_pascal(key) for key in node} if isinstance(node, dict) else set()
    return {"Name", "Image"} <= names


def _value(key: str, node: Node) -> Value:
    if isinstance(node, dict):
        if key[:1].lower() + key[1:] in _FREE:
            return dict(node)
        return {_pascal(name, below=key): _value(name, child) for name, child in node.items()}
    if isinstance(node, list):
        return [_value("", child) for child in node]
    return UNKNOWN if isinstance(node, str) and _PLACEHOLDER.search(node) else node


def _pascal(key: str, *, below: str = "") -> str:
    return _NAMES_BELOW.get((below, key)) or _NAMES.get(key) or key[:1].upper() + key[1:]
