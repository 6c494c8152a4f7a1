"""A CloudFormation template after its functions were worked out: what is left is values, references and unknowns.

The wall between the two halves of this room: `documents` and `evaluation` make these values, `resources` takes them.
Nothing here is mutated after it is made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import islice, product
from typing import TypeAlias

from gpu_constructs.errors import GpuConstructsError, shown
from gpu_constructs.facts.budget import SEARCHED
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import METADATA_KEY, Origin, Unknown

STATE_MACHINES = ("AWS::StepFunctions::StateMachine", "AWS::Serverless::StateMachine")
"""Resources whose definition may be a text, an object or a file; a file is read as the object."""

JOB_DEFINITION = "AWS::Batch::JobDefinition"
TASK_RUN, JOB_RUN = "AWS::ECS::RunTask", "AWS::Batch::SubmitJob"
"""What a file of its own gives ``aws ecs run-task`` or ``aws batch submit-job``; no types of CloudFormation."""


ZONE_OF_LIST = "Fn::GetAZs "
"""What the name of a `Placeholder` begins with that stands for an Availability Zone; its place in the list follows."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Another resource's name, ARN or attribute, which exists at deploy time only; but what it points at is known.

    Attributes:
        stack: Name of the stack that defines the resource, which may be another one (an export, a nested stack).
        attribute: The attribute of ``Fn::GetAtt``, such as ``Arn``; None for ``Ref``.
    """

    stack: str
    logical_id: str
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class DynamicReference:
    """A value of Parameter Store or Secrets Manager: unknown, but where it is kept is known.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html

    Attributes:
        text: The whole reference, such as ``{{resolve:ssm:/my/parameter}}``.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A piece of a text that has a name and no value before the deploy: equal ones stand for equal texts.

    Attributes:
        name: A parameter of a stack that has no value, or what CloudFormation knows of it, such as ``AWS::StackName``.
    """

    stack: str
    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text of which some pieces are references or unknown, as ``Fn::Sub`` and ``Fn::Join`` make it.

    Attributes:
        pieces: Strings, references, placeholders and unknowns in order; two strings never follow each other.
    """

    pieces: tuple[str | Reference | Placeholder | Unknown, ...]


Value: TypeAlias = (
    "bool | int | float | str | Unknown | Reference | DynamicReference | Placeholder | Text "
    "| Sequence[Value] | Mapping[str, Value] | None"
)
"""What a property can be. A list or an object may hold unknowns; ``AWS::NoValue`` is left out of both."""


def pieces_of(value: Value) -> Sequence[Value]:
    """The pieces of a text; any other value is one."""
    return value.pieces if isinstance(value, Text) else (value,)


def pattern_of(value: Value) -> str:
    """The text of a value, with a star for each piece that is not known."""
    return "".join(each if isinstance(each, str) else "*" for each in pieces_of(value))


def begin_of(value: Value) -> str:
    """The text at the begin of a value; empty where it is not known, or is no text."""
    begin, *_ = pieces_of(value) or [None]
    return begin if isinstance(begin, str) else ""


def end_of(value: Value) -> str:
    """The text at its end, likewise."""
    *_, end = pieces_of(value) or [None]
    return end if isinstance(end, str) else ""


def is_open(value: Value) -> bool:
    """Whether a value, or a piece of it, is only known at deploy time."""
    return isinstance(value, (Unknown, Reference, DynamicReference, Placeholder, Text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource of a stack, with all values resolved; `metadata` is as written.

    Attributes:
        type: Such as ``AWS::ECS::Service``.
        init: What ``cfn-init`` does, which is in its metadata, worked out.
        origin: Where it was written; its path ends at the resource itself.
        exists: Whether its condition holds; unknown where that depends on a value of the deploy.
        depends_on: Logical ids of the resources of its stack that it names in ``DependsOn``.
        is_part: Whether the rest of it is written elsewhere, where no file that is read shows it.
        below: Keys from the resource to its properties; none outside of a template.
        platform_of: Finds what an image that the app builds is built for, by the image's tag.
    """

    logical_id: str
    type: str
    stack: str
    properties: Mapping[str, Value] = field(hash=False)
    metadata: Mapping[str, Value] = field(default_factory=dict, hash=False)
    init: Mapping[str, Value] = field(default_factory=dict, hash=False)
    creation_policy: Mapping[str, Value] = field(default_factory=dict, hash=False)
    update_policy: Mapping[str, Value] = field(default_factory=dict, hash=False)
    origin: Origin = field(hash=False)  # for speed: the rest tells most resources apart
    exists: bool | Unknown = True
    depends_on: tuple[str, ...] = ()
    is_part: bool = False
    below: tuple[str, ...] = ("Properties",)
    platform_of: Callable[[str], str | None] = field(default=lambda _tag: None, compare=False, repr=False)

    @property
    def reference(self) -> Reference:
        """What ``Ref`` to it is."""
        return Reference(self.stack, self.logical_id)

    @property
    def own_metadata(self) -> Mapping[str, object]:
        """What this library's constructs, or a user, wrote about it that CloudFormation has no property for."""
        metadata: object = self.metadata
        written: object = metadata.get(METADATA_KEY, {}) if isinstance(metadata, (dict, Mapping)) else {}
        return written if isinstance(written, (dict, Mapping)) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One template, or one stack of a cloud assembly.

    Attributes:
        name: The stack's name, or the file's where nothing else names it; unique among those that are read together.
        resources: Its resources by logical id; those whose condition is false are left out.
        region: Where it is deployed to; None where that is only known at deploy time.
        root: File of the stack around it that is in no other one; its own file where it is not nested.
        exposed: Finds the resources that stacks and scripts outside these files can read.
    """

    name: str
    resources: Mapping[str, Resource] = field(hash=False)
    region: str | None = None
    root: str | None = None
    exposed: Callable[[], Iterable[Reference]] = field(default=tuple, compare=False, repr=False)


class UnreadableError(GpuConstructsError):
    """A file is not a template, a cloud assembly or a request, or it is too much to read.

    Args:
        line: Line where it goes wrong, from 1.
        column: Column there, from 1.
        allowed: What is read instead, in words.
    """

    def __init__(
        self,
        reason: str,
        *,
        file: str,
        line: int | None = None,
        column: int | None = None,
        allowed: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.reason = reason
        self.file = file
        self.line = line
        self.column = column
        place = ":".join(str(each) for each in (file, line, column) if each is not None)
        super().__init__(f"{place}: {reason}", value=file, allowed=allowed, fix=fix)

    def __reduce__(self) -> tuple[Callable[[], UnreadableError], tuple[()]]:
        """As it goes from one process to another, which Python does without names of arguments."""
        of = partial(type(self), self.reason, file=self.file, line=self.line, column=self.column)
        return partial(of, allowed=self.allowed, fix=self.fix), ()


class UndeclaredError(UnreadableError):
    """A value is given to a parameter that no template declares."""

    def __init__(self, name: str, *, files: Sequence[str], fix: str | None = None) -> None:
        self.name, self.files = name, tuple(files)
        file = self.files[0] if len(self.files) == 1 else f"{len(self.files)} templates"
        super().__init__(f"no parameter {shown(name)} is declared", file=file, fix=fix)

    def __reduce__(self) -> tuple[Callable[[], UnreadableError], tuple[()]]:
        return partial(type(self), self.name, files=self.files, fix=self.fix), ()


class ForeignError(UnreadableError):
    """A file is in order, and nothing that is read here."""


def mentioned(resource: Resource) -> tuple[str, list[Reference]]:
    """Every text in the properties of a resource, one after the other, and every resource that they refer to."""
    texts: list[str] = []
    referred: list[Reference] = []
    for each in islice(_values_in(resource.properties), SEARCHED):
        if isinstance(each, str):
            texts.append(each)
            continue
        if isinstance(each, Text):
            texts.append("".join(piece for piece in each.pieces if isinstance(piece, str)))
        if isinstance(each, (Reference, Text)):
            referred += _referred(each)
    return "\n".join(texts), referred


def allowed_in(resource: Resource) -> Iterator[tuple[Value, Reference | None]]:
    """The actions that statements of policies in a resource allow, as they are written; NotAction may be any.

    Each stands with the one resource that it is allowed for, or with None where that may be any, as for ``*``.
    """
    for each in islice(_values_in(resource.properties), SEARCHED):
        if isinstance(each, Mapping) and each.get("Effect") != "Deny":
            actions, named = each.get("Action", "*" if "NotAction" in each else ()), each.get("Resource")
            ends = [[None, *pieces_of(one)][-1] for one in (named if isinstance(named, (list, tuple)) else (named,))]
            only = [Reference(one.stack, one.logical_id) if isinstance(one, Reference) else None for one in ends]
            yield from product(actions if isinstance(actions, (list, tuple)) else (actions,), only)


def references_in(value: Value) -> Iterator[Reference]:
    """The resources that a value refers to, without the attributes, those of the fewest steps first."""
    for each in _values_in(value):
        if isinstance(each, (Reference, Text)):
            yield from _referred(each)


def _referred(value: Reference | Text) -> Iterator[Reference]:
    return (Reference(each.stack, each.logical_id) for each in pieces_of(value) if isinstance(each, Reference))


def _values_in(value: Value) -> Iterator[Value]:
    """A value, what is in it, what is in that, and so on."""
    waiting: deque[Iterable[Value]] = deque([(value,)])
    while waiting:
        for each in waiting.popleft():
            yield each
            # Most values are texts, and to ask for an abstract class costs ten times as much as to ask for a type.
            if isinstance(each, (str, int, Reference, Text)) or each is None:
                continue
            if isinstance(each, (dict, Mapping)):
                waiting.append(each.values())
            elif isinstance(each, (list, Sequence)):
                waiting.append(each)
