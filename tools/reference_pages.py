"""The reference on the site: a page for each public name and one for each of its calls, made of docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

from aws_cdk import aws_ecs as ecs
from constructs import Construct
from typing_extensions import is_typeddict

from tools.docstrings import docstring_of

__all__ = ["Part", "names", "parts", "reference_pages", "sections"]

_INTRODUCTION = """\
# Reference

A page for each name that you import, and for each call of it, with its arguments. It is imported from `gpu_constructs`,
or from the module that its page names. Arguments behind `*` are given by name. `cdk`, `ec2`, `ecs` and the like are
CDK's modules under their usual names.
"""

_MODULES = ("gpu_constructs", "gpu_constructs.testing")

_SECTIONS: tuple[tuple[str, str, frozenset[str]], ...] = (
    ("Cluster", "Which cluster does it run on?", frozenset({"cluster"})),
    (
        "Capacity",
        "On which hosts, and how are they bought?",
        frozenset({"cluster.capacity", "cluster.managed", "facts"}),
    ),
    ("Tasks", "What does a task ask of its host?", frozenset({"tasks"})),
    ("Services", "What keeps running, and who reaches it?", frozenset({"services"})),
    ("Models", "Which server runs a model, and where is the model kept?", frozenset({"tasks.models"})),
    ("Jobs", "What ends, and what starts it?", frozenset({"jobs"})),
    ("AWS Batch", "What waits in a queue?", frozenset({"jobs.batch"})),
    ("Training", "What runs on several hosts at once?", frozenset({"jobs.training"})),
    ("Monitoring", "What is measured, and who is told?", frozenset({"cluster.monitoring"})),
    ("Security", "What do auditors ask for?", frozenset({"aws_solutions"})),
    ("Checks and errors", "What is refused, and where?", frozenset({"cdk", "errors"})),
    ("Tests of an app", "How does a test ask about GPUs?", frozenset({"testing"})),
)
"""Headings with their questions, and the rooms of the package whose names they have."""

_FOR_OTHER_ROOMS: Mapping[str, frozenset[str]] = {
    "GpuBatchQueue": frozenset({"require_share"}),
    "GpuChecks": frozenset({"name", "rule_ids", "validate", "version"}),
    "GpuMonitoring": frozenset({"watch"}),
    "GpuTaskDefinition": frozenset({"caches", "counted"}),
}
"""Members without an underscore that modules of the library call, and users have no use for."""

_OF_CDK: Mapping[str, Callable[..., object]] = {"PassedOn": ecs.ContainerDefinitionOptions.__init__}
"""Typed mappings of arguments that CDK alone explains, and what of CDK does."""

_OF_EVERY_CONSTRUCT = {"scope": "Where it is defined.", "construct_id": "Its id in that scope."}

_SAID_BY_CDK = re.compile(r"^:param (\w+): (.+?\.)(?= |$)(?:.*? Default: (?:- )?(.+?)\.?)?$", re.MULTILINE)
_WIDTH = 85
_ESCAPED = "\\|"
_UNPACKED = re.compile(r"Unpack\[(\w+)\]")
_NAMED = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)")


@dataclass(frozen=True, slots=True)
class Part:
    """A heading with what stands below it.

    Args:
        name: What it explains, such as ``GpuCluster.add_capacity``.
        thing: That.
        room: The innermost room of the package with a section that it is of.
        call: The function that users call; None where there is none.
    """

    name: str
    thing: Any
    room: str
    call: Callable[..., object] | None = None


def names() -> dict[str, str]:
    """The module that each public name is imported from."""
    return {name: module for module in _MODULES for name in import_module(module).__all__}


def reference_pages() -> dict[str, str]:
    """The text of each page by its name below ``reference/``."""
    every = list(parts())
    known = {each.name for each in every}
    pages = {"index.md": _INTRODUCTION}
    for title, question, products in sections():
        listed = "\n".join(f"| [`{each.name}`]({each.name}.md) | {_summary(each, known)} |" for each in products)
        pages["index.md"] += f"\n## {title}\n\n{question}\n\n| name | |\n|---|---|\n{listed}\n"
        for product in products:
            below = [each for each in every if each.name.startswith(f"{product.name}.")]
            pages |= {f"{each.name}.md": "\n".join([*_shown(each, known), ""]) for each in (product, *below)}
            if below:
                rows = "\n".join(f"| {_link(each.name)} | {_summary(each, known)} |" for each in below)
                pages[f"{product.name}.md"] += f"\n## Calls\n\n| call | |\n|---|---|\n{rows}\n"
    return pages


def sections() -> Iterator[tuple[str, str, list[Part]]]:
    """Each heading with its question and the names that have a page below it."""
    own = [each for each in parts() if "." not in each.name and each.name in names()]
    for title, question, rooms in _SECTIONS:
        yield title, question, [each for each in own if each.room in rooms]


def _summary(part: Part, known: AbstractSet[str]) -> str:
    return _text(docstring_of(part.thing).summary, part.name, known).replace("|", _ESCAPED)


def parts() -> Iterator[Part]:
    """The public names, each with its methods."""
    for name, module in names().items():
        thing = getattr(import_module(module), name)
        room = _room_of(thing)
        yield from (Part(name, thing, room, _constructor(thing)), *_methods(name, thing, room))


def _room_of(thing: type | Callable[..., object]) -> str:
    """The innermost room with a section that a thing is of."""
    below = thing.__module__.split(".")[1:]
    rooms = frozenset().union(*(rooms for _, _, rooms in _SECTIONS))
    return next(room for end in range(len(below), 0, -1) if (room := ".".join(below[:end])) in rooms)


def _constructor(thing: object) -> Callable[..., object] | None:
    """What users call, themselves, to get it: a value with attributes alone is made by its methods."""
    if isinstance(thing, type):
        return thing.__init__ if docstring_of(thing).arguments else None  # type: ignore[misc] # of the class itself
    return thing if callable(thing) else None


def _methods(name: str, thing: object, room: str) -> Iterator[Part]:
    """Its methods, for a value those that make it: the others are what modules of the library ask it."""
    if not isinstance(thing, type) or is_typeddict(thing):
        return
    is_value = is_dataclass(thing) or issubclass(thing, Exception)
    for member, value in _members(thing).items():
        method = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if inspect.isfunction(method) and (not is_value or method is not value):
            yield Part(f"{name}.{member}", method, room, method)


def _members(thing: type) -> dict[str, Any]:
    """Its public members, and those that it has of other classes of the library."""
    ours = [each for each in thing.__mro__ if each.__module__.startswith("gpu_constructs.")]
    found = {member: value for each in reversed(ours) for member, value in vars(each).items()}
    hidden = _FOR_OTHER_ROOMS.get(thing.__name__, frozenset())
    return {name: value for name, value in found.items() if not name.startswith("_") and name not in hidden}


def _groups(call: Callable[..., object] | None) -> dict[str, Any]:
    """The typed mappings of a function's ``**options``, and what they extend."""
    of = None if call is None else _options(call)
    return {} if of is None else _with_bases(of)


def _options(call: Callable[..., object]) -> Any:  # noqa: ANN401 - typed mappings have no type in common
    """The typed mapping of ``**options``; None without."""
    function = inspect.unwrap(call)
    for each in inspect.signature(function).parameters.values():
        if each.kind is inspect.Parameter.VAR_KEYWORD and (found := _UNPACKED.match(str(each.annotation))):
            return function.__globals__[found[1]]
    return None


def _with_bases(group: Any) -> dict[str, Any]:  # noqa: ANN401
    bases = [each for each in getattr(group, "__orig_bases__", ()) if is_typeddict(each)]
    return {group.__name__: group} | {name: one for each in bases for name, one in _with_bases(each).items()}


def _shown(part: Part, known: AbstractSet[str]) -> Iterator[str]:
    documented, owner = docstring_of(part.thing), part.name.partition(".")[0]
    yield f"# {part.name}\n"
    yield _text(documented.summary, owner, known)
    module = names().get(part.name, _MODULES[0])
    if module != _MODULES[0]:
        yield f"\nFrom `{module}`."
    if part.call is not None:
        yield f"\n```python\n{_signature(part.name, part.call)}\n```"
        yield from _table("argument", _arguments(part.thing, part.call), owner, known)
    if "." not in part.name:
        groups = _with_bases(part.thing).values() if is_typeddict(part.thing) else [part.thing]
        rows = (row for group in groups for row in _attributes(group))
        yield from _table("argument" if is_typeddict(part.thing) else "attribute", rows, owner, known)


def _arguments(thing: object, call: Callable[..., object]) -> Iterator[tuple[str, str, str]]:
    """The arguments of a call, those of its ``**options`` as well.

    Those of every construct are explained here; those of a factory by the attributes of its class, unless its own
    docstring explains them.
    """
    of_call = inspect.signature(inspect.unwrap(call)).parameters
    maker = getattr(import_module(call.__module__), call.__qualname__.partition(".")[0])
    elsewhere = {**docstring_of(maker).attributes, **_OF_EVERY_CONSTRUCT}
    own = docstring_of(thing).arguments
    others = {name: elsewhere[name] for name in of_call if name in elsewhere and name not in own}
    for name, meaning in {**others, **own}.items():
        if not name.startswith("*"):
            yield name, str(of_call[name].annotation), meaning
        elif _options(call) is None:
            yield name, "", meaning
    for group in _groups(call).values():
        yield from _attributes(group)


def _attributes(thing: Any) -> Iterator[tuple[str, str, str]]:  # noqa: ANN401
    ours = [each for each in getattr(thing, "__mro__", (thing,)) if each.__module__.startswith("gpu_constructs.")]
    for of in reversed(ours):
        # Asked as an attribute, a class of jsii has others once it was called.
        own = getattr(of, "__dict__", {}).get("__annotations__", {})
        told = docstring_of(of).attributes
        above = {name for each in getattr(of, "__orig_bases__", ()) for name in getattr(each, "__annotations__", ())}
        left = [each for each in own if is_typeddict(of) and each not in {*told, *above}]
        of_cdk = {name: meaning for name, meaning in _told_by_cdk(of.__name__) if name in left}
        for name, meaning in {**told, **of_cdk}.items():
            kind = own.get(name, "")
            yield name, getattr(kind, "__forward_arg__", None) or str(kind), meaning
    if isinstance(thing, type) and issubclass(thing, Construct):
        for name, value in _members(thing).items():
            asked = value.fget if isinstance(value, property) else getattr(value, "func", None)
            if asked is not None:
                yield name, str(inspect.signature(asked).return_annotation), docstring_of(value).summary


def _told_by_cdk(group: str) -> Iterator[tuple[str, str]]:
    """What CDK says of arguments that it alone explains: its first sentence, and its default."""
    text = inspect.cleandoc(_OF_CDK[group].__doc__ or "") if group in _OF_CDK else ""
    for name, sentence, default in _SAID_BY_CDK.findall(text):
        yield name, f"{sentence} By default: {default}." if default else sentence


def _table(heading: str, rows: Iterator[tuple[str, str, str]], owner: str, known: AbstractSet[str]) -> Iterator[str]:
    lines = [
        f"| `{name}` | {_kind(kind, known)} | {_text(meaning, owner, known).replace('|', _ESCAPED)} |"
        for name, kind, meaning in rows
    ]
    if lines:
        yield "\n".join([f"\n| {heading} | kind | meaning |", "|---|---|---|", *lines])


def _kind(annotation: str, known: AbstractSet[str]) -> str:
    """The kind of an argument; what may be left out says so in its meaning."""
    kind = annotation.removesuffix(" | None")
    if kind in known:
        return _link(kind)
    return f"`{kind.replace('|', _ESCAPED)}`" if kind else ""


def _signature(name: str, call: Callable[..., object]) -> str:
    """The call: positional arguments by name, the others with their defaults."""
    written: list[str] = []
    for each in inspect.signature(inspect.unwrap(call)).parameters.values():
        if each.name in {"self", "cls"}:
            continue
        if each.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in written:
            written.append("*")
        argument = f"**{each.name}" if each.kind is inspect.Parameter.VAR_KEYWORD else each.name
        is_needed = each.default is inspect.Parameter.empty
        written.append(argument if is_needed else f"{argument}={_default(each.default)}")
    line = f"{name}({', '.join(written)})"
    if len(line) <= _WIDTH:
        return line
    inner = textwrap.fill(
        ", ".join(written), _WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False
    )
    return f"{name}(\n{inner}\n)"


def _default(value: object) -> str:
    if isinstance(value, Enum):
        module = type(value).__module__.rpartition(".")[2].removeprefix("aws_")
        return f"{module}.{type(value).__name__}.{value.name}"
    if isinstance(value, str):
        return f'"{value}"'
    text = repr(value)
    return "…" if text.startswith("<") else text


def _text(text: str, owner: str, known: AbstractSet[str]) -> str:
    """Text with links to what the page has."""

    def linked(found: re.Match[str]) -> str:
        name = found[1]
        return next((_link(each, name) for each in (name, f"{owner}.{name}") if each in known), found[0])

    return _NAMED.sub(linked, text)


def _link(name: str, words: str | None = None) -> str:
    """A link to a page."""
    return f"[`{words or name}`]({name}.md)"
