"""Files of a cloud assembly that get another name where they are published, as templates of nested stacks do.

https://docs.aws.amazon.com/cdk/v2/guide/assets.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.template.model import Text, Value
from gpu_constructs.template.node import Node

__all__ = ["last_step", "published"]


def published(assets: Node) -> Iterator[tuple[str, str]]:
    """Names under which files are published, each with the file's path from the manifest of the assets.

    Args:
        assets: What is in that manifest.
    """
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
    """The last step of a URL, of which the first pieces may be unknown; None if that is.

    Args:
        url: A ``TemplateURL``.
    """
    end = url.pieces[-1] if isinstance(url, Text) else url
    return end.rpartition("/")[2] if isinstance(end, str) and "/" in end else None
