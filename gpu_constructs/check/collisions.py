"""Names that two things have which are read together, and only one can have in a region of an account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

from gpu_constructs.errors import shown
from gpu_constructs.fleet import Origin
from gpu_constructs.template import Stacks

_TOLD = 5
_CLUSTER = "AWS::ECS::Cluster"


def collisions_in(stacks: Stacks) -> tuple[str, ...]:
    """A line for each name that means two things, so that what uses it is not followed."""
    exports = list(_told("export", _exports(stacks), "what imports it is not checked"))
    clusters = list(_told("are clusters named", _clusters(stacks), "what runs there is held against the hosts of both"))
    both = [*exports, *clusters]
    more = [f"and {len(both) - _TOLD} more names that are there twice"] if len(both) > _TOLD else []
    return (*both[:_TOLD], *more)


def _told(what: str, named: Iterable[tuple[str, Origin]], so: str) -> Iterator[str]:
    by_name: dict[str, list[Origin]] = {}
    for name, origin in named:
        by_name.setdefault(name, []).append(origin)
    for name, origins in by_name.items():
        pairs = combinations(origins[:_TOLD], 2)
        first = next(((one, other) for one, other in pairs if one.place.may_be(other.place)), None)
        if first is not None:
            one, other = (f"{each.resource} of {each.file}" for each in first)
            yield f"{one} and {other} both {what} {shown(name)}: {so}; fix: check them in two calls, or leave one out"


def _exports(stacks: Stacks) -> Iterator[tuple[str, Origin]]:
    for stack in stacks.evaluators:
        for name, output in stack.exports():
            if isinstance(name, str):
                yield name, replace(stack.origin(("Outputs", output)), resource=f"output {output}")


def _clusters(stacks: Stacks) -> Iterator[tuple[str, Origin]]:
    for stack in stacks.stacks:
        for each in stack.resources.values():
            name = each.properties.get("ClusterName")
            if each.type == _CLUSTER and isinstance(name, str):
                yield name, each.origin
