"""Every rule by id, and the check that asks all of them."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from itertools import islice
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias, get_args

from gpu_constructs.errors import UnknownNameError
from gpu_constructs.facts.budget import FOUND, NAME, Work, one_call
from gpu_constructs.fleet import METADATA_KEY, Fleet, Pool, PoolKind, Scheduler, Task, Workload
from gpu_constructs.rules.finding import Finding, Severity, Text, Word, parts_of
from gpu_constructs.rules.other_ids import OfConstructs, id_now, is_gone
from gpu_constructs.rules.rule import Causes, Context, Problem, Rule
from gpu_constructs.rules.trials import Trials

if TYPE_CHECKING:
    from gpu_constructs.template import Files

Choice: TypeAlias = "Iterable[Rule] | Callable[[Rule], bool]"
"""Rules to ask: these, or of all those for which a function says yes."""


def _has_things(context: Context) -> bool:
    return bool(context.fleet.tasks or context.fleet.workloads)


def _has_hosts(context: Context) -> bool:
    return bool(context.fleet.pools or context.fleet.strays)


def _is_run(context: Context) -> bool:
    return _has_hosts(context) or bool(context.fleet.workloads or context.fleet.provider_lists)


def _is_of_batch(context: Context) -> bool:
    fleet = context.fleet
    return (
        bool(fleet.queues or fleet.environments or fleet.steps or fleet.submissions)
        or any(each.kind is PoolKind.BATCH for each in (*fleet.pools, *fleet.strays))
        or any(each.scheduler is Scheduler.BATCH for each in context.tasks)
    )


_ASKED_WHERE: Mapping[str, Callable[[Context], bool]] = {
    "tasks": _has_things,
    "fit": lambda context: _has_things(context) or any(each.hides_work for each in context.fleet.remarks),
    "expressions": lambda context: (
        any(each.constraints for each in context.tasks) or any(each.constraints for each in context.fleet.workloads)
    ),
    "hosts": _has_hosts,
    "purchase": _has_hosts,
    "scaling": _is_run,
    "clusters": _is_run,
    "jobs": lambda context: bool(context.fleet.workloads or context.fleet.steps or context.fleet.submissions),
    "batch": _is_of_batch,
    "files": lambda _: True,
}
"""The rooms of rules by subject, in the order of the site, with where one of their rules may find something.

What is not asked is not loaded: a check of one task takes less time than to load rules about hosts.
"""

_READ_SECTIONS = frozenset(
    {
        "clusters.balancing",
        "clusters.load_balancers",
        "files.metrics",
        "hosts.starting",
        "tasks.roles",
        "tasks.volumes",
    }
)
"""Modules whose rules read the sections of files: without files they find nothing, and constructors have none."""


def rooms() -> tuple[ModuleType, ...]:
    """The rooms of rules by subject, in the order of the site."""
    return tuple(import_module(f"gpu_constructs.rules.{each}") for each in _ASKED_WHERE)


@cache
def rules_of(module: ModuleType) -> tuple[Rule, ...]:
    """The rules that a module or a room defines."""
    if hasattr(module, "__path__"):
        parts = (import_module(f"{module.__name__}.{each}") for each in _modules_of(module))
        return tuple(each for part in parts for each in rules_of(part))
    return tuple(each for each in vars(module).values() if isinstance(each, Rule))


def _modules_of(room: ModuleType) -> Iterator[str]:
    return (each.name for each in iter_modules(room.__path__))


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the ids."""
    return _rules_in(tuple(_ASKED_WHERE), with_files=True)


@cache
def _rules_in(names: tuple[str, ...], *, with_files: bool) -> tuple[Rule, ...]:
    rooms_of_names = ((name, import_module(f"gpu_constructs.rules.{name}")) for name in names)
    modules = (f"{name}.{each}" for name, room in rooms_of_names for each in _modules_of(room))
    asked = (each for each in modules if with_files or each not in _READ_SECTIONS)
    found = (rule for each in asked for rule in rules_of(import_module(f"gpu_constructs.rules.{each}")))
    return tuple(sorted(dict.fromkeys(found), key=lambda each: each.id))


def _rules_about(context: Context) -> tuple[Rule, ...]:
    names = tuple(name for name, may_find in _ASKED_WHERE.items() if may_find(context))
    return _rules_in(names, with_files=context.files is not None)


def narrowed(rules: Choice, also: Callable[[Rule], bool]) -> Choice:
    """Some rules, without those for which a function says no."""
    if callable(rules):
        return lambda each: rules(each) and also(each)
    return tuple(filter(also, rules))


def one_of(*ids: str) -> Callable[[Rule], bool]:
    """The choice of some rules by their ids, so that only the rooms are loaded that may find something."""
    return lambda each: each.id in ids


def every(_: Rule) -> bool:
    """The choice of all rules."""
    return True


_UNREAD = "GPU116"
"""The rule that says what was not looked at."""

# As measured: to find it, and to write what is wrong.
_STEPS_OF_PROBLEM = 100


def check(
    fleet: Fleet,
    *,
    rules: Choice = every,
    fixes: bool = True,
    now: dt.datetime | None = None,
    files: Files | None = None,
) -> tuple[Finding, ...]:
    """Everything that rules find in a fleet: errors first, then by rule, in the order of the fleet.

    A rule is silent where a rule that it yields to has found the same cause, whether that rule is among `rules` or not.
    By default all are asked that may find something; without `now` and `files`, which are those of `Context`, some are
    silent. With `fixes`, one with a value is shown if the fleet with it is better: what was found is gone, and nothing
    else is broken.
    """
    with one_call() as work:
        context = Context(fleet, now, files)
        asked = tuple(filter(rules, _rules_about(context))) if callable(rules) else tuple(rules)
        return _checked(context, asked, work, fixes=fixes)


def _checked(context: Context, asked: tuple[Rule, ...], work: Work, *, fixes: bool) -> tuple[Finding, ...]:
    fleet = context.fleet
    found = {each.id: tuple(islice(each.problems(context), FOUND)) for each in asked}
    if not any(found.values()):  # a good fleet, as most are that constructors ask about
        return ()
    work.spend(_STEPS_OF_PROBLEM * sum(map(len, found.values())))
    yielding = [each for each in asked if each.unless and found[each.id]]
    preferred = {id_ for each in yielding for id_ in each.unless}
    # A rule of a room that is not asked has found nothing.
    others = [each for each in _rules_about(context) if each.id in preferred and each.id not in found]
    found |= {each.id: tuple(islice(each.problems(context), FOUND)) for each in others}
    causes = {id_: Causes(found[id_]) for id_ in preferred if found.get(id_)}
    named_better = {each.id: [causes[id_] for id_ in each.unless if id_ in causes] for each in yielding}
    trials = Trials(fleet, _grave)
    if beyond := [id_ for id_, problems in found.items() if len(problems) == FOUND]:
        cut = [
            Problem(about=id_, message=f"{id_} found {FOUND:,} places, and was not asked for more") for id_ in beyond
        ]
        found[_UNREAD] = (*found.get(_UNREAD, ()), *cut)
        asked = tuple(dict.fromkeys((*asked, find_rule(_UNREAD))))
    findings = (
        each.signed(problem, trials.working(each, problem) if fixes and problem.ways else ())
        for each in asked
        for problem in found[each.id]
        if not any(cause.include(problem) for cause in named_better.get(each.id, ()))
    )
    return tuple(sorted(_marked(fleet, dict.fromkeys(findings)), key=lambda each: (each.severity.rank, each.rule)))


def _marked(fleet: Fleet, findings: Iterable[Finding]) -> Iterable[Finding]:
    """The findings; a message that names declared types marks the first one."""
    names = {each.name for pool in fleet.pools for each in pool.instance_types if each.declared}
    if not names:
        return findings
    first = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, sorted(names)))})(?![\w-])")
    return [replace(each, message=_with_mark(each.message, first)) for each in findings]


def _with_mark(text: str, first: re.Pattern[str]) -> str:
    parts = parts_of(text)
    for place, part in enumerate(parts):
        marked, found = (part, 0) if isinstance(part, Word) else first.subn(r"\1 (declared)", part, count=1)
        if found:
            return Text(*parts[:place], marked, *parts[place + 1 :])
    return text


def _grave(fleet: Fleet, also: str, /, *, alone: bool = False) -> Counter[tuple[str, str]]:
    """How often each rule finds something grave about each thing; of the rule with the id `also` everything counts."""

    def is_grave(rule: Rule) -> bool:
        return rule.id == also or (not alone and rule.severity is not Severity.INFO)

    found = check(fleet, rules=is_grave, fixes=False)
    return Counter((each.rule, each.subject) for each in found if each.is_grave or each.rule == also)


def check_alone(
    thing: Pool | Task | Workload, *, rules: Iterable[str] | Callable[[Rule], bool] = every, also: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """What rules find in one thing, whatever else is in its fleet: what a constructor can ask.

    The rules are those with these ids, rules about a whole fleet among them; or of all rules about such a thing those
    for which a function says yes, and those with the ids in `also`.
    """
    alone = Fleet(
        pools=(thing,) if isinstance(thing, Pool) else (),
        tasks=(thing,) if isinstance(thing, Task) else (),
        workloads=(thing,) if isinstance(thing, Workload) else (),
    )
    if callable(rules):
        return check(alone, rules=lambda each: each.id in also or (each.about is type(thing) and rules(each)))
    return check(alone, rules=one_of(*rules, *also))


def find_rule(id: str) -> Rule:  # noqa: A002 - the word of the data
    """The rule that is asked under an id; what users write goes through `known_id` first."""
    return next(each for each in all_rules() if each.id == id)


def known_id(id: str) -> str:  # noqa: A002 - the word of the data
    """The id of a rule, also of one that is asked no more, or of a warning of constructs; also as CDK prints it.

    Raises:
        UnknownNameError: Neither has, or had, this id; carries the nearest ids.
    """
    ours = f"{METADATA_KEY}::"
    wanted = id.strip().removeprefix(ours).upper()
    if is_gone(wanted):
        return wanted
    known = {name.upper(): f"{ours}{name}" for name in get_args(OfConstructs)} | {
        each.id: each.id for each in all_rules()
    }
    if wanted not in known:
        nearest = tuple(known[each] for each in get_close_matches(wanted[:NAME], known, n=3, cutoff=0.6))
        raise UnknownNameError(f"check has no rule or warning {id!r}", value=id, nearest=nearest)
    return known[wanted]


def rules_without(ids: Iterable[str]) -> Choice:
    """All rules but some. The id of one that is part of another now stands for that, unless that is about an error."""
    named = set(ids)
    if not named:
        return every
    parts = {id_now(each) for each in named}
    return lambda each: each.id not in named and (each.id not in parts or each.severity is Severity.ERROR)
