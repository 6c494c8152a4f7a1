"""Each error of the broken templates has a fix that was made: by the checker itself, or here as its words say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML has no types

from gpu_constructs.check.report import Report
from gpu_constructs.rules import Finding
from tests.acceptance.recall import expectations
from tests.reports import of_template
from tests.rewritten import GONE, broken_by, errors, reread

# What has no fix that a line or two of the file make, and why.
UNTRIED: dict[tuple[str, str], str] = {
    ("047-isolated-subnet-without-endpoints.yaml", "GPU228"): "a NAT gateway is a subnet, an address and a route",
    ("180-public-subnet-without-addresses.yaml", "GPU228"): "likewise",
    ("405-subnet-of-the-main-route-table.yaml", "GPU228"): "likewise",
    ("085-gpu-on-fargate.yaml", "GPU028"): "hosts with GPUs are a group, a template and a provider",
    ("168-cdk-gpu-count-on-fargate.json", "GPU028"): "likewise",
    ("185-sam-gpu-on-fargate.yaml", "GPU028"): "likewise",
    ("134-efa-on-the-first-card-of-b300.yaml", "GPU092"): "no fix is told: where EFA goes only the user can know",
    ("163-cdk-launch-configuration-of-g6.json", "GPU055"): "a flag of CDK makes another template",
    ("171-association-of-the-other-stack", "GPU217"): "in another file, which lists the providers of the cluster",
    (
        "404-second-provider-of-a-group.yaml",
        "GPU124",
    ): "a group for each or one provider: only the user knows what is meant",
}

# Where the words of the fix name another resource by what it is, not by its name.
ELSEWHERE = {
    "036-fargate-mixed-with-a-group.yaml": "the service of the task definition",
    "061-execution-role-cannot-read-the-secret.yaml": "the role",
    "065-instance-role-without-ecs.json": "the role",
    "173-volume-plugin-that-no-host-has.yaml": "the user data",
    "200-rule-for-a-queue-of-fair-shares.yaml": "the queue",
    "407-signal-of-an-update.yaml": "the policy of the group",
}

_MADE: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("fixes.yaml").read_text())


def _untried() -> Iterator[tuple[str, Finding]]:
    """The errors whose fixes the checker did not try."""
    for each in expectations():
        for found in errors(of_template(each.path)):
            if not any(way.things for way in found.ways):
                yield each.file, found


def test_each_error_has_a_fix_that_was_made_or_stands_in_a_short_list() -> None:
    worded = {(file, found.rule) for file, found in _untried()}
    made = {(file, rule) for file, rules in _MADE.items() for rule in rules}
    assert worded == made | UNTRIED.keys()
    assert not made & UNTRIED.keys()
    assert len(UNTRIED) * 10 <= sum(len(errors(of_template(each.path))) for each in expectations())


@pytest.mark.parametrize("file", _MADE)
def test_what_a_fix_says_is_made_where_it_points_and_helps(file: str, tmp_path: Path) -> None:
    (path,) = (each.path for each in expectations() if each.file == file)
    before = of_template(path)
    for rule, changes in _MADE[file].items():
        found = [each for each in errors(before) if each.rule == rule]
        folder = tmp_path / rule
        folder.mkdir()
        after = reread(path, dict(_spots(before, changes)), folder, before.stacks.documents)
        assert not [each for each in errors(after) if each.rule == rule], rule
        assert not broken_by(before, after)
        is_at_place = any(_points_at(each, changes) for each in found)
        assert is_at_place or file in ELSEWHERE, (rule, [each.fix for each in found])


def _spots(report: Report, changes: Mapping[str, Any]) -> Iterator[tuple[tuple[str, tuple[str | int, ...]], Any]]:
    (file,) = report.stacks.documents
    data = report.stacks.documents[file].data
    for place, value in changes.items():
        resource, _, rest = place.partition(":") if ":" in place.partition(".")[0] else (place, "", "")
        names = [resource, "Properties", *rest.split(".")] if rest else resource.split(".")
        keys = tuple(int(each) if each.isdecimal() else each for each in names)
        if isinstance(data, dict) and "Resources" in data and keys[0] != "Parameters":
            keys = ("Resources", *keys)
        yield (file, keys), _new(_at(data, keys), value)


def _new(old: Any, value: Any) -> Any:
    if value is None:
        return GONE
    if isinstance(value, str) and " -> " in value:
        part, _, new = value.partition(" -> ")
        assert part in old
        return old.replace(part, new)
    return value


def _at(node: Any, keys: tuple[str | int, ...]) -> Any:
    for each in keys:
        is_there = each in node if isinstance(node, dict) else isinstance(node, list) and each in range(len(node))
        node = node[each] if is_there else None
    return node


def _points_at(finding: Finding, changes: Mapping[str, Any]) -> bool:
    """Whether the finding is at what is changed, or its fix names that."""
    origin = finding.origin
    assert origin is not None
    for place, value in changes.items():
        first, last = re.split(r"[.:]", place)[0], re.split(r"[.:]", place)[-1]
        is_there = first in {*origin.path[:2], origin.resource} or origin.path[:1] != ("Resources",)
        if is_there or last in finding.fix or str(value) in finding.fix:
            return True
    return False
