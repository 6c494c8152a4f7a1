"""What a path that a user names turns out to be: a template, a cloud assembly, or a task definition."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from gpu_constructs.template.documents.assembly import MANIFEST, assembly_sources, is_manifest
from gpu_constructs.template.documents.document import Document
from gpu_constructs.template.documents.files import Files
from gpu_constructs.template.documents.sources import Source, nested_beside, stack_name_of
from gpu_constructs.template.documents.task_definitions import task_definition
from gpu_constructs.template.model import Resource
from gpu_constructs.template.unreadable import UnreadableError

_STDIN = "-"
_ALLOWED = "a CloudFormation template with Resources, an ECS task definition, or the cdk.out of cdk synth"


_PROGRAMS = frozenset({".cjs", ".cs", ".fs", ".go", ".java", ".js", ".mjs", ".py", ".ts"})
"""How files of the languages end in which apps are written (https://docs.aws.amazon.com/cdk/v2/guide/languages.html)."""


def found_at(path: str, files: Files, *, stdin: bytes | None, region: str | None) -> Iterator[Source | Resource]:
    """The templates and task definitions behind one path."""
    if path == _STDIN:
        if stdin is None:
            raise UnreadableError("nothing came from the standard input", file=path)
        yield found_in(files.take(Document.read(stdin, file=path)), name="stdin", region=region)
    elif os.path.isdir(path):  # noqa: PTH112 - a path keeps the user's spelling
        yield from _of_assembly(path, files, region)
    elif os.path.splitext(path)[1] in _PROGRAMS and os.path.isfile(path):  # noqa: PTH113, PTH122 - as above
        raise UnreadableError(
            "a program, which writes its templates when it runs",
            file=path,
            allowed=_ALLOWED,
            fix="run cdk synth, and name the directory cdk.out",
        )
    else:
        document = files.read(path)
        if os.path.basename(path) == MANIFEST and is_manifest(document.data):  # noqa: PTH119
            yield from _of_assembly(os.path.dirname(path) or ".", files, region)  # noqa: PTH120
        else:
            yield found_in(document, name=stack_name_of(path), region=region, files=files)


def found_in(document: Document, *, name: str, region: str | None, files: Files | None = None) -> Source | Resource:
    """The template or the task definition that one document is; without `files` nothing that it names is read."""
    data = document.data if isinstance(document.data, list) else document.object(_ALLOWED)
    if isinstance(data, dict) and ("Resources" in data or "AWSTemplateFormatVersion" in data):
        source = Source(name=name, other_name=f"{name} ({document.file})", document=document, region=region)
        return source if files is None else replace(source, nested=nested_beside(document.file, files))
    found = task_definition(data, file=document.file, region=region)
    if found is None:
        document.object(_ALLOWED)
        raise UnreadableError("neither Resources nor containerDefinitions", file=document.file, allowed=_ALLOWED)
    return found


def _of_assembly(directory: str, files: Files, region: str | None) -> Iterator[Source]:
    for each in assembly_sources(directory, files):
        yield replace(each, region=each.region or region)
