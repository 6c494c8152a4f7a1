"""Short ways to write a template and to look at what one value in it becomes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpu_constructs.template import Input, Inputs, Stacks
from gpu_constructs.template.model import Resource, Stack, Value

Template = dict[str, Any]


def template(value: Any, **sections: Any) -> Template:
    """A service with one property, a resource to refer to, and whatever other sections there are."""
    resources = {
        "Service": {"Type": "AWS::ECS::Service", "Properties": {"Value": value}},
        "Other": {"Type": "AWS::ECS::Cluster"},
        **sections.pop("Resources", {}),
    }
    return {"Resources": resources, **sections}


def read_stacks(inputs: Sequence[Input], *, parameters: Mapping[str, str] | None = None, **given: Any) -> Stacks:
    return Inputs(inputs, **given).stacks(parameters)


def read(value: Any, *, region: str | None = None, parameters: dict[str, str] | None = None, **sections: Any) -> Stacks:
    return read_stacks([template(value, **sections)], region=region, parameters=parameters)


def worked_out(value: Any, **arguments: Any) -> Value:
    """What a value in a template becomes; the template around it must not be odd."""
    stacks = read(value, **arguments)
    assert stacks.remarks == ()
    return in_service(stacks)


def in_service(stacks: Stacks) -> Value:
    return only_stack(stacks).resources["Service"].properties.get("Value", "left out")


def only_stack(stacks: Stacks) -> Stack:
    (stack,) = stacks.stacks
    return stack


def stack(stacks: Stacks, name: str) -> Stack:
    (found,) = [each for each in stacks.stacks if each.name == name]
    return found


def resource(stacks: Stacks, stack_name: str, logical_id: str) -> Resource:
    return stack(stacks, stack_name).resources[logical_id]


def read_text(text: str | bytes) -> Stacks:
    return read_stacks(["-"], stdin=text.encode() if isinstance(text, str) else text)


def not_read(stacks: Stacks) -> list[str]:
    return [remark.text for remark in stacks.remarks]


def save(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path
