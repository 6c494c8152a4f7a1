"""Parameters of a template: what their type makes of a text, and which values they allow.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpu_constructs.fleet import UNKNOWN
from gpu_constructs.template.documents.node import Node, decimal, integer
from gpu_constructs.template.evaluation.texts import resolvable, separated, written
from gpu_constructs.template.model import DynamicReference, Reference, Text, Value

__all__ = ["Parameter", "parameter"]

_INTEGER = re.compile(r"[-+]?\d+")
_DECIMAL = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """What a template says about a parameter.

    Attributes:
        type: Such as ``String`` or ``AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>``.
        default: Its default; None if it has none.
        allowed: The values it allows, as texts; empty allows all.
    """

    type: str
    default: Node = None
    allowed: tuple[str, ...] = ()

    @property
    def is_list(self) -> bool:
        """Whether it is several values."""
        return self.type.startswith(("List<", "CommaDelimitedList"))

    def value(self, given: Value) -> Value:
        """What a reference to it is.

        A parameter of an SSM type is given a name of Parameter Store, which is resolved at every deploy, as the dynamic
        reference ``{{resolve:ssm:name}}`` is.

        Args:
            given: A default, a value from the command line, or what the stack around it passes on.
        """
        if self.type.startswith("AWS::SSM::Parameter::Value<"):
            name = written(given)
            is_list = "<List<" in self.type or "CommaDelimitedList" in self.type
            return UNKNOWN if name is None or is_list else DynamicReference(f"{{{{resolve:ssm:{name}}}}}")
        if self.is_list:
            items = given if isinstance(given, list) else _items(given)
            return [self._item(item) for item in items] if isinstance(items, list) else UNKNOWN
        return _number(given) if self.type == "Number" else _text(given)

    def _item(self, item: Value) -> Value:
        return _number(item) if self.type == "List<Number>" else _text(item)


def _items(given: Value) -> Value:
    items = separated(given, ",")
    if not isinstance(items, list):
        return UNKNOWN
    return [item.strip() if isinstance(item, str) else item for item in items]


def _text(given: Value) -> Value:
    text = written(given)
    if text is not None:
        return resolvable(text)
    return given if isinstance(given, (Reference, DynamicReference, Text)) else UNKNOWN


def _number(given: Value) -> Value:
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return given
    text = (written(given) or "").strip()
    if _INTEGER.fullmatch(text):
        return integer(text)
    return decimal(text) if _DECIMAL.fullmatch(text) else UNKNOWN


def parameter(declaration: Node) -> Parameter | None:
    """What a template declares; None if it is not an object, which leaves the parameter unknown."""
    if not isinstance(declaration, dict):
        return None
    allowed = declaration.get("AllowedValues")
    texts = map(written, allowed) if isinstance(allowed, list) else ()
    return Parameter(
        type=written(declaration.get("Type")) or "String",
        default=declaration.get("Default"),
        allowed=tuple(dict.fromkeys(text for text in texts if text is not None)),
    )
