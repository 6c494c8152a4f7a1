"""Files of a cloud assembly that get another name where they are published, as templates of nested stacks do.

https://docs.aws.amazon.com/cdk/v2/guide/assets.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.model import Text, Value

__all__ = ["asset_by_parameter", "asset_path", "last_step", "published"]


def asset_path(declaration: Mapping[str, Node]) -> str | None:
    """The template of a nested stack as a file of the assembly, which the CDK command line notes; or None."""
    metadata = declaration.get("Metadata")
    path = metadata.get("aws:asset:path") if isinstance(metadata, dict) else None
    return path if isinstance(path, str) else None


def asset_by_parameter(declaration: Mapping[str, Node], assets: Iterable[Node]) -> str | None:
    """The template of a nested stack by the parameters that its URL is made of, as `LegacyStackSynthesizer` writes it.

    A stack within a nested one refers to parameters that are handed down, which have the first one's name in theirs.
    https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.LegacyStackSynthesizer.html
    """
    properties = declaration.get("Properties")
    names = " ".join(_references(properties.get("TemplateURL") if isinstance(properties, dict) else None))
    for asset in assets if names else ():
        if isinstance(asset, dict):
            key, path = asset.get("s3KeyParameter"), asset.get("path")
            if isinstance(key, str) and key and key in names and isinstance(path, str):
                return path
    return None


def _references(node: Node) -> Iterator[str]:
    """The names that a value refers to."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            name = each.get("Ref")
            if isinstance(name, str):
                yield name
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


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
    end = url.pieces[-1] if isinstance(url, Text) else url
    return end.rpartition("/")[2] if isinstance(end, str) and "/" in end else None
