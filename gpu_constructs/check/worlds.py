"""Many directories and assemblies in one call: each is a world of its own, and there is one report of all.

What belongs to different teams is not mixed: a name means what has it in the same world.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain, combinations

from gpu_constructs.check.presenting import order
from gpu_constructs.check.report import Asked, Report, Seen, reported
from gpu_constructs.check.repository import World
from gpu_constructs.errors import shown
from gpu_constructs.facts.budget import STEPS, Work, one_call
from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet import Fleet, Origin
from gpu_constructs.template import Inputs, Stacks, UnreadableError
from gpu_constructs.template.model import UndeclaredError

_WHOLE_CALLS = 40
"""Worlds that may each take the work of a whole call; what comes after these has a part of one, so that no repository
takes hours."""

_LEAST = STEPS // 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """The report of one world, and what concerns others.

    Attributes:
        beyond: Files that were read because a template of this world names them.
        missing: Names that it imports, and that nothing in it exports.
    """

    report: Report
    beyond: frozenset[str] = frozenset()
    undeclared: Mapping[str, UndeclaredError] = field(default_factory=dict)
    exports: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()


def check_worlds(worlds: Sequence[World], asked: Asked) -> Report:
    """Checks each world by itself.

    Raises:
        UndeclaredError: No template of any world declares a parameter that has a value.
    """
    whole = Work(STEPS * _WHOLE_CALLS)

    def answered(world: World) -> _Answer:
        steps = max(_LEAST, min(STEPS, whole.left))
        with one_call(steps) as work:
            found = _answer(world, asked)
        whole.spend(steps - work.left)
        return found

    answers = [answered(each) for each in worlds]
    # A template that another one nests is judged there, where its parameters are known.
    beyond = frozenset(chain(*(each.beyond for each in answers)))
    for place, world in enumerate(worlds):
        nested = {each for each in world.found if os.path.realpath(each) in beyond} if beyond else set()
        rest = tuple(each for each in world.inputs if each not in nested)
        if nested:
            answers[place] = answered(replace(world, inputs=rest)) if rest else _Answer(report=_NOTHING)
    for name in asked.given:
        missing = [each.undeclared[name] for each in answers if name in each.undeclared]
        if missing and len(missing) == len(answers):
            files = dict.fromkeys(chain(*(each.files for each in missing)))
            raise UndeclaredError(
                name, files=tuple(files), fix=next(filter(None, (each.fix for each in missing)), None)
            )
    report = joined([each.report for each in answers])
    exports = frozenset(chain(*(each.exports for each in answers)))
    apart = sorted(exports.intersection(chain(*(each.missing for each in answers))))
    if not apart:
        return report
    names = f"{', '.join(map(shown, apart[:_TOLD]))}{' and more' if len(apart) > _TOLD else ''}"
    note = f"{names}: imported, and exported in another directory, of which each is checked by itself; fix: --together"
    return replace(report, notes=(*report.notes, note))


_NOTHING = Report(fleet=Fleet(), findings=(), worlds=0)


def joined(reports: Sequence[Report]) -> Report:
    """One report of several; the most serious findings of all come first."""
    if len(reports) == 1:
        return reports[0]
    return Report(
        fleet=Fleet(),
        findings=tuple(sorted(chain(*(each.findings for each in reports)), key=order)),
        acknowledged=tuple(chain(*(each.acknowledged for each in reports))),
        files=tuple(dict.fromkeys(chain(*(each.files for each in reports)))),
        values=tuple(chain(*(each.values for each in reports))),
        untried=dict(sum((Counter(each.untried) for each in reports), Counter[str]())),
        notes=tuple(dict.fromkeys(chain(*(each.notes for each in reports)))),
        unused=tuple(chain(*(each.unused for each in reports))),
        skipped_jobs=sum(each.skipped_jobs for each in reports),
        unreadable=tuple(chain(*(each.unreadable for each in reports))),
        skipped=sum(each.skipped for each in reports),
        worlds=sum(each.worlds for each in reports),
        counts=sum((each.seen for each in reports), Seen()),
    )


def _answer(world: World, asked: Asked) -> _Answer:
    """Reads and judges one world, without a stack that spoils all."""
    inputs = asked.inputs(world.inputs, found=world.found, lenient=True)
    given, undeclared = declared(inputs, asked.given)
    try:
        try:
            report = reported(inputs, replace(asked, given=given))
        except UnreadableError:
            inputs = inputs.without_unreadable(given)
            given, _ = declared(inputs, given)  # what only they declare is no mistake
            report = reported(inputs, replace(asked, given=given))
    except UnreadableError as error:
        return _Answer(report=replace(_NOTHING, unreadable=(*inputs.unreadable, error), skipped=inputs.skipped))
    exports = frozenset(name for name, _ in _exports(report.stacks))
    missing = frozenset(chain(*(each.shared.exports.missing for each in report.stacks.evaluators[:1])))
    report = replace(
        report,
        notes=(*report.notes, *_collisions_in(report.stacks)),
        worlds=int(not inputs.is_empty),
        stacks=Stacks(),
    )
    return _Answer(report=report, beyond=inputs.beyond, undeclared=undeclared, exports=exports, missing=missing)


def declared(inputs: Inputs, given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, UndeclaredError]]:
    """The parameters that a world declares, of those that have a value, and what is wrong with the others."""
    left, undeclared = dict(given), dict[str, UndeclaredError]()
    for _ in given:
        try:
            inputs.stacks(left)
        except UndeclaredError as error:  # noqa: PERF203 - one is left out at a time
            undeclared[error.name] = error
            del left[error.name]
        except UnreadableError:
            break  # which whoever judges them says
        else:
            break
    return left, undeclared


# -- names that two things have which are read together, and only one can have in a region of an account --

_TOLD = 5


def _collisions_in(stacks: Stacks) -> tuple[str, ...]:
    """A line for each name that means two things, so that what uses it is not followed."""
    found = [
        *_told("export", _exports(stacks), "what imports it is not checked"),
        *_told("are clusters named", _clusters(stacks), "what runs there may be held against hosts of the other"),
    ]
    more = [f"and {len(found) - _TOLD} more names that are there twice"] if len(found) > _TOLD else []
    return (*found[:_TOLD], *more)


def _told(what: str, named: Iterable[tuple[str, Origin]], so: str) -> Iterator[str]:
    for name, origins in grouped(named).items():
        pairs = combinations(origins[:_TOLD], 2)
        first = next(((one, other) for one, other in pairs if one.place.may_be(other.place)), None)
        if first is not None:
            one, other = (f"{each.resource} of {each.file}" for each in first)
            yield f"{one} and {other} both {what} {shown(name)}: {so}; fix: check them in two calls, or leave one out"


def _exports(stacks: Stacks) -> Iterator[tuple[str, Origin]]:
    for stack in stacks.evaluators:
        for name, output in stack.exports():
            if isinstance(name, str):
                yield name, replace(stack.origin(("Outputs", output)), resource=f"output {output}")


def _clusters(stacks: Stacks) -> Iterator[tuple[str, Origin]]:
    for stack in stacks.stacks:
        for each in stack.resources.values():
            name = each.properties.get("ClusterName")
            if each.type == "AWS::ECS::Cluster" and isinstance(name, str):
                yield name, each.origin
