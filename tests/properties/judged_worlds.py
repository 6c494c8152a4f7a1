"""What the checker says of a world, held against the search: errors have reasons, and all that is hopeless is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from gpu_constructs.check import Report, check_files
from gpu_constructs.rules import Finding, Severity, all_rules
from tests.properties.oracle import World, always, ever, splits_of, with_hosts
from tests.properties.small_worlds import Design
from tests.properties.written_worlds import files_of, resources_of

__all__ = ["Judgement", "checked", "disagreements", "is_not_worked_out", "truth_of"]

_ROOM = frozenset(
    {
        *("GPU006", "GPU009", "GPU012", "GPU060", "GPU061", "GPU062", "GPU063", "GPU069", "GPU070", "GPU071"),
        *("GPU080", "GPU083", "GPU084", "GPU218", "GPU042"),
    }
)
"""Rules that say that something has no room, or may have none."""
_NEVER_SCALES = "GPU072"
_UNCHECKED = "GPU229"
_ASKED = tuple(
    each for each in all_rules() if each.severity is Severity.ERROR or each.id in {*_ROOM, _NEVER_SCALES, _UNCHECKED}
)
_TRUNKED = 120  # at least as many interfaces has a host with awsvpcTrunking that has any to share


@dataclass(frozen=True)
class Judgement:
    """What the search says of a design."""

    design: Design

    @cached_property
    def world(self) -> World:
        return self.design.world

    def alone(self, number: int) -> World:
        return replace(self.world, jobs=(self.world.jobs[number],))

    @cached_property
    def together(self) -> World:
        """The services: what runs now and then waits for room."""
        kept = [job for job, work in zip(self.world.jobs, self.design.works, strict=True) if work.starter == "service"]
        return replace(self.world, jobs=tuple(kept))

    @cached_property
    def hopeless(self) -> frozenset[int]:
        """Jobs that find no place whatever comes, or will find none once there are more copies than are wanted."""
        if self.design.where == "elsewhere":
            return frozenset()
        return self.hopeless_now | frozenset(
            number for number in range(len(self.world.jobs)) if not all(map(ever, self._spared(number)))
        )

    @cached_property
    def hopeless_now(self) -> frozenset[int]:
        """Those of them with as many copies as are wanted."""
        if self.design.where == "elsewhere":
            return frozenset()
        return frozenset(
            number
            for number in range(len(self.world.jobs))
            if not all(map(ever, self._parts(number))) or self._waits_for_hosts(number)
        )

    @cached_property
    def certainly_hopeless(self) -> frozenset[int]:
        """Those of them that another setting of the account, or another way to round a split, does not help."""
        found = frozenset(number for number in self.hopeless_now if self._is_certain(number))
        if not self.design.daemons or self.design.named or not self.design.imported:
            return found
        # Nothing in the files says that the hosts are in the cluster of the daemons.
        return found & Judgement(replace(self.design, daemons=())).certainly_hopeless

    def _is_certain(self, number: int) -> bool:
        *on_each, copies = self._parts(number)
        if not on_each and any(len(each.kinds) > 1 for each in self.world.providers) and ever(one_of(copies)):
            return False  # other tasks may start the larger hosts or the smaller ones
        return (
            not all(ever(trunked(each)) for each in on_each)
            or (len(on_each) < 2 and not ever(trunked(copies)))
            or self._is_without_hosts(number)
        )

    def _parts(self, number: int) -> list[World]:
        """The copies as a strategy splits them, and one on each group that gets some, or does in the long run.

        For every task of one provider, a strategy gives as many to each other as the weights say
        (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html).
        """
        alone, spared = self.alone(number), self._of_spared(number)
        used = [each for each, base, weight in alone.jobs[0].strategy if (base or weight) and each not in spared]
        return [*(one_on(alone, each) for each in used), alone]

    def _spared(self, number: int) -> list[World]:
        """One copy on each group that gets none of those that are wanted, because the base of another takes them."""
        return [one_on(self.alone(number), each) for each in self._of_spared(number)]

    def _of_spared(self, number: int) -> frozenset[int]:
        job = replace(self.world.jobs[number], copies=max(1, self.design.works[number].copies))
        splits = list(splits_of(job, len(self.world.providers)))
        return frozenset(each for each, _, _ in job.strategy if not any(split[each] for split in splits))

    def _waits_for_hosts(self, number: int) -> bool:
        """Whether the groups that have hosts, or get some for another job, have no room."""
        if self.world.jobs[number].strategy or self.world.is_open or self.design.works[number].starter == "nothing":
            return False
        there = with_hosts(self.world, number)
        alone = self.alone(number)
        hosts = [each if place in there else replace(each, most_hosts=0) for place, each in enumerate(alone.providers)]
        return not ever(replace(alone, providers=tuple(hosts)))

    def _is_without_hosts(self, number: int) -> bool:
        by_hand = self.design.works[number].starter == "nothing"
        return not (by_hand or self.world.is_open or with_hosts(self.world, number))

    @cached_property
    def is_too_much(self) -> bool:
        """Whether services that each have room alone have none together."""
        return self.design.where != "elsewhere" and not ever(self.together)

    @cached_property
    def is_fine(self) -> bool:
        """Whether all services have room together, and everything else alone, whatever comes."""
        return (
            self.design.where != "elsewhere"
            and not self.hopeless
            and always(self.together)
            and all(
                always(each)
                for number in range(len(self.world.jobs))
                for each in self._parts(number) + self._spared(number)
            )
        )


def one_of(world: World) -> World:
    """The same with one copy of each job."""
    return replace(world, jobs=tuple(replace(each, copies=1) for each in world.jobs))


def one_on(world: World, provider: int) -> World:
    """The same with one copy of its only job, on one group."""
    return replace(world, jobs=(replace(world.jobs[0], copies=1, strategy=((provider, 0, 1),)),))


def trunked(world: World) -> World:
    """The same with awsvpcTrunking."""
    return replace(
        world,
        providers=tuple(
            replace(each, kinds=tuple(replace(kind, interfaces=_TRUNKED) for kind in each.kinds))
            for each in world.providers
        ),
    )


def checked(design: Design) -> Report:
    """What is said of the files of a world by the rules that have a say in it: every error, and doubts about room."""
    return check_files(files_of(design), hosts=design.described, partial=design.partial, rules=_ASKED)


def is_not_worked_out(design: Design, report: Report) -> bool:
    """Whether services have no room together, and nothing says so: the proof looks at one group after the other."""
    judged = Judgement(design)
    return judged.is_too_much and not judged.hopeless and not any(each.rule in _ROOM for each in report.findings)


def truth_of(design: Design) -> str:
    """What the search says of a world, in words."""
    judged = Judgement(design)
    if design.where == "elsewhere":
        return "not known"
    if judged.hopeless:
        return "a task finds no place"
    return "no room for all" if judged.is_too_much else "room whatever comes" if judged.is_fine else "room for some"


def disagreements(design: Design, report: Report) -> Iterator[str]:
    """What the report says and the search does not, and the other way round.

    Args:
        design: The world.
        report: What was said of its files.
    """
    judged = Judgement(design)
    findings = [each for each in report.findings if not each.parameter]
    findings = [each for each in findings if not _is_about_daemon(each)]
    errors = [each for each in findings if each.severity is Severity.ERROR]
    yield from (f"{each.rule} without a reason: {each.message}" for each in errors if not _has_reason(each, judged))
    said = {number for number in range(len(design.works)) for each in errors if _is_about(each, number)}
    doubted = said | {
        number
        for number in range(len(design.works))
        for each in findings
        if each.rule in {*_ROOM, _NEVER_SCALES} and _is_about(each, number)
    }
    # Of two daemons without room together nobody can say which one runs: a doubt is enough.
    for number in judged.certainly_hopeless - (doubted if len(design.daemons) > 1 else said):
        yield f"nothing says with certainty that Task{number} finds no place: {[each.rule for each in findings]}"
    for number in judged.hopeless - doubted:
        yield f"nothing says that Task{number} finds no place: {[each.rule for each in findings]}"
    if judged.is_fine:
        yield from (
            f"{each.rule} where there is room: {each.message}"
            for each in findings
            if each.rule in _ROOM and not _is_of_a_first_host(each, design)
            # only short of time
            if not (each.rule == "GPU080" and "may need" in each.message)
        )
    yield from _of_unchecked(design, findings)
    yield from _of_values(design, judged, report)


def _of_unchecked(design: Design, findings: list[Finding]) -> Iterator[str]:
    if design.where == "here" and design.is_open:
        return
    unchecked = {
        number
        for number in range(len(design.works))
        for each in findings
        if each.rule == _UNCHECKED and _is_about(each, number)
    }
    expected = set(range(len(design.works))) if design.where == "elsewhere" else set()
    # PutAttributes may give hosts the attribute, and hosts of one group may be in different zones.
    unchecked -= {number for number, each in enumerate(design.works) if each.has_team or each.zone}
    if unchecked != expected:
        yield f"not checked are the tasks {sorted(unchecked)}, and it should be {sorted(expected)}"


def _of_values(design: Design, judged: Judgement, report: Report) -> Iterator[str]:
    """What the tables of parameter values get wrong: each value is tried with the defaults of the others."""
    brought = {
        (table.parameter, verdict.value): verdict.finding
        for table in report.values
        for verdict in table.outcomes
        if verdict.finding is not None
    }
    for knob in design.knobs:
        for value in knob.values[1:]:
            there, written = Judgement(design.turned(knob, value)), knob.written(value)
            found = brought.get((knob.name, written))
            if found is not None and found.severity is Severity.ERROR and not _has_reason(found, there):
                yield f"{knob.name}={written}: {found.rule} without a reason: {found.message}"
            if there.certainly_hopeless and not judged.hopeless and found is None:
                yield f"{knob.name}={written}: no table says that {sorted(there.certainly_hopeless)} find no place"
    names = {knob.name for knob in design.knobs if len(knob.values) > 1}
    for each in report.findings:
        if each.parameter and each.parameter not in names:
            yield f"a warning about {each.parameter}, which is no parameter that decides: {each.message}"


def _has_reason(error: Finding, judged: Judgement) -> bool:
    of = [number for number in range(len(judged.design.works)) if _is_about(error, number)]
    if of:
        return of[0] in judged.hopeless_now or _is_of_a_first_host(error, judged.design)
    return judged.is_too_much and error.rule in _ROOM


def _is_of_a_first_host(finding: Finding, design: Design) -> bool:
    """Whether only a person starts hosts of a group, which the search allows and the check takes for nothing."""
    return finding.rule == "GPU218" and any(not each.has_provider and not each.least for each in design.hosts)


def _is_about_daemon(finding: Finding) -> bool:
    origin = finding.about or finding.origin
    return origin is not None and "OfDaemon" in str(origin.resource)


def _is_about(finding: Finding, number: int) -> bool:
    origin = finding.about or finding.origin
    return origin is not None and origin.resource in resources_of(number)
