"""What the files that a user names turn out to be."""

from __future__ import annotations

import os
from dataclasses import replace

from gpu_constructs.template.assembly import MANIFEST, assembly_sources, is_manifest
from gpu_constructs.template.document import Document
from gpu_constructs.template.files import Files
from gpu_constructs.template.sources import Source, find_no_construct, find_no_nested, nested_beside, stack_name_of
from gpu_constructs.template.task_documents import TaskDocument, task_document
from gpu_constructs.template.unreadable import UnreadableError

__all__ = ["Discovery"]

_STDIN = "-"
_ALLOWED = "a CloudFormation template with Resources, an ECS task definition, or the cdk.out of cdk synth"


class Discovery:
    """What the named files turned out to be.

    Args:
        region: Where stacks are deployed to that do not say so themselves.

    Attributes:
        sources: Templates.
        tasks: Task definitions in files of their own.
    """

    def __init__(self, *, region: str | None) -> None:
        self.sources: list[Source] = []
        self.tasks: list[TaskDocument] = []
        self._region = region

    def take(self, path: str, files: Files, stdin: bytes | None) -> None:
        """Takes one path that the user named.

        Args:
            path: A file, a directory, or ``-``.
            files: What reads files.
            stdin: What comes from the standard input.

        Raises:
            UnreadableError: If it is nothing that can be read.
        """
        if path == _STDIN:
            if stdin is None:
                raise UnreadableError("nothing came from the standard input", file=path)
            self.take_document(files.take(Document.read(stdin, file=path)), name="stdin")
        elif os.path.isdir(path):  # noqa: PTH112 - a path keeps the user's spelling
            self._take_assembly(path, files)
        else:
            document = files.named(path)
            if os.path.basename(path) == MANIFEST and is_manifest(document.data):  # noqa: PTH119
                self._take_assembly(os.path.dirname(path) or ".", files)  # noqa: PTH120
            else:
                self.take_document(document, name=stack_name_of(path), files=files)

    def _take_assembly(self, directory: str, files: Files) -> None:
        self.sources += [
            replace(each, region=each.region or self._region) for each in assembly_sources(directory, files)
        ]

    def take_document(self, document: Document, *, name: str, files: Files | None = None) -> None:
        """Takes one template or task definition.

        Args:
            document: What is in the file.
            name: The stack's name.
            files: What reads the templates that it names; None leaves them.

        Raises:
            UnreadableError: If it is neither.
        """
        data = document.data
        if not isinstance(data, dict):
            raise UnreadableError("no object at its top", file=document.file, allowed=_ALLOWED)
        if "Resources" not in data and "AWSTemplateFormatVersion" not in data:
            task = task_document(data, file=document.file, region=self._region)
            if task is None:
                raise UnreadableError(
                    "neither Resources nor containerDefinitions", file=document.file, allowed=_ALLOWED
                )
            self.tasks.append(task)
            return
        self.sources.append(
            Source(
                name=name,
                other_name=f"{name} ({document.file})",
                stack_name=None,
                document=document,
                region=self._region,
                nested=nested_beside(document.file, files) if files else find_no_nested,
                construct=find_no_construct,
            )
        )
