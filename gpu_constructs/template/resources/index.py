"""Every resource of all stacks that are read together, by type, reference and name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from gpu_constructs.template.model import Reference, Resource, Stack, Text, Value
from gpu_constructs.template.resources.names import construct_path

__all__ = ["Index"]

# The property by which templates name a resource; the last piece of an ARN is the same name.
_NAMED_BY = {
    "AWS::AutoScaling::AutoScalingGroup": "AutoScalingGroupName",
    "AWS::AutoScaling::LaunchConfiguration": "LaunchConfigurationName",
    "AWS::Batch::ComputeEnvironment": "ComputeEnvironmentName",
    "AWS::EC2::LaunchTemplate": "LaunchTemplateName",
    "AWS::EC2::PlacementGroup": "GroupName",
    "AWS::ECS::CapacityProvider": "Name",
    "AWS::ECS::Cluster": "ClusterName",
    "AWS::ECS::Service": "ServiceName",
    "AWS::ECS::TaskDefinition": "Family",
}
_CUSTOM = ("Custom::", "AWS::CloudFormation::CustomResource")


class Index:
    """Finds resources."""

    def __init__(
        self,
        stacks: Sequence[Stack],
        tasks: Sequence[Resource] = (),
        regions: Mapping[str, str | None] | None = None,
    ) -> None:
        self._by_key: dict[tuple[str, str], Resource] = {}
        self._by_type: dict[str, list[Resource]] = {}
        for resource in chain.from_iterable((*(stack.resources.values() for stack in stacks), tasks)):
            if (resource.stack, resource.logical_id) not in self._by_key:
                placed = _placed(resource, (regions or {}).get(resource.stack))
                self._by_key[resource.stack, resource.logical_id] = placed
                self._by_type.setdefault(resource.type, []).append(placed)
        self._by_name: dict[str, dict[str, Resource]] = {}

    def all(self, *types: str) -> Iterable[Resource]:
        """Every resource of these types, in the order in which they were written."""
        return chain.from_iterable(self._by_type.get(each, ()) for each in types)

    def of_custom_types(self) -> Iterable[Resource]:
        """Every resource that a function of somebody makes."""
        return self.all(*(each for each in self._by_type if each.startswith(_CUSTOM)))

    def at(self, reference: Reference, resource_type: str | None = None) -> Resource | None:
        """The resource behind a reference; None if it is not among those that are read."""
        found = self._by_key.get((reference.stack, reference.logical_id))
        return found if found is not None and resource_type in {None, found.type} else None

    def find(self, value: Value, resource_type: str) -> Resource | None:
        """The resource that a property names, by reference, name or ARN."""
        reference = _single_reference(value)
        if reference is not None:
            return self.at(reference, resource_type)
        return self.named(value, resource_type) if isinstance(value, str) else None

    def named(self, name: str, resource_type: str) -> Resource | None:
        """The resource of a name or ARN that is written out."""
        names = self._by_name.get(resource_type)
        if names is None:
            names = self._by_name[resource_type] = {}
            for resource in self.all(resource_type):
                given = resource.properties.get(_NAMED_BY.get(resource_type, "Name"))
                if isinstance(given, str):
                    names.setdefault(given, resource)
        return names.get(name) or (names.get(name.rpartition("/")[2]) if name.startswith("arn:") else None)


def _placed(resource: Resource, region: str | None) -> Resource:
    """The same with all that is known about where it was written; what is not an object has no properties."""
    properties: object = resource.properties
    if not isinstance(properties, Mapping):
        resource = replace(resource, properties={})
    origin = resource.origin
    region, path = origin.region or region, construct_path(resource)
    if (origin.region, origin.construct_path) == (region, path):
        return resource
    return replace(resource, origin=replace(origin, construct_path=path, region=region))


def _single_reference(value: Value) -> Reference | None:
    """The one resource that a value points at, be it within an ARN; None if there is none, or more than one."""
    if isinstance(value, Reference):
        return value
    if not isinstance(value, Text):
        return None
    found = {each for each in value.pieces if isinstance(each, Reference)}
    return found.pop() if len(found) == 1 else None
