"""What a rule says of its wrong example after a change: how gravely, once for each finding."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from gpu_constructs.check.report import check_files
from gpu_constructs.rules import Finding
from gpu_constructs.rules.catalogue import one_of
from tools.rule_examples import example_of

USER_DATA = """  Template:
    Properties:
      LaunchTemplateData:
        UserData:
          Fn::Base64: !Sub |
            #!/bin/bash
            echo ECS_CLUSTER=${Cluster} >> /etc/ecs/ecs.config
            %s
"""
"""A part of a template in YAML: the user data of the examples' hosts with one more command."""
ON_CPU = """  Job:
    Properties:
      ContainerProperties: {ResourceRequirements: [{Type: VCPU, Value: "1"}, {Type: MEMORY, Value: "900"}]}
"""
"""A part of the example of GPU296: its job without GPUs."""


def severities(rule: str, properties: dict[str, Any] | None = None, **more: Any) -> list[str]:
    """Severities of a rule's findings in its wrong example, see `changed`."""
    return [each.severity.value for each in changed(rule, properties, **more)]


def changed(
    rule: str, properties: dict[str, Any] | None = None, of: str = "", exported: str = "", **resources: Any
) -> list[Finding]:
    """A rule's findings in its wrong example after a change.

    Args:
        rule: Its id.
        properties: Properties by the logical id of a resource of the example; None takes one away.
        of: The rule whose example it is; by default the same.
        exported: The logical id of a resource that is exported under this name.
        resources: Resources that the example has besides, or instead.
    """
    template: Any = deepcopy(example_of(of or rule).template(example_of(of or rule).wrong))
    template["Resources"].update(resources)
    template["Outputs"] = {"Of": {"Value": {"Ref": exported}, "Export": {"Name": exported}}} if exported else {}
    for name, changes in (properties or {}).items():
        _put(template["Resources"][name].setdefault("Properties", {}), changes)
    return list(check_files(["-"], stdin=json.dumps(template).encode(), rules=one_of(rule)).findings)


def endpoint(service: str, vpc: Any = None) -> dict[str, Any]:
    """A resource for an example that has a VPC."""
    properties = {"VpcId": vpc or {"Ref": "Vpc"}, "ServiceName": f"com.amazonaws.us-east-1.{service}"}
    return {"Type": "AWS::EC2::VPCEndpoint", "Properties": properties}


def custom(name: str, of: str = "Custom::Own", key: str = "Of") -> dict[str, Any]:
    """A resource that another one is given to."""
    return {"Type": of, "Properties": {key: {"Ref": name}}}


def _put(values: dict[str, Any], changes: dict[str, Any]) -> None:
    for key, change in changes.items():
        if isinstance(change, dict) and isinstance(values.get(key), dict) and len(change) > 0 and "Ref" not in change:
            _put(values[key], change)
        elif change is None:
            values.pop(key, None)
        else:
            values[key] = change
