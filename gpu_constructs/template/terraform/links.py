"""What does a reference of a configuration lead to? Between resources that do not exist yet it is the only link.

A reference leads through variables of modules to the arguments that they are given, through outputs of modules to what
is in them, and through ``each.value`` to what ``for_each`` names. Terraform writes neither ``locals`` nor dynamic
blocks into a plan (https://github.com/hashicorp/terraform/issues/28346): there a link is inferred where only one
resource can be meant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from gpu_constructs.facts.budget import work
from gpu_constructs.facts.values import dataclass, grouped
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
        return self._written.get((_names(instance.module), instance.declared), {})

    def of(self, expression: Node, instance: Instance) -> tuple[Link, ...]:
        """What an expression of a resource refers to, each once."""
        self._gone.clear()
        found: dict[str, Link] = {}
        for each in self._each(expression, _From(instance.module, instance.key, instance), _DEPTH):
            if len(found) == _MOST:
                break
            before = found.get(each.instance.address)
            if before is None or before.attribute is None:
                found[each.instance.address] = each
        return tuple(found.values())

    def one(self, expression: Node, instance: Instance, types: Collection[str] = ()) -> Link | None:
        """The one resource of some types that an expression refers to; None where it may be another one."""
        found = self.of(expression, instance)
        return _chosen([each for each in found if not types or each.instance.type in types], instance)

    def only(self, expression: Node, instance: Instance) -> Link | None:
        """The data source that an expression refers to and nothing else, be it through variables of modules."""
        at = _From(instance.module, instance.key, instance)
        while len(texts := _whole(expression)) == 1:
            steps = steps_of(texts[0])
            if steps[:1] == ((False, "data"),):
                return _chosen(list(self._named(steps, at, 0)), instance)
            if steps[:1] != ((False, "var"),) or len(steps) != _OWN_STEPS or not at.module:
                return None
            expression = under(self.call(at.module), "expressions", str(steps[1][1]))
            at = _From(at.module[:-1], at.module[-1][1])
        return None

    def inferred(self, instance: Instance, types: Collection[str]) -> Link | None:
        """The one resource of some types that can be meant where the configuration does not say it.

        It is in the same module, or else among what that module is given, or the one around it.
        """
        here = [Link(each) for kind in types for each in self._by_module.get((instance.module, kind), ())]
        module = instance.module
        while not here and module:
            call, module, key = self.call(module), module[:-1], module[-1][1]
            self._gone.clear()
            around = self._each(call.get("expressions"), _From(module, key), _DEPTH)
            here = list({each.instance.address: each for each in around if each.instance.type in types}.values())
        return _chosen(here, instance)

    def outputs(self) -> Iterator[tuple[str, Instance]]:
        """What the outputs of the root module name, by their names: ``terraform_remote_state`` reads these."""
        for name, written in members(self._plan.configuration.get("outputs")).items():
            self._gone.clear()
            yield from (
                (name, each.instance) for each in self._each(under(written, "expression"), _From((), None), _DEPTH)
            )

    def before(self, instance: Instance) -> Iterator[Instance]:
        """What is created before a resource, as far as it or a module around it names that."""
        self._gone.clear()
        written, module = self.resource(instance), instance.module
        named: list[tuple[Node, Module]] = [(written.get("expressions"), module)]
        named += [(written.get("depends_on"), module)]
        named += [(self.call(module[: at + 1]).get("depends_on"), module[:at]) for at in range(len(module))]
        for expression, of in named:
            references: Node = {"references": expression} if isinstance(expression, list) else expression
            found = self._each(references, _From(of, instance.key, instance), _DEPTH)
            yield from (each.instance for each in found)

    # -- following -------------------------------------------------------------------------------------------------

    def _each(self, expression: Node, at: _From, depth: int) -> Iterator[Link]:
        for text in _references(expression):
            way = (text, at.module, at.key)
            if depth > 0 and way not in self._gone and work().takes(1):
                self._gone.add(way)
                yield from self._followed(text, at, depth - 1)

    def _followed(self, text: str, at: _From, depth: int) -> Iterator[Link]:
        steps = steps_of(text)
        names = [str(step) for _, step in steps]
        if not names:
            return
        if names[0] == "var":
            if at.module and len(names) > 1:
                argument = under(self.call(at.module), "expressions", names[1])
                yield from self._each(argument, _From(at.module[:-1], at.module[-1][1]), depth)
        elif names[0] == "each" and at.instance is not None:
            over = self.resource(at.instance).get("for_each_expression")
            for each in self._each(over, at, depth):
                yield Link(each.instance, names[2] if len(names) > _OWN_STEPS else each.attribute)
        elif names[0] == "module" and len(names) > 1:
            yield from self._in_module(steps, at, depth)
        elif names[0] not in {"local", "each", "count", "path", "self", "terraform"}:
            yield from self._named(steps, at, depth)

    def _in_module(self, steps: Steps, at: _From, depth: int) -> Iterator[Link]:
        name, rest = str(steps[1][1]), steps[2:]
        keys = [rest[0][1]] if rest and rest[0][0] else self._keys.get((at.module, name), [None])
        key = at.key if at.key in keys else keys[0] if len(keys) == 1 else None
        inner = [(*at.module, (name, each)) for each in ([key] if key is not None or len(keys) == 1 else keys)]
        outputs = [str(step) for is_key, step in rest if not is_key]
        for each in inner:
            written = self._modules.get(_names(each), {})
            if outputs:
                expression = under(written, "outputs", outputs[0], "expression")
                yield from self._each(expression, _From(each, key), depth)
            elif work().takes(len(self._plan.instances)):
                yield from (Link(one) for one in self._plan.instances.values() if one.module[: len(each)] == each)

    def _named(self, steps: Steps, at: _From, depth: int) -> Iterator[Link]:
        is_data = steps[0][1] == "data"
        own = steps[1:] if is_data else steps
        if len(own) < _OWN_STEPS:
            return
        kind = f"{'data.' if is_data else ''}{own[0][1]}.{own[1][1]}"
        candidates = self._instances.get((at.module, kind), [])
        rest = own[2:]
        if rest and rest[0][0]:
            candidates = [each for each in candidates if each.key == rest[0][1]]
        attribute = next((str(step) for is_key, step in rest if not is_key), None)
        same = [each for each in candidates if each.key == at.key]
        for each in same if len(same) == 1 else candidates:
            yield Link(each, attribute)
            # An argument that only the apply knows may itself come from another resource.
            expression = under(self.resource(each), "expressions", attribute or "")
            if expression is not None and each.values.get(attribute or "") is None and depth > 0:
                yield from self._each(expression, _From(each.module, each.key, each), depth)

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
        return grouped(((each.module, each.declared), each) for each in self._plan.instances.values())

    @cached_property
    def _by_module(self) -> Mapping[tuple[Module, str], list[Instance]]:
        made = (each for each in self._plan.instances.values() if not each.is_data)
        return grouped(((each.module, each.type), each) for each in made)

    @cached_property
    def _keys(self) -> Mapping[tuple[Module, str], list[str | int | None]]:
        """The keys of a module, by the module around it and its name."""
        modules = dict.fromkeys(
            each.module[: at + 1] for each in self._plan.instances.values() for at in range(len(each.module))
        )
        return grouped(((each[:-1], each[-1][0]), each[-1][1]) for each in modules)


class _From(NamedTuple):
    """Where a reference is written: in a module, by a resource or by the call of a module, with the key of that."""

    module: Module
    key: str | int | None
    instance: Instance | None = None


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


def _whole(expression: Node) -> list[str]:
    """The references of an expression without those that Terraform adds for what they begin with."""
    every = tuple(dict.fromkeys(_references(expression)))
    return [each for each in every if not any(one.startswith((f"{each}.", f"{each}[")) for one in every)]
