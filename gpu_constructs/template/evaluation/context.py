"""What a function of a template may ask of the place it is written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Protocol, TypeAlias

from gpu_constructs.fleet import Unknown
from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.model import Value

__all__ = ["NO_VALUE", "Context", "Function", "NoValue"]


class NoValue(Enum):
    """``AWS::NoValue``: the key or item that holds it is left out."""

    NO_VALUE = "AWS::NoValue"


NO_VALUE = NoValue.NO_VALUE


class Context(Protocol):
    """One template while its functions are worked out. None of this raises; what cannot be known is unknown."""

    def value(self, node: Node) -> Value:
        """What a node stands for; unknown where it is to be left out."""

    def part(self, node: Node) -> Value | NoValue:
        """What a node stands for as a part of a list or an object."""

    def reference(self, name: str, call: Node) -> Value | NoValue:
        """What ``Ref`` to a name is."""

    def attribute(self, resource: str, attribute: str, call: Node) -> Value:
        """What ``Fn::GetAtt`` is."""

    def condition(self, name: str, call: Node) -> bool | Unknown:
        """Whether a condition of the template holds."""

    def row(self, name: str) -> Mapping[str, Node] | None:
        """One of the template's mappings; None if it has no such."""

    def exported(self, name: Value) -> Value:
        """The value that another stack exports under a name."""

    def output_of(self, stack: Value, name: Value, region: Value) -> Value:
        """An output of another stack."""

    def remark(self, text: str, call: Node) -> None:
        """Notes what could not be understood, and where."""

    def spend(self, *, nodes: int = 0, text: int = 0) -> bool:
        """Whether so much more may be made."""


Function: TypeAlias = Callable[[Node, Node, Context], "Value | NoValue"]
"""What works out one function: its argument, the whole call, where it is written."""
