"""What was found and accepted: reasons in the metadata of a resource, or in the CDK app that made it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import METADATA_KEY, Origin
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.retired import id_now, is_gone, what_became_of
from gpu_constructs.template import Inputs, Stacks

_OURS = f"{METADATA_KEY}::"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A finding that somebody has accepted, with the reason that they gave.

    Attributes:
        finding: What was found.
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
        for stack in stacks.stacks:
            for resource in stack.resources.values():
                for now, reason in _by_current_id(_written(resource.metadata), self._named):
                    self._in_templates[resource.origin.file, resource.logical_id, now] = reason
        # By file: apps that are read together may have constructs of the same path. Looked up for a finding only.
        self._roots = {
            resource.origin.file: stack.root for stack in stacks.stacks for resource in stack.resources.values()
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for each id that is named in what was looked up, and that is no longer the id of a rule."""
        return what_became_of(self._named)

    def of(self, finding: Finding) -> Acknowledged | None:
        """The finding with the reason why it is accepted; None if it is not accepted.

        A reason counts where the change has to be made, and on the thing that it is about.
        """
        found = (self._at(each, finding) for each in (finding.origin, finding.about) if each is not None)
        return next((each for each in found if each is not None), None)

    def _at(self, origin: Origin, finding: Finding) -> Acknowledged | None:
        written = self._in_templates.get((origin.file, origin.resource, finding.rule))
        if written is not None and _accepts(written, finding):
            return Acknowledged(finding=finding, reason=written[1])
        root = self._roots.get(origin.file)
        in_app = {} if root is None else self._inputs.acknowledged(root)
        for path in _upwards(origin.construct_path or ""):
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

    One that names such a rule itself comes last.

    Args:
        reasons: Reasons by ids as they are written.
        named: Gets the ids of rules that are asked no more.
    """
    given = {rule.strip().upper(): why.strip() for rule, why in reasons if isinstance(why, str) and why.strip()}
    for rule in sorted(given, key=is_gone, reverse=True):
        if is_gone(rule):
            named[rule] = None
        if now := id_now(rule):
            yield now, (rule, given[rule])


def _accepts(written: tuple[str, str], finding: Finding) -> bool:
    """Whether a reason under an id counts for a finding: an old id asked less than the rule that it is part of now."""
    return written[0] == finding.rule or finding.severity is not Severity.ERROR


def _upwards(path: str) -> Iterator[str]:
    """A construct and everything around it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _written(metadata: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    ours = metadata.get(METADATA_KEY)
    written = ours.get("Acknowledge") if isinstance(ours, (dict, Mapping)) else None
    yield from written.items() if isinstance(written, (dict, Mapping)) else ()
