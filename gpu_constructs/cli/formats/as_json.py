"""A check for programs, in JSON, whose keys are only ever added."""

from __future__ import annotations

from dataclasses import asdict

from gpu_constructs.check.other_values import ValueTable
from gpu_constructs.cli.formats import Checked
from gpu_constructs.cli.output import json_text
from gpu_constructs.errors import __version__
from gpu_constructs.rules import Finding, Severity


def write(checked: Checked) -> str:
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
            for each in table.verdicts
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
