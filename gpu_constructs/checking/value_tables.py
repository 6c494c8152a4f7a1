"""With which values of a parameter does a task, a pool or a service work?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpu_constructs.checking.other_values import Trial, place
from gpu_constructs.fleet import Origin
from gpu_constructs.rules import Finding
from gpu_constructs.template import Choice
from gpu_constructs.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of one thing with one value of a parameter.

    Attributes:
        value: The value.
        is_default: Whether it is what is read where nothing is given.
        finding: Why it does not work, or what else of the template does not; None if everything does.
    """

    value: str
    is_default: bool
    finding: Finding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTable:
    """With which values of a parameter a task, a pool or a service works.

    Attributes:
        parameter: Name of the parameter, ``AWS::Region``, or both names of two.
        subject: Name of the thing.
        origin: Where the parameter is declared.
        verdicts: Every value that was tried, the default first.
    """

    parameter: str
    subject: str
    origin: Origin
    verdicts: tuple[Verdict, ...]

    @property
    def row(self) -> Origin:
        """Where the first value that does not work is written, if a mapping has it; else where the parameter is."""
        wrong = next((each.value for each in self.verdicts if each.finding is not None), None)
        if wrong is None or self.origin.path[:1] != ("Mappings",):
            return self.origin
        return self.origin.at(wrong)

    @property
    def alike(self) -> Iterator[tuple[Finding | None, tuple[Verdict, ...]]]:
        """Values of one verdict together: those that work, then rule by rule, with what the first of them brings."""
        by_rule: dict[tuple[str, str] | None, list[Verdict]] = {None: []}
        for each in self.verdicts:
            found = each.finding
            by_rule.setdefault(None if found is None else (found.rule, found.subject), []).append(each)
        return ((verdicts[0].finding, tuple(verdicts)) for verdicts in by_rule.values() if verdicts)


def tables(trials: Sequence[Trial], found: Iterable[Finding]) -> Iterator[ValueTable]:
    """A table for each thing that does not work with every value.

    Args:
        trials: What was found with each other value.
        found: What was found with the values of the first reading, and the warnings that other values bring.
    """
    grave = [each for each in found if each.is_grave and not each.parameter]
    made: set[tuple[tuple[Choice, ...], str]] = set()
    for trial in trials:
        choices = trial.tried.all_choices
        for each in trial.new:
            if (choices, each.subject) in made:
                continue
            made.add((choices, each.subject))
            default = trial.tried.default
            first = [] if default is None else [Verdict(value=default, is_default=True, finding=_of(each, grave))]
            others = [
                Verdict(value=other.tried.text, is_default=False, finding=_of(each, other.found, other.new))
                for other in trials
                if other.tried.all_choices == choices
            ]
            yield ValueTable(
                parameter=trial.tried.parameter,
                subject=each.subject,
                origin=trial.tried.origin(each),
                verdicts=(*first, *others),
            )


def _of(like: Finding, found: Iterable[Finding], elsewhere: Iterable[Finding] = ()) -> Finding | None:
    """What is found about the same thing, or else about another one."""
    own = next((each for each in found if place(each)[1:] == place(like)[1:]), None)
    return own or next(iter(elsewhere), None)
