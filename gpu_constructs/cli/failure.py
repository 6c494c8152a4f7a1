"""What stands in the place of a report where nothing could be checked, so that no program trips over an empty file."""

from __future__ import annotations

import json
from collections.abc import Callable

from gpu_constructs.cli.output import version

__all__ = ["FAILURES"]


def _json(problem: str) -> dict[str, object]:
    return {"version": version(), "error": problem, "files": [], "findings": []}


def _sarif(problem: str) -> dict[str, object]:
    notification = {"level": "error", "message": {"text": problem}}
    run = {
        "tool": {"driver": {"name": "gpu-constructs", "version": version()}},
        "invocations": [{"executionSuccessful": False, "toolExecutionNotifications": [notification]}],
        "results": [],
    }
    return {"version": "2.1.0", "runs": [run]}


def _written(report: Callable[[str], dict[str, object]]) -> Callable[[str], str]:
    return lambda problem: json.dumps(report(problem), indent=2) + "\n"


FAILURES = {"json": _written(_json), "sarif": _written(_sarif)}
"""For each format that programs read: a report of what went wrong."""
