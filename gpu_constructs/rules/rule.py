"""A rule: one question to a fleet, with what its answer rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gpu_constructs.fleet import Container, Fleet, Origin, Pool, Task, Workload
from gpu_constructs.rules.finding import Finding, Severity

__all__ = ["Problem", "Rule", "rule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a rule found, before it is signed with the rule's id.

    Attributes:
        about: What it is about.
        message: What was asked, what exists, and why that does not go together: lower case, no full stop.
        fix: The smallest change that would do; empty where only the user can know.
        origin: Where it was written; by default where `about` was.
        container: The container of a task that it is about.
    """

    about: Pool | Task | Workload | str
    message: str
    fix: str = ""
    origin: Origin | None = None
    container: Container | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One question to a fleet.

    Attributes:
        id: Stable, such as ``GPU001``; never given to another rule, never used again.
        severity: Of everything it finds.
        question: What it asks, as a question that a good fleet answers with yes.
        because: What happens otherwise, and by which mechanism.
        source: The AWS page or public source that says so; ``UNCONFIRMED: …`` never stands under an error.
        problems: Looks at a fleet.
    """

    id: str
    severity: Severity
    question: str
    because: str
    source: str
    problems: Callable[[Fleet], Iterable[Problem]]

    def findings(self, fleet: Fleet) -> Iterator[Finding]:
        """Everything it finds in a fleet.

        Args:
            fleet: What was asked for.
        """
        for each in self.problems(fleet):
            origin = each.origin
            if origin is None and each.container is not None:
                origin = each.container.origin
            if origin is None and not isinstance(each.about, str):
                origin = each.about.origin
            yield Finding(
                rule=self.id,
                severity=self.severity,
                subject=each.about if isinstance(each.about, str) else each.about.name,
                message=each.message,
                fix=each.fix,
                origin=origin,
            )


def rule(
    id: str,  # noqa: A002 - the word of the data
    severity: Severity,
    *,
    question: str,
    because: str,
    source: str,
) -> Callable[[Callable[[Fleet], Iterable[Problem]]], Rule]:
    """Makes a rule of a function that looks at a fleet.

    Args:
        id: See `Rule`.
        severity: See `Rule`.
        question: See `Rule`.
        because: See `Rule`.
        source: See `Rule`.
    """

    def made(problems: Callable[[Fleet], Iterable[Problem]]) -> Rule:
        return Rule(id=id, severity=severity, question=question, because=because, source=source, problems=problems)

    return made
