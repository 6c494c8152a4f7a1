"""Parameters of a template: what their type makes of a text, the values they allow, and those that a user gives.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, partial

from gpu_constructs.errors import shown
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Unknown
from gpu_constructs.template.documents.document import Document
from gpu_constructs.template.documents.node import Node, decimal, integer, items, members
from gpu_constructs.template.model import DynamicReference, Reference, Text, UndeclaredError, UnreadableError, Value
from gpu_constructs.template.texts import resolvable, separated, written

_DECIMAL = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """What a template says about a parameter.

    Attributes:
        type: Such as ``String`` or ``AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>``.
        default: Its default; None if it has none.
        listed: The values that it allows, as they are written.
        is_secret: Whether CloudFormation hides its value (``NoEcho``), so that nothing here may show it either.
    """

    type: str
    default: Node = None
    listed: Sequence[Node] = ()
    is_secret: bool = False

    @cached_property
    def allowed(self) -> tuple[str, ...]:
        """The values that it allows, as texts; empty allows all."""
        return tuple(dict.fromkeys(text for text in map(written, self.listed) if text is not None))

    def allows(self, text: str) -> bool:
        """Whether it may be given a text."""
        return text in map(written, self.listed) or not self.allowed

    @property
    def is_stored(self) -> bool:
        """Whether it is given the name of a value in Parameter Store."""
        return self.type.startswith("AWS::SSM::Parameter::Value<")

    @property
    def is_list(self) -> bool:
        """Whether it is several values."""
        return self.type.startswith(("List<", "CommaDelimitedList"))

    def value(self, given: Value) -> Value:
        """What a reference to it is.

        A parameter of an SSM type is given a name of Parameter Store, which is resolved at every deploy, as the dynamic
        reference ``{{resolve:ssm:name}}`` is.
        """
        if self.is_secret:
            return UNKNOWN
        if self.is_stored:
            name = written(given)
            is_list = "<List<" in self.type or "CommaDelimitedList" in self.type
            return UNKNOWN if name is None or is_list else DynamicReference(f"{{{{resolve:ssm:{name}}}}}")
        if self.is_list:
            items = given if isinstance(given, list) else separated(given, ",")
            if isinstance(items, Unknown):
                return UNKNOWN
            one = _number if self.type == "List<Number>" else _text
            return [one(item.strip() if isinstance(item, str) and items is not given else item) for item in items]
        return _number(given) if self.type == "Number" else _text(given)


def _text(given: Value) -> Value:
    text = written(given)
    if text is not None:
        return resolvable(text)
    return given if isinstance(given, (Reference, DynamicReference, Text)) else UNKNOWN


def _number(given: Value) -> Value:
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return given
    text = (written(given) or "").strip()
    if re.fullmatch(r"[-+]?\d+", text):
        return integer(text)
    return decimal(text) if re.fullmatch(_DECIMAL, text) else UNKNOWN


def parameter(declaration: Node) -> Parameter | None:
    """What a template declares; None if it is not an object, which leaves the parameter unknown."""
    if not isinstance(declaration, dict):
        return None
    return Parameter(
        type=written(declaration.get("Type")) or "String",
        default=declaration.get("Default"),
        listed=items(declaration.get("AllowedValues")),
        is_secret=declaration.get("NoEcho") in (True, "true", "True"),
    )


class ParameterValues:
    """The values of one call.

    Args:
        given: Values by name, or by ``Stack:Name`` for the parameter of one stack.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._declared: set[str] = set()

    def of(self, stack: str, document: Document) -> dict[str, Callable[[], Value]]:
        """The values for one template, by parameter."""
        values: dict[str, Callable[[], Value]] = {}
        for name, node in members(document.object().get("Parameters")).items():
            own = f"{stack}:{name}"
            self._declared |= {name, own}
            answer = self._given.get(own, self._given.get(name))
            if answer is None:
                continue
            declaration = parameter(node)
            if declaration is not None and not declaration.allows(answer):
                raise UnreadableError(
                    f"parameter {name!r} cannot be {'what was given' if declaration.is_secret else shown(answer)}",
                    file=document.file,
                    line=document.line(("Parameters", name)),
                    allowed="" if declaration.is_secret else shown(", ".join(declaration.allowed)),
                )
            values[name] = partial(str, answer)
        return values

    def require_used(self, files: Sequence[str]) -> None:
        """Refuses an answer that no template asks for."""
        for name in self._given:
            if name not in self._declared:
                nearest = get_close_matches(name, sorted(self._declared), n=3)
                raise UndeclaredError(
                    name,
                    files=files,
                    fix=f"did you mean {' or '.join(nearest)}?" if nearest else None,
                )
