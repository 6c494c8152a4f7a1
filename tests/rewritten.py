"""What is found once values of files are written anew, as a reader of a report would write them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpu_constructs.check.at_places import Writing
from gpu_constructs.check.report import Report, check_files
from gpu_constructs.rules import Finding, Severity
from gpu_constructs.rules.finding import Way
from gpu_constructs.template import Places
from tests.reports import given

__all__ = ["GONE", "broken_by", "edited", "errors", "first_changes", "is_written", "reread"]

GONE = object()
"""In place of a value: the key goes."""


def first_changes(report: Report) -> dict[tuple[str, tuple[str | int, ...]], Any]:
    """The values that the first fix of each finding writes, all fixes of the report at once."""
    writing = Writing(report.fleet, Places(report.stacks))
    made: dict[tuple[str, tuple[str | int, ...]], Any] = {}
    for finding in report.findings:
        changes = writing.changes(_first(finding)) if finding.ways and not finding.parameter else None
        for spot, value in (changes or {}).items():
            assert made.setdefault(spot, value) == value, f"two values for {spot}: {made[spot]} and {value}"
    return made


def is_written(report: Report, finding: Finding) -> bool:
    """Whether the first fix of a finding is a value in its files."""
    return bool(finding.ways and Writing(report.fleet, Places(report.stacks)).changes(_first(finding)))


def _first(finding: Finding) -> Way:
    return finding.ways[0]


def reread(
    path: Path, changes: Mapping[tuple[str, tuple[str | int, ...]], Any], folder: Path, documents: Mapping[str, Any]
) -> Report:
    """The report of files with other values in them.

    Args:
        path: The file, or the folder of files.
        changes: The values, by the file and the keys.
        folder: Where the files are written.
        documents: What was read, by file.
    """
    there = folder / path.name
    shutil.copytree(path, there) if path.is_dir() else shutil.copy(path, there)
    for file in {file for file, _ in changes}:
        data = documents[file].data
        for (of, keys), value in changes.items():
            if of == file:
                data = edited(data, keys[1:] if isinstance(data, list) else keys, value)
        to = there if path.is_file() else there / Path(file).relative_to(path)
        to.write_text(json.dumps(data), encoding="utf-8")
    return check_files(given(there))


def edited(node: Any, keys: Iterable[Any], value: Any) -> Any:
    """A copy of a document with another value in one place."""
    first, *rest = keys
    new: Any = list(node) if isinstance(node, list) else dict(node or {})
    if rest:
        new[first] = edited(new[first] if isinstance(new, list) else new.get(first), rest, value)
    elif value is GONE:
        del new[first]
    elif isinstance(new, list) and first == len(new):
        new.append(value)
    else:
        new[first] = value
    return new


def broken_by(before: Report, after: Report) -> list[str]:
    """Errors, and work that does not fit, that were not there before."""
    old = [(each.rule, f"{each.subject} {each.message}") for each in before.findings if each.is_grave]
    return [
        f"{each.rule} {each.message}"
        for each in after.findings
        if each.is_grave and not each.parameter
        # What is told of several at once names them.
        if not any(rule == each.rule and each.subject in text for rule, text in old)
    ]


def errors(report: Report) -> list[Finding]:
    """What cannot work."""
    return [each for each in report.findings if each.severity is Severity.ERROR]
