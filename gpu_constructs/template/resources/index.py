"""Every resource of all stacks that are read together, by type, reference and name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from gpu_constructs.facts.values import grouped, kept
from gpu_constructs.fleet import Place, Unknown
from gpu_constructs.template.model import (
    DynamicReference,
    Placeholder,
    Reference,
    Resource,
    Stack,
    Text,
    Value,
    begin_of,
    mentioned,
    references_in,
)
from gpu_constructs.template.resources.names import construct_path
from gpu_constructs.template.resources.others import CUSTOM, Others

# The property by which templates name a resource; the last piece of an ARN is the same name.
_NAMED_BY = {
    "AWS::AutoScaling::AutoScalingGroup": "AutoScalingGroupName",
    "AWS::AutoScaling::LaunchConfiguration": "LaunchConfigurationName",
    "AWS::Batch::ComputeEnvironment": "ComputeEnvironmentName",
    "AWS::Batch::JobDefinition": "JobDefinitionName",
    "AWS::Batch::JobQueue": "JobQueueName",
    "AWS::EC2::LaunchTemplate": "LaunchTemplateName",
    "AWS::EC2::PlacementGroup": "GroupName",
    "AWS::ECS::CapacityProvider": "Name",
    "AWS::ECS::Cluster": "ClusterName",
    "AWS::ECS::Service": "ServiceName",
    "AWS::ECS::TaskDefinition": "Family",
}
# Of these, Ref is the name.
_REFERRED_TO_BY_NAME = frozenset(
    {
        "AWS::AutoScaling::AutoScalingGroup",
        "AWS::AutoScaling::LaunchConfiguration",
        "AWS::EC2::PlacementGroup",
        "AWS::ECS::CapacityProvider",
        "AWS::ECS::Cluster",
    }
)
_PARAMETER = "AWS::SSM::Parameter"
_STORED = r"\{\{resolve:ssm:([^{}:]{1,2048})(?::[0-9]{1,10})?\}\}"
_NAMES_IN_NAMES = 3
_STEPS_OF_ARN = 5  # arn:partition:service:region:account:resource, which may have colons itself
_ANYWHERE = Place()
_BETWEEN = ("/", ":")


class Index:
    """Finds resources."""

    def __init__(
        self,
        stacks: Sequence[Stack],
        tasks: Sequence[Resource] = (),
        regions: Mapping[str, str | None] | None = None,
    ) -> None:
        self._stacks = stacks
        self._by_key: dict[tuple[str, str], Resource] = {}
        self._by_type: dict[str, list[Resource]] = {}
        for resource in chain.from_iterable((*(stack.resources.values() for stack in stacks), tasks)):
            if (resource.stack, resource.logical_id) not in self._by_key:
                placed = _placed(resource, (regions or {}).get(resource.stack))
                self._by_key[resource.stack, resource.logical_id] = placed
                self._by_type.setdefault(resource.type, []).append(placed)
        self._places = frozenset(each.origin.place for each in self._by_key.values())

    def all(self, *types: str) -> Iterable[Resource]:
        """Every resource of these types, in the order in which they were written."""
        return chain.from_iterable(self._by_type.get(each, ()) for each in types)

    def of_custom_types(self) -> Iterable[Resource]:
        """Every resource that a function of somebody makes."""
        return self.all(*(each for each in self._by_type if each.startswith(CUSTOM)))

    @cached_property
    def others(self) -> Others:
        """What code and other stacks can reach of what is here."""
        return Others(self._by_key.values(), self._stacks, self.all, self.at)

    def where(self, place: Place) -> str:
        """What follows the name of something in a place, so that it is not the same name in another place.

        Empty where these files have no other place, or one that may be the same.
        """
        others = self._places - {place}
        is_alone = bool(others) and not any(place.may_be(each) for each in others)
        of_account = f" of {place.account}" if place.account else ""
        in_region = f" in {place.region}" if place.region else ""
        return of_account + in_region if is_alone else ""

    @kept
    def after(self, *some: Reference) -> frozenset[Reference]:
        """Some resources, and those that are certainly created after one of them.

        CloudFormation creates a resource after those that it refers to or depends on, and the others at the same time:
        https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-dependson.html
        """
        found = dict.fromkeys(some)
        waiting = list(found)
        for each in waiting:
            new = [later for later in self._followers.get(each, ()) if later not in found]
            found.update(dict.fromkeys(new))
            waiting += new
        return frozenset(found)

    @cached_property
    def _followers(self) -> Mapping[Reference, Sequence[Reference]]:
        """By resource, those that name it in ``DependsOn`` or, where they are of ECS, refer to it."""

        def named(each: Resource) -> Iterable[Reference]:
            own = (Reference(each.stack, name) for name in each.depends_on)
            return chain(own, references_in(each.properties) if each.type.startswith("AWS::ECS::") else ())

        return grouped((other, each.reference) for each in self._by_key.values() for other in named(each))

    def at(self, reference: Reference, resource_type: str | None = None) -> Resource | None:
        """The resource behind a reference; None if it is not among those that are read."""
        found = self._by_key.get((reference.stack, reference.logical_id))
        return found if found is not None and resource_type in (None, found.type) else None

    def custom(self, value: Value) -> Resource | None:
        """The custom resource that a property points at."""
        reference = _pointed_at(value)
        found = None if reference is None else self.at(reference)
        return found if found is not None and found.type.startswith(CUSTOM) else None

    def looked_up(self, value: Value, resource_type: str, near: Place) -> Resource | None:
        """As `find`; of a value that a custom resource gives, the only resource of the type that it is told of."""
        function = self.custom(value)
        told = () if function is None else (self.at(each, resource_type) for each in mentioned(function)[1])
        found = {each.reference: each for each in told if each is not None}
        return next(iter(found.values())) if len(found) == 1 else self.find(value, resource_type, near)

    def find(self, value: Value, resource_type: str, near: Place = _ANYWHERE) -> Resource | None:
        """The resource a property names: by reference, ARN, name or a parameter with one; names mean what is `near`."""
        value = self._stored(value, near)
        reference = _pointed_at(value)
        if reference is not None:
            found = self.at(reference, resource_type)
            if found is not None or isinstance(value, Reference):
                return found
        name = self._written(value)
        return None if name is None else self.named(name, resource_type, place_of_arn(name) or near)

    def reference(self, value: Value, resource_type: str, near: Place = _ANYWHERE) -> Reference | None:
        """The reference to what `find` finds."""
        found = self.find(value, resource_type, near)
        return None if found is None else found.reference

    def named_by(self, some: Iterable[Resource], key: str, resource_type: str) -> frozenset[Reference | None]:
        """What some resources name in a property; None for what is not known."""
        return frozenset(self.reference(each.properties.get(key), resource_type, each.origin.place) for each in some)

    def revised(self, value: Value, resource_type: str, near: Place) -> Resource | None:
        """The definition that a property names: as `find` does, or by its name with a revision behind it."""
        found = self.find(value, resource_type, near)
        if found is None and isinstance(value, str):
            # "name:revision", which is also how the ARN ends.
            name = value.rpartition("/")[2].partition(":")[0]
            found = self.named(name, resource_type, place_of_arn(value) or near)
        return found

    def named(self, name: str | Text, resource_type: str, near: Place) -> Resource | None:
        """The resource of a name or ARN that is written out, as something in a place calls it."""
        places = self._names(resource_type).get(last_step(name) if begin_of(name).startswith("arn:") else name, {})
        return places.get(near) or next((each for place, each in places.items() if place.may_be(near)), None)

    @kept
    def _names(self, resource_type: str) -> Mapping[str | Text, Mapping[Place, Resource]]:
        names: dict[str | Text, dict[Place, Resource]] = {}
        for resource in self.all(resource_type):
            given = self._written(resource.properties.get(_NAMED_BY.get(resource_type, "Name")))
            if given is not None:
                names.setdefault(given, {}).setdefault(resource.origin.place, resource)
        return names

    def _written(self, value: Value, depth: int = _NAMES_IN_NAMES) -> str | Text | None:
        """A name with those of other resources in it written out; None where a piece is not known by any name."""
        if isinstance(value, str):
            return value
        pieces = value.pieces if isinstance(value, Text) else ()
        found: list[str | Reference | Placeholder] = []
        for piece in pieces:
            resource = self.at(piece) if isinstance(piece, Reference) and piece.attribute is None else None
            own = None
            if resource is not None and resource.type in _REFERRED_TO_BY_NAME and depth:
                own = self._written(resource.properties.get(_NAMED_BY[resource.type]), depth - 1)
            for each in (piece,) if own is None else own.pieces if isinstance(own, Text) else (own,):
                if isinstance(each, Unknown):
                    return None
                if isinstance(each, str) and found and isinstance(found[-1], str):
                    found[-1] += each
                else:
                    found.append(each)
        if len(found) == 1 and isinstance(found[0], str):
            return found[0]
        return Text(tuple(found)) if found else None

    def _stored(self, value: Value, near: Place, depth: int = _NAMES_IN_NAMES) -> Value:
        """What is in a parameter of Parameter Store that these files define; else the value as it is."""
        key = re.fullmatch(_STORED, value.text) if isinstance(value, DynamicReference) else None
        parameter = None
        if key is not None:
            parameter = self.named(key[1], _PARAMETER, near)
        elif isinstance(value, Reference) and value.attribute == "Value":
            parameter = self.at(value, _PARAMETER)
        if parameter is None or not depth:
            return value
        return self._stored(parameter.properties.get("Value"), near, depth - 1)


def _placed(resource: Resource, region: str | None) -> Resource:
    """The same with all that is known about where it was written; what is not an object has no properties."""
    properties: object = resource.properties
    if not isinstance(properties, (dict, Mapping)):
        resource = replace(resource, properties={})
    origin = resource.origin
    place, path = origin.place, construct_path(resource)
    if region is not None and not place.region:
        place = replace(place, region=region)
    if place is origin.place and path == origin.construct_path:
        return resource
    return replace(resource, origin=replace(origin, construct_path=path, place=place))


def _pointed_at(value: Value) -> Reference | None:
    """The one resource that a value points at, be it a step of an ARN; None if there is none, or more than one."""
    if not isinstance(value, Text):
        return value if isinstance(value, Reference) else None
    pieces = value.pieces
    found = {each: number for number, each in reversed(list(enumerate(pieces))) if isinstance(each, Reference)}
    if len(found) != 1:
        return None
    ((reference, at),) = found.items()
    is_begin = all(isinstance(each, str) and each.endswith(_BETWEEN) for each in pieces[:at][-1:])
    is_end = all(isinstance(each, str) and each.startswith(_BETWEEN) for each in pieces[at + 1 : at + 2])
    return reference if is_begin and is_end else None


def place_of_arn(name: str | Text) -> Place | None:
    """The region and account of an ARN, as far as they are written out; None for any other name."""
    first = begin_of(name)
    if not first.startswith("arn:"):
        return None
    steps = first.split(":", _STEPS_OF_ARN)
    # Before something that is not known, the last step may go on.
    region, account = (*(steps if isinstance(name, str) else steps[:-1]), "", "", "", "")[3:5]
    return Place(region or None, account or None)


def last_step(name: str | Text) -> str | Text:
    """What stands behind the last slash."""
    if isinstance(name, str):
        return name.rpartition("/")[2]
    last = max((at for at, each in enumerate(name.pieces) if isinstance(each, str) and "/" in each), default=None)
    if last is None:
        return name
    start = str(name.pieces[last]).rpartition("/")[2]
    rest = (*((start,) if start else ()), *name.pieces[last + 1 :])
    return rest[0] if len(rest) == 1 and isinstance(rest[0], str) else Text(rest)
