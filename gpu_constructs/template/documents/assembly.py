"""What a path that a user names turns out to be: a template, a request, or a cloud assembly with its stacks.

A cloud assembly is what ``cdk synth`` writes to ``cdk.out``: https://docs.aws.amazon.com/cdk/v2/guide/deploy.html
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property

from gpu_constructs.errors import shown
from gpu_constructs.facts.budget import ASSEMBLY_DEPTH
from gpu_constructs.fleet import METADATA_KEY, Origin, Place, SourceLine
from gpu_constructs.template.documents.document import (
    Document,
    Files,
    Source,
    Warned,
    asset_path,
    is_plan,
    last_step,
    nested_beside,
    platforms,
    published,
    stack_name_of,
)
from gpu_constructs.template.documents.node import Node, items, members, under
from gpu_constructs.template.documents.requests import READ, request_in
from gpu_constructs.template.model import ForeignError, Resource, UnreadableError, Value

MANIFEST = "manifest.json"

_ASSETS = "cdk:asset-manifest"
_ENVIRONMENT = "aws://"
_ANY = frozenset({"", "unknown-account", "unknown-region"})
_LONGEST = 5000  # characters of a frame in a stack trace


_Refuse = Callable[[UnreadableError], None]


def _of_assembly(directory: str, files: Files, region: str | None, refuse: _Refuse) -> Iterator[Source]:
    """The stacks of a cloud assembly and of the assemblies in it, in the order of the manifest."""
    if not os.path.lexists(os.path.join(directory, MANIFEST)):
        below = os.path.join(directory, "cdk.out")
        nearest = f"did you mean {below}?" if os.path.isdir(below) else "run cdk synth, or name the template files"
        raise UnreadableError(
            f"a directory without {MANIFEST}", file=directory, allowed="the cdk.out of cdk synth, or files", fix=nearest
        )
    for each in _Assembly(directory, root=directory, files=files).sources(ASSEMBLY_DEPTH, refuse):
        yield replace(each, region=each.region or region)


class _Assembly:
    def __init__(self, directory: str, *, root: str, files: Files) -> None:
        self._directory = directory
        self._root = root
        self._files = files
        self._manifest = self._path(MANIFEST)
        self._document = self._read(MANIFEST)
        artifacts = self._document.object("the manifest of a cloud assembly").get("artifacts", {})
        if not isinstance(artifacts, dict):
            line = self._document.line(("artifacts",))
            raise UnreadableError("artifacts is not an object", file=self._manifest, line=line, fix="run cdk synth")
        self._artifacts = {key: each for key, each in artifacts.items() if isinstance(each, dict)}

    def sources(self, depth: int, refuse: _Refuse) -> Iterator[Source]:
        for name, artifact in self._artifacts.items():
            properties = members(artifact.get("properties"))
            try:
                if artifact.get("type") == "aws:cloudformation:stack":
                    yield self._source(name, artifact, properties)
                elif artifact.get("type") == "cdk:cloud-assembly":
                    yield from self._below(name, properties, depth, refuse)
            except UnreadableError as error:  # the other stacks can be read all the same
                refuse(error)

    def _below(self, name: str, properties: Mapping[str, Node], depth: int, refuse: _Refuse) -> Iterator[Source]:
        directory = self._path(self._file(name, properties, "directoryName"))
        if depth <= 0:
            raise UnreadableError("assemblies are nested too deeply", file=self._manifest)
        self._files.require_inside(self._root, directory, wanted_by=self._manifest)
        yield from _Assembly(directory, root=self._root, files=self._files).sources(depth - 1, refuse)

    def _source(self, name: str, artifact: Mapping[str, Node], properties: Mapping[str, Node]) -> Source:
        stack_name, display_name = properties.get("stackName"), artifact.get("displayName")
        stack_name = stack_name if isinstance(stack_name, str) and stack_name else name
        document = self._read(self._file(name, properties, "templateFile"))
        # Read where somebody asks: a template that carries the paths of its constructs, in which nothing is found,
        # needs none of it.
        notes = cache(lambda: self._notes(artifact))
        place = _place(artifact.get("environment"))
        constructs = cache(lambda: _paths_by_id(notes()))
        return Source(
            name=stack_name,
            other_name=display_name if isinstance(display_name, str) and display_name else name,
            stack_name=stack_name,
            document=document,
            region=place.region,
            account=place.account,
            nested=self._nested,
            construct=lambda logical_id: constructs().get(logical_id),
            made_at=lambda path: _made_at(notes().get(f"/{path}")),
            is_of_assembly=True,
            platform_of=self._platform_of,
            acknowledged=cache(lambda: _acknowledged(notes())),
            warnings=lambda: _warnings(notes(), document.file),
        )

    def _file(self, name: str, properties: Mapping[str, Node], key: str) -> str:
        file = properties.get(key)
        if not isinstance(file, str) or not file:
            line = self._document.line(("artifacts", name))
            raise UnreadableError(f"artifact {shown(name)} has no {key}", file=self._manifest, line=line)
        return file

    def _path(self, file: str) -> str:
        return os.path.join(self._directory, file)

    def _read(self, file: str) -> Document:
        return self._files.inside(self._root, self._path(file), wanted_by=self._manifest)

    def _nested(self, declaration: Mapping[str, Node], url: Value) -> Document | None:
        path = asset_path(declaration) or self._asset_files.get(last_step(url) or "")
        return None if path is None else self._read(path)

    @cached_property
    def _asset_files(self) -> Mapping[str, str]:
        """Files of the assembly by the name that they get in the bucket of their assets."""
        return {name: file for each in self._assets for name, file in published(each)}

    def _platform_of(self, tag: str) -> str | None:
        try:
            return next((platform for each in self._assets for name, platform in platforms(each) if name == tag), None)
        except UnreadableError:  # what images are built for is not said then
            return None

    @cached_property
    def _assets(self) -> Sequence[Node]:
        return [
            self._read(self._file(name, properties, "file")).data
            for name, artifact in self._artifacts.items()
            if artifact.get("type") == _ASSETS and isinstance(properties := artifact.get("properties"), dict)
        ]

    def _notes(self, artifact: Mapping[str, Node]) -> dict[str, Node]:
        """What the app notes about its constructs, by their path."""
        file = artifact.get("additionalMetadataFile")
        is_there = isinstance(file, str) and os.path.lexists(self._path(file))
        both = (artifact.get("metadata"), self._read(file).data if isinstance(file, str) and is_there else None)
        return {path: entries for each in both for path, entries in members(each).items()}


def _place(environment: Node) -> Place:
    """The place of ``aws://account/region``, of which CDK writes either as unknown where the stack may go to any."""
    if not isinstance(environment, str) or not environment.startswith(_ENVIRONMENT):
        return Place()
    account, _, region = environment[len(_ENVIRONMENT) :].partition("/")
    return Place(*(each if each not in _ANY else None for each in (region, account)))


def _paths_by_id(notes: Mapping[str, Node]) -> dict[str, str]:
    noted = _noted(notes, "aws:cdk:logicalId")
    return {logical_id: path.removeprefix("/") for path, logical_id in noted if isinstance(logical_id, str)}


# A frame, as `make (/app/lib/stack.ts:3:25)`, and one of a library: CDK takes most of those out of a trace itself.
_FRAME = r".*\((?P<file>[^()]+?):(?P<line>[0-9]{1,7})(?::(?P<column>[0-9]{1,7}))?\)"
_LIBRARY = r"(?:^|[/\\])(?:node_modules|site-packages|dist-packages)[/\\]|^(?:node:|<|internal/)"


def _made_at(entries: Node) -> SourceLine | None:
    """The line of the app that made a construct, which CDK notes where it runs with ``CDK_DEBUG=1`` or ``--debug``.

    The frames are an entry of their own, the innermost first; older releases have them as the trace of another entry.
    Those of Python are there with ``JSII_HOST_STACK_TRACES=1`` as well.
    """
    for entry in items(entries):
        is_own = under(entry, "type") == "aws:cdk:creationStack"
        for frame in items(under(entry, "data" if is_own else "trace")):
            found = re.fullmatch(_FRAME, frame[:_LONGEST].strip()) if isinstance(frame, str) else None
            if found is not None and not re.search(_LIBRARY, found["file"]):
                here = os.path.join(os.getcwd(), "")
                return SourceLine(
                    file=found["file"].removeprefix("file://").removeprefix(here),
                    line=int(found["line"]),
                    column=int(found["column"]) if found["column"] else None,
                )
    return None


def _acknowledged(notes: Mapping[str, Node]) -> dict[str, dict[str, str]]:
    """Reasons by construct path and by id, as ``Validations.of(…).acknowledge(…)`` of CDK leaves them."""
    found: dict[str, dict[str, str]] = {}
    for path, reasons in _noted(notes, "aws:cdk:acknowledged-rules"):
        texts = {rule: reason for rule, reason in members(reasons).items() if isinstance(reason, str)}
        found.setdefault(path.removeprefix("/"), {}).update(texts)
    return found


# "[ack: …]" is where `addWarningV2` and `addInfoV2` of CDK write the id (aws-cdk-lib/core/lib/annotations.ts).
_OF_OURS = rf"(?s)(?P<text>.+) \[ack: {METADATA_KEY}::(?P<id>[A-Za-z0-9-]{{1,40}})\]"


def _warnings(notes: Mapping[str, Node], file: str) -> Iterator[Warned]:
    for path, said in (*_noted(notes, "aws:cdk:warning"), *_noted(notes, "aws:cdk:info")):
        if isinstance(said, str) and (found := re.fullmatch(_OF_OURS, said)):
            at = Origin(resource=path.rpartition("/")[2], file=file, construct_path=path.removeprefix("/"))
            yield Warned(origin=at, id=found["id"], text=found["text"])


def _noted(notes: Mapping[str, Node], kind: str) -> Iterator[tuple[str, Node]]:
    for path, entries in notes.items():
        yield from ((path, under(each, "data")) for each in items(entries) if under(each, "type") == kind)


_ALLOWED = (
    "a CloudFormation template with Resources, the cdk.out of cdk synth, a plan of Terraform in JSON (terraform show "
    f"-json), or {READ}"
)


_PROGRAMS = frozenset({".cjs", ".cs", ".fs", ".go", ".java", ".js", ".mjs", ".py", ".ts"})
"""How files of the languages end in which apps are written (https://docs.aws.amazon.com/cdk/v2/guide/languages.html)."""


def found_at(
    path: str, files: Files, *, stdin: bytes | None, region: str | None, refuse: _Refuse
) -> Iterator[Source | Resource]:
    """The templates and requests behind one path; a stack of an assembly that cannot be read is refused alone."""
    if path == "-":
        if stdin is None:
            raise UnreadableError("nothing came from the standard input", file=path)
        yield found_in(files.take(Document.read(stdin, file=path)), name="stdin", region=region)
    elif os.path.isdir(path):
        yield from _of_assembly(path, files, region, refuse)
    elif os.path.splitext(path)[1] in _PROGRAMS and os.path.isfile(path):
        raise UnreadableError(
            "a program, which writes its templates when it runs",
            file=path,
            allowed=_ALLOWED,
            fix="run cdk synth, and name the directory cdk.out",
        )
    else:
        document = files.read(path)
        data = document.data if os.path.basename(path) == MANIFEST else None
        if isinstance(data, dict) and "artifacts" in data and "version" in data and "Resources" not in data:
            yield from _of_assembly(os.path.dirname(path) or ".", files, region, refuse)
        else:
            yield found_in(document, name=stack_name_of(path), region=region, files=files)


def found_in(document: Document, *, name: str, region: str | None, files: Files | None = None) -> Source | Resource:
    """The template, the plan or the request that one document is; without `files` nothing that it names is read."""
    data = document.data
    if not isinstance(data, (dict, list)):
        raise ForeignError("a single value, not an object", file=document.file, allowed=_ALLOWED)
    if is_plan(data) or not members(data).keys().isdisjoint(("Resources", "AWSTemplateFormatVersion")):
        source = Source(name=name, document=document, region=region)
        return source if files is None else replace(source, nested=nested_beside(document.file, files))
    found = request_in(data, file=document.file, region=region)
    if found is None:
        neither = "neither Resources nor a request of Amazon ECS or AWS Batch"
        kind = "a list, not an object" if isinstance(data, list) else neither
        raise ForeignError(kind, file=document.file, allowed=_ALLOWED)
    return found
