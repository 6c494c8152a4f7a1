"""The same fleet as a template of CloudFormation and as a plan of Terraform: the same is found, of the same things."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.rules import RULES
from gpu_constructs.template.documents import Document
from tests.acceptance.recall import BROKEN, GOOD
from tests.examples import times
from tests.properties.small_templates import small_template
from tests.template.terraform.written_plans import NotWrittenError, address_of, as_plan

REGION = "us-east-1"
CASES = [each for folder in (BROKEN, GOOD) for each in sorted(folder.iterdir())[:: 200 // times(40)] if each.is_file()]
# What only one side can say, and why.
DIFFERENT = {
    "236-gpus-of-managed-instances-alone.yaml": "dimensions of a metric are not written",
    "312-only-scaling-starts-copies.yaml": "a plan says nothing of ignore_changes, which keeps the number (GPU210)",
    "404-second-provider-of-a-group.yaml": "a parameter is named once, a variable is no place",
    "405-subnet-of-the-main-route-table.yaml": "routes are not read",
    "410-size-that-each-deploy-resets.yaml": "a plan says nothing of ignore_changes, which keeps the number (GPU210)",
    "85-type-from-the-parameter-store.yaml": "the plan has read the parameter",
}


def said(what: Mapping[str, Any], named: Callable[[str], str]) -> Counter[tuple[str, ...]]:
    findings = check_files([what], region=REGION).findings
    return Counter(
        (each.rule, str(each.severity), named(each.subject), named(each.origin.resource) if each.origin else "")
        for each in findings
    )


def require_same(template: Mapping[str, Any]) -> None:
    plan = as_plan(template, REGION)
    assert said(plan, str) == said(template, lambda name: address_of(name, template))


def with_named_clusters(template: dict[str, Any]) -> dict[str, Any]:
    """Terraform wants a name of each cluster, which makes user data with it known before the apply."""
    named = copy.deepcopy(template)
    for name, each in named["Resources"].items():
        if each.get("Type") == "AWS::ECS::Cluster":
            each.setdefault("Properties", {}).setdefault("ClusterName", f"prod-{name}")
    return named


@pytest.mark.parametrize("number", range(times(60)))
def test_a_fleet_at_random_gets_the_same_report(number: int) -> None:
    template = with_named_clusters(small_template(number).template)
    definitions = [each for each in template["Resources"].values() if each["Type"] == "AWS::ECS::TaskDefinition"]
    # One value of the deploy makes a whole text of containers unknown, and is a parameter that is named once.
    if "Deployed" in json.dumps(definitions) or json.dumps(template).count("Deployed") > 2:
        pytest.skip("more is unknown in a plan")
    try:
        require_same(template)
    except NotWrittenError:
        pytest.skip("has metadata, which no plan has")


@pytest.mark.parametrize("path", [each for each in CASES if each.name not in DIFFERENT], ids=lambda path: path.name)
def test_a_broken_or_a_good_template_gets_the_same_report(path: Path) -> None:
    data = Document.read(path.read_bytes(), file=path.name).data
    if not isinstance(data, dict) or not isinstance(data.get("Resources"), dict):
        pytest.skip("no template")
    try:
        require_same(with_named_clusters(data))
    except NotWrittenError as error:
        pytest.skip(f"not written as a plan: {error}")


def test_enough_of_them_are_written() -> None:
    """Half of the templates of `acceptance` can be written as plans, or the tests above say little."""
    found = 0
    for path in CASES:
        data = Document.read(path.read_bytes(), file=path.name).data
        try:
            as_plan(with_named_clusters(data))  # type: ignore[arg-type]
            found += 1
        except (NotWrittenError, TypeError, KeyError, AttributeError):
            continue
    assert found > len(CASES) / 2
    assert len(RULES) > len(DIFFERENT)
