"""What a project has accepted: other severities, findings of some paths with a reason, and a baseline of old ones.

A baseline holds what was found when it was written, by rule, file, resource and property, never by line, so that only
what is new is told. It changes only where somebody asks for it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace

from gpu_constructs.check.acknowledgements import Acceptance, Acknowledged, file_of, name_of
from gpu_constructs.check.configuration import Configuration
from gpu_constructs.check.presenting import order
from gpu_constructs.check.report import Report, now
from gpu_constructs.errors import GpuConstructsError, brief, shown
from gpu_constructs.facts.budget import LABEL
from gpu_constructs.facts.values import dataclass
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.fit.unchecked import UNCHECKED
from gpu_constructs.template import UnreadableError
from gpu_constructs.template.documents import Document, Files

_TOLD = 5
_FORM = 1
_KEYS = ("rule", "file", "resource", "property")
Key = tuple[str, str, str, str]


def with_severities(report: Report, severities: Mapping[str, Severity]) -> Report:
    """A report in which findings of some rules are as grave as a project says."""
    if not severities:
        return report
    changed = [replace(each, severity=severities.get(each.rule, each.severity)) for each in report.findings]
    return replace(report, findings=tuple(sorted(changed, key=order)))


def without_accepted(report: Report, configuration: Configuration, *, is_all: bool) -> Report:
    """A report in which findings that a project accepts are among the acknowledged ones.

    `is_all` is whether everything below the directory of the configuration was checked.
    """
    acceptances, folder = configuration.accept, configuration.folder
    today = now().date()
    kept: list[Finding] = []
    accepted: list[Acknowledged] = []
    used = set[Acceptance]()
    valid = [each for each in acceptances if each.until is None or today <= each.until]
    for finding in report.findings:
        by = next((each for each in valid if each.accepts(finding, folder)), None)
        if by is None:
            kept.append(finding)
        else:
            used.add(by)
            accepted.append(Acknowledged(finding=finding, reason=by.reason))
    ended = [f"{each.place}: {each.rule} was accepted until {each.until}" for each in acceptances if each not in valid]
    unused = [
        f"{each.place}: {each.rule} is accepted, and no finding matches; fix: delete it"
        for each in valid
        if each not in used and (is_all or any(each.is_about(file, folder) for file in report.files))
    ]
    return replace(
        report,
        findings=tuple(kept),
        acknowledged=(*report.acknowledged, *accepted),
        notes=(*report.notes, *ended, *unused),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What was found when it was written.

    Attributes:
        held: How many findings of each key there were, and how grave the gravest was.
    """

    file: str
    held: Mapping[Key, tuple[int, Severity]] = field(default_factory=dict)

    @classmethod
    def read(cls, file: str) -> Baseline:
        """Reads one.

        Raises:
            UnreadableError: It cannot be read, or is none.
        """
        document = Files().read(file, only_plain=True)
        listed = document.object("a baseline").get("findings")
        if document.object().get("version") != _FORM or not isinstance(listed, list):
            raise UnreadableError("not a baseline", file=file, fix="write it with --update-baseline")
        held = dict(_entry(each, place, document) for place, each in enumerate(listed))
        return cls(file=file, held=held)

    def key(self, finding: Finding) -> Key:
        """What a finding is found again by."""
        names = () if finding.origin is None else finding.origin.path[2:]
        named = ".".join(each for each in names if isinstance(each, str))
        return finding.rule, self._named(file_of(finding)), name_of(finding), named

    def _named(self, file: str | None) -> str:
        folder = os.path.dirname(self.file) or os.curdir
        return "" if file is None else os.path.relpath(file, folder).replace(os.sep, "/")

    def without_old(self, report: Report) -> Report:
        """A report of what is new; what was checked and is gone is a note."""
        left = {key: number for key, (number, _) in self.held.items()}
        kept: list[Finding] = []
        old: list[Finding] = []
        for finding in report.findings:
            key = self.key(finding)
            if finding.rule != UNCHECKED and left.get(key) and self.held[key][1].rank <= finding.severity.rank:
                left[key] -= 1
                old.append(finding)
            else:
                kept.append(finding)
        gone = [key for key in self._checked(report) if left[key]]
        told = ", ".join(f"{rule} of {brief(resource, LABEL)} in {file}" for rule, file, resource, _ in gone[:_TOLD])
        more = f" and {len(gone) - _TOLD} more" if len(gone) > _TOLD else ""
        note = f"{self.file}: no longer found: {told}{more}; fix: --update-baseline"
        notes = (*report.notes, note) if gone else report.notes
        hidden = {(each.rule, each.subject) for each in old} - {(each.rule, each.subject) for each in kept}
        values = tuple(each for each in report.values if not each.brings <= hidden)
        return replace(report, findings=tuple(kept), baselined=tuple(old), notes=notes, values=values)

    def _checked(self, report: Report) -> Iterator[Key]:
        """The keys of files that were checked, or are no longer there."""
        checked = set(map(self._named, report.files))
        folder = os.path.dirname(self.file)
        for key in self.held:
            if key[1] in checked or not os.path.lexists(os.path.join(folder, key[1])):
                yield key

    def updated(self, report: Report) -> Baseline:
        """A baseline of what is found now; what it holds of files that were not checked stays."""
        counts = Counter(self.key(each) for each in report.findings if each.rule != UNCHECKED)
        gravest: dict[Key, Severity] = {}
        for each in report.findings:  # the most serious come first
            gravest.setdefault(self.key(each), each.severity)
        stays = self.held.keys() - set(self._checked(report))
        held = {key: self.held[key] for key in stays} | {key: (counts[key], gravest[key]) for key in counts}
        return replace(self, held=held)

    def write(self) -> None:
        """Writes it, all or nothing."""
        entries = [
            {**dict(zip(_KEYS, key, strict=True)), "severity": str(severity), "count": count}
            for key, (count, severity) in sorted(self.held.items())
        ]
        text = json.dumps({"version": _FORM, "findings": entries}, indent=1)
        new = f"{self.file}.{os.getpid()}.new"
        try:
            with open(new, "x", encoding="utf-8") as opened:
                opened.write(f"{text}\n")
            os.replace(new, self.file)
        except OSError as error:
            with suppress(OSError):
                os.unlink(new)
            raise GpuConstructsError(
                f"cannot write {shown(self.file)}: {error.strerror}", argument="--baseline"
            ) from None


def _entry(entry: object, place: int, document: Document) -> tuple[Key, tuple[int, Severity]]:
    values = entry if isinstance(entry, dict) else {}
    rule, file, resource, named = (values.get(each) for each in _KEYS)
    count, severity = values.get("count"), values.get("severity")
    texts = all(isinstance(each, str) for each in (rule, file, resource, named))
    if not texts or not isinstance(count, int) or severity not in list(map(str, Severity)):
        line = document.line(("findings", place))
        raise UnreadableError("not an entry of a baseline", file=document.file, line=line, fix="--update-baseline")
    return (str(rule), str(file), str(resource), str(named)), (count, Severity(str(severity)))


def reasonless(configuration: Configuration) -> tuple[str, ...]:
    """A line for rules that a configuration leaves out without a reason."""
    named = configuration.ignore
    fix = f"fix: {{rule: {named[0]}, reason: …}}" if named else ""
    return (f"{configuration.file}: ignore: {', '.join(named)} has no reason; {fix}",) if named else ()
