"""Where a change has to be made: the property of a launch template, a task definition or a parameter.

A reader knows the resource that a thing is called after, such as a capacity provider. What is wrong about it may stand
in another one: the type and the image in the launch template of its group, the memory of a service in its task
definition, and a value in the parameter that holds it. That is looked for here, and only for what is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from gpu_constructs.facts.values import grouped, kept
from gpu_constructs.fleet import Origin
from gpu_constructs.template.documents.node import Node, Path, items, members, of_any_case, referred, under
from gpu_constructs.template.evaluation import Stacks
from gpu_constructs.template.model import TASK_RUN, Resource, Value, references_in

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
# What each resource says of itself alone.
_OWN = frozenset({"DependsOn"})
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


class Places:
    """Finds places in some stacks, each of which is looked for once."""

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks
        self._by_stack = {each.name: each.resources for each in stacks.stacks}

    def of(self, origin: Origin, property_name: str = "", value: object = None) -> Origin:
        """Where a property is written, or is to be written, with its line and its column.

        Args:
            origin: Where the thing was written that has the property.
            property_name: The property in the words of CloudFormation, with those around it: ``Volumes.Name``.
            value: What is written there, which tells several of that name apart.
        """
        steps = tuple(each for each in property_name.split(".") if each.isalnum())
        resource = self._by_place.get((origin.file, origin.resource))
        if resource is not None and resource.type == TASK_RUN:
            steps = steps[-1:]  # what it overrides stands below other names than in a definition
        if not _TEXTS.isdisjoint(origin.path) and not _OVERRIDES.isdisjoint(origin.path):
            return self._stacks.locate(origin)
        for length in range(len(steps), 0, -1):
            named, written, home = self._beyond(origin.file, origin.resource, steps[:length])
            if named is not None:
                return self._stacks.locate(named)
            for start in (origin, written):
                if start is not None and (found := self._within(start, steps[:length], value)) is not None:
                    return self._stacks.locate(found)
            if home is not None:
                return self._stacks.locate(home)
        return self._stacks.locate(origin)

    def spot(self, origin: Origin, property_name: str, value: object) -> tuple[str, Path] | None:
        """The file and the keys where the value of a property stands by itself; None where it does not."""
        found = self.of(origin, property_name, value)
        path, last = found.path, property_name.rpartition(".")[2].lower()
        names = [str(each).lower() for each in path if isinstance(each, str)]
        if found.file is None or found.file not in self._stacks.documents:
            return None
        if path[:1] == ("Parameters",):
            return found.file, (*path[:2], "Default")
        is_there = names[-1:] == [last] and not isinstance(self._node(found), list)
        return (found.file, path) if is_there else None

    def allowed(self, spot: tuple[str, Path]) -> Sequence[Node]:
        """The values that a parameter allows; none for all, and for any other place."""
        return items(self._declared(spot).get("AllowedValues"))

    def is_stored(self, spot: tuple[str, Path]) -> bool:
        """Whether a parameter is given the name of a value in Parameter Store."""
        return str(self._declared(spot).get("Type")).startswith("AWS::SSM::Parameter::Value<")

    def _declared(self, spot: tuple[str, Path]) -> Mapping[str, Node]:
        return members(_at(self._document(spot[0]), spot[1][:2]) if spot[1][:1] == ("Parameters",) else None)

    @kept
    def _beyond(
        self, file: str | None, resource: str, steps: tuple[str, ...]
    ) -> tuple[Origin | None, Origin | None, Origin | None]:
        """The part that a property names, the first one that has it, and the one that is to get it."""
        parts = self._parts(file, resource)[: 1 if steps[-1] in _OWN else None]
        named = (each.origin for each in parts[1:] if each.type.rpartition("::")[2] == steps[-1])
        written = next((each.origin for each in parts if self._paths(each.origin, steps)), None)
        kind, below = _HOMES.get(steps[-1], ("", ()))
        home = (each.origin.at(*below) for each in parts if each.type == kind and written is None)
        return next(named, None), written, next(home, None)

    def _within(self, start: Origin, steps: tuple[str, ...], value: object) -> Origin | None:
        """Where a property is written below a place; of several of that name, the first one with the value."""
        paths = self._paths(start, steps)
        if not paths:
            return None
        by_value = self._values(start, steps)
        sought = value if isinstance(value, (list, tuple)) else (value,)
        exact = [by_value[str(each)] for each in sought if each is not None and str(each) in by_value]
        path = min(exact)[1] if exact else paths[0]
        parameter = self._parameter(_at(self._node(start), path), start.file)
        return replace(start, path=parameter or (*start.path, *path), line=None, column=None)

    @kept
    def _paths(self, start: Origin, steps: tuple[str, ...]) -> Sequence[Path]:
        """The paths of a property below a place, those of the fewest steps first."""
        resource = self._by_place.get((start.file, start.resource))
        above = "" if resource is None else resource.type.rpartition("::")[2]
        *wanted, last = [each.lower() for each in steps]
        found: dict[str, list[Path]] = {last: [], f"{last}override": []}  # ImageIdOverride of AWS Batch
        waiting: list[tuple[Path, Node]] = [((), self._node(start))]
        for path, node in waiting:
            for step, child in node.items() if isinstance(node, dict) else enumerate(items(node)):
                if isinstance(step, str) and (name := step.lower()) in found:
                    found[name].append((*path, step))
                if isinstance(child, (dict, list)):
                    waiting.append(((*path, step), child))
        return [
            path
            for path in next(filter(None, found.values()), ())
            if not wanted or _has_in_order([str(each).lower() for each in (above, *start.path[2:], *path[:-1])], wanted)
        ]

    @kept
    def _values(self, start: Origin, steps: tuple[str, ...]) -> Mapping[str, tuple[int, Path]]:
        """Which of the values of a property comes first where."""
        top, found = self._node(start), dict[str, tuple[int, Path]]()
        for number, path in enumerate(self._paths(start, steps)):
            for text, below in self._held(_at(top, path), start.file):
                found.setdefault(text, (number, (*path, *below)))
        return found

    def _held(self, node: Node, file: str | None) -> Iterator[tuple[str, Path]]:
        """The values below a node and where they stand: at the node itself, or at an item of its list."""
        for path, each in [((), node), *(((number,), item) for number, item in enumerate(items(node)))]:
            if isinstance(each, (dict, list)):
                parameter = self._parameter(each, file)
                each = None if parameter is None else _at(self._document(file), parameter)  # noqa: PLW2901 - its value
            if each is not None and not isinstance(each, (dict, list)):
                yield str(each), path

    def _parameter(self, node: Node, file: str | None) -> Path | None:
        """Where the value of a parameter is written; None for anything else."""
        name = referred(node)
        declared = None if name is None else under(self._document(file), "Parameters", name)
        if name is None or not isinstance(declared, dict):
            return None
        return ("Parameters", name, "Default") if "Default" in declared else ("Parameters", name)

    # -- what a thing is made of -----------------------------------------------------------------------------------

    @cached_property
    def _by_place(self) -> Mapping[tuple[str | None, str], Resource]:
        found = (each for stack in self._stacks.stacks for each in stack.resources.values())
        return {(each.origin.file, each.logical_id): each for each in (*found, *self._stacks.tasks)}

    @cached_property
    def _beside(self) -> Mapping[int, Sequence[Resource]]:
        """What says more about a resource, by the id of that."""
        beside = [each for each in self._by_place.values() if each.type in _BESIDE]
        return grouped((id(other), each) for each in beside for other in self._named_in(each.properties))

    @kept
    def _parts(self, file: str | None, logical_id: str) -> tuple[Resource, ...]:
        """The resource that something was written in, those that it is made of, and those that say more about them."""
        first = self._by_place.get((file, logical_id))
        found = {} if first is None else {id(first): first}
        waiting = list(found.values())
        for each in waiting:
            new = [other for other in self._referred(each) if id(other) not in found]
            found |= {id(other): other for other in new}
            waiting += new
        return tuple((found | {id(more): more for each in found for more in self._beside.get(each, ())}).values())

    @kept
    def _referred(self, resource: Resource) -> Sequence[Resource]:
        """The parts that a resource refers to, first those that take the place of others."""
        overrides = under(resource.properties, "ComputeResources", "LaunchTemplate", "Overrides")
        named = (*self._named_in(overrides), *self._named_in(resource.properties))
        return [each for each in {id(each): each for each in named}.values() if each.type in _PARTS]

    def _named_in(self, value: Value) -> Iterator[Resource]:
        """The resources of these stacks that a value refers to."""
        for each in references_in(value):
            found = self._by_stack.get(each.stack, {}).get(each.logical_id)
            if found is not None:
                yield found

    # -- what is written -------------------------------------------------------------------------------------------

    def _document(self, file: str | None) -> Node:
        document = self._stacks.documents.get(file or "")
        return None if document is None else document.data

    def _node(self, origin: Origin) -> Node:
        document = self._document(origin.file)
        return _at(document, origin.path[1:] if isinstance(document, list) else origin.path)


def _at(node: Node, path: Path) -> Node:
    for step in path:
        if isinstance(node, list):
            node = node[step] if isinstance(step, int) and step < len(node) else None
        else:
            _, node = of_any_case(members(node), step) or ("", None)
    return node


def _has_in_order(names: Sequence[str], wanted: Sequence[str]) -> bool:
    left = iter(names)
    return all(each in left for each in wanted)
