"""What a rule finds in one thing."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Origin
from gpu_constructs.rules.change import Way


class Severity(str, Enum):
    """How serious a finding is, the most serious first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    def __str__(self) -> str:
        return self.value

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
        value: What was written there.
        allowed: What may stand there instead, in words.
        one_value: Whether that value is wrong by itself, whatever the others are.
        is_shortage: Whether hosts have less of something than is asked for, rather than two things not going together.
        stops_work: Whether it keeps work from running, even where it is a warning.
        origin: Where it was written; None where that is not known. In a report, where the change has to be made.
        ways: What `fix` says, as far as it was tried, with what it changes.
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

    @property
    def is_grave(self) -> bool:
        """Whether it keeps something from running as far as the files show: an error, or work that does not fit."""
        return self.severity is Severity.ERROR or self.stops_work
