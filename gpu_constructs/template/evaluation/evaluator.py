"""One template while it is worked out: its parameters, mappings, conditions, resources and outputs by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final, TypeAlias

from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import EVALUATION_DEPTH, RESOURCES
from gpu_constructs.fleet import UNKNOWN, Origin, Place, Unknown
from gpu_constructs.template.documents.document import Document, Source
from gpu_constructs.template.documents.node import Node, Path, members, nodes_in, referred, under
from gpu_constructs.template.evaluation.parameters import Parameter, parameter
from gpu_constructs.template.evaluation.shared import Shared
from gpu_constructs.template.model import Placeholder, Reference, Text, UnreadableError, Value
from gpu_constructs.template.texts import resolvable


class NoValue(Enum):
    """``AWS::NoValue``: the key or item that holds it is left out."""

    NO_VALUE = "AWS::NoValue"


NO_VALUE = NoValue.NO_VALUE

Function: TypeAlias = "Callable[[Node, Evaluator], Value | NoValue]"
"""What works out one function: its argument, and the template in which it is written."""

_PSEUDO = "AWS::"
FOR_EACH = "Fn::ForEach::"
"""What the key of a loop begins with."""

OF_WORK = ("AWS::Batch::", "AWS::ECS::")
"""Types that define tasks, what runs them, or their hosts."""

# Following a name takes about as much of Python's stack as this many lists or objects.
_HOP = 4


class Evaluator:
    """One template while it is worked out, which never raises and never goes in circles.

    Values of its parameters are given as functions, since one may lead into the stack around this one. Entries that
    loops make are not among its `resources`, which is remarked. A nested one has the `source` of the one around it.
    """

    def __init__(
        self,
        *,
        shared: Shared,
        name: str,
        source: Source,
        document: Document,
        given: Mapping[str, Callable[[], Value]],
        functions: Mapping[str, Function],
        is_nested: bool,
    ) -> None:
        self.shared: Final = shared
        self.name: Final = name
        self.source: Final = source
        self.stack_name: Final = None if is_nested else source.stack_name
        self.file: Final = document.file
        self.place: Final = Place(source.region, source.account)
        self.nested: dict[str, Evaluator] = {}
        self.given = given
        self._functions = functions
        self._template = document.object()
        self._place: Path = ()
        self._known: dict[tuple[str, str], Value] = {}
        self.parameters: Mapping[str, Parameter | None] = {
            key: parameter(declaration) for key, declaration in self._section("Parameters").items()
        }
        self.mappings = self._section("Mappings")
        self.conditions = self._without_loops("Conditions")
        self.resources = self._without_loops("Resources")
        self.outputs = self._without_loops("Outputs")
        shared.resources -= len(self.resources)
        if shared.resources < 0:
            raise UnreadableError(
                f"more than {RESOURCES:,} resources in all files together",
                file=self.file,
                allowed="500 in each stack, as CloudFormation takes",
                fix="name fewer files at once",
            )
        shared.stacks.append(self)

    # -- what functions ask for ------------------------------------------------------------------------------------

    def value(self, node: Node) -> Value:
        """What a node stands for; unknown where it is to be left out."""
        value = self.part(node)
        return UNKNOWN if value is NO_VALUE else value

    def piece(self, node: Node) -> Value | NoValue:
        """What a node stands for as a piece of a text, where a parameter without a value keeps its name."""
        name, value = referred(node), self.part(node)
        return self.unvalued(name) if value is UNKNOWN and name is not None else value

    def unvalued(self, name: str) -> Value:
        """What stands in a text for something that has a name and no value; unknown where nothing has the name."""
        return Text((Placeholder(self.name, name),)) if name in self.parameters or name.startswith(_PSEUDO) else UNKNOWN

    def part(self, node: Node) -> Value | NoValue:
        """What a node stands for as a part of a list or an object."""
        kind = type(node)
        if kind is not dict and kind is not list:
            return resolvable(node) if isinstance(node, str) else node
        shared = self.shared
        # Unlike `takes`, it leaves nothing to others where it is too much.
        if not shared.work.spend(1 + len(node)) or shared.depth >= EVALUATION_DEPTH:  # type: ignore[arg-type]
            return self._too_much()
        shared.depth += 1
        result = self._list(node) if isinstance(node, list) else self._object(node)  # type: ignore[arg-type]
        shared.depth -= 1
        return result

    def reference(self, name: str) -> Value | NoValue:
        """What ``Ref`` to a name is."""
        if name in self.parameters:
            return self._once("parameter", name, lambda: self._parameter(name))
        if name in self.resources:
            return Reference(self.name, name)
        if name.startswith(_PSEUDO):
            known = {"AWS::NoValue": NO_VALUE, "AWS::Region": self.place.region, "AWS::StackName": self.stack_name}
            return known.get(name) or UNKNOWN
        self.remark(f"Ref to {name!r}, which is neither a parameter nor a resource of this template")
        return UNKNOWN

    def attribute(self, resource: str, attribute: str) -> Value:
        """What ``Fn::GetAtt`` is."""
        if resource not in self.resources:
            self.remark(f"Fn::GetAtt of {resource!r}, which is not a resource of this template")
            return UNKNOWN
        outputs, _, output = attribute.partition(".")
        if outputs == "Outputs" and resource in self.nested:
            return self.nested[resource].output(output)
        return Reference(self.name, resource, attribute)

    def condition(self, name: str) -> bool | Unknown:
        """Whether a condition of the template holds."""
        if name not in self.conditions:
            self.remark(f"no condition {name!r}")
            return UNKNOWN
        node = self.conditions[name]
        holds = self._once("condition", name, lambda: self.at(("Conditions", name), lambda: self.truth(node)))
        return holds if isinstance(holds, bool) else UNKNOWN

    def truth(self, node: Node) -> bool | Unknown:
        """Whether a condition holds."""
        if isinstance(node, dict) and len(node) == 1 and isinstance(name := node.get("Condition"), str):
            return self.condition(name)
        value = self.value(node)
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        if not isinstance(value, Unknown):
            self.remark("a condition is a function such as Fn::Equals")
        return UNKNOWN

    def row(self, name: str) -> Mapping[str, Node] | None:
        """One of the template's mappings; None if it has no such."""
        found = self.mappings.get(name)
        return found if isinstance(found, dict) else None

    def exported(self, name: Value) -> Value:
        """The value that another stack exports under a name."""
        found = self.shared.exports.find(name, self.place)
        if found is None:
            return UNKNOWN
        stack, output = found
        return stack.output(output)

    def output_of(self, stack: Value, name: Value, region: Value) -> Value:
        """An output of another stack."""
        found = self.shared.exports.of_stack(stack, self.place.region if region is None else region)
        return UNKNOWN if found is None or not isinstance(name, str) else found.output(name)

    def remark(self, text: str) -> None:
        """Notes what could not be understood, and in which resource, condition or output."""
        self.shared.remark(text, self.origin(self._place))

    def spend(self, *, nodes: int = 0, text: int = 0) -> bool:
        """Whether so much more may be made."""
        self.shared.text -= text
        return self.shared.work.takes(nodes) and self.shared.text >= 0

    # -- what stacks ask each other --------------------------------------------------------------------------------

    def output(self, name: str) -> Value:
        """The value of an output; unknown if it has none."""
        declaration = self.outputs.get(name)
        if not isinstance(declaration, dict) or self.exists(declaration) is False:
            return UNKNOWN
        path: Path = ("Outputs", name, "Value")
        value = declaration.get("Value")
        return self._once("output", name, lambda: self.at(path, lambda: self.value(value)))

    def exports(self) -> Iterable[tuple[Value, str]]:
        """The names it exports, each with the output behind it."""
        for key, declaration in self.outputs.items():
            export = under(declaration, "Export")
            if isinstance(export, dict) and self.exists(members(declaration)) is not False:
                name = export.get("Name")
                path: Path = ("Outputs", key, "Export", "Name")
                yield self.at(path, lambda name=name: self.value(name)), key  # type: ignore[misc]

    def imports(self) -> Iterator[str | Text]:
        """The names that its resources import, by what is written."""
        there = [each for each in self.resources.values() if self.exists(members(each)) is not False]
        named = (under(node, "Fn::ImportValue") for each in there for node in nodes_in(each))
        for each in {str(name): name for name in named if name is not None}.values():
            found = self.value(each)
            if isinstance(found, (str, Text)):
                yield found

    # -- what readers ask for --------------------------------------------------------------------------------------

    def exists(self, declaration: Mapping[str, Node]) -> bool | Unknown:
        """Whether the condition of a resource or an output holds."""
        name = declaration.get("Condition")
        return True if name is None else self.condition(name) if isinstance(name, str) else UNKNOWN

    def at(self, path: Path, work: Callable[[], Value]) -> Value:
        """Works something out that is written at a place, to which remarks then point."""
        before, self._place = self._place, path
        result = work()
        self._place = before
        return result

    def origin(self, path: Path, construct_path: str | None = None) -> Origin:
        """A place of this template."""
        resource = str(path[1]) if len(path) > 1 and path[0] == "Resources" else "/".join(map(str, path[:2]))
        return Origin(
            resource=resource,
            file=self.file,
            construct_path=construct_path,
            path=path,
            place=self.source.place_of(resource) or self.place,
            stack=self.stack_name,
        )

    # -- working out -----------------------------------------------------------------------------------------------

    def _object(self, node: dict[str, Node]) -> Value | NoValue:
        if len(node) == 1:
            (name,) = node
            function = self._functions.get(name)
            if function is not None:
                return function(node[name], self)
        result: dict[str, Value] = {}
        for key, child in node.items():
            if key[:4] == "Fn::" or key == "Ref":
                return self._with_function(node, key)
            if type(child) is str:
                result[key] = resolvable(child)
                continue
            value = self.part(child)
            if value is not NO_VALUE:
                result[key] = value
        return result

    def _with_function(self, node: dict[str, Node], key: str) -> Value | NoValue:
        """An object that holds a function and other keys, or an unknown function."""
        if key == "Fn::Transform":
            # A macro adds to the keys around it: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-aws-include.html
            self.remark("a macro adds to this, which only the deploy knows")
            return self.part({name: child for name, child in node.items() if name != key})
        self.remark(
            f"{key} with other keys" if key in self._functions else f"a function that is not known: {brief(key)}"
        )
        return UNKNOWN

    def _list(self, node: list[Node]) -> Value:
        result: list[Value] = []
        for child in node:
            value = resolvable(child) if type(child) is str else self.part(child)
            if value is not NO_VALUE:
                result.append(value)
        return result

    def _too_much(self) -> Unknown:
        self.shared.is_complete = False
        self.remark("too much is nested or referred to here to be worked out")
        return UNKNOWN

    def _once(self, kind: str, name: str, work: Callable[[], Value]) -> Value:
        """Works a named thing out once; inside itself it is unknown."""
        key = kind, name
        if key not in self._known:
            self._known[key] = UNKNOWN
            if self.shared.depth + _HOP > EVALUATION_DEPTH:
                return self._too_much()
            self.shared.depth += _HOP
            self._known[key] = work()
            self.shared.depth -= _HOP
        return self._known[key]

    def _parameter(self, name: str) -> Value:
        declaration = self.parameters[name]
        if declaration is None:
            return UNKNOWN
        given = self.given.get(name)
        value = declaration.default if given is None else given()
        return UNKNOWN if value is None else declaration.value(value)

    def _section(self, name: str) -> dict[str, Node]:
        section = self._template.get(name)
        if section is None or isinstance(section, dict):
            return section or {}
        self.shared.remark(f"{name} is not an object", self.origin((name,)))
        return {}

    def _without_loops(self, name: str) -> dict[str, Node]:
        section = self._section(name)
        loops = [key for key in section if key.startswith(FOR_EACH)]
        for each in loops:
            self.shared.is_complete = False
            text, fix = f"{each} is a loop, which is not written out", "check the processed template instead"
            is_of_work = any(word in str(section[each]) for word in OF_WORK)
            self.shared.remark(text, self.origin((name, each)), fix=fix, hides_work=is_of_work)
        return {key: each for key, each in section.items() if key not in loops} if loops else section
