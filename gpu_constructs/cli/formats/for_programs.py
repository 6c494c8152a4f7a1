"""A check for programs: in JSON, whose keys are only ever added, and for code scanners in SARIF 2.1.0.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import PurePath
from urllib.parse import quote

from gpu_constructs.check.other_values import ValueTable
from gpu_constructs.cli.formats import Checked, fingerprint, in_repository
from gpu_constructs.cli.output import json_text
from gpu_constructs.errors import __version__, more_about
from gpu_constructs.fleet import Origin
from gpu_constructs.rules import Finding, Rule, Severity, all_rules
from gpu_constructs.rules.finding import with_fix


def as_json(checked: Checked) -> str:
    """All that is known, infos and what was accepted among it."""
    review = checked.review
    counts = {f"{severity}s": sum(each.severity is severity for each in review.findings) for severity in Severity}
    report = {
        "version": __version__,
        "files": list(review.files),
        "findings": [_finding(each) for each in review.findings],
        "parameter_values": [_values(each) for each in review.values],
        "acknowledged": [{**_finding(each.finding), "reason": each.reason} for each in review.acknowledged],
        "untried_parameters": dict(review.untried),
        "unreadable": [
            {"file": each.file, "line": each.line, "column": each.column, "message": each.reason, "fix": each.fix}
            for each in review.unreadable
        ],
        "summary": {
            **counts,
            "unchecked": len(review.unchecked),
            "acknowledged": len(review.acknowledged),
            "in_baseline": len(review.baselined),
            "pools": review.seen.pools,
            "tasks": review.seen.tasks,
            "services": review.seen.services,
            "runs": review.seen.runs,
            "skipped_jobs": review.skipped_jobs,
            "skipped_files": review.skipped,
            "unreadable_files": len(review.unreadable),
            "checked_apart": review.worlds,
            "untried_parameter_values": sum(review.untried.values()),
        },
    }
    return json_text(report)


def _values(table: ValueTable) -> dict[str, object]:
    """With which values of a parameter something works, and what the others bring."""
    return {
        "parameter": table.parameter,
        "subject": table.subject,
        "file": table.origin.file,
        "line": table.origin.line,
        "values": [
            {
                "value": each.value,
                "default": each.is_default,
                "works": each.finding is None,
                "finding": None if each.finding is None else _finding(each.finding),
            }
            for each in table.outcomes
        ],
    }


def _finding(finding: Finding) -> dict[str, object]:
    origin = finding.origin
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "resource": finding.subject if origin is None else origin.resource,
        "file": None if origin is None else origin.file,
        "line": None if origin is None else origin.line,
        "subject": finding.subject,
        "construct_path": None if origin is None else origin.construct_path,
        "parameter": finding.parameter or None,
        "message": finding.message,
        "fix": finding.fix,
        "path": [] if origin is None else list(origin.path),
        "column": None if origin is None else origin.column,
        "source": None if origin is None or origin.source is None else asdict(origin.source),
    }


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

_Object = dict[str, object]


def as_sarif(checked: Checked) -> str:
    """A check as SARIF; with ``--verbose``, what was accepted in a template is there as well, as suppressed.

    GitHub does not read suppressions, and opens an alert for each of them (github/codeql-action#1230).
    """
    told = [(each, "") for each in checked.review.findings]
    told += [(each.finding, each.reason) for each in checked.review.acknowledged if checked.verbose]
    rules = {each.id: _rule(each) for each in all_rules()}
    for id_ in (each.rule for each, _ in told):
        text = {"text": f"A construct of the app gives this warning. To accept it, acknowledge {id_} on the construct."}
        rules.setdefault(id_, {"id": id_, "shortDescription": text, "fullDescription": text, "help": text})
    places = {id_: place for place, id_ in enumerate(rules)}
    seen: Counter[str] = Counter()
    results = [_result(each, seen, places[each.rule], reason) for each, reason in told]
    driver = {"name": "gpu-constructs", "version": __version__, "rules": list(rules.values())}
    unread = [{"level": "error", "message": {"text": str(each)}} for each in checked.review.unreadable]
    notified = {"toolExecutionNotifications": unread} if unread else {}
    run: _Object = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not unread, **notified}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> _Object:
    described: _Object = {
        "id": rule.id,
        "shortDescription": {"text": rule.question},
        "fullDescription": {"text": rule.reason},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "help": {"text": f"{rule.question}\n\n{rule.reason}\n\n{rule.source}\n\n{more_about(rule.id)}"},
    }
    if rule.source.startswith("https://"):
        described["helpUri"] = rule.source
    return described


def _result(finding: Finding, seen: Counter[str], place: int, reason: str) -> _Object:
    """A result; `place` is that of its rule among the rules, and `reason` why it is accepted, if it is."""
    result: _Object = {
        "ruleId": finding.rule,
        "ruleIndex": place,
        "level": _LEVELS[finding.severity],
        "message": {"text": with_fix(finding)},
        "partialFingerprints": {"ruleAndProperty/v1": fingerprint(finding, seen)},
    }
    if reason:
        result["suppressions"] = [{"kind": "inSource", "justification": reason}]
    if finding.origin is not None:
        result["locations"] = [_location(finding.origin)]
        if finding.origin.source is not None and finding.origin.file is not None:
            result["relatedLocations"] = [
                {"physicalLocation": _in_template(finding.origin), "message": {"text": "in the template"}}
            ]
    return result


def _location(origin: Origin) -> _Object:
    logical: _Object = {"name": origin.resource, "kind": "resource"}
    if origin.construct_path:
        logical["fullyQualifiedName"] = origin.construct_path
    location: _Object = {"logicalLocations": [logical]}
    if origin.source is not None:
        location["physicalLocation"] = _physical(origin.source.file, origin.source.line, origin.source.column)
    elif origin.file is not None:
        location["physicalLocation"] = _in_template(origin)
    return location


def _in_template(origin: Origin) -> _Object:
    return _physical(origin.file or "", origin.line, origin.column)


def _physical(file: str, line: int | None, column: int | None) -> _Object:
    path = PurePath(in_repository(file))
    # A name from the file system may hold bytes that are no UTF-8; they come as surrogates and go as those bytes.
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix().encode("utf-8", "surrogateescape"))
    place: _Object = {"artifactLocation": {"uri": uri}}
    if line is not None:
        place["region"] = {"startLine": line} if column is None else {"startLine": line, "startColumn": column}
    return place
