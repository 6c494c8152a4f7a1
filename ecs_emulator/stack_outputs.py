"""``Fn::GetStackOutput``, the weak reference to an output of another stack, which moto 5.2.5 does not know."""

from __future__ import annotations

from typing import Any

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import cloudformation_backends
from moto.cloudformation.parsing import ResourceMap

__all__ = ["install"]

_KEY = "Fn::GetStackOutput"
_resolve = parsing.clean_json


def _clean_json(resource_json: Any, resources_map: ResourceMap) -> Any:
    if not isinstance(resource_json, dict) or _KEY not in resource_json:
        return _resolve(resource_json, resources_map)
    asked = _resolve(resource_json[_KEY], resources_map)
    name, output = asked["StackName"], asked["OutputName"]
    # Of the same account: there is one account here, whatever `RoleArn` says.
    region = asked.get("Region") or resources_map._region_name
    for stack in cloudformation_backends[resources_map._account_id][region].stacks.values():
        if name in (stack.name, stack.stack_id) and output in stack.output_map.outputs:
            return getattr(stack.output_map[output], "value", None)
    raise ValidationError(message=f"Template error: there is no output {output} of a stack {name} in {region}")


def install() -> None:
    """Resolve it wherever moto resolves functions."""
    parsing.clean_json = _clean_json
