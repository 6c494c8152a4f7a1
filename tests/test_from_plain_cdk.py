"""The steps of ``docs/from-plain-cdk.md`` are apps that run, change what the page says, and are refused by nobody."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from gpu_constructs.checking.report import check_files
from gpu_constructs.planning.updates import refused_updates
from gpu_constructs.rules import Severity
from tests.synthesis import ROOT

PAGE = (ROOT / "docs" / "from-plain-cdk.md").read_text()
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
_ROW = re.compile(r"^\| ([-+~]) \| (.*)\|$", re.MULTILINE)

Resources = dict[str, Any]


def _synthesized(block: str) -> tuple[Path, Resources]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(block, "from-plain-cdk.md", "exec"), names)  # noqa: S102 - it is our own
    folder = Path(names["app"].synth().directory)
    found: Resources = json.loads((folder / "Chat.template.json").read_text())["Resources"]
    return folder, found


def _changes(old: Resources, new: Resources) -> dict[str, set[str]]:
    """The types of what is added, removed and changed."""
    both = old.keys() & new.keys()
    ids = {"+": new.keys() - old.keys(), "-": old.keys() - new.keys(), "~": {e for e in both if old[e] != new[e]}}
    return {mark: {{**old, **new}[each]["Type"] for each in of} for mark, of in ids.items()}


def test_each_step_changes_what_the_page_says() -> None:
    steps = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:6]
    reports, before = [], None
    for step in steps:
        (block,) = _BLOCK.findall(step)
        folder, now = _synthesized(block)
        report = check_files([folder])
        warned = {each.rule for each in report.findings if each.severity is not Severity.INFO}
        assert warned == set(re.findall(r"GPU\d{3}", step)), step[:20]
        if before is not None:
            said = {mark: set(re.findall(r"AWS::[\w:]+", types)) for mark, types in _ROW.findall(step)}
            assert _changes(before, now) == said, step[:20]
            assert refused_updates(reports[-1].stacks, report.stacks) == ()
        reports.append(report)
        before = now
