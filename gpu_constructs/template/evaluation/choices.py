"""Which parameters can change what is found, and which values could they have?

A parameter matters where it reaches a property that a fleet is read from, on whatever way: a reference, a text, a
condition, a key of a mapping, a nested stack. Nothing is worked out here, so no branch of a condition is left out.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

from gpu_constructs.facts.aws_limits import is_region
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Origin
from gpu_constructs.template.documents.node import Node, Path, members, nodes_in, referred, under
from gpu_constructs.template.evaluation.evaluator import Evaluator
from gpu_constructs.template.evaluation.stack import RELEVANT
from gpu_constructs.template.texts import written

REGION = "AWS::Region"
"""The one parameter that no template declares, and that conditions and mappings depend on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A parameter of which more than one value is known, and that got no answer.

    Attributes:
        parameter: Its name, or `REGION`.
        default: The value that was read with; None where it was unknown.
        values: Every value that is allowed, or else that a condition or a mapping knows, as texts.
        is_complete: Whether no other value can be deployed: these are the values that are allowed, or the keys of a
            mapping in which it is looked up are among them.
    """

    parameter: str
    stack: str
    default: str | None
    values: tuple[str, ...]
    is_complete: bool
    origin: Origin


_TWO = 2
_WITHOUT_DEFAULT = 3  # steps of Fn::FindInMap; DefaultValue of AWS::LanguageExtensions is a fourth
_PARTS = ("Condition", "Metadata", "Properties", "UpdatePolicy")

# CDK's condition for its own metadata names every region, and nothing else depends on it.
_CDK_METADATA = "CDKMetadataAvailable"

# What readers look at, also where it is not what a fleet is made of.
_READ = (
    *RELEVANT,
    "AWS::EC2::",
    "AWS::ElasticLoadBalancingV2::",
    "AWS::Events::Rule",
    "AWS::IAM::",
    "AWS::Scheduler::Schedule",
    "AWS::StepFunctions::StateMachine",
)

_WITHOUT_EFFECT = frozenset({"Description", "Tags", "TagSpecifications"})


def choices_of(evaluators: Iterable[Evaluator]) -> tuple[Choice, ...]:
    """The choices of templates; those of a nested one are made by the template around it, except for the region."""
    every = list(evaluators)
    nested = {id(inner) for each in every for inner in each.nested.values()}
    return tuple(choice for each in every for choice in _choices(each, is_nested=id(each) in nested))


def _choices(evaluator: Evaluator, *, is_nested: bool) -> Iterator[Choice]:
    open_ones = {
        name: declaration
        for name, declaration in evaluator.parameters.items()
        if declaration is not None and not declaration.is_secret and not is_nested and name not in evaluator.given
    }
    asks_region = evaluator.place.region is None and _asks_region(evaluator)
    if not asks_region and not any(
        len(each.allowed) > 1 or (not each.is_stored and (evaluator.conditions or evaluator.mappings))
        for each in open_ones.values()
    ):
        return
    uses = _Uses(evaluator, is_nested=is_nested)
    for name, declaration in open_ones.items():
        known = declaration.allowed or (() if declaration.is_stored else tuple(uses.values.get(name, ())))
        default = written(declaration.default)
        if name in uses.reached and any(each != default for each in known):
            yield Choice(
                parameter=name,
                stack=evaluator.name,
                default=default,
                values=known,
                is_complete=name in uses.looked_up or (bool(declaration.allowed) and not declaration.is_list),
                origin=evaluator.origin(("Parameters", name)),
            )
    regions = tuple(filter(is_region, uses.values.get(REGION, ())))
    if asks_region and regions:
        yield Choice(
            parameter=REGION,
            stack=evaluator.name,
            default=None,
            values=regions,
            is_complete=REGION in uses.looked_up,
            origin=evaluator.origin(uses.place_of_region),
        )


def _asks_region(evaluator: Evaluator) -> bool:
    """Whether it can matter where a template is deployed to: found quickly, as few templates have any of this."""
    return any(any(map(is_region, members(rows))) for rows in evaluator.mappings.values()) or any(
        REGION in nodes_in(node) for name, node in evaluator.conditions.items() if name != _CDK_METADATA
    )


class _Uses:
    """What the parameters of one template reach, and with which values they are compared.

    Attributes:
        reached: Parameters that reach something.
        values: Values of which conditions and mappings make a difference, by parameter.
        looked_up: Parameters that are keys of a mapping, which CloudFormation refuses where it does not have them.
        place_of_region: The first condition or mapping that depends on the region.
    """

    def __init__(self, evaluator: Evaluator, *, is_nested: bool) -> None:
        self.reached: set[str] = set()
        self.values: dict[str, dict[str, None]] = {}
        self.looked_up: set[str] = set()
        self.place_of_region: Path = ()
        self._evaluator = evaluator
        self._conditions: set[str] = set()
        self._place: Path = ()
        self._waiting: list[tuple[Node, Path]] = []
        for logical_id, declaration in evaluator.resources.items():
            if logical_id in evaluator.nested or not isinstance(declaration, dict):
                continue
            if str(declaration.get("Type")).startswith(_READ):
                self._walk({key: declaration.get(key) for key in _PARTS})
        for output in evaluator.outputs.values():
            if is_nested or "Export" in members(output):
                self._walk(under(output, "Value"))
        for logical_id, inner in evaluator.nested.items():
            self._passed_on(evaluator.resources.get(logical_id), _Uses(inner, is_nested=True).reached)

    def _passed_on(self, declaration: Node, reached: Container[str]) -> None:
        for name, node in members(under(declaration, "Properties", "Parameters")).items():
            if name in reached:
                self._walk(node)

    def _walk(self, node: Node) -> None:
        waiting = self._waiting
        waiting.append((node, ()))
        while waiting:
            each, place = waiting.pop()
            self._place = place
            if isinstance(each, list):
                waiting += [(child, place) for child in each if isinstance(child, (dict, list))]
            elif isinstance(each, dict):
                for key, child in each.items():
                    self._use(key, child)
                    if isinstance(child, (dict, list)) and key not in _WITHOUT_EFFECT:
                        waiting.append((child, place))

    def _use(self, key: str, child: Node) -> None:
        first = child[0] if isinstance(child, list) and child else child
        if key == "Ref" and isinstance(child, str):
            self.reached.add(child)
        elif key == "Fn::Sub" and isinstance(first, str):
            self.reached.update(name.strip() for name in re.findall(r"\$\{([^${}!]+)\}", first))
        elif key == "Fn::If" and isinstance(first, str):
            self._condition(first)
        elif key == "Condition" and isinstance(child, str):
            self._condition(child)
        elif key == "Fn::Equals" and isinstance(child, list):
            self._compare(child)
        elif key == "Fn::FindInMap" and isinstance(child, list):
            self._look_up(child)

    def _condition(self, name: str) -> None:
        if name not in self._conditions:
            self._conditions.add(name)
            # Not at once: conditions may refer to each other as often as there are.
            self._waiting.append((self._evaluator.conditions.get(name), ("Conditions", name)))

    def _compare(self, sides: list[Node]) -> None:
        for one, other in (sides, sides[::-1]) if len(sides) == _TWO else ():
            text = written(other) if not isinstance(other, (dict, list)) else None
            if (name := referred(one)) is not None and text is not None:
                self._know(name, [text], self._place)

    def _look_up(self, steps: list[Node]) -> None:
        mapping = steps[0] if steps else None
        rows = self._evaluator.row(mapping) if isinstance(mapping, str) else None
        for name, columns in zip(map(referred, steps[1:]), [(rows or {}), *(rows or {}).values()][:_TWO], strict=False):
            if name is not None and isinstance(columns, dict):
                self._know(name, columns, ("Mappings", str(mapping)))
                self.looked_up.update([name] if len(steps) == _WITHOUT_DEFAULT else [])

    def _know(self, name: str, values: Iterable[str], place: Path) -> None:
        self.values.setdefault(name, {}).update(dict.fromkeys(values))
        if name == REGION and not self.place_of_region:
            self.place_of_region = place
