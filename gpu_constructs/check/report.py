"""Files in, findings out: what every door asks that looks at templates.

::

    for finding in check_files(["cdk.out"]).findings:
        print(finding.severity, finding.rule, finding.message, finding.fix)

Pure: it reads the files that it is given and nothing else, knows no cloud library and starts no Node process.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain

from gpu_constructs.check.acknowledgements import Acknowledged, Acknowledgements, upwards
from gpu_constructs.check.at_places import Changes, settled
from gpu_constructs.check.described_hosts import with_hosts
from gpu_constructs.check.other_values import (
    OtherValue,
    Trial,
    ValueTable,
    in_time,
    is_settled,
    other_values,
    place,
    steps_of_reading,
    tables,
    warnings,
)
from gpu_constructs.check.presenting import in_row, in_words_of_file, located, once_a_parameter, order
from gpu_constructs.errors import brief, counted
from gpu_constructs.facts.budget import MESSAGE, STEPS, one_call, work
from gpu_constructs.facts.names import require_region
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import METADATA_KEY, Fleet
from gpu_constructs.rules import Choice, Finding, Severity, all_rules, check, narrowed
from gpu_constructs.rules.catalogue import every
from gpu_constructs.rules.fit.task_fits import known_task
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from gpu_constructs.rules.purchase.availability import known_before_deploy
from gpu_constructs.template import Files, Input, Inputs, Places, Stacks, UnreadableError, files_of
from gpu_constructs.template.model import JOB_DEFINITION, Resource

_RULES_ABOUT_UNKNOWNS = frozenset({known_before_deploy.id, known_task.id, UNCHECKED})
NOT_JUDGED = _RULES_ABOUT_UNKNOWNS | {"GPU012", "GPU130", "GPU309"}
"""Rules whose findings say that something of a task or of its hosts is not known, so that it was not judged.

The last three are about copies, and about parameters of images, of which some are not known.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How much was looked at: jobs are among the tasks, and runs are what something schedules or starts.

    `has_gpus` is whether there is an accelerator among them, as far as that is known.
    """

    pools: int = 0
    tasks: int = 0
    services: int = 0
    runs: int = 0
    has_gpus: bool = False

    @classmethod
    def of(cls, fleet: Fleet) -> Seen:
        """What there is in a fleet."""
        runs = sum(not each.is_service for each in fleet.workloads)
        tasks = (*fleet.tasks, *(each.task for each in fleet.workloads if each.task is not None))
        has_gpus = any(each.wants_gpu for each in tasks) or any(
            each.accelerators for pool in fleet.pools for each in pool.instance_types
        )
        services = len(fleet.workloads) - runs
        return cls(pools=len(fleet.pools), tasks=len(fleet.tasks), services=services, runs=runs, has_gpus=has_gpus)

    def __add__(self, other: Seen) -> Seen:
        return Seen(
            pools=self.pools + other.pools,
            tasks=self.tasks + other.tasks,
            services=self.services + other.services,
            runs=self.runs + other.runs,
            has_gpus=self.has_gpus or other.has_gpus,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found in some files.

    Attributes:
        fleet: Everything about GPUs that the files define; empty for several worlds, whose names are their own.
        findings: What is wrong or worth knowing: errors first, each kind in the order of the files and their lines.
        acknowledged: What was found and accepted: ``Metadata: {"gpu-constructs": {"Acknowledge": {"GPU002": "why"}}}``
            of the resource.
        files: Every file that defines something, in order; what was named where none does.
        values: With which values of a parameter something works, where that is not so with all.
        untried: How many values of parameters were not tried, by parameter: more than there is time
            for.
        notes: A line for each id that what is accepted names, and that is no longer the id of a rule.
        unused: A line for each reason in a template that accepts nothing that was found; none where not all rules
            were asked.
        skipped_jobs: Jobs of AWS Batch that run on Amazon EKS, which nothing here is about.
        unreadable: What could not be read, where that keeps none of the others from being checked.
        skipped: How many files nobody named and are none that is read here.
        worlds: How many directories or assemblies were checked, each by itself.
        counts: How much of all worlds was looked at, where there are several.
    """

    fleet: Fleet
    findings: tuple[Finding, ...]
    acknowledged: tuple[Acknowledged, ...] = ()
    files: tuple[str, ...] = ()
    values: tuple[ValueTable, ...] = ()
    untried: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    skipped_jobs: int = 0
    unreadable: tuple[UnreadableError, ...] = ()
    skipped: int = 0
    baselined: tuple[Finding, ...] = ()
    worlds: int = 1
    counts: Seen | None = None
    stacks: Stacks = field(default=Stacks(), repr=False, compare=False)

    @property
    def seen(self) -> Seen:
        """How much was looked at."""
        return self.counts or Seen.of(self.fleet)

    @property
    def unchecked(self) -> tuple[Finding, ...]:
        """Tasks of which it was not checked whether they fit, because other files define their hosts."""
        return tuple([each for each in self.findings if each.rule == UNCHECKED])

    @property
    def unchecked_line(self) -> str:
        """The same in one line, for doors that have no room for more; empty where every task was checked."""
        first, *others = self.unchecked or (None,)
        more = f" (and {counted(len(others), 'more task')})" if others else ""
        return "" if first is None else f"not checked: {brief(first.message, MESSAGE)}{more}; fix: {first.fix}"


def check_files(
    inputs: Sequence[Input],
    *,
    stdin: bytes | None = None,
    parameters: Mapping[str, str] | None = None,
    region: str | None = None,
    partial: bool = False,
    hosts: Mapping[str, int] | None = None,
    rules: Choice = every,
) -> Report:
    """Checks CloudFormation templates, cloud assemblies, plans of Terraform, and what the AWS CLI takes in a file.

    Parameters of a template are taken by their default values. Where others are allowed, or a condition or a mapping
    knows others, and they can change what is found, one after the other is tried as well, and so are regions where none
    is known. What only they bring is a warning that names the value.

    Args:
        inputs: Files and directories, ``-`` for `stdin`, and templates that are already parsed.
        stdin: What ``-`` holds.
        parameters: Values of parameters by name, instead of their defaults.
        region: Region that the templates are deployed to, where they do not say.
        partial: Whether there is more than these files. Otherwise a task runs on the hosts in them, on hosts that
            they mention, or on none.
        hosts: How many hosts of which instance types are in the clusters whose hosts these files do not define.
        rules: Which rules to ask.

    Raises:
        InvalidValueError: `region` is not a region, or there is less than one host of a type.
        UnknownNameError: No instance type is called so.
        UnreadableError: A file cannot be read, or is neither of them.
    """
    asked = Asked(
        rules=rules, given=dict(parameters or {}), hosts=dict(hosts or {}), stdin=stdin, region=region, partial=partial
    )
    return asked.report(inputs)


def report_in(directories: Sequence[str | os.PathLike[str]], *, rules: Choice = every) -> Report:
    """What cloud assemblies define, and what is found in them.

    What is accepted in a template is left out, what in an app is not: CDK reports that itself. A stack that cannot be
    read keeps none of the others from being checked.
    """
    asked = Asked(rules=rules, at_synth=True)
    inputs = asked.inputs(directories, lenient=True)
    with one_call(STEPS):
        try:
            seen = reported(inputs, asked)
        except UnreadableError:
            seen = reported(inputs.without_unreadable({}), asked)
    accepted = (each.finding for each in seen.acknowledged if each.in_app and each.finding.rule != UNCHECKED)
    return replace(seen, findings=(*seen.findings, *accepted))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked about files, as `check_files` takes it, or at synth; `given` are values of parameters by name."""

    rules: Choice
    given: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, int] = field(default_factory=dict)
    stdin: bytes | None = None
    region: str | None = None
    partial: bool = False
    at_synth: bool = False

    def __post_init__(self) -> None:
        if self.region is not None:
            require_region(self.region)

    def inputs(self, inputs: Sequence[Input], *, found: Collection[str] = (), lenient: bool = False) -> Inputs:
        """Files that belong together."""
        return Inputs(inputs, stdin=self.stdin, region=self.region, partial=self.partial, found=found, lenient=lenient)

    def report(self, inputs: Sequence[Input]) -> Report:
        """What is found in files that belong together, in one call."""
        with one_call(STEPS):
            return reported(self.inputs(inputs), self)

    def files(self, stacks: Stacks) -> Files:
        """What stacks define, with the hosts that are described."""
        read = files_of(stacks.stacks, tasks=stacks.tasks, remarks=stacks.remarks)
        return replace(read, fleet=with_hosts(replace(read.fleet, is_whole=stacks.whole), self.hosts))


def reported(inputs: Inputs, asked: Asked) -> Report:
    """What is found in files that belong together."""
    stacks = inputs.stacks(asked.given)
    files = asked.files(stacks)
    found, trials, untried = _found(stacks, inputs, files, asked)
    if not asked.at_synth:  # there, CDK shows them
        found += _repeated(inputs, found, asked.rules)
    acknowledgements = Acknowledgements(stacks, inputs)
    kept: list[Finding] = []
    acknowledged: list[Acknowledged] = []
    causes = {each: each for each in found} | dict(warnings(trials, stacks.locate))
    for finding in sorted(causes, key=order):
        accepted = acknowledgements.of(causes[finding])
        if accepted is None:
            kept.append(finding)
        else:
            acknowledged.append(replace(accepted, finding=replace(in_words_of_file(finding, stacks), ways=())))
    kept = list(once_a_parameter(kept))
    values = list(tables([each.without(acknowledgements.of) for each in trials], kept))
    files_read = (each.origin.file for each in _resources(stacks))
    rows = {(stacks.locate(each.origin), each.parameter, each.subject): stacks.locate(each.row) for each in values}
    return Report(
        fleet=files.fleet,
        findings=tuple(in_words_of_file(in_row(each, rows), stacks) for each in kept),
        acknowledged=tuple(acknowledged),
        files=tuple(dict.fromkeys(filter(None, files_read))) or (() if inputs.is_empty else inputs.named),
        values=tuple(replace(each, origin=stacks.locate(each.row)) for each in values),
        untried=untried,
        notes=acknowledgements.notes,
        unused=acknowledgements.unused if asked.rules is every and stacks.whole else (),
        skipped_jobs=_skipped_jobs(files.fleet, stacks),
        unreadable=tuple(inputs.unreadable),
        skipped=inputs.skipped,
        stacks=stacks,
    )


def _repeated(inputs: Inputs, found: Sequence[Finding], rules: Choice) -> Iterator[Finding]:
    """What our constructs warned of, unless a rule says it; CDK drops what is accepted (annotations.ts)."""
    warned = tuple(inputs.warnings)
    by_id = {each.id: each for each in (all_rules() if warned else ())}  # to load them takes time
    said = {(each.rule, path) for each in found if each.origin for path in upwards(each.origin.construct_path or "")}
    for each in warned:
        rule, name = by_id.get(each.id), f"{METADATA_KEY}::{each.id}"
        is_asked = callable(rules) and (rule is None or rules(rule))
        if is_asked and (each.id, each.origin.construct_path) not in said:
            yield Finding(
                rule=name if rule is None else rule.id,
                severity=Severity.INFO if each.id == UNCHECKED else Severity.WARNING,
                subject=str(each.origin.construct_path),
                message=each.text.removeprefix("not checked: "),
                fix=f"change that in the app, or acknowledge {name} there",
                origin=each.origin,
            )


def now() -> dt.datetime:
    """The time of the check: that of ``SOURCE_DATE_EPOCH`` where it is set, so that a check can be repeated.

    https://reproducible-builds.org/specs/source-date-epoch/
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    is_given = epoch.isdecimal() and len(epoch) <= len("1793491200")
    return dt.datetime.fromtimestamp(int(epoch), dt.timezone.utc) if is_given else dt.datetime.now(dt.timezone.utc)


def _found(
    stacks: Stacks, inputs: Inputs, files: Files, asked: Asked
) -> tuple[list[Finding], list[Trial], Mapping[str, int]]:
    """Findings with their lines, those of other values of parameters, and how many values were not tried."""
    places = Places(stacks)
    rules = narrowed(asked.rules, lambda each: each.severity is not Severity.INFO or each.id == UNCHECKED)
    first = check(files.fleet, rules=asked.rules, now=now(), files=files)
    least = work().left // 2  # so that the values of parameters have the rest

    def found_again(there: Stacks) -> tuple[Finding, ...]:
        files = asked.files(there)
        return check(files.fleet, rules=rules, fixes=False, files=files)

    def judged(changes: Changes) -> tuple[Finding, ...] | None:
        """What is found with some values in other places, where there is time for that."""
        if work().left < least or not work().takes(steps_of_reading(stacks)):
            return None
        try:
            return found_again(inputs.with_values(changes).stacks(asked.given))
        except UnreadableError:
            return None

    found = [located(each, places) for each in settled(first, files.fleet, places, judged)]
    known = {place(each) for each in found if each.is_grave}

    def tried(other: OtherValue) -> Trial:
        there = other.read(inputs, asked.given)
        places, found_there = Places(there), found_again(there)
        left_open = frozenset(place(each) for each in found_there if each.rule in _RULES_ABOUT_UNKNOWNS)
        now = tuple(located(each, places) for each in found_there if each.is_grave)
        new = tuple(each for each in now if place(each) not in known)
        return Trial(tried=other, found=now, new=new, left_open=left_open)

    trials, untried = in_time(
        stacks, other_values(stacks, asked.given) if callable(rules) or tuple(rules) else [], tried
    )
    kept = [each for each in found if each.rule not in _RULES_ABOUT_UNKNOWNS or not is_settled(each, trials, untried)]
    return kept, trials, untried


def _skipped_jobs(fleet: Fleet, stacks: Stacks) -> int:
    read = {(each.origin.file, each.origin.resource) for each in fleet.tasks if each.origin is not None}
    jobs = (each.origin for each in _resources(stacks) if each.type == JOB_DEFINITION and each.properties)
    return sum((each.file, each.resource) not in read for each in jobs)


def _resources(stacks: Stacks) -> Iterator[Resource]:
    return chain(*(stack.resources.values() for stack in stacks.stacks), stacks.tasks)
