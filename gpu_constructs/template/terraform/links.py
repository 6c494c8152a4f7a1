"""What does a reference of a configuration lead to? Between resources that do not exist yet it is the only link.

A reference leads through variables of modules to the arguments that they are given, through outputs of modules to what
is in them, and through ``each.value`` to what ``for_each`` names. Terraform writes neither ``locals`` nor dynamic
blocks into a plan (https://github.com/hashicorp/terraform/issues/28346): there a link is inferred where only one
resource can be meant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from gpu_constructs.facts.budget import work
from gpu_constructs.facts.values import dataclass
from gpu_constructs.template.documents.node import Node, items, members, under
from gpu_constructs.template.terraform.plan import Instance, Object, Plan, steps_of

Module = tuple[tuple[str, "str | int | None"], ...]

Steps = Sequence[tuple[bool, "str | int"]]

_DEPTH = 20
_MOST = 200
_OWN_STEPS = 2


@dataclass(frozen=True, slots=True)
class Link:
    """A resource or a data source that something refers to, and which attribute of it."""

    instance: Instance
    attribute: str | None = None


class Links:
    """Follows references of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._gone: set[tuple[str, Module, str | int | None]] = set()  # ways of the question that is being asked

    def resource(self, instance: Instance) -> Object:
        """How a resource is written in the configuration; empty where that is not known."""
        kind = f"{'data.' if instance.is_data else ''}{instance.type}.{instance.name}"
        return self._written.get((_names(instance.module), kind), {})

    def of(self, expression: Node, instance: Instance) -> tuple[Link, ...]:
        """What an expression of a resource refers to, each once."""
        self._gone.clear()
        found: dict[str, Link] = {}
        for each in self._each(expression, instance.module, instance, _DEPTH):
            if len(found) < _MOST:
                before = found.get(each.instance.address)
                if before is None or before.attribute is None:
                    found[each.instance.address] = each
        return tuple(found.values())

    def one(self, expression: Node, instance: Instance, types: Collection[str] = ()) -> Link | None:
        """The one resource of some types that an expression refers to; None where it may be another one."""
        found = self.of(expression, instance)
        return _chosen([each for each in found if not types or each.instance.type in types], instance)

    def inferred(self, instance: Instance, types: Collection[str]) -> Link | None:
        """The one resource of some types that can be meant where the configuration does not say it.

        It is in the same module, or else among what that module is given, or the one around it.
        """
        here = [Link(each) for kind in types for each in self._by_module.get((instance.module, kind), ())]
        module = instance.module
        while not here and module:
            call, module, key = self.call(module), module[:-1], module[-1][1]
            self._gone.clear()
            around = list(self._each(call.get("expressions"), module, _Keyed(module, key), _DEPTH))
            here = list({each.instance.address: each for each in around if each.instance.type in types}.values())
        return _chosen(here, instance)

    def before(self, instance: Instance) -> Iterator[Instance]:
        """What is created before a resource, as far as it or a module around it names that."""
        self._gone.clear()
        written = self.resource(instance)
        named: list[tuple[Node, Module]] = [(written.get("expressions"), instance.module)]
        named.append(({"references": written.get("depends_on")}, instance.module))
        named += [
            ({"references": self.call(instance.module[: at + 1]).get("depends_on")}, instance.module[:at])
            for at in range(len(instance.module))
        ]
        for expression, module in named:
            yield from (each.instance for each in self._each(expression, module, instance, _DEPTH))

    # -- following -------------------------------------------------------------------------------------------------

    def _each(self, expression: Node, module: Module, near: Instance | _Keyed, depth: int) -> Iterator[Link]:
        for text in _references(expression):
            way = (text, module, near.key)
            if depth > 0 and way not in self._gone and work().takes(1):
                self._gone.add(way)
                yield from self._followed(text, module, near, depth - 1)

    def _followed(self, text: str, module: Module, near: Instance | _Keyed, depth: int) -> Iterator[Link]:
        steps = steps_of(text)
        names = [str(step) for _, step in steps]
        if not names:
            return
        if names[0] == "var":
            if module and len(names) > 1:
                argument = under(self.call(module), "expressions", names[1])
                yield from self._each(argument, module[:-1], _Keyed(module[:-1], module[-1][1]), depth)
        elif names[0] == "each" and isinstance(near, Instance):
            over = self.resource(near).get("for_each_expression")
            for each in self._each(over, module, near, depth):
                yield Link(each.instance, names[2] if len(names) > _OWN_STEPS else each.attribute)
        elif names[0] == "module" and len(names) > 1:
            yield from self._in_module(steps, module, near, depth)
        elif names[0] not in {"local", "each", "count", "path", "self", "terraform"}:
            yield from self._named(steps, module, near, depth)

    def _in_module(self, steps: Steps, module: Module, near: Instance | _Keyed, depth: int) -> Iterator[Link]:
        name, rest = str(steps[1][1]), steps[2:]
        keys = [rest[0][1]] if rest and rest[0][0] else self._keys.get((module, name), [None])
        key = near.key if near.key in keys else keys[0] if len(keys) == 1 else None
        inner = [(*module, (name, each)) for each in ([key] if key is not None or len(keys) == 1 else keys)]
        outputs = [str(step) for is_key, step in rest if not is_key]
        for each in inner:
            written = self._modules.get(_names(each), {})
            if outputs:
                expression = under(written, "outputs", outputs[0], "expression")
                yield from self._each(expression, each, _Keyed(each, key), depth)
            elif work().takes(len(self._plan.instances)):
                yield from (Link(one) for one in self._plan.instances.values() if one.module[: len(each)] == each)

    def _named(self, steps: Steps, module: Module, near: Instance | _Keyed, depth: int) -> Iterator[Link]:
        is_data = steps[0][1] == "data"
        own = steps[1:] if is_data else steps
        if len(own) < _OWN_STEPS:
            return
        kind = f"{'data.' if is_data else ''}{own[0][1]}.{own[1][1]}"
        candidates = self._instances.get((module, kind), [])
        rest = own[2:]
        if rest and rest[0][0]:
            candidates = [each for each in candidates if each.key == rest[0][1]]
        attribute = next((str(step) for is_key, step in rest if not is_key), None)
        same = [each for each in candidates if each.key == near.key]
        for each in same if len(same) == 1 else candidates:
            yield Link(each, attribute)
            # An argument that only the apply knows may itself come from another resource.
            expression = under(self.resource(each), "expressions", attribute or "")
            if expression is not None and each.values.get(attribute or "") is None and depth > 0:
                yield from self._each(expression, each.module, each, depth)

    # -- what there is ---------------------------------------------------------------------------------------------

    @cached_property
    def _modules(self) -> Mapping[tuple[str, ...], Object]:
        """Modules as written, by the names of the calls that lead to them."""
        found: dict[tuple[str, ...], Object] = {}
        waiting: list[tuple[tuple[str, ...], Node]] = [((), dict(self._plan.configuration))]
        for names, module in waiting:
            if isinstance(module, dict):
                found[names] = module
                calls = members(module.get("module_calls")) if len(names) < _DEPTH else {}
                waiting += [((*names, name), under(call, "module")) for name, call in calls.items()]
        return found

    def call(self, module: Module) -> Object:
        """How the innermost of some modules is called."""
        return members(under(self._modules.get(_names(module[:-1])), "module_calls", module[-1][0]))

    @cached_property
    def _written(self) -> Mapping[tuple[tuple[str, ...], str], Object]:
        found: dict[tuple[tuple[str, ...], str], Object] = {}
        for names, module in self._modules.items():
            for each in map(members, items(module.get("resources"))):
                if isinstance(address := each.get("address"), str):
                    found[names, address] = each
        return found

    @cached_property
    def _instances(self) -> Mapping[tuple[Module, str], list[Instance]]:
        found: dict[tuple[Module, str], list[Instance]] = {}
        for each in self._plan.instances.values():
            kind = f"{'data.' if each.is_data else ''}{each.type}.{each.name}"
            found.setdefault((each.module, kind), []).append(each)
        return found

    @cached_property
    def _by_module(self) -> Mapping[tuple[Module, str], list[Instance]]:
        found: dict[tuple[Module, str], list[Instance]] = {}
        for each in self._plan.instances.values():
            if not each.is_data:
                found.setdefault((each.module, each.type), []).append(each)
        return found

    @cached_property
    def _keys(self) -> Mapping[tuple[Module, str], list[str | int | None]]:
        """The keys of a module, by the module around it and its name."""
        found: dict[tuple[Module, str], dict[str | int | None, None]] = {}
        for each in self._plan.instances.values():
            for at, (name, key) in enumerate(each.module):
                found.setdefault((each.module[:at], name), {})[key] = None
        return {where: list(keys) for where, keys in found.items()}


@dataclass(frozen=True, slots=True)
class _Keyed:
    """A module that follows a reference, with its own key."""

    module: Module
    key: str | int | None


def _chosen(links: Sequence[Link], near: Instance) -> Link | None:
    """The only one, or the only one with a key of the resource or of a module around it."""
    if len(links) > 1:
        own = {near.key, *(key for _, key in near.module)} - {None}
        links = [each for each in links if own & {each.instance.key, *(key for _, key in each.instance.module)}]
    return links[0] if len(links) == 1 else None


def _names(module: Module) -> tuple[str, ...]:
    return tuple(name for name, _ in module)


def _references(expression: Node) -> Iterator[str]:
    """Every reference in an expression, or in the blocks below it."""
    waiting = [expression]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            references = each.get("references")
            if isinstance(references, list):
                yield from (text for text in references if isinstance(text, str))
            else:
                waiting += [child for key, child in each.items() if key != "constant_value"]
