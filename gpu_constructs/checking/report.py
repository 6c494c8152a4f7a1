"""Files in, findings out: what every door asks that looks at templates.

::

    for finding in check_files(["cdk.out"]).findings:
        print(finding.severity, finding.rule, finding.message, finding.fix)

Pure: it reads the files that it is given and nothing else, knows no cloud library and starts no Node process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from gpu_constructs.budget import NAME, READ_RESOURCES, READINGS
from gpu_constructs.checking.acknowledgements import Acknowledged, Acknowledgements
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import Fleet
from gpu_constructs.hardware import regions
from gpu_constructs.hardware.aws_limits import is_region
from gpu_constructs.rules import RULES, Finding, Rule, Severity, check
from gpu_constructs.rules.evidence.lists import or_list
from gpu_constructs.template import Input, Inputs, Stacks, fleet_of

__all__ = ["Acknowledged", "Report", "check_files", "findings_in"]

_Place = tuple[str, str, str | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found in some files.

    Attributes:
        fleet: Everything about GPUs that the files define.
        findings: What is wrong or worth knowing, in the order of the files and their lines.
        acknowledged: What was found and accepted: ``Metadata: {"gpu-constructs": {"Acknowledge": {"GPU002": "why"}}}``
            of the resource.
        files: Every file that defines something, in order; what was named where none does.
        read: Every file that was opened, those that define nothing among them.
        untried: Allowed values of parameters with which nothing was checked: beyond `READINGS`, beyond what is
            read of a large app, or because a pipe can be read only once.
    """

    fleet: Fleet
    findings: tuple[Finding, ...]
    acknowledged: tuple[Acknowledged, ...] = ()
    files: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    untried: int = 0


def check_files(
    inputs: Sequence[Input],
    *,
    stdin: bytes | None = None,
    parameters: Mapping[str, str] | None = None,
    region: str | None = None,
    partial: bool = False,
    rules: Iterable[Rule] = RULES,
) -> Report:
    """Checks CloudFormation templates, cloud assemblies and task definitions.

    Parameters of a template are taken by their default values. Where a parameter allows others, one after the other is
    tried as well, and an error that only they bring is a warning that names the value.

    Args:
        inputs: Files and directories, ``-`` for `stdin`, and templates that are already parsed.
        stdin: What ``-`` holds.
        parameters: Values of parameters by name, instead of their defaults.
        region: Region that the templates are deployed to, where they do not say.
        partial: Whether there is more than these files. Otherwise a task runs on the hosts in them, on hosts that
            they mention, or on none.
        rules: Which rules to ask.

    Raises:
        InvalidValueError: `region` is not a region.
        UnreadableError: A file cannot be read, or is neither of them.
    """
    _require_region(region)
    given = dict(parameters or {})
    asked = tuple(rules)
    return _reported(Inputs(inputs, stdin=stdin, region=region, partial=partial), given, asked)


def findings_in(directories: Sequence[str | Path], *, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """What is found in cloud assemblies; what is accepted in a template is left out, what in an app is not.

    Most assemblies have nothing wrong with them, so the paths of constructs, which only messages need, are looked up
    once something is found.

    Raises:
        UnreadableError: A file cannot be read.
    """
    asked = tuple(rules)
    inputs = Inputs(directories)
    stacks = inputs.stacks(construct_paths=False)
    if not any(_found(stacks, inputs, _fleet(stacks), {}, asked)[0]):
        return ()
    seen = _reported(inputs, {}, asked)
    return (*seen.findings, *(each.finding for each in seen.acknowledged if each.in_app))


def _reported(inputs: Inputs, given: Mapping[str, str], asked: tuple[Rule, ...]) -> Report:
    stacks = inputs.stacks(given)
    fleet = _fleet(stacks)
    found, untried = _found(stacks, inputs, fleet, given, asked)
    acknowledgements = Acknowledgements(stacks, inputs)
    kept: list[Finding] = []
    acknowledged: list[Acknowledged] = []
    for finding in sorted(dict.fromkeys(found), key=_order):
        accepted = acknowledgements.of(finding)
        if accepted is None:
            kept.append(finding)
        else:
            acknowledged.append(accepted)
    return Report(
        fleet=fleet,
        findings=tuple(kept),
        acknowledged=tuple(acknowledged),
        files=_files(stacks) or inputs.named,
        read=tuple(stacks.documents),
        untried=untried,
    )


def _found(
    stacks: Stacks, inputs: Inputs, fleet: Fleet, given: Mapping[str, str], asked: tuple[Rule, ...]
) -> tuple[list[Finding], int]:
    """Findings with their lines, and how many values of parameters were not tried."""
    found = [_located(each, stacks) for each in check(fleet, rules=asked)]
    others, untried = _other_values(stacks, given)
    errors = tuple(each for each in asked if each.severity is Severity.ERROR)
    found_there: list[tuple[str, str, Finding]] = []
    for other in others if errors else ():
        there = inputs.stacks({**given, **dict.fromkeys(other.keys, other.value)})
        found_there += [
            (other.parameter, other.value, _located(each, there))
            for each in check(_fleet(there), rules=errors)
            if each.severity is Severity.ERROR
        ]
    known = {_place(each) for each in found if each.severity is Severity.ERROR}
    found += _warnings(each for each in found_there if _place(each[2]) not in known)
    return found, untried


def _require_region(region: object) -> None:
    """Refuses what is not a region: with a misspelt name, no rule could say where types are offered."""
    if region is None or (isinstance(region, str) and is_region(region)):
        return
    nearest = get_close_matches(region.strip().lower()[:NAME], regions(), n=3) if isinstance(region, str) else []
    raise InvalidValueError(
        f"{shown(region)} is not a region",
        argument="region",
        value=region,
        allowed="a name such as eu-west-1",
        fix=f"did you mean {' or '.join(nearest)}?" if nearest else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Other:
    """One more value of a parameter, for every stack that allows the same values."""

    parameter: str
    keys: tuple[str, ...]
    value: str


def _other_values(stacks: Stacks, given: Mapping[str, str]) -> tuple[list[_Other], int]:
    """Values to try, and how many are too many."""
    keys: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for choice in stacks.choices:
        key = f"{choice.stack}:{choice.parameter}"
        if choice.parameter not in given and key not in given:
            keys.setdefault((choice.parameter, choice.default, choice.values), []).append(key)
    others = [
        _Other(parameter=parameter, keys=tuple(of), value=value)
        for (parameter, default, values), of in keys.items()
        for value in values
        if value != default
    ]
    size = len(stacks.choices) + sum(len(stack.resources) for stack in stacks.stacks)
    most = min(READINGS, READ_RESOURCES // max(1, size))
    return others[:most], len(others[most:])


def _fleet(stacks: Stacks) -> Fleet:
    return replace(fleet_of(stacks.stacks, tasks=stacks.tasks, remarks=stacks.remarks), is_whole=stacks.whole)


def _located(finding: Finding, stacks: Stacks) -> Finding:
    return finding if finding.origin is None else replace(finding, origin=stacks.locate(finding.origin))


def _warnings(found: Iterable[tuple[str, str, Finding]]) -> Iterator[Finding]:
    """Errors of other values of a parameter as warnings: one for each parameter and thing, with the first message."""
    groups: dict[tuple[str, _Place], dict[str, Finding]] = {}
    for parameter, value, finding in found:
        groups.setdefault((parameter, _place(finding)), {}).setdefault(value, finding)
    for (parameter, _), by_value in groups.items():
        (value, first), *rest = by_value.items()
        likewise = f" (likewise with {or_list(other for other, _ in rest)})" if rest else ""
        yield replace(first, severity=Severity.WARNING, message=f"with {parameter}={value}{likewise}: {first.message}")


def _files(stacks: Stacks) -> tuple[str, ...]:
    resources = [each for stack in stacks.stacks for each in stack.resources.values()] + list(stacks.tasks)
    return tuple(dict.fromkeys(each.origin.file for each in resources if each.origin.file is not None))


def _place(finding: Finding) -> _Place:
    return finding.rule, finding.subject, _resource(finding), _file(finding)


def _resource(finding: Finding) -> str:
    return finding.subject if finding.origin is None else finding.origin.resource


def _file(finding: Finding) -> str | None:
    return None if finding.origin is None else finding.origin.file


def _order(finding: Finding) -> tuple[str, int, str, int, str]:
    line = 0 if finding.origin is None else finding.origin.line or 0
    return _file(finding) or "", line, _resource(finding), finding.severity.rank, finding.rule
