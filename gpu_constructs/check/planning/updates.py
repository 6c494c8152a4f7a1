"""What AWS refuses when one set of files is deployed over another, the two deploys that do it, and what it replaces.

Only what is certain by the files: the old ones are what runs, the new ones what is deployed over it, stack by stack.
Stacks are the same by their names; one template alone on each side is the same stack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from gpu_constructs.check.planning.update_table import (
    ASSOCIATIONS,
    CHANGED_EXPORT,
    IN_USE,
    MAY_REPLACE_SERVICE,
    PROVIDER,
    REMOVED_EXPORT,
    REPLACED_BY,
    SERVICE,
    UNIQUE,
    Refusal,
    Unique,
)
from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Unknown
from gpu_constructs.placement.reasons import listed
from gpu_constructs.template.documents.node import Node
from gpu_constructs.template.evaluation import Stacks
from gpu_constructs.template.evaluation.evaluator import Evaluator
from gpu_constructs.template.model import Placeholder, Reference, Resource, Text, Value
from gpu_constructs.template.resources.index import Index, Names
from gpu_constructs.template.resources.section import is_list

_Id: TypeAlias = tuple[str, str]
"""A resource: the name of its stack on the new side, and its logical id."""
_IMPORT = "Fn::ImportValue"
_CLUSTER = "AWS::ECS::Cluster"
_STEPS = 20
"""Resources that stand on one another: a rule on its listener, that on its load balancer, that on a subnet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedUpdate:
    """A change that AWS refuses in one deploy.

    Attributes:
        change: What changes, with the names of resources.
        refusal: What AWS answers, and the two deploys that do it.
    """

    change: str
    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What becomes of new files that are deployed over old ones.

    Attributes:
        refused: What AWS refuses.
        replaced: The services that CloudFormation replaces, each with why and what that takes; none of `refused`.
    """

    refused: tuple[RefusedUpdate, ...] = ()
    replaced: tuple[str, ...] = ()


def update_of(old: Stacks, new: Stacks) -> Update:
    """What AWS refuses, and which services it replaces, when the new files are deployed over the old ones."""
    found = _Update(old, new)
    return Update(refused=tuple(dict.fromkeys(found.refused())), replaced=tuple(found.replaced_services()))


class _Side:
    """Files of one side, with the names that their stacks have on the new side."""

    def __init__(self, stacks: Stacks, names: Mapping[str, str]) -> None:
        self.stacks = stacks
        self.index = Index(stacks.stacks)
        self._names = names
        self._labels = Names(stacks.stacks)

    def stack(self, name: str) -> str:
        return self._names.get(name, name)

    @cached_property
    def by_id(self) -> Mapping[_Id, Resource]:
        found = (each for stack in self.stacks.stacks for each in stack.resources.values())
        return {self.id_of(each.reference): each for each in found if each.exists is True}

    def id_of(self, reference: Reference) -> _Id:
        return self.stack(reference.stack), reference.logical_id

    def called(self, resource: Resource) -> str:
        name = self._labels.of(resource)
        several = len(self.stacks.stacks) > 1
        return brief(f"{resource.stack}/{name}" if several else name, NAME)


class _Update:
    def __init__(self, old: Stacks, new: Stacks) -> None:
        before, after = ([each.name for each in side.stacks] for side in (old, new))
        one_each = len(before) == len(after) == 1
        self._old = _Side(old, dict(zip(before, after, strict=True)) if one_each else {})
        self._new = _Side(new, {})
        self._replaced: dict[_Id, bool] = {}
        self._told: set[_Id] = set()
        self._in_use: set[_Id | str] = set()
        self._steps = 0

    def refused(self) -> Iterator[RefusedUpdate]:
        for each in UNIQUE:
            yield from self._taken(each)
        yield from self._providers_in_use()
        yield from self._exports()

    def replaced_services(self) -> Iterator[str]:
        """Services that stay by their id, and are others after the update."""
        for service in self._new.index.all(SERVICE):
            at = self._new.id_of(service.reference)
            before = self._old.by_id.get(at)
            if before is None or before.type != SERVICE or service.exists is not True or at in self._told:
                continue
            surely = [*self._changed(before, service, REPLACED_BY[SERVICE])]
            paths = surely or [*self._changed(before, service, MAY_REPLACE_SERVICE)]
            if paths:
                counts = [_at(each, "DesiredCount") for each in (before, service)]
                copies = " ({} and {})".format(*counts) if all(isinstance(each, int) for each in counts) else ""
                why = f"since {listed(paths)} {'changes' if len(paths) == 1 else 'change'}"
                yield (
                    f"{self._new.called(service)} {'is' if surely else 'may be'} replaced, {why}: "
                    f"all copies of the old and the new one{copies} run at once, for which there must be room"
                )

    # -- what is the same, what is new -----------------------------------------------------------------------------

    def _stays(self, at: _Id) -> bool:
        """Whether a resource is what it was, after the update as well."""
        return at in self._old.by_id and at in self._new.by_id and not self._is_replaced(at)

    def _is_replaced(self, at: _Id) -> bool:
        """Whether CloudFormation makes another one in place of a resource that is on both sides."""
        if at not in self._replaced and self._steps < _STEPS:
            self._replaced[at] = False
            self._steps += 1
            old, new = self._old.by_id.get(at), self._new.by_id.get(at)
            if old is not None and new is not None:
                changed = self._changed(old, new, REPLACED_BY.get(new.type, ()))
                self._replaced[at] = old.type != new.type or next(changed, None) is not None
            self._steps -= 1
        return self._replaced.get(at, False)

    def _changed(self, old: Resource, new: Resource, paths: Iterable[str]) -> Iterator[str]:
        return (path for path in paths if self._differ(_at(old, path), _at(new, path)))

    def _differ(self, old: Value, new: Value) -> bool:
        """Whether a value is certainly another one on the new side."""
        if isinstance(old, Unknown) or isinstance(new, Unknown):
            return False
        return self._key(self._old, old) != self._key(self._new, new)

    def _key(self, side: _Side, value: Value) -> Hashable:
        """A value as it compares with one of the other side; a reference to what is replaced is another one then."""
        if isinstance(value, Reference):
            at = side.id_of(value)
            return at, value.attribute, side is self._new and self._is_replaced(at)
        if isinstance(value, Placeholder):
            return side.stack(value.stack), value.name
        if isinstance(value, Text):
            return tuple(self._key(side, each) for each in value.pieces)
        if isinstance(value, Mapping):
            return frozenset((key, self._key(side, each)) for key, each in value.items())
        if is_list(value):
            return tuple(self._key(side, each) for each in value)
        return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value

    # -- what is refused -------------------------------------------------------------------------------------------

    def _taken(self, unique: Unique) -> Iterator[RefusedUpdate]:
        """What somebody else has until the update ends."""
        owners: dict[Hashable, list[_Id]] = defaultdict(list)
        for at, key, _ in self._claims(self._old, unique):
            owners[key].append(at)
        for at, key, shown in self._claims(self._new, unique):
            leaving = [each for each in owners.get(key, ()) if each[0] == at[0] and not self._stays(each)]
            if not leaving or (at in owners[key] and self._stays(at)):
                continue
            self._told.add(at)
            was, now = self._old.by_id[leaving[0]], self._new.by_id[at]
            what = unique.what.format(shown)
            change = (
                f"{self._new.called(now)} is replaced, and the new one takes {what}"
                if leaving[0] == at
                else f"{self._new.called(now)} takes {what} from {self._old.called(was)}, which goes"
            )
            yield RefusedUpdate(change=f"{change}; the old one is deleted last", refusal=unique.refusal)

    def _claims(self, side: _Side, unique: Unique) -> Iterator[tuple[_Id, Hashable, str]]:
        for resource in side.index.all(unique.type):
            if resource.exists is not True:
                continue
            *around, value = (_at(resource, each) for each in unique.keys)
            if value is not None and not any(isinstance(each, Unknown) for each in (value, *around)):
                shown = brief(repr(value), NAME) if isinstance(value, (str, int)) else "it has"
                yield side.id_of(resource.reference), tuple(self._key(side, each) for each in (value, *around)), shown

    def _providers_in_use(self) -> Iterator[RefusedUpdate]:
        """Capacity providers that leave the list of a cluster while services use them."""
        users = defaultdict(list)
        for service in self._old.index.all(SERVICE):
            for item in _items(_at(service, "CapacityProviderStrategy") or self._default_of(service)):
                provider = self._provider(self._old, item.get("CapacityProvider"))
                if provider is not None:
                    users[provider].append(self._old.called(service))
        for kind in (ASSOCIATIONS, _CLUSTER):
            for listing in self._old.index.all(kind):
                at = self._old.id_of(listing.reference)
                if not self._stays(at):
                    continue
                left = _at(self._new.by_id[at], "CapacityProviders")
                if isinstance(left, Unknown) or any(isinstance(each, Unknown) for each in _list(left)):
                    continue
                kept = {self._provider(self._new, each) for each in _list(left)}
                for value in _list(_at(listing, "CapacityProviders")):
                    provider = self._provider(self._old, value)
                    gone = provider not in kept or (isinstance(provider, tuple) and self._is_replaced(provider))
                    if provider is not None and provider not in self._told and gone and provider in users:
                        self._in_use.add(provider)
                        yield self._leaving(provider, users[provider])

    def _leaving(self, provider: _Id | str, services: Sequence[str]) -> RefusedUpdate:
        name = provider if isinstance(provider, str) else self._old.called(self._old.by_id[provider])
        use = "uses" if len(services) == 1 else "use"
        return RefusedUpdate(
            change=f"capacity provider {name} leaves its cluster, and {listed(services)} {use} it until then",
            refusal=IN_USE,
        )

    def _provider(self, side: _Side, value: Value) -> _Id | str | None:
        """A capacity provider that a property names: its resource, or its name where the files do not define it."""
        found = side.index.find(value, PROVIDER)
        if found is not None:
            return side.id_of(found.reference)
        return value if isinstance(value, str) else None

    def _default_of(self, service: Resource) -> Value:
        """The default strategy of the cluster of a service that has neither a strategy nor a launch type."""
        cluster = self._key(self._old, _at(service, "Cluster"))
        for each in self._old.index.all(ASSOCIATIONS):
            if _at(service, "LaunchType") is None and self._key(self._old, _at(each, "Cluster")) == cluster:
                return _at(each, "DefaultCapacityProviderStrategy")
        return None

    def _exports(self) -> Iterator[RefusedUpdate]:
        """Exports that go or change while another stack imports them."""
        old = {each: _exports_of(each) for each in self._old.stacks.evaluators}
        new = {each.name: each for each in self._new.stacks.evaluators}
        left = {
            name: {self._key(self._new, exported): output for output, exported in _exports_of(each).items()}
            for name, each in new.items()
        }
        for importer in old:
            for exporter, output in _imports(importer):
                name = self._old.stack(exporter.name)
                if name not in new:  # it stays as it is
                    continue
                exported = old[exporter][output]
                kept = left[name].get(self._key(self._old, exported))
                if kept is None:
                    value = exporter.output(output)
                    if isinstance(value, Reference) and self._old.id_of(value) in self._in_use:
                        continue  # who keeps the capacity, as said, keeps this
                    change, refusal = "no longer has", REMOVED_EXPORT
                    after = new.get(self._old.stack(importer.name))
                    needed = () if after is None else _imports(after)
                    if after is not None and all(at.name != name or key in old[exporter] for at, key in needed):
                        # It needs nothing that is new there, so that it can go first.
                        refusal = replace(
                            refusal, steps=(f"cdk deploy --exclusively {after.name}", f"cdk deploy {name}")
                        )
                else:
                    change, refusal = "changes", CHANGED_EXPORT
                    if not self._differ(exporter.output(output), new[name].output(kept)):
                        continue
                shown = brief(exported if isinstance(exported, str) else output, NAME)
                yield RefusedUpdate(
                    change=f"stack {name} {change} the export {shown}, which stack {importer.name} imports",
                    refusal=replace(refusal, answer=refusal.answer.format(shown, importer.name)),
                )


def _exports_of(stack: Evaluator) -> dict[str, Value]:
    return {output: name for name, output in stack.exports() if not isinstance(name, Unknown)}


def _imports(stack: Evaluator) -> Mapping[tuple[Evaluator, str], None]:
    """The outputs of other stacks that a stack imports, in their order."""
    found: dict[tuple[Evaluator, str], None] = {}
    seen: set[int] = set()  # in YAML, one object may stand in many places
    waiting: list[Node] = [*stack.outputs.values(), *stack.resources.values()][::-1]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (dict, list)) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, dict) and _IMPORT in node:
            with stack.shared.quiet():
                export = stack.shared.exports.find(stack.value(node[_IMPORT]), stack.place)
            if export is not None and isinstance(export[0], Evaluator):
                found[export[0], export[1]] = None
        waiting += node.values() if isinstance(node, dict) else node
    return found


def _at(resource: Resource, path: str) -> Value:
    return _down(resource.properties, path)


def _down(value: Value, path: str) -> Value:
    """What is at the end of a path of keys; None if there is nothing."""
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return value if isinstance(value, Unknown) else None
        value = value.get(key)
    return value


def _list(value: Value) -> Sequence[Value]:
    return value if is_list(value) else ()


def _items(value: Value) -> Iterator[Mapping[str, Value]]:
    return (each for each in _list(value) if isinstance(each, Mapping))
