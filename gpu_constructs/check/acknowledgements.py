"""What was found and accepted: with a reason in the metadata of a resource, in the CDK app, or in a configuration."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from gpu_constructs.check.patterns import Patterns
from gpu_constructs.errors import UnknownNameError, brief
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import METADATA_KEY, Origin
from gpu_constructs.rules import Finding, Severity, known_id
from gpu_constructs.rules.other_ids import id_now, is_gone, what_became_of
from gpu_constructs.template import Inputs, Stacks
from gpu_constructs.template.model import Resource

_OURS = f"{METADATA_KEY}::"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A finding that somebody has accepted, with the reason that they gave.

    Attributes:
        reason: Why that is all right, in their words.
        in_app: Whether the reason was given in the CDK app under the id of the finding, which CDK then reports itself.
    """

    finding: Finding
    reason: str
    in_app: bool = False


class Acknowledgements:
    """Every reason in some stacks: in the metadata of a resource, or in the CDK app that made it.

    A reason counts for one rule on one resource; in an app, on everything below the construct that it was given for::

        Metadata: {"gpu-constructs": {"Acknowledge": {"GPU002": "we want the newest driver"}}}

        Validations.of(capacity).acknowledge(Acknowledgment(id="gpu-constructs::GPU002", reason="…"))

    CDK writes what is acknowledged for a stack, or anything in it, into the cloud assembly. What is acknowledged for a
    stage or the whole app is not in the assembly: only CDK's own report at synth knows it.
    """

    def __init__(self, stacks: Stacks, inputs: Inputs) -> None:
        self._inputs = inputs
        self._named = dict[str, None]()
        self._in_templates: dict[tuple[str | None, str, str], tuple[str, str]] = {}
        self._used = set[tuple[str | None, str, str]]()
        self._wrong: list[str] = []
        for stack in stacks.stacks:
            for resource in stack.resources.values():
                self._wrong += _wrong(resource)
                for now, reason in _by_current_id(_written(resource), self._named):
                    self._in_templates[resource.origin.file, resource.logical_id, now] = reason
        # By file: apps that are read together may have constructs of the same path. Looked up for a finding only.
        self._roots = {
            resource.origin.file: stack.root for stack in stacks.stacks for resource in stack.resources.values()
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for each id that is named in what was looked up, and that is no longer the id of a rule."""
        return (*what_became_of(self._named), *self._wrong)

    @property
    def unused(self) -> tuple[str, ...]:
        """A line for each reason in a template that accepts nothing that was found."""
        return tuple(
            f"{file}: {resource} accepts {rule}, and no finding matches; fix: delete it"
            for file, resource, rule in self._in_templates
            if (file, resource, rule) not in self._used
        )

    def of(self, finding: Finding) -> Acknowledged | None:
        """The finding with the reason why it is accepted; None if it is not accepted.

        A reason counts where the change has to be made, and on the thing that it is about.
        """
        found = (self._at(each, finding) for each in (finding.origin, finding.about) if each is not None)
        return next((each for each in found if each is not None), None)

    def _at(self, origin: Origin, finding: Finding) -> Acknowledged | None:
        written = self._in_templates.get((origin.file, origin.resource, finding.rule))
        if written is not None and _accepts(written, finding):
            self._used.add((origin.file, origin.resource, finding.rule))
            return Acknowledged(finding=finding, reason=written[1])
        root = self._roots.get(origin.file)
        in_app = {} if root is None else self._inputs.acknowledged(root)
        for path in upwards(origin.construct_path or ""):
            given = {
                name.removeprefix(_OURS): why for name, why in in_app.get(path, {}).items() if name.startswith(_OURS)
            }
            reason = dict(_by_current_id(given.items(), self._named)).get(finding.rule)
            if reason is not None and _accepts(reason, finding):
                # CDK has the reason at this construct, and knows the finding by its id.
                here = replace(finding, origin=origin)
                return Acknowledged(finding=here, reason=reason[1], in_app=finding.rule in given)
        return None


def _by_current_id(
    reasons: Iterable[tuple[str, object]], named: dict[str, None]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Reasons with the ids under which they are written, by the ids of the rules that they count for now.

    One that names such a rule itself comes last. `named` gets the ids of rules that are asked no more.
    """
    of_texts = ((rule.strip().removeprefix(_OURS).upper(), why) for rule, why in reasons if isinstance(why, str))
    given = {rule: why.strip() for rule, why in of_texts if why.strip()}
    for rule in sorted(given, key=is_gone, reverse=True):
        if is_gone(rule):
            named[rule] = None
        if now := id_now(rule):
            yield now, (rule, given[rule])


def _accepts(written: tuple[str, str], finding: Finding) -> bool:
    """Whether a reason under an id counts for a finding: an old id asked less than the rule that it is part of now."""
    return written[0] == finding.rule or finding.severity is not Severity.ERROR


def upwards(path: str) -> Iterator[str]:
    """The path of a construct, and of each around it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _wrong(resource: Resource) -> Iterator[str]:
    """A line for each reason of a resource that cannot count."""
    written = resource.own_metadata.get("Acknowledge")
    place = f"{resource.origin.file}: Acknowledge of {resource.logical_id}"
    if written is not None and not isinstance(written, (dict, Mapping)):
        yield f"{place} is no object, and accepts nothing; fix: {{GPU002: why that is all right}}"
    for rule, why in _written(resource):
        try:
            known_id(rule.strip())
        except UnknownNameError as error:
            yield f"{place}: {error}"
            continue
        if not isinstance(why, str) or not why.strip():
            yield f"{place} gives no reason for {brief(rule)}, and does not accept it; fix: {rule}: why it is all right"


def _written(resource: Resource) -> Iterable[tuple[str, object]]:
    written = resource.own_metadata.get("Acknowledge", {})
    return written.items() if isinstance(written, (dict, Mapping)) else ()


def file_of(finding: Finding) -> str | None:
    """Where a finding is; None where that is not known."""
    return None if finding.origin is None else finding.origin.file


def name_of(finding: Finding) -> str:
    """The resource of a finding."""
    return finding.subject if finding.origin is None else finding.origin.resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Findings of one rule that a configuration accepts.

    Attributes:
        path: Files, as a pattern of a ``.gitignore``; empty means all.
        resource: Resources, by a name with ``*`` and ``?``; empty means all.
        until: The last day on which it counts; None where it always does.
    """

    rule: str
    reason: str
    path: str = ""
    resource: str = ""
    until: dt.date | None = None
    place: str = ""

    def is_about(self, file: str | None, folder: str) -> bool:
        """Whether it is about a file, by its path from a directory."""
        return not self.path or (file is not None and Patterns([self.path]).means(os.path.relpath(file, folder)))

    def accepts(self, finding: Finding, folder: str) -> bool:
        """Whether it is about a finding."""
        if finding.rule != id_now(self.rule) or not self.is_about(file_of(finding), folder):
            return False
        return not self.resource or fnmatchcase(name_of(finding), self.resource)
