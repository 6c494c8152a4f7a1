"""A plan or a state as ``terraform show -json`` and ``tofu show -json`` write it: its resources and its configuration.

https://developer.hashicorp.com/terraform/internals/json-format

What is planned is in ``resource_changes``; what a plan leaves as it is, or what ``-target`` leaves out, is in
``prior_state`` as well. A state has ``values`` alone, without a configuration, as nothing in it is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache

from gpu_constructs.errors import shown
from gpu_constructs.facts.budget import DEPTH, RESOURCES
from gpu_constructs.facts.values import dataclass
from gpu_constructs.template.documents.document import HOW_TO_PLAN
from gpu_constructs.template.documents.node import Node, Path, items, members, under
from gpu_constructs.template.model import UnreadableError

_VERSION = "format_version"
_MAJOR = re.compile(r"[01]\.[0-9]{1,9}")

Object = Mapping[str, Node]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instance:
    """One resource or data source, with what is known about each argument.

    Attributes:
        address: Such as ``module.gpu["a.b"].aws_ecs_service.train[0]``.
        type: Such as ``aws_ecs_service``.
        name: Its name within its module.
        key: Its key of ``count`` or ``for_each``; None where it has neither.
        module: The names and keys of the modules that it is in, from the root.
        values: Its arguments and attributes, as far as they are known.
        unknown: What only the apply knows, in the same form, true for a whole part.
        sensitive: What must not be shown, in the same form.
        at: Where its values are in the file.
        is_data: Whether it is a data source.
        exists: Whether it is there before the apply, and stays.
        changes: Whether the apply changes it.
    """

    address: str
    type: str
    name: str
    key: str | int | None
    module: tuple[tuple[str, str | int | None], ...]
    values: dict[str, Node]
    unknown: Node = False
    sensitive: Node = False
    at: Path = ()
    is_data: bool = False
    exists: bool = True
    changes: bool = False

    @property
    def declared(self) -> str:
        """Its address within its module, without keys."""
        return f"{'data.' if self.is_data else ''}{self.type}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What a file says.

    Attributes:
        instances: Resources and data sources by address.
        configuration: The root module as written; empty for a state.
        providers: The configurations of providers by key.
        variables: Values of the variables of the root module, secrets among them.
        is_whole: Whether nothing is left for a later plan.
    """

    instances: Mapping[str, Instance] = field(repr=False)
    configuration: Object = field(repr=False)
    providers: Object = field(repr=False)
    variables: Object = field(repr=False)
    is_whole: bool = True


def plan_of(data: Object, *, file: str) -> Plan:
    """Reads a plan or a state.

    Raises:
        UnreadableError: If it is in a form that is not known, or what it says is not all.
    """
    if _VERSION not in data:
        raise UnreadableError(
            "a state file, whose form only Terraform itself knows",
            file=file,
            allowed="a plan or a state in JSON",
            fix="terraform show -json > state.json, and name state.json",
        )
    version = data.get(_VERSION)
    if not isinstance(version, str) or not _MAJOR.fullmatch(version):
        raise UnreadableError(
            f"{_VERSION} {shown(version)}, which is not known",
            file=file,
            allowed="0.x and 1.x, which Terraform and OpenTofu write to date",
        )
    if data.get("errored") is True:
        raise UnreadableError("a plan that failed, and so is not whole", file=file, fix=f"plan again: {HOW_TO_PLAN}")
    if under(data, "planned_values", "root_module") and not isinstance(data.get("resource_changes"), list):
        raise UnreadableError("a plan without resource_changes", file=file, fix=f"plan again: {HOW_TO_PLAN}")
    found = dict(_in_state(members(data.get("prior_state")), ("prior_state",)))
    found |= dict(_in_state(data, ()))
    for address, instance in _changes(data):
        if instance is None:
            found.pop(address, None)
        else:
            found[address] = instance
    if len(found) > RESOURCES:
        raise UnreadableError(f"more than {RESOURCES:,} resources", file=file)
    return Plan(
        instances=found,
        configuration=members(under(data, "configuration", "root_module")),
        providers=members(under(data, "configuration", "provider_config")),
        variables=members(data.get("variables")),
        is_whole=data.get("complete") is not False,
    )


def _in_state(data: Object, at: Path) -> Iterator[tuple[str, Instance]]:
    """What a state holds: resources of its modules, and of those in them."""
    root = members(under(data, "values", "root_module"))
    waiting: list[tuple[Object, Path]] = [(root, (*at, "values", "root_module"))]
    for module, place in waiting:
        for number, resource in enumerate(map(members, items(module.get("resources")))):
            found = _instance(resource, resource.get("values"), (*place, "resources", number, "values"), unknown=None)
            if found is not None:
                yield found.address, found
        if len(place) < DEPTH:
            waiting += [
                (members(each), (*place, "child_modules", number))
                for number, each in enumerate(items(module.get("child_modules")))
            ]


def _changes(data: Object) -> Iterator[tuple[str, Instance | None]]:
    """What is there once a plan is applied, by address; None for what is gone then."""
    changes = list(map(members, items(data.get("resource_changes"))))
    yield from ((before, None) for each in changes if isinstance(before := each.get("previous_address"), str))
    for number, resource in enumerate(changes):
        change, address = members(resource.get("change")), resource.get("address")
        if isinstance(address, str) and resource.get("deposed") is None:
            actions = items(change.get("actions"))
            is_new = not actions or "create" in actions
            known = {**resource, "sensitive_values": change.get("after_sensitive"), "exists": not is_new}
            at = ("resource_changes", number, "change", "after")
            yield address, _instance(known, change.get("after"), at, unknown=change.get("after_unknown"))


def _instance(resource: Object, values: Node, at: Path, *, unknown: Node) -> Instance | None:
    address, kind, name = (resource.get(each) for each in ("address", "type", "name"))
    # Nothing is left of what is destroyed, and of what Terraform forgets it knows no more.
    if not isinstance(address, str) or not isinstance(kind, str) or not isinstance(values, dict):
        return None
    key = resource.get("index")
    steps = steps_of(address)
    return Instance(
        address=address,
        type=kind,
        name=name if isinstance(name, str) else "",
        key=key if isinstance(key, (str, int)) and not isinstance(key, bool) else None,
        module=tuple(_modules(steps)),
        values=values,
        unknown=unknown,
        sensitive=resource.get("sensitive_values", False),
        at=at,
        is_data=resource.get("mode") == "data",
        exists=resource.get("exists") is not False,
        changes="update" in items(under(resource, "change", "actions")),
    )


_STEP = re.compile(r'\.?([A-Za-z_][\w-]*)|\[(?:"((?:[^"\\]|\\.)*)"|([0-9]{1,9}))\]')


@lru_cache(maxsize=10_000)
def steps_of(address: str) -> tuple[tuple[bool, str | int], ...]:
    """The steps of an address or a reference, each with whether it is a key; a key may hold dots and brackets."""
    found: list[tuple[bool, str | int]] = []
    at = 0
    while at < len(address):
        match = _STEP.match(address, at)
        if match is None or match.end() == at:
            break
        name, text, number = match.groups()
        if name is not None:
            found.append((False, name))
        else:
            found.append((True, int(number) if number is not None else text.replace('\\"', '"').replace("\\\\", "\\")))
        at = match.end()
    return tuple(found)


def _modules(steps: tuple[tuple[bool, str | int], ...]) -> Iterator[tuple[str, str | int | None]]:
    at = 0
    while steps[at : at + 1] == ((False, "module"),) and at + 1 < len(steps):
        name = str(steps[at + 1][1])
        has_key = at + 2 < len(steps) and steps[at + 2][0]
        yield name, steps[at + 2][1] if has_key else None
        at += 3 if has_key else 2
