"""From files to stacks: templates, whole cloud assemblies and bare task definitions, read together as one."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain

from gpu_constructs.template.documents import Document, Files, Source, Warned, found_at, found_in
from gpu_constructs.template.documents.document import TEMPLATE_ENDINGS, is_plan
from gpu_constructs.template.documents.node import Node, members, under
from gpu_constructs.template.documents.node import Path as Keys
from gpu_constructs.template.evaluation import Stacks, assembled
from gpu_constructs.template.evaluation.evaluator import FOR_EACH
from gpu_constructs.template.model import TASK_RUN, ForeignError, Resource, UndeclaredError, UnreadableError

Input = str | os.PathLike[str] | Mapping[str, object]
"""A file, a directory, ``-`` for the standard input, or a template that is already parsed."""

_OF_RUN = frozenset({"CapacityProviderStrategy", "Cluster", "LaunchType", "NetworkConfiguration", "Overrides"})


class Inputs:
    """Files that belong together, read and parsed once; exports, nested stacks and outputs lead from one to another.

    Args:
        inputs: Templates and task definitions in JSON or YAML, directories of cloud assemblies, ``-`` for ``stdin``,
            and parsed templates with functions in their long form, which are copied.
        stdin: What comes from the standard input.
        region: Where stacks are deployed to that do not say so themselves.
        partial: Whether there is more than what is given.
        found: Those that nobody named: one that is nothing that is read here is skipped.
        lenient: Whether what cannot be read keeps none of the others from being read.

    Attributes:
        named: The inputs as a report names them.
        skipped: How many files are none that is read here.

    Raises:
        UnreadableError: If one of them cannot be read; no other exception leaves.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        *,
        stdin: bytes | None = None,
        region: str | None = None,
        partial: bool = False,
        found: Collection[str] = (),
        lenient: bool = False,
    ) -> None:
        self._files = Files()
        self._is_partial = partial
        self.unreadable: list[UnreadableError] = []
        self.skipped = 0
        self._found: list[Source | Resource] = []
        given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
        names = ["template" if isinstance(each, Mapping) else os.fspath(each) for each in given]
        self.named = tuple(names)
        seen: set[str] = set()
        for each, name in zip(given, names, strict=True):
            if isinstance(each, Mapping):
                document = self._files.take(Document.of(each, file=name))
                self._found.append(_as_template(found_in(document, name=name, region=region), self._files))
                continue
            real = os.path.realpath(name) if len(names) > 1 and "\0" not in name else name
            if real in seen:
                continue
            seen.add(real)
            try:
                read = [
                    _as_template(each, self._files)
                    for each in found_at(
                        name,
                        self._files,
                        stdin=stdin,
                        region=region,
                        refuse=self.unreadable.append if lenient else _raise,
                    )
                ]
            except UnreadableError as error:
                if not lenient:
                    raise
                is_other = isinstance(error, ForeignError) or not name.lower().endswith(TEMPLATE_ENDINGS)
                if name in found and is_other and not os.path.isdir(name):
                    self.skipped += 1
                else:
                    self.unreadable.append(error)
                continue
            likely = [each for each in read if name not in found or _is_likely(each)]
            self.skipped += len(read) - len(likely)
            self._found += likely

    @property
    def beyond(self) -> frozenset[str]:
        """Files that were read because another one names them, as they are on the disk."""
        return frozenset(map(os.path.realpath, self._files.documents.keys() - set(self.named)))

    @property
    def is_empty(self) -> bool:
        """Whether nothing could be read."""
        return not self._found

    def stacks(self, parameters: Mapping[str, str] | None = None, *, region: str | None = None) -> Stacks:
        """The stacks with some values of their parameters.

        Args:
            parameters: Values of template parameters by name, or by ``Stack:Name`` for those of one stack.
            region: Where stacks are deployed to for which nothing else says it.

        Raises:
            UnreadableError: If a nested template cannot be read, or no template has such a parameter or allows the
                value; no other exception leaves.
        """
        sources = [each for each in self._found if isinstance(each, Source)]
        tasks = tuple(each for each in self._found if isinstance(each, Resource))
        if region is not None:
            sources = [replace(each, region=each.region or region) for each in sources]
        found = assembled(sources, tasks, self._files.documents, parameters or {})
        return replace(found, whole=False) if self._is_partial or self.unreadable else found

    def without_unreadable(self, parameters: Mapping[str, str]) -> Inputs:
        """The same without each stack that cannot be read; it is then among what is unreadable."""
        new = copy(self)
        new.unreadable, new._found = list(self.unreadable), []  # noqa: SLF001 - its own
        for each in self._found:
            try:
                assembled([each] if isinstance(each, Source) else [], (), self._files.documents, parameters)
            except UndeclaredError:
                pass
            except UnreadableError as error:
                new.unreadable.append(error)
                continue
            new._found.append(each)  # noqa: SLF001
        return new

    def with_values(self, values: Mapping[tuple[str, Keys], Node]) -> Inputs:
        """The same with other values in some places, each a file with the keys in it; see `with_documents`."""
        documents: dict[str, Document] = {}
        for (file, keys), value in values.items():
            old = documents.get(file) or self._files.documents[file]
            steps = keys[1:] if isinstance(old.data, list) else keys  # as `Document.position` has it
            documents[file] = replace(old, data=_with(old.data, steps, value), written=lambda _path: None)
        return self.with_documents(documents)

    def with_documents(self, documents: Mapping[str, Document]) -> Inputs:
        """The same with other documents in the place of some.

        Raises:
            UnreadableError: If one is no template any more, or is read only because another one names it.
        """
        new = copy(self)
        new._files = copy(self._files)  # noqa: SLF001 - its own
        new._files.documents = {**self._files.documents, **documents}  # noqa: SLF001
        new._found = [_again(each, new._files.documents) for each in self._found]  # noqa: SLF001
        if beyond := documents.keys() - set(map(_file, self._found)):
            raise UnreadableError("read because another file names it", file=min(beyond))
        return new

    def acknowledged(self, root: str) -> Mapping[str, Mapping[str, str]]:
        """What an app accepts, with the reason, by construct path and by id (``gpu-constructs::GPU002``).

        Raises:
            UnreadableError: If the notes of the app cannot be read.
        """
        sources = [each for each in self._found if isinstance(each, Source) and each.document.file == root]
        return sources[0].acknowledged() if sources else {}

    @property
    def warnings(self) -> Iterator[Warned]:
        """What our constructs warned of when apps were made."""
        return chain.from_iterable(each.warnings() for each in self._found if isinstance(each, Source))


def _raise(error: UnreadableError) -> None:
    raise error


def _as_template(found: Source | Resource, files: Files) -> Source | Resource:
    """A plan of Terraform as the template that asks for the same; what is none as it is."""
    if not isinstance(found, Source) or not is_plan(found.document.data):
        return found
    # Loaded where a file is a plan, as most are none.
    from gpu_constructs.template.terraform import source_of  # noqa: PLC0415

    made = source_of(found.document, name=found.name, region=found.region)
    files.take(made.document)
    return made


def _is_likely(found: Source | Resource) -> bool:
    """Whether a file that nobody named is what it looks like: others have these keys for something else.

    A file for AWS CodeDeploy lists ``Resources``, and many programs name a task definition in their settings.
    """
    if isinstance(found, Resource):
        return found.type != TASK_RUN or not _OF_RUN.isdisjoint(found.properties)
    template = found.document.object()
    return "AWSTemplateFormatVersion" in template or any(
        key.startswith(FOR_EACH) or "Type" in members(each) for key, each in members(template.get("Resources")).items()
    )


def _file(found: Source | Resource) -> str:
    return found.document.file if isinstance(found, Source) else found.stack


def _again(found: Source | Resource, documents: Mapping[str, Document]) -> Source | Resource:
    document = documents[_file(found)]
    if isinstance(found, Source):
        return replace(found, document=document)
    return found_in(document, name=document.file, region=found.origin.place.region)


def _with(node: Node, keys: Keys, value: Node) -> Node:
    """A copy with another value at a place, which shares everything else."""
    if not keys:
        return value
    first, *rest = keys
    if isinstance(node, list) and isinstance(first, int):
        return [_with(each, tuple(rest), value) if at == first else each for at, each in enumerate(node)]
    return {**members(node), str(first): _with(under(node, str(first)), tuple(rest), value)}
