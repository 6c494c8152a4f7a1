"""The same fleet as a template of CloudFormation and as a plan of Terraform: the same is found, of the same things."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.template.documents import Document
from tests.acceptance.recall import BROKEN, GOOD
from tests.examples import times
from tests.properties.small_templates import small_template
from tests.template.terraform.written_plans import NotWrittenError, address_of, as_plan

REGION = "us-east-1"
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


def with_named_clusters(template: dict[str, Any]) -> dict[str, Any]:
    """Terraform wants a name of each cluster, which makes user data with it known before the apply."""
    named = copy.deepcopy(template)
    for name, each in named["Resources"].items():
        if each.get("Type") == "AWS::ECS::Cluster":
            each.setdefault("Properties", {}).setdefault("ClusterName", f"prod-{name}")
    return named


def planned(template: object) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """A template and the plan of the same; None where no plan can say what it does."""
    if not isinstance(template, dict) or not isinstance(template.get("Resources"), dict):
        return None
    try:
        named = with_named_clusters(template)
        return named, as_plan(named, REGION)
    except (NotWrittenError, TypeError, KeyError, AttributeError):
        return None  # it has what a plan cannot say, or what is no template


def at_random(number: int) -> object:
    template = small_template(number).template
    definitions = [each for each in template["Resources"].values() if each["Type"] == "AWS::ECS::TaskDefinition"]
    # One value of the deploy makes a whole text of containers unknown, and is a parameter that is named once.
    more_is_unknown = "Deployed" in json.dumps(definitions) or json.dumps(template).count("Deployed") > 2
    return None if more_is_unknown else template


FILES = [
    each
    for folder in (BROKEN, GOOD)
    for each in sorted(folder.iterdir())[100 // times(40) :: max(1, 200 // times(40))]
    if each.is_file()
]
READ = {each.name: planned(Document.read(each.read_bytes(), file=each.name).data) for each in FILES}
MADE = {str(number): planned(at_random(number)) for number in range(times(30))}
PAIRS = {name: pair for name, pair in {**READ, **MADE}.items() if pair and name not in DIFFERENT}


@pytest.mark.parametrize("name", PAIRS)
def test_a_template_gets_the_same_report_as_its_plan(name: str) -> None:
    template, plan = PAIRS[name]
    assert said(plan, str) == said(template, lambda its: address_of(its, template))


def test_enough_of_them_are_written() -> None:
    """Half of them can be written as plans, or the test above says little."""
    for each in (READ, MADE):
        assert sum(pair is not None for pair in each.values()) > len(each) / 2
