"""What a resource mentions anywhere in its properties, whatever they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_constructs.budget import SEARCHED
from gpu_constructs.template.model import Reference, Resource, Text, Value

__all__ = ["mentioned"]


def mentioned(resource: Resource) -> tuple[str, list[Reference]]:
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
