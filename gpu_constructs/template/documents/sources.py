"""Where a template comes from, and how the templates that it names are found, also as published assets.

https://docs.aws.amazon.com/cdk/v2/guide/assets.html

Task definitions outside of any template are read here too, as ``register-task-definition`` takes and ``describe-...``
gives them. The API writes names in camel case, CloudFormation in Pascal case, and a few differ in more than that:
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Origin, Place, SourceLine
from gpu_constructs.template.documents.document import Document, Files
from gpu_constructs.template.documents.node import Node, Path
from gpu_constructs.template.model import Resource, Value, end_of

FindNested = Callable[[Mapping[str, Node], Value], "Document | None"]
"""Finds the template of a nested stack, given its declaration and its worked out ``TemplateURL``."""

_SYNTHESIZED = ".template.json"
_ENDINGS = (_SYNTHESIZED, ".template.yaml", ".template.yml", ".template", ".json", ".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One template and what is known about its stack.

    Attributes:
        name: What the stack is called where nothing else has that name.
        other_name: What it is called where something else has it.
        document: The template.
        stack_name: Its name where it is deployed; None if nothing says.
        region: Where it is deployed to; None where only the deploy knows.
        account: The id of the account that it is deployed to, likewise.
        nested: Finds the templates of its nested stacks.
        construct: Finds the path of the CDK construct of a logical id.
        made_at: Finds the line of the app that made a construct, by its path.
        acknowledged: Looks up what the app accepts of a stack, by construct path and by id.
        is_of_assembly: Whether it is one stack of an app of which all are read.
    """

    name: str
    other_name: str
    document: Document
    stack_name: str | None = None
    region: str | None = None
    account: str | None = None
    nested: FindNested = lambda _declaration, _url: None
    construct: Callable[[str], str | None] = lambda _logical_id: None
    made_at: Callable[[str], SourceLine | None] = lambda _construct_path: None
    is_of_assembly: bool = False
    acknowledged: Callable[[], Mapping[str, Mapping[str, str]]] = dict


def nested_beside(file: str, files: Files) -> FindNested:
    """Finds nested templates by their path, as ``aws cloudformation package`` does, or among assets of ``cdk synth``.

    Only files in the template's own directory or below are read.
    """
    folder = os.path.dirname(file)  # noqa: PTH120 - a path keeps the user's spelling

    def read(path: str) -> Document | None:
        full = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - likewise
        if not files.is_inside(folder or ".", full) or not os.path.isfile(full):  # noqa: PTH113 - likewise
            return None
        return files.inside(folder or ".", full, wanted_by=file)

    def find(declaration: Mapping[str, Node], url: Value) -> Document | None:
        path = asset_path(declaration)
        if path is not None:
            return read(path)
        if isinstance(url, str) and "://" not in url:
            return read(url)
        published_as, ending = last_step(url), _SYNTHESIZED
        assets = read(f"{os.path.basename(file)[: -len(ending)]}.assets.json") if file.endswith(ending) else None  # noqa: PTH119
        asset = dict(published(assets.data)).get(published_as or "") if assets is not None else None
        return None if asset is None else read(asset)

    return find


def stack_name_of(file: str) -> str:
    """What a template is called that nothing but its file names."""
    name = os.path.basename(file)  # noqa: PTH119 - likewise
    ending = next((each for each in _ENDINGS if name.lower().endswith(each)), "")
    return (name[: -len(ending)] if ending else name) or file


def asset_path(declaration: Mapping[str, Node]) -> str | None:
    """The template of a nested stack as a file of the assembly, which the CDK command line notes; or None."""
    metadata = declaration.get("Metadata")
    path = metadata.get("aws:asset:path") if isinstance(metadata, dict) else None
    return path if isinstance(path, str) else None


def published(assets: Node) -> Iterator[tuple[str, str]]:
    """Names under which files are published, each with the file's path from the manifest of the assets."""
    files = assets.get("files") if isinstance(assets, dict) else None
    for asset in files.values() if isinstance(files, dict) else ():
        source = asset.get("source") if isinstance(asset, dict) else None
        destinations = asset.get("destinations") if isinstance(asset, dict) else None
        path = source.get("path") if isinstance(source, dict) and source.get("packaging") == "file" else None
        for each in destinations.values() if isinstance(destinations, dict) and isinstance(path, str) else ():
            key = each.get("objectKey") if isinstance(each, dict) else None
            if isinstance(key, str) and isinstance(path, str):
                yield key.rpartition("/")[2], path


def last_step(url: Value) -> str | None:
    """The last step of a URL, of which the first pieces may be unknown; None if that is."""
    end = end_of(url)
    return end.rpartition("/")[2] if "/" in end else None


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
