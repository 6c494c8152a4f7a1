"""CloudFormation's functions and conditions, one by one; every one of them gives a value, whatever it is given.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial

from gpu_constructs.facts.budget import DIGITS
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template.documents.document import LATER
from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.evaluation.evaluator import Evaluator, Function, NoValue
from gpu_constructs.template.model import ZONE_OF_LIST, Placeholder, Text, Value, is_open
from gpu_constructs.template.texts import joined, same, separated, written


def _misused(name: str, takes: str, at: Evaluator) -> Unknown:
    at.remark(f"{name} takes {takes}")
    return UNKNOWN


def _get_att(argument: Node, at: Evaluator) -> Value:
    steps = argument.split(".", 1) if isinstance(argument, str) else argument
    if not isinstance(steps, list) or len(steps) < 2 or not isinstance(steps[0], str):  # noqa: PLR2004
        return _misused("Fn::GetAtt", "a resource and an attribute", at)
    names = [written(at.value(step)) for step in steps[1:]]
    return UNKNOWN if None in names else at.attribute(steps[0], ".".join(filter(None, names)))


def _sub(argument: Node, at: Evaluator) -> Value:
    text, variables = argument, {}
    if isinstance(argument, list) and len(argument) == 2 and isinstance(argument[1], dict):  # noqa: PLR2004
        text, variables = argument[0], argument[1]
    if not isinstance(text, str):
        return _misused("Fn::Sub", "a text, or a text and an object of its variables", at)
    if "${" not in text:
        return at.value(text)
    pieces = list(_substituted(text, variables, at))
    return joined(pieces) if at.spend(text=sum(map(_length, pieces))) else UNKNOWN  # before it is made


def _substituted(text: str, variables: Mapping[str, Node], at: Evaluator) -> Iterator[Value]:
    known: dict[str, Value] = {}
    position = 0
    for match in re.finditer(r"\$\{([^${}]*)\}", text):
        yield text[position : match.start()]
        position = match.end()
        name = match[1].strip()
        if name.startswith("!"):
            yield f"${{{name[1:]}}}"
            continue
        if name not in known:
            known[name] = _variable(name, variables, at)
        yield known[name]
    yield text[position:]


def _variable(name: str, variables: Mapping[str, Node], at: Evaluator) -> Value:
    if name in variables:
        piece = at.piece(variables[name])
        return UNKNOWN if isinstance(piece, NoValue) else piece
    resource, dot, attribute = name.partition(".")
    if dot:
        return at.attribute(resource, attribute)
    value = at.reference(name)
    if value is UNKNOWN:
        return at.unvalued(name)
    return UNKNOWN if isinstance(value, NoValue) else value


def _join(argument: list[Node], at: Evaluator) -> Value:
    delimiter, items = at.value(argument[0]), _pieces(argument[1], at)
    if not isinstance(items, list):
        return UNKNOWN if is_open(items) else joined([items])
    between = [] if delimiter == "" else [delimiter]
    pieces = [part for item in items for part in (*between, item)][len(between) :]
    return joined(pieces) if at.spend(text=sum(map(_length, pieces))) else UNKNOWN


def _pieces(items: Node, at: Evaluator) -> Value:
    """The items of a list as pieces of one text; those of ``AWS::NoValue`` are left out."""
    if not isinstance(items, list):
        return at.value(items)
    found = (at.piece(each) for each in items) if at.spend(nodes=1 + len(items)) else ()
    return [each for each in found if not isinstance(each, NoValue)]


def _length(value: Value) -> int:
    if isinstance(value, Text):
        return sum(len(piece) for piece in value.pieces if isinstance(piece, str)) + len(value.pieces)
    return len(value) if isinstance(value, str) else 1


def _select(argument: list[Node], at: Evaluator) -> Value:
    text, items = written(at.value(argument[0])), at.value(argument[1])
    index = int(text) if text is not None and text.isdecimal() and len(text) <= DIGITS else None
    if index is not None and _is_list_of_zones(argument[1], at):
        return Text((Placeholder(at.name, f"{ZONE_OF_LIST}{index}"),))
    if text is None or not isinstance(items, list):
        return UNKNOWN
    if index is None or index >= len(items):
        return _misused("Fn::Select", f"an index of one of its {len(items)} items", at)
    chosen: Value = items[index]
    return chosen


def _is_list_of_zones(items: Node, at: Evaluator) -> bool:
    """Whether a list is that of the Availability Zones of the region of the stack."""
    if not isinstance(items, dict) or items.keys() != {"Fn::GetAZs"}:
        return False
    region = items["Fn::GetAZs"]
    return region in ("", {"Ref": "AWS::Region"}) or (isinstance(region, str) and region == at.place.region)


def _split(argument: list[Node], at: Evaluator) -> Value:
    delimiter, text = written(at.value(argument[0])), at.value(argument[1])
    if delimiter is None:
        return UNKNOWN
    items = separated(text, delimiter)
    return items if not isinstance(items, list) or at.spend(nodes=len(items)) else UNKNOWN


def _decided(argument: list[Node], at: Evaluator, *, by: bool) -> bool | Unknown:
    """One that is false decides an ``And``, one that is true an ``Or``; else one that is unknown leaves it open."""
    result: bool | Unknown = not by
    for each in argument:
        holds = at.truth(each)
        if holds is by:
            return by
        if isinstance(holds, Unknown):
            result = UNKNOWN
    return result


def _not(argument: list[Node], at: Evaluator) -> bool | Unknown:
    holds = at.truth(argument[0])
    return holds if isinstance(holds, Unknown) else not holds


def _if(argument: list[Node], at: Evaluator) -> Value | NoValue:
    name, then, otherwise = argument
    holds = at.condition(name) if isinstance(name, str) else at.truth(name)
    if not isinstance(holds, Unknown):
        return at.part(then if holds else otherwise)
    one, other = at.part(then), at.part(otherwise)
    return one if type(one) is type(other) and one == other else UNKNOWN


def _find_in_map(argument: list[Node], at: Evaluator) -> Value | NoValue:
    name, first, second = (written(at.value(each)) for each in argument[:3])
    table = None if name is None else at.row(name)
    if name is not None and table is None:
        at.remark(f"no mapping {name!r}")
    if table is None or first is None or second is None:
        return UNKNOWN
    columns = table.get(first)
    if isinstance(columns, dict) and second in columns:
        return at.part(columns[second])
    options = argument[-1]
    if isinstance(options, dict) and "DefaultValue" in options:
        return at.part(options["DefaultValue"])
    at.remark(f"mapping {name!r} has nothing for {first!r} and {second!r}")
    return UNKNOWN


def _get_stack_output(argument: Node, at: Evaluator) -> Value:
    if not isinstance(argument, dict):
        return _misused("Fn::GetStackOutput", "an object with StackName and OutputName", at)
    stack, name, region = (at.value(argument.get(key)) for key in ("StackName", "OutputName", "Region"))
    return at.output_of(stack, name, region)


def _checked(name: str, lengths: Container[int], takes: str, function: Callable[..., Value | NoValue]) -> Function:
    """A function that takes a list of so many items."""

    def work_out(argument: Node, at: Evaluator) -> Value | NoValue:
        is_right = isinstance(argument, list) and len(argument) in lengths
        return function(argument, at) if is_right else _misused(name, takes, at)

    return work_out


_OF_LISTS: Sequence[tuple[str, Container[int], str, Callable[..., Value | NoValue]]] = (
    ("Fn::And", range(sys.maxsize), "a list of conditions", partial(_decided, by=False)),
    ("Fn::Equals", {2}, "two values", lambda sides, at: same(at.value(sides[0]), at.value(sides[1]))),
    ("Fn::FindInMap", {3, 4}, "a mapping and two keys", _find_in_map),
    ("Fn::If", {3}, "a condition and two values", _if),
    ("Fn::Join", {2}, "a delimiter and a list", _join),
    ("Fn::Not", {1}, "a list of one condition", _not),
    ("Fn::Or", range(sys.maxsize), "a list of conditions", partial(_decided, by=True)),
    ("Fn::Select", {2}, "an index and a list", _select),
    ("Fn::Split", {2}, "a delimiter and a text", _split),
)

FUNCTIONS: Mapping[str, Function] = {
    "Ref": lambda name, at: at.reference(name) if isinstance(name, str) else _misused("Ref", "a name", at),
    # The text before it is encoded: nothing here needs the bytes, and a text with unknown pieces has none yet.
    "Fn::Base64": lambda argument, at: at.value(argument),
    "Fn::GetAtt": _get_att,
    "Fn::GetStackOutput": _get_stack_output,
    "Fn::ImportValue": lambda argument, at: at.exported(at.value(argument)),
    "Fn::Sub": _sub,
    # What makes lists and texts that no host, task or count is read from.
    **dict.fromkeys(("Fn::Cidr", "Fn::GetAZs", "Fn::Length", "Fn::ToJsonString", "Fn::Transform"), lambda *_: UNKNOWN),
    **dict.fromkeys(LATER, lambda *_: UNKNOWN),
    **{name: _checked(name, lengths, takes, function) for name, lengths, takes, function in _OF_LISTS},
}
"""What works out each function, by its long name."""
