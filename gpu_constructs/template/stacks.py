"""From files to stacks: templates, whole cloud assemblies and bare task definitions, read together as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpu_constructs.fleet import Origin, Remark
from gpu_constructs.template.documents import Document, Files, Source, found_at, found_in
from gpu_constructs.template.evaluation import ParameterChoice, assembled
from gpu_constructs.template.model import Resource, Stack
from gpu_constructs.template.unreadable import UnreadableError

__all__ = ["Stacks", "from_mapping", "read_stacks", "read_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacks:
    """Everything that was read in one call.

    Attributes:
        stacks: Stacks in the order in which they were named; nested ones follow the stack around them.
        tasks: Task definitions in files of their own.
        remarks: What was odd.
        choices: Parameters that have a default and say which other values they allow.
        whole: Whether it is certain that nothing was left unread: a cloud assembly that refers to nothing else.
        documents: The files, by the name that an `Origin` has for them.
        again: What `with_parameters` calls.
        noted: What `with_construct_paths` calls; None where they are there.
    """

    stacks: tuple[Stack, ...] = ()
    tasks: tuple[Resource, ...] = ()
    remarks: tuple[Remark, ...] = ()
    choices: tuple[ParameterChoice, ...] = ()
    whole: bool = False
    documents: Mapping[str, Document] = field(default_factory=dict, repr=False, compare=False)
    again: Callable[[Mapping[str, str]], Stacks] | None = field(default=None, repr=False, compare=False)
    noted: Callable[[], Stacks] | None = field(default=None, repr=False, compare=False)

    def with_parameters(self, parameters: Mapping[str, str]) -> Stacks:
        """The same files with other values of their parameters, without reading and parsing them once more.

        Args:
            parameters: All values, by name or by ``Stack:Name``.

        Raises:
            UnreadableError: If no template has such a parameter, or it does not allow the value.
        """
        return self if self.again is None else self.again(parameters)

    def with_construct_paths(self) -> Stacks:
        """The same files with the paths of constructs that are only in what the app notes beside its templates.

        Raises:
            UnreadableError: If these notes cannot be read.
        """
        return self if self.noted is None else self.noted()

    def locate(self, origin: Origin) -> Origin:
        """The same place with its line, which is looked for only here, as few places are ever shown.

        Args:
            origin: A place in one of the files.
        """
        document = self.documents.get(origin.file) if origin.file is not None else None
        if document is None or origin.line is not None:
            return origin
        return replace(origin, line=document.line(origin.path))


def read_stacks(
    paths: Sequence[str | Path],
    *,
    stdin: bytes | None = None,
    parameters: Mapping[str, str] | None = None,
    region: str | None = None,
    construct_paths: bool = True,
) -> Stacks:
    """Reads files that belong together: exports, nested stacks and outputs are followed from one to another.

    Args:
        paths: Templates and task definitions in JSON or YAML, and directories of cloud assemblies; ``-`` is ``stdin``.
        stdin: What comes from the standard input.
        parameters: Values of template parameters by name, or by ``Stack:Name`` for those of one stack.
        region: Where stacks are deployed to that do not say so themselves.
        construct_paths: Whether the notes of an app are read for the paths of its constructs where its templates do not
            carry them. Without them resources have other names, and nothing else differs; see
            `Stacks.with_construct_paths`.

    Raises:
        UnreadableError: If one of them cannot be read; no other exception leaves.
    """
    files = Files()
    named = [paths] if isinstance(paths, (str, Path)) else list(paths)
    each_once: dict[str, str] = {}
    for path in (os.fspath(each) for each in named):
        each_once.setdefault(os.path.realpath(path) if "\0" not in path else path, path)
    try:
        found = [each for path in each_once.values() for each in found_at(path, files, stdin=stdin, region=region)]
        return _stacks(found, files, parameters or {}, construct_paths=construct_paths)
    except UnreadableError as error:
        error.read = (*error.read, *files.documents)
        raise


def read_text(
    text: str | bytes,
    *,
    name: str,
    file: str | None = None,
    parameters: Mapping[str, str] | None = None,
    region: str | None = None,
) -> Stacks:
    """Reads one template or task definition that is held in memory.

    Args:
        text: JSON or YAML.
        name: The stack's name.
        file: The file it is from, for findings; by default the name.
        parameters: Values of template parameters by name.
        region: Where it is deployed to.

    Raises:
        UnreadableError: If it cannot be read; no other exception leaves.
    """
    return _of_document(Document.read(text, file=file or name), name, parameters, region)


def from_mapping(
    template: Mapping[str, object],
    *,
    name: str,
    file: str | None = None,
    parameters: Mapping[str, str] | None = None,
    region: str | None = None,
) -> Stacks:
    """Reads a template or a task definition that somebody else has parsed; functions are in their long form.

    Args:
        template: The template; it is copied.
        name: The stack's name.
        file: The file it is from, for findings; by default the name.
        parameters: Values of template parameters by name.
        region: Where it is deployed to.

    Raises:
        UnreadableError: If it cannot be read; no other exception leaves.
    """
    return _of_document(Document.of(template, file=file or name), name, parameters, region)


def _of_document(document: Document, name: str, parameters: Mapping[str, str] | None, region: str | None) -> Stacks:
    files = Files()
    files.take(document)
    return _stacks([found_in(document, name=name, region=region)], files, parameters or {})


def _stacks(
    found: Sequence[Source | Resource], files: Files, parameters: Mapping[str, str], *, construct_paths: bool = True
) -> Stacks:
    tasks = tuple(each for each in found if isinstance(each, Resource))
    sources = [each for each in found if isinstance(each, Source)]
    asked = sources if construct_paths else [each.without_construct_paths() for each in sources]
    made = assembled(asked, files.documents, parameters)
    return Stacks(
        stacks=made.stacks,
        tasks=tasks,
        remarks=made.remarks,
        choices=made.choices,
        whole=made.is_whole and not tasks,
        documents=files.documents,
        again=lambda other: _stacks(found, files, other, construct_paths=construct_paths),
        noted=None if construct_paths else lambda: _stacks(found, files, parameters),
    )
