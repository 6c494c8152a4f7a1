"""What a call of Amazon ECS or AWS Batch is given in a file of its own, as CloudFormation would write it.

A task definition, a service, what AWS Batch has, and a run of a task or a job, as ``--cli-input-json`` of the AWS CLI
takes them and ``describe-task-definition`` gives the first. The APIs write names in camel case, CloudFormation in
Pascal case, and a few differ in more than that:
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html,
https://docs.aws.amazon.com/batch/latest/APIReference/API_RegisterJobDefinition.html
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from gpu_constructs.fleet import UNKNOWN, Origin, Place, Unknown
from gpu_constructs.template.documents.node import Node, Path, members, under
from gpu_constructs.template.model import JOB_DEFINITION, JOB_RUN, TASK_RUN, Resource, Value

READ = (
    "what the AWS CLI takes: a task definition (containerDefinitions), a job definition (containerProperties, "
    "nodeProperties or ecsProperties), a service (serviceName and taskDefinition), a run of a task or a job, a compute "
    "environment or a job queue"
)
"""What is read, in words."""

_TASK, _NAMED = "AWS::ECS::TaskDefinition", "Family"
# What only a job definition has, and what a service has beside its task definition.
_OF_JOB = ("ContainerProperties", "NodeProperties", "EcsProperties", "EksProperties")
_OF_SERVICE = ("ServiceName", "DesiredCount", "DeploymentConfiguration", "LoadBalancers", "SchedulingStrategy")
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
_PLACEHOLDER = r"\$\{|\$[A-Za-z_]|\{\{"
# Settings of the task itself, whose defaults do not hold where it is written elsewhere.
_ELSEWHERE = {"IpcMode": UNKNOWN, "NetworkMode": UNKNOWN}
# What a container has beside its name and image; a list of products has these two as well.
_OF_CONTAINER = frozenset(
    {
        "Command",
        "Cpu",
        "EntryPoint",
        "Environment",
        "Essential",
        "LogConfiguration",
        "Memory",
        "MemoryReservation",
        "MountPoints",
        "PortMappings",
        "ResourceRequirements",
        "Secrets",
    }
)
# Objects whose keys are the user's own.
_FREE = frozenset({"dockerLabels", "driverOpts", "labels", "options", "parameters", "tags"})


def request_in(data: Node, *, file: str, region: str | None) -> Resource | None:
    """The resource that a file asks for, as CloudFormation would write it; None if it is none of `READ`.

    The list of containers alone, which Terraform's ``container_definitions`` is, is a task definition that is named
    after its file (https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/ecs_task_definition).

    A text with a placeholder in it is unknown, as a program puts another text there before AWS sees it.

    It belongs to no stack: where a resource has its stack's name, this one has its file's. Its logical id is its
    own name.
    """
    path: Path = ()
    # A list is the file itself, so that what is below it has no path.
    name = os.path.basename(file).partition(".")[0] or file
    is_part = isinstance(data, list)
    if isinstance(data, list):
        properties: dict[str, Value] = {"ContainerDefinitions": _value("", data), **_ELSEWHERE}
        kind, key = (_TASK, _NAMED) if _are_containers(data) else ("", "")
    else:
        key = "taskDefinition" if "taskDefinition" in members(data) else "TaskDefinition"
        inner = under(data, key)
        if isinstance(inner, dict):
            path, data = (key,), inner
        properties = {property_name(key): _value(key, child) for key, child in members(data).items()}
        kind, key = _kind_of(properties)
        written = properties.get(key)
        name = written if isinstance(written, str) and written else file if kind == _TASK else name
    if not kind:
        return None
    origin = Origin(resource=name, file=file, path=path, place=Place(region))
    return Resource(
        logical_id=name, type=kind, stack=file, properties=properties, origin=origin, is_part=is_part, below=()
    )


def _kind_of(properties: Mapping[str, Value]) -> tuple[str, str]:
    """The type of a resource and the property that names it; empty where it is none that is read."""
    if isinstance(properties.get("ContainerDefinitions"), list):
        return _TASK, _NAMED
    if any(isinstance(properties.get(each), dict) for each in _OF_JOB):
        return JOB_DEFINITION, "JobDefinitionName"
    if isinstance(properties.get("ComputeResources"), dict):
        return "AWS::Batch::ComputeEnvironment", "ComputeEnvironmentName"
    if isinstance(properties.get("ComputeEnvironmentOrder"), list):
        return "AWS::Batch::JobQueue", "JobQueueName"
    if isinstance(properties.get("TaskDefinition"), (str, Unknown)):
        is_service = any(each in properties for each in _OF_SERVICE)
        return ("AWS::ECS::Service", "ServiceName") if is_service else (TASK_RUN, "")
    return (JOB_RUN, "JobName") if {"JobDefinition", "JobQueue"} <= properties.keys() else ("", "")


def _are_containers(nodes: list[Node]) -> bool:
    keys = [{property_name(key) for key in members(each)} for each in nodes]
    return all(each >= {"Name", "Image"} for each in keys) and any(not each.isdisjoint(_OF_CONTAINER) for each in keys)


def _value(key: str, node: Node) -> Value:
    if isinstance(node, dict):
        if is_free(key):
            return dict(node)
        return {property_name(name, below=key): _value(name, child) for name, child in node.items()}
    if isinstance(node, list):
        return [_value("", child) for child in node]
    return UNKNOWN if isinstance(node, str) and re.search(_PLACEHOLDER, node) else node


def is_free(key: str) -> bool:
    """Whether the keys of an object in a request are the user's own."""
    return key[:1].lower() + key[1:] in _FREE


def property_name(key: str, *, below: str = "") -> str:
    """What CloudFormation calls a key of a request."""
    return _NAMES_BELOW.get((below, key)) or _NAMES.get(key) or key[:1].upper() + key[1:]
