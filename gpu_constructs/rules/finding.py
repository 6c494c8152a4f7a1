"""What a rule finds in one thing, in which words, and a fix as a change of a fleet, to be tried before it is shown.

The words are for readers of files, and constructors put some of them into those of their arguments. A rule marks these
where it writes them::

    Text("raise ", Word("MaxSize"), f" of {pool.name} to {size}")

A value inside a text is never taken for such a word, whatever somebody has written there. An f-string makes plain text
of a `Text`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from itertools import chain, islice
from operator import is_
from typing import TypeAlias, TypeVar, final

from gpu_constructs.facts.values import StrEnum, dataclass
from gpu_constructs.fleet import Fleet, Origin, Pool, Task, Workload
from gpu_constructs.placement.reasons import listed

MOST_NAMED = 4


def some(reasons: Iterable[object]) -> str:
    """The first of many reasons, of which a message has room for few."""
    return "; ".join(map(str, islice(reasons, MOST_NAMED)))


class Word(str):
    """What a constructor may call otherwise, such as the property ``MaxSize``: one word or several that go together."""

    __slots__ = ()


@final
class Text(str):
    """A text with the words in it that a constructor may call otherwise."""

    __slots__ = ("_parts",)
    _parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Text:  # noqa: D102 - its arguments are those of the class
        text = super().__new__(cls, "".join(parts))
        text._parts = tuple(chain.from_iterable(map(parts_of, parts)))
        return text


def joined(between: str, texts: Iterable[str]) -> Text:
    """Texts one after the other, as ``str.join`` has them."""
    parts = [part for each in texts for part in (between, each)]
    return Text(*parts[1:])


def in_arguments(text: str, arguments: Mapping[str, str]) -> str:
    """The text of a finding in the words of a constructor, by word."""
    return "".join(arguments.get(each, each) if isinstance(each, Word) else each for each in parts_of(text))


def parts_of(text: str) -> tuple[str, ...]:
    """The parts of a text, the words among them; plain text is its only part."""
    return text._parts if isinstance(text, Text) else (text,)  # noqa: SLF001 - the texts of this module


def or_list(names: Iterable[object]) -> str:
    """``a, b or c``, cut short where there are many."""
    return listed(names, "or")


def and_list(names: Iterable[object]) -> str:
    """``a, b and c``, cut short where there are many."""
    return listed(names)


def with_verb(names: Iterable[object], one: str, several: str) -> str:
    """``a asks`` or ``a and b ask``; there is at least one name."""
    who = tuple(names)
    return f"{and_list(who)} {one if len(who) == 1 else several}"


class Severity(StrEnum):
    """How serious a finding is, the most serious first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the most serious."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that cannot work, may not work, or is worth knowing.

    Attributes:
        rule: Stable id of the rule, such as ``GPU001``; never given to another rule.
        severity: ``error`` cannot work, and the message names the mechanism; ``warning`` may not, or not as meant.
        subject: Name of the pool, task or workload that it is about.
        message: What was asked for, what exists, and why they do not go together.
        fix: Changes that would do, the smallest first; empty where only the user can know.
        property_name: The property to change, in the words of CloudFormation; empty where there is none.
        allowed: What may stand there instead, in words.
        one_value: Whether that value is wrong by itself, whatever the others are.
        is_shortage: Whether hosts have less of something than is asked for, rather than two things not going together.
        stops_work: Whether it keeps work from running, even where it is a warning.
        origin: Where it was written; None where that is not known. In a report, where the change has to be made.
        ways: What `fix` says, as far as it was tried, with what it changes.
        otherwise: What `fix` says where none of `ways` does.
        parameter: The parameter of which only another value brings it, at whose declaration it then points.
        changes: The property that has to be changed there; empty where it is not one property.
        about: Where its subject was written, where `origin` is another place.
    """

    rule: str
    severity: Severity
    subject: str
    message: str
    fix: str = ""
    property_name: str = field(default="", compare=False)
    value: object = field(default=None, compare=False)
    allowed: str = field(default="", compare=False)
    one_value: bool = field(default=False, compare=False)
    is_shortage: bool = field(default=False, compare=False)
    stops_work: bool = field(default=False, compare=False)
    origin: Origin | None = None
    parameter: str = field(default="", compare=False)
    changes: str = field(default="", compare=False)
    about: Origin | None = field(default=None, compare=False)
    ways: tuple[Way, ...] = field(default=(), compare=False, repr=False)
    otherwise: str = field(default="", compare=False, repr=False)

    @property
    def is_grave(self) -> bool:
        """Whether it keeps something from running as far as the files show: an error, or work that does not fit."""
        return self.severity is Severity.ERROR or self.stops_work


_Thing = TypeVar("_Thing", Pool, Task, Workload)

Changed: TypeAlias = Pool | Task | Workload | Callable[[], Task]
"""A thing as it would be, or what makes a task when it is tried: a task of n containers may have n fixes, and making
each takes as long as there are containers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One change that would do.

    Attributes:
        things: Pools, tasks and workloads as they would be; each takes the place of the one with its name. Without any,
            the change is shown untried, because the values are the reader's.
        instead: Larger changes that may do where this one cannot be made.
    """

    text: str
    things: tuple[Changed, ...] = ()
    instead: tuple[Way, ...] = ()

    def made(self) -> tuple[Pool | Task | Workload, ...]:
        """The things, those among them that are made when they are tried."""
        return tuple(each if isinstance(each, (Pool, Task, Workload)) else each() for each in self.things)


Ways: TypeAlias = tuple[tuple[Way, ...], ...]
"""Ways to settle a problem. Of each group, smallest change first, the first that works is shown."""


def either(*changes: tuple[str, Changed]) -> Ways:
    """Ways of one thing each; every one that works is shown."""
    return tuple((Way(text=text, things=(thing,)),) for text, thing in changes)


def one_way(text: str, thing: Changed) -> Ways:
    """The only way, which changes one thing."""
    return either((text, thing))


def first_of(changes: Iterable[tuple[str, Changed]]) -> Ways:
    """Ways of one thing each, of which the first that works is shown."""
    return (tuple(Way(text=text, things=(thing,)) for text, thing in changes),)


def changed(fleet: Fleet, things: Iterable[Pool | Task | Workload]) -> Fleet:
    """The fleet with some things in place of those of the same name, wherever they are named."""
    new = tuple(things)
    pools = {each.name: each for each in new if isinstance(each, Pool)}
    tasks = {each.name: each for each in new if isinstance(each, Task)}
    workloads = {each.name: each for each in new if isinstance(each, Workload)}
    return replace(
        fleet,
        pools=_swapped(fleet.pools, pools),
        tasks=tuple(
            replace(each, submissions=_swapped(each.submissions, tasks)) if each.submissions else each
            for each in _swapped(fleet.tasks, tasks)
        ),
        workloads=tuple(_joined(each, pools, tasks) for each in _swapped(fleet.workloads, workloads)),
    )


def _swapped(old: tuple[_Thing, ...], new: Mapping[str, _Thing]) -> tuple[_Thing, ...]:
    return tuple(new.get(each.name, each) for each in old)


def _joined(workload: Workload, pools: Mapping[str, Pool], tasks: Mapping[str, Task]) -> Workload:
    """A workload that names the new pools and the new task; the same object where it names none."""
    task = workload.task and tasks.get(workload.task.name, workload.task)
    strategy = tuple(
        replace(item, pool=pools[item.pool.name]) if item.pool is not None and item.pool.name in pools else item
        for item in workload.strategy
    )
    if task is workload.task and all(map(is_, strategy, workload.strategy)):
        return workload
    return replace(workload, task=task, strategy=strategy)


def with_fix(finding: Finding) -> str:
    """What was found and what to do, in one sentence."""
    return f"{finding.message}; fix: {finding.fix}" if finding.fix else finding.message
