"""What AWS answers, by subject, and the commands that mend what is wrong.

Whatever is not of the shape that the API documents is as if it were not there; nothing here raises for it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any, TypeAlias

from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.facts.budget import DIGITS
from gpu_constructs.facts.declared import whole_number
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet.purchase import moment

_whole_number = whole_number(1 - 10**DIGITS, 10**DIGITS - 1)

Thing: TypeAlias = Mapping[str, Any]
"""One thing that an answer describes, as JSON has it."""


class UnansweredError(GpuConstructsError):
    """AWS did not answer a call, or in a form that is not known.

    Args:
        code: The error code of AWS; empty where it sent none.
        is_denied: Whether the credentials may not make this call, and may make others.
        is_out_of_reach: Whether no call to this service is answered.
    """

    def __init__(
        self, problem: str, *, fix: str = "", code: str = "", is_denied: bool = False, is_out_of_reach: bool = False
    ) -> None:
        self.code = code
        self.is_denied = is_denied
        self.is_out_of_reach = is_out_of_reach
        super().__init__(problem, fix=fix or None)


@dataclass(frozen=True, slots=True)
class Answers:
    """What several calls answered.

    Attributes:
        things: What they describe, by the name that the answer has in JSON.
        denied: Calls that the credentials do not allow, whose answers are not there.
        cut: Calls whose answers have more than was read, in words.
    """

    things: Mapping[str, tuple[Thing, ...]]
    denied: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()

    @property
    def not_read(self) -> tuple[str, ...]:
        """What of the cluster is not known."""
        return *self.denied, *self.cut

    def of(self, name: str) -> tuple[Thing, ...]:
        """The things of one kind; none where no call asked for them."""
        return self.things.get(name, ())

    def were_asked(self, name: str) -> bool:
        """Whether a call asked for things of a kind; it may have found none."""
        return name in self.things


def answers(given: Iterable[Thing], *, denied: Iterable[str] = (), cut: Iterable[str] = ()) -> Answers:
    """What several answers describe, taken together."""
    by_name: dict[str, list[Thing]] = {}
    for answer in given:
        for name, value in answer.items():
            of_kind = by_name.setdefault(name, [])
            of_kind += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]
    found = MappingProxyType({name: tuple(of_kind) for name, of_kind in by_name.items()})
    return Answers(found, denied=tuple(denied), cut=tuple(cut))


def text(of: Thing, name: str) -> str:
    """A text of a thing; empty where it has none."""
    value = of.get(name)
    return value if isinstance(value, str) else ""


def number(of: Thing, name: str) -> int | None:
    """A whole number of a thing; None where it has none, or one that no answer can have."""
    return _whole_number(of.get(name))


def things(of: Thing, name: str) -> tuple[Thing, ...]:
    """Things that a thing lists; none where it lists none."""
    value = of.get(name)
    return tuple(each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()


def when(given: object) -> datetime | None:
    """A time of boto3, or one that ``aws`` prints, in UTC; None for anything else."""
    try:
        if isinstance(given, (int, float)):  # version 1 of ``aws``
            return datetime.fromtimestamp(given, timezone.utc)
    except (OSError, OverflowError, ValueError):
        return None
    return moment(str(given))


def thing(of: Thing, name: str) -> Thing:
    """A thing that is part of another; empty where it is not."""
    value = of.get(name)
    return value if isinstance(value, dict) else {}


def short_name(arn: str) -> str:
    """The name at the end of an ARN; what is no ARN stays as it is."""
    return arn.rpartition("/")[2] if arn.startswith("arn:") else arn


def texts(of: Thing, name: str) -> tuple[str, ...]:
    """Texts that a thing lists; none where it lists none."""
    value = of.get(name)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def aws(service: str, command: str, region: str | None, **options: object) -> str:
    """A command of the AWS command line, with every word quoted that needs it; options have underscores for hyphens."""
    words = [service, command]
    for name, value in {**options, **({"region": region} if region else {})}.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return shlex.join(["aws", *words])


def policy(actions: Mapping[str, Iterable[str]]) -> dict[str, object]:
    """The least policy of IAM that allows actions, by the resources that they are about."""
    statements = [
        {"Effect": "Allow", "Action": sorted(allowed), "Resource": resource} for resource, allowed in actions.items()
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def in_region(fix: str, region: str | None) -> str:
    """A fix with the region in it where it is a command; without a region, both take that of the AWS CLI."""
    return f"{fix} --region {shlex.quote(region)}" if region and fix.startswith("aws ") else fix
