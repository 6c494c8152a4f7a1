"""The steps of ``docs/from-plain-cdk.md`` are apps that run, change what the page says, and are refused by nobody."""

from __future__ import annotations

import json
import re
from typing import Any

from gpu_constructs.check.planning.updates import Update, update_of
from gpu_constructs.check.report import check_files
from gpu_constructs.rules import Severity
from gpu_constructs.template import Stacks
from tests.documented import blocks_of, names_of, templates_of
from tests.synthesis import ROOT

PAGE = "docs/from-plain-cdk.md"
_ROW = re.compile(r"^\| ([-+~]) \| (.*)\|$", re.MULTILINE)

Resources = dict[str, Any]


def _changes(old: Resources, new: Resources) -> dict[str, set[str]]:
    """The types of what is added, removed and changed."""
    both = old.keys() & new.keys()
    ids = {"+": new.keys() - old.keys(), "-": old.keys() - new.keys(), "~": {e for e in both if old[e] != new[e]}}
    return {mark: {{**old, **new}[each]["Type"] for each in of} for mark, of in ids.items()}


def test_each_step_changes_what_the_page_says() -> None:
    steps = re.split(r"^## ", (ROOT / PAGE).read_text(), flags=re.MULTILINE)[1:-1]
    before, now = Stacks(), Resources()
    for block, step in zip(blocks_of(PAGE), steps, strict=True):
        (template,) = templates_of(names_of(PAGE, block))
        report = check_files([template.parent])
        old, now = now, json.loads(template.read_text())["Resources"]
        warned = {each.rule for each in report.findings if each.severity is not Severity.INFO}
        assert warned == set(re.findall(r"GPU\d{3}", step)), step[:20]
        if old:
            said = {mark: set(re.findall(r"AWS::[\w:]+", types)) for mark, types in _ROW.findall(step)}
            assert _changes(old, now) == said, step[:20]
            assert update_of(before, report.stacks) == Update(refused=(), replaced=())
        before = report.stacks
