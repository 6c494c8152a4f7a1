"""Where a template comes from, and how the templates that it names are found, also as published assets.

https://docs.aws.amazon.com/cdk/v2/guide/assets.html
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Place, SourceLine
from gpu_constructs.template.documents.document import Document, Files
from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.model import Value, end_of

FindNested = Callable[[Mapping[str, Node], Value], "Document | None"]
"""Finds the template of a nested stack, given its declaration and its worked out ``TemplateURL``."""

InWords = Callable[[str, str, bool], str]

_SYNTHESIZED = ".template.json"
TEMPLATE_ENDINGS = (_SYNTHESIZED, ".template.yaml", ".template.yml", ".template", ".json", ".yaml", ".yml")
"""How files end that are templates by their name."""


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
        made_at: Finds the line that made a resource, by the path of its construct or else by its logical id.
        acknowledged: Looks up what the app accepts of a stack, by construct path and by id.
        in_words: Says a piece of a text in the words of the file, given the logical id of what it is about, and whether
            it is the name of a property; None where these are the words of CloudFormation.
        place_of: Finds where one resource is deployed to, where not all of its stack are in one place.
        is_of_assembly: Whether it is one stack of an app of which all are read.
        platform_of: Finds what an image that the app builds is built for, such as ``linux/arm64``, by the image's tag.
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
    in_words: InWords | None = None
    place_of: Callable[[str], Place | None] = lambda _logical_id: None
    is_of_assembly: bool = False
    acknowledged: Callable[[], Mapping[str, Mapping[str, str]]] = dict
    platform_of: Callable[[str], str | None] = lambda _tag: None


def nested_beside(file: str, files: Files) -> FindNested:
    """Finds nested templates by their path, as ``aws cloudformation package`` does, or among assets of ``cdk synth``.

    Only files in the template's own directory or below are read.
    """
    folder = os.path.dirname(file)

    def read(path: str) -> Document | None:
        full = os.path.normpath(os.path.join(folder, path))
        if not files.is_inside(folder or ".", full) or not os.path.isfile(full):
            return None
        return files.inside(folder or ".", full, wanted_by=file)

    def find(declaration: Mapping[str, Node], url: Value) -> Document | None:
        path = asset_path(declaration)
        if path is not None:
            return read(path)
        if isinstance(url, str) and "://" not in url:
            return read(url)
        published_as, ending = last_step(url), _SYNTHESIZED
        assets = read(f"{os.path.basename(file)[: -len(ending)]}.assets.json") if file.endswith(ending) else None
        asset = dict(published(assets.data)).get(published_as or "") if assets is not None else None
        return None if asset is None else read(asset)

    return find


def stack_name_of(file: str) -> str:
    """What a template is called that nothing but its file names."""
    name = os.path.basename(file)
    ending = next((each for each in TEMPLATE_ENDINGS if name.lower().endswith(each)), "")
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


def platforms(assets: Node) -> Iterator[tuple[str, str]]:
    """Tags of the images that are built for a platform that the app names, each with that, from the same manifest."""
    images = assets.get("dockerImages") if isinstance(assets, dict) else None
    for asset in images.values() if isinstance(images, dict) else ():
        source = asset.get("source") if isinstance(asset, dict) else None
        destinations = asset.get("destinations") if isinstance(asset, dict) else None
        platform = source.get("platform") if isinstance(source, dict) else None
        for each in destinations.values() if isinstance(destinations, dict) else ():
            tag = each.get("imageTag") if isinstance(each, dict) else None
            if isinstance(tag, str) and isinstance(platform, str):
                yield tag, platform


def last_step(url: Value) -> str | None:
    """The last step of a URL, of which the first pieces may be unknown; None if that is."""
    end = end_of(url)
    return end.rpartition("/")[2] if "/" in end else None
