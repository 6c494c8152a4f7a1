"""What ``describe-*`` calls answer, as the AWS CLI prints it, by subject, and the commands that mend what is wrong.

Whatever is not of the shape that the API documents is as if it were not there; nothing here raises for it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.budget import BYTES, DEPTH, DIGITS
from gpu_constructs.facts.values import dataclass

_LARGEST = 10**DIGITS

Thing: TypeAlias = Mapping[str, Any]
"""One thing that an answer describes, as JSON has it."""

ANSWERS: Mapping[str, str] = MappingProxyType(
    {
        "clusters": "ecs describe-clusters",
        "services": "ecs describe-services",
        "tasks": "ecs describe-tasks",
        "taskDefinition": "ecs describe-task-definition",
        "containerInstances": "ecs describe-container-instances",
        "capacityProviders": "ecs describe-capacity-providers",
        "AutoScalingGroups": "autoscaling describe-auto-scaling-groups",
        "Activities": "autoscaling describe-scaling-activities",
        "LaunchTemplateVersions": "ec2 describe-launch-template-versions",
        "Reservations": "ec2 describe-instances",
    }
)
"""What each answer is called in JSON, and the call that gives it."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What several calls answered.

    Args:
        things: What they describe, by the name that the answer has in JSON.
    """

    things: Mapping[str, tuple[Thing, ...]]

    def of(self, name: str) -> tuple[Thing, ...]:
        """The things of one kind; none where no call asked for them."""
        return self.things.get(name, ())

    def were_asked(self, name: str) -> bool:
        """Whether a call asked for things of a kind; it may have found none."""
        return name in self.things

    @property
    def instances(self) -> tuple[Thing, ...]:
        """The instances of EC2, which come in reservations."""
        return tuple(each for found in self.of("Reservations") for each in listed(found, "Instances"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What is known of a cluster.

    Attributes:
        answers: What was described.
        denied: Calls that the credentials do not allow, whose answers are not there.
        cut: Calls whose answers have more than was read, in words.
    """

    answers: Answers
    denied: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()

    @property
    def not_read(self) -> tuple[str, ...]:
        """Both."""
        return *self.denied, *self.cut


def parsed(written: str, *, file: str) -> Iterator[Thing]:
    """The answers in a text: one after the other, as several commands print them into one pipe.

    Args:
        written: The text.
        file: What the text is called in an error.

    Raises:
        InvalidValueError: It is not JSON, too long, or has no answer that is known.
    """
    if len(written) > BYTES:
        raise InvalidValueError(f"{file} has more than {BYTES >> 20} MiB", fix="describe the one cluster alone")
    decoder, at, found = json.JSONDecoder(), 0, False
    while at < len(written):
        if written[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(written, at)
        except (ValueError, RecursionError) as problem:
            reason = "is nested too deeply" if isinstance(problem, RecursionError) else "is not JSON"
            line = written.count("\n", 0, at) + 1
            raise InvalidValueError(
                f"{file} {reason}, in what begins on line {line}", fix="aws … --output json"
            ) from None
        if isinstance(value, dict) and any(each in ANSWERS for each in value):
            _require_shallow(value, file)
            found = True
            yield value
    if not found:
        raise InvalidValueError(f"{file} has no answer that is known", allowed=", ".join(ANSWERS.values()))


def _require_shallow(value: object, file: str) -> None:
    layer = [value]
    for _ in range(DEPTH):
        layer = [
            inner
            for each in layer
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not layer:
            return
    raise InvalidValueError(f"{file} is nested more than {DEPTH} deep", fix="give what aws prints")


def answers(given: Iterable[Thing]) -> Answers:
    """What several answers describe, taken together."""
    things: dict[str, list[Thing]] = {}
    for answer in given:
        for name in ANSWERS.keys() & answer.keys():
            value = answer[name]
            of_kind = things.setdefault(name, [])
            of_kind += [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]
    return Answers(MappingProxyType({name: tuple(of_kind) for name, of_kind in things.items()}))


def text(of: Thing, name: str) -> str:
    """A text of a thing; empty where it has none."""
    value = of.get(name)
    return value if isinstance(value, str) else ""


def number(of: Thing, name: str) -> int | None:
    """A whole number of a thing; None where it has none, or one that no answer can have."""
    value = of.get(name)
    is_number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST
    return value if is_number else None


def listed(of: Thing, name: str) -> tuple[Thing, ...]:
    """Things that a thing lists; none where it lists none."""
    value = of.get(name)
    return tuple(each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()


def thing(of: Thing, name: str) -> Thing:
    """A thing that is part of another; empty where it is not."""
    value = of.get(name)
    return value if isinstance(value, dict) else {}


def short_name(arn: str) -> str:
    """The name at the end of an ARN; what is no ARN stays as it is."""
    return arn.rpartition("/")[2] if arn.startswith("arn:") else arn


def aws(service: str, command: str, *words: str) -> str:
    """A command, with every word quoted that needs it."""
    return shlex.join(("aws", service, command, *words))


def in_region(fix: str, region: str | None) -> str:
    """A fix with the region in it where it is a command; other words stay as they are.

    Args:
        fix: What to do.
        region: Where it was asked about; None for the region of the profile, which is that of the command as well.
    """
    return f"{fix} --region {shlex.quote(region)}" if region and fix.startswith("aws ") else fix
