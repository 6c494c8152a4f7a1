"""One resource of a plan as CloudFormation would declare it, with the argument behind each property."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from gpu_constructs.facts.budget import DEPTH
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import EXISTS, METADATA_KEY, STAYS
from gpu_constructs.template.documents.document import LATER
from gpu_constructs.template.documents.node import Node, Path, deeper_than, items, members, nodes_in, under
from gpu_constructs.template.terraform.found import Images, stored
from gpu_constructs.template.terraform.json_texts import in_properties
from gpu_constructs.template.terraform.kind import Argument, Form
from gpu_constructs.template.terraform.kinds import KINDS, argument
from gpu_constructs.template.terraform.links import Link, Links
from gpu_constructs.template.terraform.plan import Instance, Object

Names = tuple[str, ...]

_OVERRIDE: Final = "image_id_override"
_IMAGE: Final = frozenset({"ami", "image_id", _OVERRIDE})
_GROUP: Final = ("aws_autoscaling_group",)
_TEMPLATE: Final = ("aws_launch_template",)
_TASK: Final = ("aws_ecs_task_definition",)
# What an argument certainly points at, for links that only a dynamic block or a local value knows.
_POINTS_AT: Mapping[str, Collection[str]] = {
    "auto_scaling_group_arn": _GROUP,
    "autoscaling_group_name": _GROUP,
    "launch_template.id": _TEMPLATE,
    "launch_template_id": _TEMPLATE,
    "launch_configuration": ("aws_launch_configuration",),
    "cluster": ("aws_ecs_cluster",),
    "cluster_name": ("aws_ecs_cluster",),
    "task_definition": _TASK,
    "task_definition_arn": _TASK,
    "resource_id": ("aws_ecs_service",),
    "compute_environment": ("aws_batch_compute_environment",),
}
_PROFILE, _RULE = "aws_iam_instance_profile", "aws_cloudwatch_event_rule"
# What an argument names, of resources that CloudFormation finds by reference alone.
_NAMES: Mapping[str, str] = {
    "role": "aws_iam_role",
    "rule": _RULE,
    "iam_instance_profile": _PROFILE,
    "iam_instance_profile.name": _PROFILE,
}
# Arguments that hold several, of which a plan shows nothing where one of them is unknown.
_LISTS: Final = frozenset(
    {"security_group_ids", "security_groups", "subnet_ids", "subnets", "vpc_security_group_ids", "vpc_zone_identifier"}
)
_SWITCH: Mapping[bool, Node] = {True: "ENABLED", False: "DISABLED"}
# What a state has as 0 where nobody wrote it.
_ZERO_IS_NONE = frozenset({"iops", "throughput", "volume_size"})
_HASH = re.compile(r"[0-9a-f]{40}")
_THROUGH = re.compile(r"(?:each|local|module|var)\.")
_DIRECT = re.compile(r"aws_[\w.\[\]\"-]+")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """What the resources of one plan share.

    Attributes:
        links: Follows references.
        images: Finds the image behind an id.
        by_id: Resources by the ids and ARNs that they have, with whether it is the ARN.
        by_name: Resources by their type and the name that they are given.
    """

    links: Links
    images: Images
    by_id: Mapping[str, tuple[str, bool]]
    by_name: Mapping[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class _Part:
    """An object of arguments: the resource or one of its blocks.

    Attributes:
        values: What is known.
        unknown: What only the apply knows, true for all.
        sensitive: What must not be shown, likewise.
        written: The expressions of the configuration; None where a dynamic block makes it.
        names: The names of the blocks that it is in.
        of: The same with indexes.
        at: Where it is in the declaration.
    """

    values: Object
    unknown: Node
    sensitive: Node
    written: Object | None
    names: Names
    of: Path
    at: Path


class Writer:
    """Writes one resource.

    Attributes:
        paths: Where each part of the declaration is among the arguments.
        texts: What JSON texts hold, by where they are in the declaration.
    """

    def __init__(self, known: Known, instance: Instance) -> None:
        self.paths: dict[Path, Path] = {}
        self.texts: dict[Path, Node] = {}
        self._known = known
        self._instance = instance
        self._top: dict[str, Node] = {}

    def resource(self) -> dict[str, Node]:
        """The declaration."""
        kind, instance = KINDS[self._instance.type], self._instance
        self._top = {"Type": kind.type, "Properties": {}}
        if instance.exists:
            self._top["Metadata"] = {METADATA_KEY: {EXISTS: True, STAYS: not instance.changes}}
        for length in range(1, len(kind.below) + 1):
            self.paths[kind.below[:length]] = ()
        configured = self._known.links.resource(instance).get("expressions")
        written = configured if isinstance(configured, dict) else None
        properties = _nested(self._top, kind.below)
        top = _Part(instance.values, instance.unknown, instance.sensitive, written, (), (), kind.below)
        self._object(top, properties)
        for name, value in kind.otherwise.items():
            properties.setdefault(name, value)
        before = dict.fromkeys(each.address for each in self._known.links.before(instance) if each.type in KINDS)
        if before:
            self._top["DependsOn"] = list(before)
        return self._top

    def _object(self, part: _Part, into: dict[str, Node]) -> None:
        for name in dict.fromkeys((*part.values, *members(part.unknown))):
            found = argument(self._instance.type, (*part.names, name))
            if found.is_left_out:
                continue
            base, at = (self._top, ()) if found.is_of_resource else (into, part.at)
            below = _Part(
                {},
                _at(part.unknown, name),
                _at(part.sensitive, name),
                None,
                (*part.names, name),
                (*part.of, name),
                (*at, *found.steps),
            )
            self._argument(found, part.values.get(name), below, _written(part.written, name), base)

    def _argument(
        self, found: Argument, value: Node, at: _Part, written: tuple[bool, Node], into: dict[str, Node]
    ) -> None:
        if isinstance(value, dict) and found.form not in (Form.FREE, Form.PAIRS):
            value = [value]
        if isinstance(value, list) and any(isinstance(each, dict) for each in value):
            self._blocks(found, value, at, written[1], into)
            return
        if value == [] and at.unknown is not True:
            if found.is_list or written[1] is not None:
                _put(into, found.steps, [])
            return
        node = self._leaf(found.form, value, at, written)
        if node is None and at.unknown is True and set(found.steps[:1]) & KINDS[self._instance.type].otherwise.keys():
            node = LATER  # Terraform has a default for it, so that it is known where nobody wrote it
        if node is not None and found.steps:
            _put(into, found.steps, node)
            self.paths[at.at] = at.of

    def _blocks(self, found: Argument, blocks: Sequence[Node], at: _Part, written: Node, into: dict[str, Node]) -> None:
        objects: list[Node] = []
        static = written if isinstance(written, list) and len(written) == len(blocks) else None
        static = [written] if isinstance(written, dict) and "references" not in written and len(blocks) == 1 else static
        if (not found.is_list and found.steps) or found.is_list:
            self.paths[at.at] = at.of
        for number, block in enumerate(blocks if found.is_list else blocks[:1]):
            expressions = static[number] if static is not None else None
            of, to = (*at.of, number), (*at.at, number) if found.is_list else at.at
            self.paths.setdefault(to, of)
            inner = _Part(
                members(block),
                _item(at.unknown, number),
                _item(at.sensitive, number),
                expressions if isinstance(expressions, dict) else None,
                at.names,
                of,
                to,
            )
            target: dict[str, Node] = {} if found.is_list else _nested(into, found.steps)
            self._object(inner, target)
            objects.append(target)
        if found.is_list:
            _put(into, found.steps, objects)

    # -- values ----------------------------------------------------------------------------------------------------

    def _leaf(self, form: Form, value: Node, at: _Part, written: tuple[bool, Node]) -> Node:
        is_unset = value is None or value == "" or (value == 0 and at.names[-1] in _ZERO_IS_NONE)
        if at.unknown is True or is_unset:
            return _formed(form, self._later(at.names, written)) if at.unknown is True else None
        if form in (Form.JSON, Form.POLICY):
            return self._of_text(form, value, at)
        if _is_secret(at.sensitive) or (form is Form.HASHED and isinstance(value, str) and _HASH.fullmatch(value)):
            return LATER
        node = self._list(value, at, written[1]) if isinstance(value, list) else self._single(value, at.names)
        if form is Form.SWITCH and isinstance(node, bool):
            return _SWITCH[node]
        return _formed(form, node)

    def _single(self, value: Node, names: Names) -> Node:
        if not isinstance(value, str):
            return value
        if names[-1] in _IMAGE:
            return self._known.images.of(value) or value
        named = _NAMES.get(".".join(names[-2:])) or _NAMES.get(names[-1])
        if named is not None and (named, value) in self._known.by_name:
            return {"Ref": self._known.by_name[named, value]}
        there = self._known.by_id.get(value)
        if there is None or there[0] == self._instance.address:
            return value
        return {"Fn::GetAtt": [there[0], "Arn"]} if there[1] else {"Ref": there[0]}

    def _list(self, value: Sequence[Node], at: _Part, expression: Node) -> Node:
        links = list(self._known.links.of(expression, self._instance)) if isinstance(at.unknown, list) else []
        unknown = [number for number in range(len(value)) if _item(at.unknown, number) is True]
        by_number = dict(zip(unknown, links, strict=True)) if len(links) == len(unknown) else {}
        return [
            self._linked(by_number.get(number)) if number in unknown else self._single(each, at.names)
            for number, each in enumerate(value)
        ]

    def _later(self, names: Names, written: tuple[bool, Node]) -> Node:
        """What only the apply knows; None where nobody asked for it, so that AWS has its own default."""
        is_written, expression = written
        types = _POINTS_AT.get(".".join(names[-2:])) or _POINTS_AT.get(names[-1], ())
        nobody_wrote = names[-1] == _OVERRIDE and not self._known.images.may_be_made
        if expression is None and (is_written or nobody_wrote):
            return None
        links = self._known.links
        named = list(map(str, items(under(expression, "references"))))
        link = links.one(expression, self._instance, types)
        may_be_another = not types and any(each.startswith("local.") for each in named)
        if link is not None and names[-1] not in _LISTS and not may_be_another:
            return self._linked(link)
        if types:
            is_open = not named or any(_THROUGH.match(each) for each in named)
            return self._linked(links.inferred(self._instance, types) if is_open else None)
        found = links.of(expression, self._instance)
        is_direct = bool(named) and all(map(_DIRECT.fullmatch, named))
        return [self._linked(each) for each in found] if is_direct and found else LATER

    def _linked(self, link: Link | None) -> Node:
        if link is None:
            return LATER
        there, attribute = link.instance, link.attribute
        if there.is_data:
            name, known = there.values.get("name"), there.values.get(attribute or "id")
            if there.type == "aws_ssm_parameter" and isinstance(name, str):
                return stored(name)
            return known if isinstance(known, str) and _at(there.sensitive, attribute or "id") is not True else LATER
        if there.type not in KINDS:
            return LATER
        if attribute in ("arn", "value"):
            return {"Fn::GetAtt": [there.address, attribute.capitalize()]}
        return {"Ref": there.address}

    def _of_text(self, form: Form, value: Node, at: _Part) -> Node:
        """What a text holds as JSON; the text where it holds none, which the reader says."""
        try:
            data: Node = json.loads(value, parse_constant=str) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            return LATER if at.sensitive is True else value
        if deeper_than(data, DEPTH):
            return LATER
        if form is Form.POLICY:
            return LATER if at.sensitive is True else data
        self.texts[at.at] = data
        return in_properties(data, hides=at.sensitive is True)


def _written(part: Object | None, name: str) -> tuple[bool, Node]:
    """Whether the configuration shows what is written around an argument, and its expression."""
    return part is not None, None if part is None else part.get(name)


def _at(node: Node, name: str) -> Node:
    return node.get(name) if isinstance(node, dict) else node is True


def _item(node: Node, number: int) -> Node:
    if isinstance(node, list):
        return node[number] if number < len(node) else False
    return node


def _nested(into: dict[str, Node], steps: Sequence[str | int]) -> dict[str, Node]:
    for at, step in enumerate(steps):
        if isinstance(step, str):
            below = into.setdefault(step, [{}] if steps[at + 1 : at + 2] == (0,) else {})
            into = members(below[0] if isinstance(below, list) and below else below)
    return into


def _formed(form: Form, node: Node) -> Node:
    """A value in the form that CloudFormation has for it."""
    if node is None or form in (Form.PLAIN, Form.FREE):
        return node
    if form is Form.ONE:
        return [node]
    if form is Form.PAIRS and isinstance(node, dict) and node != LATER:
        return [{"Name": name, "Value": value} for name, value in node.items()]
    if form is Form.ORDER and isinstance(node, list):
        return [{"ComputeEnvironment": each, "Order": number} for number, each in enumerate(node)]
    if form is Form.SERVICE and isinstance(node, dict) and "Ref" in node:
        return {"Fn::Join": ["", ["service/", node]]}
    return node


def _is_secret(sensitive: Node) -> bool:
    """Whether a part of a value must not be shown."""
    return any(each is True for each in nodes_in(sensitive))


def _put(into: dict[str, Node], steps: Sequence[str], node: Node) -> None:
    _nested(into, steps[:-1])[steps[-1]] = node
