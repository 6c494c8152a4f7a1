"""What is asked about in a running cluster: a service or a task, by any of its names."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

from gpu_constructs.budget import NAME, brief
from gpu_constructs.errors import InvalidValueError, UnknownNameError, shown
from gpu_constructs.live.definitions import require_readable
from gpu_constructs.live.described import ANSWERS, Answers, Thing, short_name, text
from gpu_constructs.live.progress import rolled_out
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.values import dataclass

_MOST_NAMES = 3
_COMPARED = 1_000
_ALIKE = 0.6
_LEAST_LETTERS = 3
_ENDS = frozenset({"RUNNING", "STOPPED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is asked about.

    Attributes:
        kind: ``service`` or ``task``.
        name: Its name, or the id of a task.
        described: What the API says of it.
        definition: Its task definition.
    """

    kind: str
    name: str
    described: Thing
    definition: Thing


def subject_called(answers: Answers, name: str) -> Subject:
    """The service or the task of a name: a name, an id, an ARN, or the family of a task definition.

    Raises:
        UnknownNameError: There is none.
        InvalidValueError: There are several, or its task definition was not described.
    """
    described = described_as(answers, name)
    service = text(described, "serviceName")
    return Subject(
        kind="service" if service else "task",
        name=service or short_name(text(described, "taskArn")),
        described=described,
        definition=_definition(answers, definition_of(described)),
    )


def definition_of(described: Thing) -> str:
    """The ARN of the task definition of a service or a task."""
    return text(rolled_out(described), "taskDefinition") or text(described, "taskDefinitionArn")


def described_as(answers: Answers, name: str) -> Thing:
    """What the API says of the service or the task of a name.

    Raises:
        UnknownNameError: There is none.
        InvalidValueError: There are several services.
    """
    wanted = short_name(name)
    services = [each for each in services_of(answers) if wanted == text(each, "serviceName")]
    tasks = [
        each
        for each in answers.of("tasks")
        if wanted in {short_name(text(each, "taskArn")), short_name(text(each, "taskDefinitionArn")).partition(":")[0]}
    ]
    if not services and not tasks:
        services = [each for each in services_of(answers) if is_of_construct(text(each, "serviceName"), wanted)]
    if not services and not tasks:
        there = [text(each, "serviceName") for each in services_of(answers)]
        there += [short_name(text(each, "taskArn")) for each in answers.of("tasks")]
        there = [brief(each, NAME) for each in there if each]
        nearest = nearest_of(name, there)
        raise UnknownNameError(
            f"no service and no task is called {shown(name)}",
            argument="NAME",
            value=name,
            nearest=nearest,
            otherwise="" if nearest or not there else f"the answers have {and_list(there)}",
        )
    if len(services) > 1:
        names = sorted({text(each, "serviceName") for each in services})
        if len(names) == 1:
            raise InvalidValueError(
                f"{shown(name)} is a service of several clusters",
                argument="NAME",
                value=name,
                fix="give the answers of one cluster",
            )
        raise InvalidValueError(
            f"{shown(name)} may be several services", argument="NAME", value=name, allowed=" or ".join(names)
        )
    # Of the tasks of one family, one that waits is what is asked about.
    return services[0] if services else min(tasks, key=lambda each: text(each, "lastStatus") in _ENDS)


def services_of(answers: Answers) -> tuple[Thing, ...]:
    """The services; one that several answers describe is there once, as the last of them has it."""
    named = {(text(each, "clusterArn"), text(each, "serviceName")): each for each in answers.of("services")}
    return tuple(named.values())


def cluster_of(answers: Answers, described: Thing) -> str:
    """The name of the cluster of a service or a task; empty where that is not said."""
    names = (short_name(text(described, "clusterArn")), *(text(each, "clusterName") for each in answers.of("clusters")))
    return next(filter(None, names), "")


def nearest_of(name: str, there: Iterable[str]) -> tuple[str, ...]:
    """Names that are nearly another one, the nearest first."""
    lower = {each.lower(): brief(each, NAME) for each in islice(there, _COMPARED)}
    found = get_close_matches(name[:NAME].lower(), lower, n=_MOST_NAMES, cutoff=_ALIKE)
    return tuple(lower[each] for each in found)


def is_of_construct(name: str, wanted: str) -> bool:
    """Whether a name that CloudFormation made has another in it: ``demo-ChatServiceD69D759B-68J0GRPN84V3``."""
    return len(wanted) >= _LEAST_LETTERS and wanted.lower() in name.lower()


def _definition(answers: Answers, arn: str) -> Thing:
    found = [each for each in answers.of("taskDefinition") if text(each, "taskDefinitionArn") == arn or not arn]
    if not found:
        raise InvalidValueError(
            f"the task definition {shown(short_name(arn))} is not described",
            fix=f"add aws {ANSWERS['taskDefinition']} --task-definition {shlex.quote(short_name(arn))}",
        )
    require_readable(found[0])
    return found[0]
