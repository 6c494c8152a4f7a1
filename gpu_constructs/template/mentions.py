"""What a resource mentions anywhere in its properties, whatever they mean."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from gpu_constructs.facts.budget import SEARCHED
from gpu_constructs.template.model import Reference, Resource, Text, Value


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


def references_in(value: Value) -> Iterator[Reference]:
    """The resources that a value refers to, without the attributes, those of the fewest steps first."""
    for each in _values_in(value):
        if isinstance(each, (Reference, Text)):
            yield from _referred(each)


def _referred(value: Reference | Text) -> Iterator[Reference]:
    pieces = value.pieces if isinstance(value, Text) else (value,)
    return (Reference(each.stack, each.logical_id) for each in pieces if isinstance(each, Reference))


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
