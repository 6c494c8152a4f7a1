"""Templates with values of Parameter Store and Secrets Manager, and the errors that the check finds in them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from gpu_constructs.facts import image
from gpu_constructs.rules import Severity, all_rules, check
from gpu_constructs.template import Inputs, fleet_of

ERRORS = tuple(each for each in all_rules() if each.severity is Severity.ERROR)
AMI = image("al2023-gpu").ssm_parameter

STORED = {
    "StoredText": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/my/text"},
    "StoredTexts": {"Type": "AWS::SSM::Parameter::Value<List<String>>", "Default": "/my/texts"},
    "StoredAmi": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": AMI},
}
REF = {"Ref": "StoredText"}
WRITTEN = "{{resolve:ssm:/my/text}}"


def part(text: str) -> dict[str, str]:
    return {"Fn::Sub": text}


def errors(template: Mapping[str, Any]) -> set[str]:
    """Rules that find an error with the default values of all parameters; other values bring warnings alone."""
    stacks = Inputs([template]).stacks()
    fleet = fleet_of(stacks.stacks, tasks=stacks.tasks, remarks=stacks.remarks)
    return {each.rule for each in check(fleet, rules=ERRORS, fixes=False) if each.severity is Severity.ERROR}


def changed(node: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy with another value in one place; it shares the other parts."""
    if not path:
        return value
    copied = copy.copy(node)
    copied[path[0]] = changed(node.get(path[0]) if isinstance(node, dict) else node[path[0]], path[1:], value)
    return copied
