"""All fixes of a report can be made in its files at once: what they are for is gone, and nothing else is broken."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from gpu_constructs.check.report import Report, check_files
from tests.acceptance.recall import expectations, good_files
from tests.examples import times
from tests.properties.small_templates import small_template
from tests.reports import examples, of_template, of_wrong
from tests.rewritten import broken_by, first_changes, is_written, reread


def _made(path: Path, report: Report, folder: Path) -> int:
    """How many findings are gone with the first fix of each that is written into the files."""
    changes = first_changes(report)
    if not changes:
        return 0
    after = reread(path, changes, folder, report.stacks.documents)
    assert not (new := broken_by(report, after)), (path.name, changes, new)
    fixed = [each for each in report.findings if not each.parameter and is_written(report, each)]
    before, left, gone = (
        Counter((each.rule, each.subject) for each in of if not each.parameter)
        for of in (report.findings, after.findings, fixed)
    )
    for each, number in gone.items():
        assert left[each] <= before[each] - number, (path.name, each, changes)
    return len(fixed)


_TYPES = ("p2.xlarge", "g4dn.xlarge", "g5.xlarge", "g5.12xlarge", "g6.xlarge", "g6.48xlarge", "p3.2xlarge", "c7i.large")
_SHARED = {"InstanceType": _TYPES, "Memory": (4096, 30_000, 60_000, 500_000), "MaxSize": (1, 2, 8), "Value": "148"}


def _shared(random: Random, template: dict[str, Any]) -> dict[str, Any]:
    """A template in which one parameter holds what several resources have: types, memory, hosts or GPUs."""
    parameters: dict[str, Any] = {"Deployed": {"Type": "String"}}

    def walked(node: Any) -> Any:
        if isinstance(node, list):
            return [walked(each) for each in node]
        if not isinstance(node, dict):
            return node
        new = {key: walked(child) for key, child in node.items()}
        for name, values in _SHARED.items():
            if isinstance(new.get(name), (str, int)) and name in chosen:
                new[name] = {"Ref": name}
                allowed = random.sample(values, len(values) // 2 + 1)
                listed = {"AllowedValues": allowed} if name in limited else {}
                declared = {"Type": "String", "Default": random.choice(allowed), **listed}
                parameters.setdefault(name, declared)
        return new

    chosen = {each for each in _SHARED if random.random() < 0.6}
    limited = {each for each in _SHARED if random.random() < 0.4}
    return {**template, "Resources": walked(template["Resources"]), "Parameters": parameters}


def test_in_files_at_random_in_which_values_are_shared(tmp_path: Path) -> None:
    made = 0
    for seed in range(times(20)):
        random = Random(seed)  # noqa: S311 - no secret
        file = tmp_path / f"{seed}.json"
        file.write_text(json.dumps(_shared(random, small_template(seed).template)), encoding="utf-8")
        folder = tmp_path / str(seed)
        folder.mkdir()
        made += _made(file, check_files([file]), folder)
    assert made > times(4)


def test_in_the_files_of_acceptance(tmp_path: Path) -> None:
    paths = [*(each.path for each in expectations()), *good_files()]
    assert sum(_made(path, of_template(path), tmp_path) for path in paths) > 30


def test_in_the_examples_of_rules(tmp_path: Path) -> None:
    made = 0
    for rule, example in examples().items():
        file = tmp_path / f"{rule}.yaml"
        file.write_text(example.file(example.wrong), encoding="utf-8")
        (tmp_path / rule).mkdir()
        made += _made(file, of_wrong(rule), tmp_path / rule)
    assert made > 20
