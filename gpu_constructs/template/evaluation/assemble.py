"""All templates of one call made into stacks, which know each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from gpu_constructs.facts.budget import ASSEMBLY_DEPTH, STACKS
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Origin, Remark, SourceLine
from gpu_constructs.template.documents.document import Document, InWords, Source
from gpu_constructs.template.documents.node import Node, listed, members
from gpu_constructs.template.evaluation.choices import Choice, choices_of
from gpu_constructs.template.evaluation.evaluator import Evaluator
from gpu_constructs.template.evaluation.functions import FUNCTIONS
from gpu_constructs.template.evaluation.parameters import ParameterValues
from gpu_constructs.template.evaluation.shared import Shared
from gpu_constructs.template.evaluation.stack import stack_of
from gpu_constructs.template.model import Resource, Stack, UnreadableError, Value

_Given = Mapping[str, Callable[[], Value]]
"""Values of parameters, each worked out when it is asked for."""

# Macros that add neither hosts nor tasks of ECS to what is written in the template.
# https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-reference.html
_KNOWN_TRANSFORMS = frozenset(
    {
        "AWS::CodeDeployBlueGreen",
        "AWS::LanguageExtensions",
        "AWS::SecretsManager-2020-07-23",
        "AWS::SecretsManager-2024-09-16",
        "AWS::Serverless-2016-10-31",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacks:
    """Everything that was read in one call.

    Attributes:
        stacks: Stacks in the order in which they were named; nested ones follow the stack around them.
        tasks: Task definitions in separate files.
        whole: Whether everything that was given could be read, the templates of nested stacks and macros among it.
        documents: The files, by the name that an `Origin` has for them.
        made_at: Finds the line that made a resource, by the name of the file and the path of its construct, or its
            logical id where it has none.
        words: Says a text in the words of a file, for those that are no templates.
    """

    stacks: tuple[Stack, ...] = ()
    tasks: tuple[Resource, ...] = ()
    remarks: tuple[Remark, ...] = ()
    whole: bool = False
    documents: Mapping[str, Document] = field(default_factory=dict, repr=False, compare=False)
    made_at: Mapping[str, Callable[[str], SourceLine | None]] = field(default_factory=dict, repr=False, compare=False)
    words: Mapping[str, InWords] = field(default_factory=dict, repr=False, compare=False)
    evaluators: tuple[Evaluator, ...] = field(default=(), repr=False, compare=False)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Parameters, and the region, of which more than one value is known, and that can change what is found."""
        return choices_of(self.evaluators)

    def locate(self, origin: Origin) -> Origin:
        """The same place with its position, which is looked for only here, as few places are ever shown."""
        document = self.documents.get(origin.file) if origin.file is not None else None
        if document is None or origin.line is not None:
            return origin
        find = self.made_at.get(document.file)
        source = None if find is None else find(origin.construct_path or origin.resource)
        found = document.position(origin.path)
        if found is None:
            return replace(origin, source=source)
        return replace(origin, path=found.path, line=found.line or None, column=found.column or None, source=source)


def assembled(
    sources: list[Source], tasks: tuple[Resource, ...], documents: Mapping[str, Document], parameters: Mapping[str, str]
) -> Stacks:
    """Makes templates into stacks; bare task definitions stand beside them."""
    try:
        return _Assembler(parameters).run(sources, tasks, documents)
    except RecursionError:
        raise UnreadableError("too much is nested", file=sources[0].document.file) from None


class _Assembler:
    def __init__(self, parameters: Mapping[str, str]) -> None:
        self._shared = Shared()
        self._parameter_values = ParameterValues(parameters)
        self._names: set[str] = set()
        self._evaluators: list[Evaluator] = []
        self._nested_files: list[tuple[str, Source]] = []

    def run(self, sources: list[Source], tasks: tuple[Resource, ...], documents: Mapping[str, Document]) -> Stacks:
        for source in _each_once(sources):
            name = self._unique(source.name, source.other_name or f"{source.name} ({source.document.file})")
            given = self._parameter_values.of(name, source.document)
            self._add_nested(self._evaluator(name, source, source.document, given, is_nested=False), ASSEMBLY_DEPTH)
        self._drop_nested()
        self._parameter_values.require_used(list(dict.fromkeys(each.file for each in self._evaluators)))
        self._shared.exports.open()
        stacks = tuple(map(stack_of, self._evaluators))
        remarks = self._shared.remarks
        return Stacks(
            stacks=stacks,
            tasks=tasks,
            remarks=remarks,
            whole=self._shared.is_complete and not remarks,
            documents=documents,
            evaluators=tuple(self._evaluators),
            made_at={each.file: each.source.made_at for each in self._evaluators},
            words={each.file: each.source.in_words for each in self._evaluators if each.source.in_words},
        )

    def _evaluator(self, name: str, source: Source, document: Document, given: _Given, *, is_nested: bool) -> Evaluator:
        if len(self._evaluators) >= STACKS:
            raise UnreadableError(f"more than {STACKS:,} stacks", file=document.file)
        for each in listed(document.object().get("Transform")):
            self._shared.is_complete &= isinstance(each, str) and each in _KNOWN_TRANSFORMS
        evaluator = Evaluator(
            shared=self._shared,
            name=name,
            source=source,
            document=document,
            given=given,
            functions=FUNCTIONS,
            is_nested=is_nested,
        )
        self._evaluators.append(evaluator)
        return evaluator

    def _unique(self, name: str, other: str) -> str:
        candidates = [name, other, *(f"{other} {number}" for number in range(2, len(self._names) + 3))]
        free = next(each for each in candidates if each not in self._names)
        self._names.add(free)
        return free

    # -- nested stacks ---------------------------------------------------------------------------------------------

    def _add_nested(self, evaluator: Evaluator, depth: int) -> None:
        source = evaluator.source
        for logical_id, declaration in evaluator.resources.items():
            if not isinstance(declaration, dict) or declaration.get("Type") != "AWS::CloudFormation::Stack":
                continue
            if evaluator.exists(declaration) is False:
                continue
            properties = members(declaration.get("Properties"))
            with self._shared.quiet():
                url = evaluator.value(properties.get("TemplateURL"))
            document = source.nested(declaration, url) if depth > 0 else None
            if document is None:
                path = ("Resources", logical_id, "Properties", "TemplateURL")
                text = f"the template of nested stack {logical_id!r} is not among the files"
                self._shared.remark(text, evaluator.origin(path))
                continue
            given = _passed_on(evaluator, logical_id, properties.get("Parameters"))
            name = f"{evaluator.name}/{logical_id}"
            nested = self._evaluator(
                self._unique(name, f"{name} ({document.file})"), source, document, given, is_nested=True
            )
            evaluator.nested[logical_id] = nested
            self._nested_files.append((os.path.realpath(document.file), source))
            self._add_nested(nested, depth - 1)

    def _drop_nested(self) -> None:
        """Leaves a template that the user named out where another one nests it: there, its parameters are known."""
        if not self._nested_files:
            return
        dropped: set[int] = set()
        for source in [each.source for each in self._evaluators]:
            file = os.path.realpath(source.document.file)
            others = [outer for nested, outer in self._nested_files if nested == file and outer is not source]
            if not source.is_of_assembly and any(id(outer) not in dropped for outer in others):
                dropped.add(id(source))
        self._evaluators = [each for each in self._evaluators if id(each.source) not in dropped]
        self._shared.stacks[:] = self._evaluators


def _each_once(sources: list[Source]) -> list[Source]:
    """Without templates of an assembly that are named besides it."""
    if len({each.is_of_assembly for each in sources}) == 1:
        return sources
    files = {os.path.realpath(each.document.file) for each in sources if each.is_of_assembly}
    return [each for each in sources if each.is_of_assembly or os.path.realpath(each.document.file) not in files]


def _passed_on(evaluator: Evaluator, logical_id: str, parameters: Node) -> _Given:
    """What a stack gives the parameters of one in it, each worked out in the outer one when it is asked for."""

    def passed(key: str, node: Node) -> Callable[[], Value]:
        path = ("Resources", logical_id, "Properties", "Parameters", key)
        return lambda: evaluator.at(path, lambda: evaluator.value(node))

    return {key: passed(key, node) for key, node in members(parameters).items()}
