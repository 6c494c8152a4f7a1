"""What becomes of a template with the other values of its parameters?

One value after the other is tried, all others as they were read. What only such values bring is a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpu_constructs.facts.budget import READINGS, work
from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet import Origin
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.finding import or_list
from gpu_constructs.template import REGION, Choice, Inputs, Stacks

_STEPS_OF_RESOURCE = 200
"""To read a resource once more, and to judge what it is."""

Place = tuple[str, str, str, "str | None"]
"""Rule, subject, resource and file: what makes two findings one, whatever their words are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherValue:
    """One more value of a parameter, which `choices` has once for each stack that knows the same values."""

    choices: tuple[Choice, ...]
    value: str

    @property
    def parameter(self) -> str:
        """The name of the parameter."""
        return self.choices[0].parameter

    @property
    def default(self) -> str | None:
        """What is read where nothing is given; None where that is unknown."""
        return self.choices[0].default

    def read(self, inputs: Inputs, given: Mapping[str, str]) -> Stacks:
        """The stacks with this value, and with what the user gave."""
        if self.parameter == REGION:
            return inputs.stacks(given, region=self.value)
        return inputs.stacks({**given, **{f"{each.stack}:{each.parameter}": self.value for each in self.choices}})

    def origin(self, finding: Finding) -> Origin:
        """Where the parameter is declared, in the file of a finding if it is there."""
        origins = [each.origin for each in self.choices]
        file = None if finding.origin is None else finding.origin.file
        return next((each for each in origins if each.file == file), origins[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was found with one value.

    Attributes:
        found: Everything grave, where it was found.
        new: Those of `found` that the values of the first reading do not bring.
        left_open: The places of findings that say what is not known with it.
    """

    tried: OtherValue
    found: tuple[Finding, ...]
    new: tuple[Finding, ...]
    left_open: frozenset[Place] = frozenset()

    def without(self, is_accepted: Callable[[Finding], object]) -> Trial:
        """The same without what somebody has accepted."""
        found, new = (tuple(each for each in of if not is_accepted(each)) for of in (self.found, self.new))
        return replace(self, found=found, new=new)


def other_values(stacks: Stacks, given: Mapping[str, str]) -> list[OtherValue]:
    """Values to try, of each parameter in turn."""
    same = grouped(
        ((each.parameter, each.default, each.values), each)
        for each in stacks.choices
        if not given.keys() & {each.parameter, f"{each.stack}:{each.parameter}"}
    )
    ranked = [
        (number, OtherValue(choices=tuple(choices), value=value))
        for (_, default, values), choices in same.items()
        for number, value in enumerate(each for each in values if each != default)
    ]
    ranked.sort(key=lambda each: each[0])
    return [each for _, each in ranked]


def steps_of_reading(stacks: Stacks) -> int:
    """What it takes to read everything once more."""
    return _STEPS_OF_RESOURCE * sum(len(stack.resources) for stack in stacks.stacks)


def in_time(
    stacks: Stacks, values: Sequence[OtherValue], tried: Callable[[OtherValue], Trial]
) -> tuple[list[Trial], Mapping[str, int]]:
    """What is found with the values that there is time for, in their order, and how many are left out, by parameter."""
    steps = steps_of_reading(stacks) + _STEPS_OF_RESOURCE * len(stacks.choices)
    trials: list[Trial] = []
    for each in values[:READINGS]:
        if not work().takes(steps):
            break
        trial = tried(each)
        if not work().left:  # it lacks what was no longer worked out
            break
        trials.append(trial)
    return trials, Counter(each.parameter for each in values[len(trials) :])


def is_settled(finding: Finding, trials: Iterable[Trial], untried: Mapping[str, int]) -> bool:
    """Whether what a finding says is not known is known with each value that one parameter can have."""
    return any(
        choices[0].default is None
        and choices[0].parameter not in untried
        and all(each.is_complete for each in choices)
        and not any(place(finding) in each.left_open for each in of_choices)
        for choices, of_choices in grouped((each.tried.choices, each) for each in trials).items()
    )


def warnings(trials: Iterable[Trial], located: Callable[[Origin], Origin]) -> Iterator[tuple[Finding, Finding]]:
    """One warning for each parameter, rule and thing, with the first message and every value that brings it.

    Yields:
        The warning, which points at the parameter, and the first finding, which points at the thing.
    """
    groups: dict[tuple[str, Origin, Place], dict[str, tuple[OtherValue, Finding]]] = {}
    for trial in trials:
        for each in trial.new:
            key = trial.tried.parameter, trial.tried.origin(each), place(each)
            groups.setdefault(key, {}).setdefault(trial.tried.value, (trial.tried, each))
    for (_, origin, _), by_value in groups.items():
        (_, (tried, first)), *rest = by_value.items()
        also = f" (also with {or_list(other for other, _ in rest)})" if rest else ""
        message = f"with {tried.parameter}={tried.value}{also}: {first.message}"
        at = located(origin)
        yield replace(first, severity=Severity.WARNING, message=message, origin=at, parameter=tried.parameter), first


def place(finding: Finding) -> Place:
    """What makes two findings one."""
    origin = finding.about or finding.origin
    return (
        finding.rule,
        finding.subject,
        finding.subject if origin is None else origin.resource,
        None if origin is None else origin.file,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What becomes of one thing with one value of a parameter.

    Attributes:
        is_default: Whether it is what is read where nothing is given.
        finding: Why it does not work, or what else of the template does not; None if everything does.
        is_else: Whether that is found with the default too, and is about something else.
    """

    value: str
    is_default: bool
    finding: Finding | None = None
    is_else: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTable:
    """With which values of a parameter a task, a pool or a service works.

    Attributes:
        parameter: Name of the parameter, or ``AWS::Region``.
        subject: Name of the thing; empty for all that the default breaks.
        outcomes: Every value that was tried, the default first.
    """

    parameter: str
    subject: str
    origin: Origin
    outcomes: tuple[Outcome, ...]

    @property
    def row(self) -> Origin:
        """Where the first value that does not work is written, if a mapping has it; else where the parameter is."""
        wrong = next((each.value for each in self.outcomes if each.finding is not None), None)
        if wrong is None or self.origin.path[:1] != ("Mappings",):
            return self.origin
        return self.origin.at(wrong)

    @property
    def brings(self) -> frozenset[tuple[str, str]]:
        """The rules of what its values bring, each with what that is about."""
        found = (each.finding for each in self.outcomes)
        return frozenset([(each.rule, each.subject) for each in found if each is not None])

    @property
    def alike(self) -> Iterator[tuple[Finding | None, tuple[Outcome, ...]]]:
        """Values of one outcome together: those that work, then rule by rule, with what the first of them brings."""
        ordered = sorted(self.outcomes, key=lambda each: each.finding is not None)
        alike = grouped((each.finding and (each.finding.rule, each.finding.subject), each) for each in ordered)
        return ((outcomes[0].finding, tuple(outcomes)) for outcomes in alike.values())


def tables(trials: Sequence[Trial], found: Iterable[Finding]) -> Iterator[ValueTable]:
    """A table for each thing that does not work with every value, and one for each parameter whose default breaks some.

    `found` is what the first reading brings.
    """
    grave = [each for each in found if each.is_grave and not each.parameter]
    errors = {place(each) for each in grave if each.severity is Severity.ERROR}
    made: set[tuple[tuple[Choice, ...], str]] = set()
    decided = ((trial, None) for trial in trials if not errors <= {place(each) for each in trial.found})
    brought = ((trial, each) for trial in trials for each in trial.new)
    for tried, each in (*brought, *decided):
        choices, subject = tried.tried.choices, "" if each is None else each.subject
        if (choices, subject) in made or (each is None and any(choices == of for of, _ in made)):
            continue
        made.add((choices, subject))
        default, about = tried.tried.default, None if each is None else place(each)[1:]
        others = [other for other in trials if other.tried.choices == choices]
        yield ValueTable(
            parameter=tried.tried.parameter,
            subject=subject,
            origin=tried.tried.origin(each or grave[0]),
            outcomes=(
                *([] if default is None else [_outcome(default, about, grave, () if each else grave, is_default=True)]),
                *(_outcome(other.tried.value, about, other.found, other.new, is_default=False) for other in others),
            ),
        )


def _outcome(
    value: str,
    about: tuple[str, str, str | None] | None,
    found: Iterable[Finding],
    new: Iterable[Finding],
    *,
    is_default: bool,
) -> Outcome:
    """What is found about the same thing, or else about another one."""
    own = next((each for each in found if place(each)[1:] == about), None) or next(iter(new), None)
    why = own or next((each for each in found if each.severity is Severity.ERROR), None)
    finding = None if why is None else replace(why, ways=())
    return Outcome(value=value, is_default=is_default, finding=finding, is_else=own is None and about is not None)
