"""What a piece of template refers to, in which order that is made, and where it differs from another."""

from __future__ import annotations

import graphlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["changed", "circle", "entries", "ordered"]


def _needs(definition: Mapping[str, Any]) -> Iterator[str]:
    """Every name that a resource waits for."""
    waits = definition.get("DependsOn", [])
    yield from [waits] if isinstance(waits, str) else waits
    yield from _references({key: value for key, value in definition.items() if key != "DependsOn"})


def circle(definitions: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Resources that wait for each other, if there are some."""
    waits = {each: definitions.keys() & {*_needs(definition)} for each, definition in definitions.items()}
    try:
        graphlib.TopologicalSorter(waits).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1][1:])  # it names the first one at the end as well
    return []


def ordered(definitions: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Resources, each after those that it needs."""
    waits = {each: [name for name in _needs(of) if name in definitions] for each, of in definitions.items()}
    order: list[str] = []
    seen: set[str] = set()

    def visit(logical_id: str) -> None:
        if logical_id not in seen:
            seen.add(logical_id)
            for needed in waits[logical_id]:
                visit(needed)
            order.append(logical_id)

    # CloudFormation makes at once what needs no service, so all of it is there while a service waits to be stable.
    services = {each for each, of in definitions.items() if of["Type"] == "AWS::ECS::Service"}
    after_services = _with_users(services, waits)
    for logical_id in sorted(definitions, key=lambda each: each in after_services):
        visit(logical_id)
    return order


def _with_users(needed: set[str], waits: Mapping[str, list[str]]) -> set[str]:
    """These, and what needs one of them, if only through others."""
    users: dict[str, list[str]] = {}
    for user, names in waits.items():
        for name in names:
            users.setdefault(name, []).append(user)
    found, left = {*needed}, [*needed]
    while left:
        more = {*users.get(left.pop(), ())} - found
        found |= more
        left += more
    return found


def _references(value: Any) -> Iterator[str]:
    """Every name that a piece of template refers to."""
    for key, item in entries(value):
        if key == "Ref":
            yield str(item)
        elif key == "Fn::GetAtt":
            yield str(item[0] if isinstance(item, list) else item.split(".")[0])
        elif key == "Fn::Sub":
            yield from re.findall(r"\$\{([^!.}]+)", item if isinstance(item, str) else item[0])


def entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key in a piece of template with its value, without recursion: each level would hand on all values below."""
    left: list[tuple[str | None, Any]] = [(None, value)]
    while left:
        key, item = left.pop()
        if key is not None:
            yield key, item
        if isinstance(item, dict):
            left += reversed(item.items())
        elif isinstance(item, list):
            left += [(None, each) for each in reversed(item)]


def changed(before: Any, after: Any, prefix: str = "") -> Iterator[str]:
    """Dotted names of the properties that differ, and of the properties these are part of."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                yield f"{prefix}{key}"
                yield from changed(before.get(key), after.get(key), f"{prefix}{key}.")
