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
from gpu_constructs.template.terraform.plan import Instance

Names = tuple[str, ...]

_OVERRIDE: Final = "image_id_override"
_IMAGE: Final = frozenset({"ami", "image_id", _OVERRIDE})
_HELD: Final = frozenset({"insecure_value", "value"})
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
    "role_name": "aws_iam_role",
    "roles": "aws_iam_role",
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
    """An argument, or an object of arguments: the resource or one of its blocks.

    Attributes:
        value: What is known.
        unknown: What only the apply knows, true for all.
        sensitive: What must not be shown, likewise.
        written: Its expression in the configuration, or those of an object.
        is_shown: Whether the configuration shows what is written around it, which it does not for a dynamic block.
        names: Its name behind those of the blocks that it is in.
        of: The same with indexes.
        at: Where it is in the declaration.
    """

    value: Node
    unknown: Node
    sensitive: Node
    written: Node
    is_shown: bool
    names: Names
    of: Path
    at: Path


class Writer:
    """Writes one resource.

    Attributes:
        paths: Where each part of the declaration is among the arguments.
        texts: What JSON texts hold, by where they are in the declaration.
        has_hash: Whether the plan has its user data as a hash only, as with versions of the provider before 6
            (https://github.com/hashicorp/terraform-provider-aws/issues/7625).
    """

    def __init__(self, known: Known, instance: Instance) -> None:
        self.paths: dict[Path, Path] = {}
        self.texts: dict[Path, Node] = {}
        self.has_hash = False
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
        written, properties = self._known.links.resource(instance).get("expressions"), _nested(self._top, kind.below)
        is_shown = isinstance(written, dict)
        top = _Part(instance.values, instance.unknown, instance.sensitive, written, is_shown, (), (), kind.below)
        self._object(top, properties)
        for name, value in kind.otherwise.items():
            properties.setdefault(name, value)
        before = dict.fromkeys(each.address for each in self._known.links.before(instance) if each.type in KINDS)
        if before:
            self._top["DependsOn"] = list(before)
        return self._top

    def _object(self, part: _Part, into: dict[str, Node]) -> None:
        for name in dict.fromkeys((*members(part.value), *members(part.unknown))):
            found = argument(self._instance.type, (*part.names, name))
            if found.is_left_out:
                continue
            base, at = (self._top, ()) if found.is_of_resource else (into, part.at)
            below = _Part(
                under(part.value, name),
                _at(part.unknown, name),
                _at(part.sensitive, name),
                under(part.written, name),
                part.is_shown,
                (*part.names, name),
                (*part.of, name),
                (*at, *found.steps),
            )
            self._argument(found, below, base)

    def _argument(self, found: Argument, at: _Part, into: dict[str, Node]) -> None:
        is_object = isinstance(at.value, dict) and found.form not in (Form.FREE, Form.PAIRS)
        blocks = [at.value] if is_object else items(at.value)
        if any(isinstance(each, dict) for each in blocks):
            self._blocks(found, blocks, at, into)
            return
        if at.value == [] and at.unknown is not True:
            if found.is_list or at.written is not None:
                _put(into, found.steps, [])
            return
        node = self._leaf(found.form, at)
        if node is None and at.unknown is True and set(found.steps[:1]) & KINDS[self._instance.type].otherwise.keys():
            node = LATER  # Terraform has a default for it, so that it is known where nobody wrote it
        if node is not None and found.steps:
            _put(into, found.steps, node)
            self.paths[at.at] = at.of

    def _blocks(self, found: Argument, blocks: Sequence[Node], at: _Part, into: dict[str, Node]) -> None:
        objects: list[Node] = []
        is_one = isinstance(at.written, dict) and "references" not in at.written
        static = [at.written] if is_one else items(at.written)
        if (not found.is_list and found.steps) or found.is_list:
            self.paths[at.at] = at.of
        for number, block in enumerate(blocks if found.is_list else blocks[:1]):
            expressions = static[number] if len(static) == len(blocks) else None
            of, to = (*at.of, number), (*at.at, number) if found.is_list else at.at
            self.paths.setdefault(to, of)
            inner = _Part(
                members(block),
                _item(at.unknown, number),
                _item(at.sensitive, number),
                expressions,
                isinstance(expressions, dict),
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

    def _leaf(self, form: Form, at: _Part) -> Node:
        value = at.value
        if at.unknown is True:
            return _formed(form, self._later(at))
        if value is None or value == "" or (value == 0 and at.names[-1] in _ZERO_IS_NONE):
            return None
        if form in (Form.JSON, Form.POLICY):
            return self._of_text(form, at)
        if any(each is True for each in nodes_in(at.sensitive)):
            return self._image_behind(at)
        value = self._behind_hash(at) if form is Form.HASHED else value
        node = self._list(value, at) if isinstance(value, list) else self._single(value, at.names)
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

    def _list(self, value: Sequence[Node], at: _Part) -> Node:
        links = list(self._known.links.of(at.written, self._instance)) if isinstance(at.unknown, list) else []
        unknown = [number for number in range(len(value)) if _item(at.unknown, number) is True]
        by_number = dict(zip(unknown, links, strict=True)) if len(links) == len(unknown) else {}
        return [
            self._linked(by_number.get(number)) if number in unknown else self._single(each, at.names)
            for number, each in enumerate(value)
        ]

    def _later(self, at: _Part) -> Node:
        """What only the apply knows; None where nobody asked for it, so that AWS has its own default."""
        names, expression = at.names, at.written
        types = _POINTS_AT.get(".".join(names[-2:])) or _POINTS_AT.get(names[-1], ())
        nobody_wrote = names[-1] == _OVERRIDE and not self._known.images.may_be_made
        if expression is None and (at.is_shown or nobody_wrote):
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

    def _behind_hash(self, at: _Part) -> Node:
        """The text that a hash is of, where the configuration has it."""
        if not isinstance(at.value, str) or not _HASH.fullmatch(at.value):
            return at.value
        written = under(at.written, "constant_value")
        self.has_hash = not isinstance(written, str)
        return LATER if self.has_hash else written

    def _image_behind(self, at: _Part) -> Node:
        """The parameter that an image comes from, where its id must not be shown; the name of that may be.

        The provider has the ``value`` of each parameter as sensitive, that of a public one too: `dataSourceParameter`
        in internal/service/ssm/parameter_data_source.go of github.com/hashicorp/terraform-provider-aws, 2026-11.
        """
        link = self._known.links.only(at.written, self._instance) if at.names[-1] in _IMAGE else None
        if link is None or link.instance.type != "aws_ssm_parameter" or link.attribute not in _HELD:
            return LATER
        return self._linked(link)

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

    def _of_text(self, form: Form, at: _Part) -> Node:
        """What a text holds as JSON; the text where it holds none, which the reader says."""
        try:
            data: Node = json.loads(at.value, parse_constant=str) if isinstance(at.value, str) else at.value
        except (ValueError, RecursionError):
            return LATER if at.sensitive is True else at.value
        if deeper_than(data, DEPTH):
            return LATER
        if form is Form.POLICY:
            return LATER if at.sensitive is True else data
        self.texts[at.at] = data
        return in_properties(data, hides=at.sensitive is True)


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


def _put(into: dict[str, Node], steps: Sequence[str], node: Node) -> None:
    _nested(into, steps[:-1])[steps[-1]] = node
