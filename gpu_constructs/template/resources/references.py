"""Whether a resource speaks of another one: in its own properties, or in those of what it refers to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_constructs.budget import FOLLOWED, SEARCHED
from gpu_constructs.template.model import Reference, Resource, Text, Value
from gpu_constructs.template.resources.index import Index

__all__ = ["references_to"]

_NAME = "AutoScalingGroupName"


def references_to(resource: Resource, group: Resource, index: Index) -> str | None:
    """What the properties of a resource say, if they or those of what they refer to speak of an Auto Scaling group.

    A schedule names the group itself, or it starts a function that does. None if neither speaks of it.
    """
    text, referred = _said(resource)
    if _names(text, referred, group):
        return text
    for each in tuple(dict.fromkeys(referred))[:FOLLOWED]:
        behind = index.at(each)
        if behind is not None and _names(*_said(behind), group):
            return text
    return None


def _names(text: str, referred: Sequence[Reference], group: Resource) -> bool:
    name = group.properties.get(_NAME)
    by_name = isinstance(name, str) and bool(name) and name in text
    return by_name or any((each.stack, each.logical_id) == (group.stack, group.logical_id) for each in referred)


def _said(resource: Resource) -> tuple[str, list[Reference]]:
    """Every text in the properties of a resource, one after the other, and every reference."""
    waiting: list[Value] = [resource.properties]
    texts: list[str] = []
    referred: list[Reference] = []
    seen = 0
    while waiting and seen < SEARCHED:
        here = waiting.pop()
        seen += 1
        if isinstance(here, str):
            texts.append(here)
        elif isinstance(here, Reference):
            referred.append(here)
        elif isinstance(here, Text):
            texts.append("".join(each for each in here.pieces if isinstance(each, str)))
            referred += [each for each in here.pieces if isinstance(each, Reference)]
        elif isinstance(here, Mapping):
            waiting.extend(here.values())
        elif isinstance(here, Sequence):
            waiting.extend(here[:SEARCHED])
    return "\n".join(texts), referred
