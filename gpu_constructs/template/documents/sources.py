"""Where a template comes from, and how the templates that it names are found."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gpu_constructs.template.documents.assets import asset_path, last_step, published
from gpu_constructs.template.documents.document import Document
from gpu_constructs.template.documents.files import Files
from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.model import Value

__all__ = ["FindNested", "Source", "nested_beside", "stack_name_of"]

FindNested = Callable[[Mapping[str, Node], Value], "Document | None"]
"""Finds the template of a nested stack, given its declaration and its worked out ``TemplateURL``."""

_SYNTHESIZED = ".template.json"
_ENDINGS = (_SYNTHESIZED, ".template.yaml", ".template.yml", ".template", ".json", ".yaml", ".yml")


def _find_no_nested(_declaration: Mapping[str, Node], _url: Value) -> Document | None:
    """For templates in memory, which have no other files."""
    return None


def _acknowledge_nothing() -> Mapping[str, Mapping[str, str]]:
    """For templates that no app notes anything about."""
    return {}


def _find_no_construct(_logical_id: str) -> str | None:
    """For templates that are alone: only they themselves say what made them."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One template and what is known about its stack.

    Attributes:
        name: What the stack is called where nothing else has that name.
        other_name: What it is called where something else has it.
        document: The template.
        stack_name: Its name where it is deployed; None if nothing says.
        region: Where it is deployed to; None where only the deploy knows.
        nested: Finds the templates of its nested stacks.
        construct: Finds the path of the CDK construct of a logical id.
        acknowledged: Looks up what the app accepts of a stack, by construct path and by id.
        is_of_assembly: Whether it is one stack of an app of which all are read.
    """

    name: str
    other_name: str
    document: Document
    stack_name: str | None = None
    region: str | None = None
    nested: FindNested = _find_no_nested
    construct: Callable[[str], str | None] = _find_no_construct
    is_of_assembly: bool = False
    acknowledged: Callable[[], Mapping[str, Mapping[str, str]]] = _acknowledge_nothing

    def without_construct_paths(self) -> Source:
        """The same, with the constructs that the template itself names and no others."""
        return replace(self, construct=_find_no_construct)


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
