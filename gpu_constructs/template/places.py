"""Where a change has to be made: the property of a launch template, a task definition or a parameter.

A reader knows the resource that a thing is called after, such as a capacity provider. What is wrong about it may stand
in another one: the type and the image in the launch template of its group, the memory of a service in its task
definition, and a value in the parameter that holds it. That is looked for here, and only for what is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Origin
from gpu_constructs.template.documents.node import Node, Path
from gpu_constructs.template.evaluation import Stacks
from gpu_constructs.template.model import Reference, Resource, references_in

_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_TEMPLATE = "AWS::EC2::LaunchTemplate"

# The resources that a thing is made of, each after the one that refers to it.
_PARTS = frozenset(
    {
        _GROUP,
        _TEMPLATE,
        "AWS::AutoScaling::LaunchConfiguration",
        "AWS::Batch::ComputeEnvironment",
        "AWS::Batch::JobDefinition",
        "AWS::EC2::Instance",
        "AWS::ECS::CapacityProvider",
        "AWS::ECS::Service",
        "AWS::ECS::TaskDefinition",
        "AWS::ElasticLoadBalancingV2::TargetGroup",
    }
)
# The resources that say more about one of these, to which they refer.
_BESIDE = frozenset(
    {
        "AWS::ApplicationAutoScaling::ScalableTarget",
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        "AWS::AutoScaling::LifecycleHook",
        "AWS::AutoScaling::WarmPool",
        "AWS::ECS::ClusterCapacityProviderAssociations",
    }
)
# Texts that are JSON, with what a run has in place of its definition: a change is made there, not in the definition.
_TEXTS = frozenset({"DefinitionString", "Input"})
_OVERRIDES = frozenset({"ContainerOverrides", "EcsPropertiesOverride"})
# Where a property is to be written that no resource has yet.
_HOMES: Mapping[str, tuple[str, Path]] = {
    **dict.fromkeys(
        (
            "BlockDeviceMappings",
            "CapacityReservationSpecification",
            "IamInstanceProfile",
            "ImageId",
            "InstanceMarketOptions",
            "InstanceType",
            "MetadataOptions",
            "NetworkInterfaces",
            "UserData",
        ),
        (_TEMPLATE, ("Properties", "LaunchTemplateData")),
    ),
    **dict.fromkeys(
        (
            "LifecycleHookSpecificationList",
            "MaxSize",
            "MinSize",
            "MixedInstancesPolicy",
            "NewInstancesProtectedFromScaleIn",
            "PlacementGroup",
            "VPCZoneIdentifier",
        ),
        (_GROUP, ("Properties",)),
    ),
    "UpdatePolicy": (_GROUP, ()),
}


@dataclass(frozen=True, slots=True)
class _Written:
    """Where a property is written below one place, and which of its values comes first where."""

    paths: Sequence[Path]
    by_value: Mapping[str, tuple[int, Path]]


@dataclass(frozen=True, slots=True)
class _Others:
    """A part that a property names, the first one that has it, and the one that is to get it."""

    named: Origin | None
    written: Origin | None
    home: Origin | None


class Places:
    """Finds places in some stacks.

    Args:
        stacks: What was read.
    """

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks
        self._parts: dict[tuple[str | None, str], tuple[Resource, ...]] = {}
        self._referred: dict[Reference, Sequence[Resource]] = {}
        self._names: dict[tuple[str | None, Path], Mapping[str, Sequence[Path]]] = {}
        self._properties: dict[tuple[str | None, Path, tuple[str, ...]], _Written] = {}
        self._elsewhere: dict[tuple[str | None, str, tuple[str, ...]], _Others] = {}

    def of(self, origin: Origin, property_name: str = "", value: object = None) -> Origin:
        """Where a property is written, or is to be written, with its line and its column.

        Args:
            origin: Where the thing was written that has the property.
            property_name: The property in the words of CloudFormation, with those around it: ``Volumes.Name``.
            value: What is written there, which tells several of that name apart.
        """
        steps = tuple(each for each in property_name.split(".") if each.isalnum())
        if not _TEXTS.isdisjoint(origin.path) and not _OVERRIDES.isdisjoint(origin.path):
            return self._stacks.locate(origin)
        for length in range(len(steps), 0, -1):
            others = self._others(origin, steps[:length])
            if others.named is not None:
                return self._stacks.locate(others.named)
            for start in (origin, others.written):
                if start is not None and (found := self._within(start, steps[:length], value)) is not None:
                    return self._stacks.locate(found)
            if others.home is not None:
                return self._stacks.locate(others.home)
        return self._stacks.locate(origin)

    def _others(self, origin: Origin, steps: tuple[str, ...]) -> _Others:
        """Where a property may be, other than below the place where a thing was written."""
        key = origin.file, origin.resource, steps
        if key not in self._elsewhere:
            parts = self._parts_of(origin)
            named = (each.origin for each in parts[1:] if each.type.rpartition("::")[2] == steps[-1])
            written = (each.origin for each in parts if self._written(each.origin, steps).paths)
            home = self._home(steps[-1], parts)
            self._elsewhere[key] = _Others(named=next(named, None), written=next(written, None), home=home)
        return self._elsewhere[key]

    def _within(self, start: Origin, steps: tuple[str, ...], value: object) -> Origin | None:
        written = self._written(start, steps)
        if not written.paths:
            return None
        exact = [written.by_value[each] for each in _texts(value) if each in written.by_value]
        path = min(exact)[1] if exact else written.paths[0]
        parameter = self._parameter(_at(self._node(start), path), start)
        return replace(start, path=parameter or (*start.path, *path), line=None, column=None)

    def _written(self, start: Origin, steps: tuple[str, ...]) -> _Written:
        key = start.file, start.path, steps
        if key not in self._properties:
            above = tuple(str(each).lower() for each in (self._type(start).rpartition("::")[2], *start.path[2:]))
            wanted = [each.lower() for each in steps]
            paths = [
                path
                for path in self._index(start).get(wanted[-1], ())
                if _has_in_order((*above, *(str(each).lower() for each in path[:-1])), wanted[:-1])
            ]
            top = self._node(start)
            values: dict[str, tuple[int, Path]] = {}
            for number, path in enumerate(paths):
                for text, below in self._held(_at(top, path), start):
                    values.setdefault(text, (number, (*path, *below)))
            self._properties[key] = _Written(paths=paths, by_value=values)
        return self._properties[key]

    def _held(self, node: Node, at: Origin) -> Iterator[tuple[str, Path]]:
        """The values below a node and where they stand: at the node itself, or at an item of its list."""
        for path, each in [((), node), *(((number,), item) for number, item in enumerate(_items(node)))]:
            if isinstance(each, (dict, list)):
                parameter = self._parameter(each, at)
                each = None if parameter is None else _at(self._document(at), parameter)  # noqa: PLW2901 - its value
            if each is not None and not isinstance(each, (dict, list)):
                yield str(each), path

    def _parameter(self, node: Node, at: Origin) -> Path | None:
        """Where the value of a parameter is written; None for anything else."""
        name = node.get("Ref") if isinstance(node, dict) and len(node) == 1 else None
        parameters = _at(self._document(at), ("Parameters",))
        declared = parameters.get(name) if isinstance(parameters, dict) and isinstance(name, str) else None
        if not isinstance(declared, dict) or not isinstance(name, str):
            return None
        return ("Parameters", name, "Default") if "Default" in declared else ("Parameters", name)

    def _home(self, name: str, parts: Sequence[Resource]) -> Origin | None:
        kind, below = _HOMES.get(name, ("", ()))
        return next((each.origin.at(*below) for each in parts if each.type == kind), None)

    # -- what a thing is made of -----------------------------------------------------------------------------------

    @cached_property
    def _resources(self) -> Mapping[Reference, Resource]:
        found = (each for stack in self._stacks.stacks for each in stack.resources.values())
        return {each.reference: each for each in (*found, *self._stacks.tasks)}

    @cached_property
    def _by_place(self) -> Mapping[tuple[str | None, str], Resource]:
        return {(each.origin.file, each.logical_id): each for each in self._resources.values()}

    @cached_property
    def _beside(self) -> Mapping[Reference, Sequence[Resource]]:
        found: dict[Reference, list[Resource]] = {}
        for each in self._resources.values():
            if each.type in _BESIDE:
                for reference in references_in(each.properties):
                    found.setdefault(reference, []).append(each)
        return found

    def _type(self, origin: Origin) -> str:
        resource = self._by_place.get((origin.file, origin.resource))
        return "" if resource is None else resource.type

    def _parts_of(self, origin: Origin) -> tuple[Resource, ...]:
        """The resource that something was written in, those that it is made of, and those that say more about them."""
        key = origin.file, origin.resource
        if key not in self._parts:
            first = self._by_place.get(key)
            found = {} if first is None else {first.reference: first}
            waiting = list(found.values())
            for each in waiting:
                for other in self._parts_in(each):
                    if other.reference not in found:
                        found[other.reference] = other
                        waiting.append(other)
            beside = [more for each in found for more in self._beside.get(each, ())]
            self._parts[key] = tuple(dict.fromkeys((*found.values(), *beside)))
        return self._parts[key]

    def _parts_in(self, resource: Resource) -> Sequence[Resource]:
        if resource.reference not in self._referred:
            others = (self._resources.get(each) for each in dict.fromkeys(references_in(resource.properties)))
            self._referred[resource.reference] = tuple(
                each for each in others if each is not None and each.type in _PARTS
            )
        return self._referred[resource.reference]

    # -- what is written -------------------------------------------------------------------------------------------

    def _document(self, origin: Origin) -> Node:
        document = self._stacks.documents.get(origin.file or "")
        return None if document is None else document.data

    def _node(self, origin: Origin) -> Node:
        document = self._document(origin)
        return _at(document, origin.path[1:] if isinstance(document, list) else origin.path)

    def _index(self, origin: Origin) -> Mapping[str, Sequence[Path]]:
        """Paths below a place by the last name in them, those of the fewest steps first."""
        key = origin.file, origin.path
        if key not in self._names:
            found: dict[str, list[Path]] = {}
            waiting: list[tuple[Path, Node]] = [((), self._node(origin))]
            for path, node in waiting:
                for step, child in node.items() if isinstance(node, dict) else enumerate(_items(node)):
                    below = (*path, step)
                    if isinstance(step, str):
                        found.setdefault(step.lower(), []).append(below)
                    if isinstance(child, (dict, list)):
                        waiting.append((below, child))
            self._names[key] = found
        return self._names[key]


def _at(node: Node, path: Path) -> Node:
    for step in path:
        if isinstance(node, dict):
            name = step if step in node else next((each for each in node if each.lower() == str(step).lower()), None)
            node = None if name is None else node[str(name)]
        else:
            items = _items(node)
            node = items[step] if isinstance(step, int) and step < len(items) else None
    return node


def _texts(value: object) -> Iterator[str]:
    return (str(each) for each in (value if isinstance(value, (list, tuple)) else (value,)) if each is not None)


def _items(node: Node) -> Sequence[Node]:
    return node if isinstance(node, list) else ()


def _has_in_order(names: Sequence[str], wanted: Sequence[str]) -> bool:
    left = iter(names)
    return all(each in left for each in wanted)
