"""Two sets of files, one deployed over the other: which resources stay, and which values differ."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property

from gpu_constructs.check.planning.update_room import Id
from gpu_constructs.check.planning.update_table import REPLACED_BY
from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import NAME
from gpu_constructs.fleet import Origin, Unknown
from gpu_constructs.template.documents.node import Node, under
from gpu_constructs.template.evaluation import Stacks
from gpu_constructs.template.model import Placeholder, Reference, Resource, Text, Value
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.names import Names
from gpu_constructs.template.resources.section import is_list

_STEPS = 20
"""Resources that stand on one another: a service on its cluster, a provider on its group."""


class Side:
    """Files of one side, with the names that their stacks have on the new side."""

    def __init__(self, stacks: Stacks, names: Mapping[str, str]) -> None:
        self.stacks = stacks
        self.index = Index(stacks.stacks)
        self._names = names
        self._labels = Names(stacks.stacks)

    def stack(self, name: str) -> str:
        """The name of a stack on the new side."""
        return self._names.get(name, name)

    @cached_property
    def by_id(self) -> Mapping[Id, Resource]:
        """What certainly exists."""
        found = (each for stack in self.stacks.stacks for each in stack.resources.values())
        return {self.id_of(each.reference): each for each in found if each.exists is True}

    @cached_property
    def _places(self) -> Mapping[tuple[str | None, str], Id]:
        return {(each.origin.file, each.logical_id): at for at, each in self.by_id.items()}

    def at(self, origin: Origin | None) -> Id | None:
        """What is written at a place."""
        return None if origin is None else self._places.get((origin.file, origin.resource))

    def id_of(self, reference: Reference) -> Id:
        """The id of what a reference points at."""
        return self.stack(reference.stack), reference.logical_id

    def node(self, resource: Resource, *path: str) -> Node:
        """What is written in the file of a resource."""
        document = self.stacks.documents.get(resource.origin.file or "")
        return None if document is None else under(document.data, *path)

    def called(self, resource: Resource) -> str:
        """The name of a resource, behind that of its stack where there are several."""
        name = self._labels.of(resource)
        several = len(self.stacks.stacks) > 1
        return brief(f"{resource.stack}/{name}" if several else name, NAME)


class Sides:
    """The old files and the new ones."""

    def __init__(self, old: Stacks, new: Stacks) -> None:
        before, after = ([each.name for each in side.stacks] for side in (old, new))
        one_each = len(before) == len(after) == 1
        self.old = Side(old, dict(zip(before, after, strict=True)) if one_each else {})
        self.new = Side(new, {})
        self._replaced: dict[Id, bool] = {}
        self._steps = 0

    def stays(self, at: Id) -> bool:
        """Whether a resource is on both sides, and the update does not replace it."""
        return at in self.old.by_id and at in self.new.by_id and not self.is_replaced(at)

    def is_replaced(self, at: Id) -> bool:
        """Whether CloudFormation makes another one in place of a resource that is on both sides."""
        if at not in self._replaced and self._steps < _STEPS:
            self._replaced[at] = False
            self._steps += 1
            old, new = self.old.by_id.get(at), self.new.by_id.get(at)
            if old is not None and new is not None:
                changed = self.changed(old, new, REPLACED_BY.get(new.type, ()))
                self._replaced[at] = old.type != new.type or next(changed, None) is not None
            self._steps -= 1
        return self._replaced.get(at, False)

    def changed(self, old: Resource, new: Resource, paths: Iterable[str]) -> Iterator[str]:
        """The paths whose values differ."""
        return (path for path in paths if self.differ(value_at(old, path), value_at(new, path)))

    def differ(self, old: Value, new: Value) -> bool:
        """Whether two values certainly differ."""
        if isinstance(old, Unknown) or isinstance(new, Unknown):
            return False
        return self.key(self.old, old) != self.key(self.new, new)

    def key(self, side: Side, value: Value) -> Hashable:
        """A value as it compares with one of the other side; a reference to what is replaced is another one then."""
        if isinstance(value, Reference):
            at = side.id_of(value)
            return at, value.attribute, side is self.new and self.is_replaced(at)
        if isinstance(value, Placeholder):
            return side.stack(value.stack), value.name
        if isinstance(value, Text):
            return tuple(self.key(side, each) for each in value.pieces)
        if isinstance(value, Mapping):
            return frozenset((key, self.key(side, each)) for key, each in value.items())
        if is_list(value):
            return tuple(self.key(side, each) for each in value)
        return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def value_at(resource: Resource, path: str) -> Value:
    """What is at the end of a path of keys; None if there is nothing."""
    value: Value = resource.properties
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return value if isinstance(value, Unknown) else None
        value = value.get(key)
    return value
