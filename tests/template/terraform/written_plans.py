"""Templates of CloudFormation written as plans of Terraform, by hand from the documents of the provider.

What is asked for is the same, so the same has to be found. References are only in the configuration, as in a plan of
what does not exist yet. Only resources that are named here can be written, and no functions but references, texts with
them, and parameters by their default.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.template.terraform.plan_names import TYPES


class NotWrittenError(Exception):
    """A template has something that this does not write."""


# Arguments that are a text with JSON in the words of the API.
_TEXTS = {"ContainerDefinitions", "ContainerProperties", "NodeProperties", "EcsProperties", "AssumeRolePolicyDocument"}
_LISTS_OF_ONE = {"Roles"}
_WRAPPED = {"cidr_blocks", "security_groups"}
_LATER = object()
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{8,}={0,2}")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_VARIABLE = re.compile(r"\$\{([^${}!]+)\}")
_STORED = re.compile(r"\{\{resolve:ssm:([^{}]+)\}\}|resolve:ssm:(\S+)")


def address_of(logical_id: str, template: Mapping[str, Any]) -> str:
    """The address that a resource of a template has in its plan."""
    declared = template["Resources"].get(logical_id)
    if declared is not None and declared["Type"] not in TYPES:
        raise NotWrittenError(declared["Type"])
    return f"{TYPES[declared['Type']][0]}.{logical_id}" if declared else logical_id


def as_plan(template: Mapping[str, Any], region: str | None = None) -> dict[str, Any]:
    """A template as a plan that creates everything in it."""
    return _Plan(template, region).written()


class _Plan:
    def __init__(self, template: Mapping[str, Any], region: str | None) -> None:
        self._template = template
        self._region = region
        self._images: dict[str, str] = {}

    def written(self) -> dict[str, Any]:
        parameters = self._template.get("Parameters", {}).values()
        if any("AllowedValues" in each for each in parameters) or "Mappings" in self._template:
            raise NotWrittenError("values of a deploy")  # a plan has one value of each variable
        changes, configured = [], []
        for logical_id, declared in self._template["Resources"].items():
            if declared["Type"] not in TYPES or "Condition" in declared or declared.get("Metadata"):
                raise NotWrittenError(declared["Type"])
            kind, names = TYPES[declared["Type"]]
            values, unknown, expressions = self._block(declared.get("Properties", {}), names, ())
            unknown |= {"id": True, "arn": True}
            if kind == "aws_ecs_service" and values.get("scheduling_strategy") != "DAEMON":
                values.setdefault("desired_count", 1)
            if kind == "aws_security_group" and "egress" not in values:
                values["egress"] = [{"from_port": 0, "to_port": 0, "protocol": "-1", "cidr_blocks": ["0.0.0.0/0"]}]
            change = {"actions": ["create"], "before": None, "after": values, "after_unknown": unknown}
            common = {"mode": "managed", "type": kind, "name": logical_id}
            address = f"{kind}.{logical_id}"
            changes.append({"address": address, **common, "provider_name": "aws", "change": change})
            before = declared.get("DependsOn", [])
            depends = [address_of(each, self._template) for each in ([before] if isinstance(before, str) else before)]
            written = {"address": address, **common, "provider_config_key": "aws", "expressions": expressions}
            configured.append({**written, **({"depends_on": depends} if depends else {})})
            if set(declared) - {"Type", "Properties", "DependsOn", "DeletionPolicy", "UpdateReplacePolicy"}:
                raise NotWrittenError(", ".join(declared))
        provider = {"name": "aws", "expressions": {"region": {"constant_value": self._region}} if self._region else {}}
        return {
            "format_version": "1.2",
            "terraform_version": "1.9.0",
            "resource_changes": changes,
            "prior_state": {"format_version": "1.0", "values": {"root_module": {"resources": list(self._data())}}},
            "configuration": {"provider_config": {"aws": provider}, "root_module": {"resources": configured}},
        }

    def _data(self) -> Iterator[dict[str, Any]]:
        for number, (name, image) in enumerate(self._images.items()):
            values = {"name": name, "value": image, "type": "String"}
            address = f"data.aws_ssm_parameter.image{number}"
            common = {"mode": "data", "type": "aws_ssm_parameter", "name": f"image{number}"}
            yield {"address": address, **common, "values": values}

    def _block(
        self, written: Mapping[str, Any], names: Mapping[str, str], path: tuple[str, ...]
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        values: dict[str, Any] = {}
        unknown: dict[str, Any] = {}
        expressions: dict[str, Any] = {}
        for key, node in written.items():
            here = (*path, key)
            name = names.get(".".join(here), _snake(key))
            if name == "-":
                continue
            if name == "" and not isinstance(node, dict):
                continue
            if name == "":
                parts = self._block(node, names, here)
                for into, part in zip((values, unknown, expressions), parts, strict=True):
                    into.update(part)
                continue
            value, later, expression = self._argument(key, node, names, here)
            if value is not _LATER:
                values[name] = value
            if name in _WRAPPED and not isinstance(node, list):
                value, later = [None if value is _LATER else value], [later]
                values[name] = value
            if "." in name:
                block, _, name = name.partition(".")
                values.setdefault(block, [{}])[0][name] = values.pop(f"{block}.{name}", None)
                unknown.setdefault(block, [{}])[0][name] = later
                expressions.setdefault(block, [{}])[0][name] = expression
                continue
            unknown[name] = later
            expressions[name] = expression
        return values, unknown, expressions

    def _argument(self, key: str, node: Any, names: Mapping[str, str], path: tuple[str, ...]) -> tuple[Any, Any, Any]:
        if key in _TEXTS:
            inner = node if key == "AssumeRolePolicyDocument" else _in_api(node)
            known, references = self._known(inner)
            return (_LATER, True, references) if known is _LATER else (json.dumps(known), False, references)
        if key in _LISTS_OF_ONE:
            node = node[0]
        if isinstance(node, dict) and not self._is_value(node):
            return self._blocks([node], names, path)
        if (
            isinstance(node, list)
            and node
            and all(isinstance(each, dict) and not self._is_value(each) for each in node)
        ):
            return self._blocks(node, names, path)
        if isinstance(node, list):
            items = [self._known(each) for each in node]
            named = [one for _, expression in items for one in expression.get("references", ())]
            later = [value is _LATER for value, _ in items]
            return [None if value is _LATER else value for value, _ in items], later, {"references": named}
        known, references = self._known(node)
        if key == "Cluster" and isinstance(node, dict):  # by its ARN, which only the apply knows
            known = _LATER
        if key == "UserData" and known is not _LATER:
            known = known if _BASE64.fullmatch(str(known)) else base64.b64encode(str(known).encode()).decode()
        return known, known is _LATER, references

    def _blocks(self, nodes: list[Any], names: Mapping[str, str], path: tuple[str, ...]) -> tuple[Any, Any, Any]:
        parts = [self._block(each, names, path) for each in nodes]
        return [each for each, _, _ in parts], [each for _, each, _ in parts], [each for _, _, each in parts]

    @staticmethod
    def _is_value(node: Mapping[str, Any]) -> bool:
        return len(node) == 1 and next(iter(node)).startswith(("Ref", "Fn::"))

    def _known(self, node: Any) -> tuple[Any, dict[str, Any]]:
        """A value and its expression; what only the apply knows is `_LATER`."""
        if isinstance(node, str) and (stored := _STORED.fullmatch(node)):
            name = stored[1] or stored[2]
            return self._images.setdefault(name, f"ami-{len(self._images):017x}"), {"references": ["local.image"]}
        if isinstance(node, list):
            parts = [self._known(each) for each in node]
        elif isinstance(node, dict) and not self._is_value(node):
            if any(key.startswith("Fn::") for key in node):
                raise NotWrittenError(str(list(node)))
            parts = [self._known(each) for each in node.values()]
        elif isinstance(node, dict):
            return self._function(*next(iter(node.items())))
        else:
            return node, {"constant_value": node}
        references = {"references": [one for _, each in parts for one in each.get("references", ())]}
        values = [value for value, _ in parts]
        if any(each is _LATER for each in values):
            return _LATER, references
        return (dict(zip(node, values, strict=True)) if isinstance(node, dict) else values), references

    def _function(self, name: str, argument: Any) -> tuple[Any, dict[str, Any]]:
        if name == "Ref":
            return self._named(argument)
        if name == "Fn::GetAtt":
            steps = argument.split(".", 1) if isinstance(argument, str) else argument
            return self._reference(steps[0], "arn" if "Arn" in steps[1] else _snake(steps[1]))
        if name == "Fn::Base64":
            return self._known(argument)
        if name == "Fn::ImportValue":
            other = "data.terraform_remote_state.other"
            return _LATER, {"references": [f"{other}.outputs", other]}
        if name == "Fn::Sub" and isinstance(argument, str):
            return self._text(argument)
        raise NotWrittenError(name)

    def _named(self, name: str) -> tuple[Any, dict[str, Any]]:
        parameter = self._template.get("Parameters", {}).get(name)
        if parameter is None:
            if name not in self._template["Resources"]:
                raise NotWrittenError(name)
            return self._reference(name, "id")
        if "Default" not in parameter:
            return _LATER, {"references": ["terraform_data.deployed"]}
        if str(parameter.get("Type")).startswith("AWS::SSM"):
            return self._known(f"{{{{resolve:ssm:{parameter['Default']}}}}}")
        return parameter["Default"], {"references": [f"var.{name}"]}

    def _text(self, text: str) -> tuple[Any, dict[str, Any]]:
        parts = [self._variable(each) for each in _VARIABLE.findall(text)]
        references = {"references": [one for _, each in parts for one in each.get("references", ())]}
        if any(value is _LATER for value, _ in parts):
            return _LATER, references
        filled = iter(parts)
        return _VARIABLE.sub(lambda _: str(next(filled)[0]), text), references

    def _variable(self, name: str) -> tuple[Any, dict[str, Any]]:
        resource, dot, attribute = name.partition(".")
        return self._function("Fn::GetAtt", [resource, attribute]) if dot else self._function("Ref", name)

    def _reference(self, logical_id: str, attribute: str) -> tuple[Any, dict[str, Any]]:
        address = address_of(logical_id, self._template)
        declared = self._template["Resources"][logical_id]
        named = declared.get("Properties", {}).get("ClusterName")
        references = {"references": [f"{address}.{attribute}", address]}
        return (
            (named, references)
            if isinstance(named, str) and declared["Type"].endswith("Cluster")
            else (_LATER, references)
        )


def _snake(name: str) -> str:
    return "_".join(_HUMPS.split(name)).lower().replace("mi_b", "mib").replace("gi_b", "gib").replace("v_cpu", "vcpu")


def _in_api(node: Any) -> Any:
    """Keys as the API of ECS has them."""
    if isinstance(node, list):
        return [_in_api(each) for each in node]
    if isinstance(node, dict) and any(key.startswith("Fn::") for key in node) and not _Plan._is_value(node):
        raise NotWrittenError(str(list(node)))
    if isinstance(node, dict) and not _Plan._is_value(node):
        return {key[:1].lower() + key[1:]: _in_api(each) for key, each in node.items()}
    return node
