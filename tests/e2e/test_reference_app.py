"""The app of the reference stacks refuses in one line and lints clean."""

from __future__ import annotations

import runpy

import aws_cdk as cdk
import pytest
from stacks.tensorflow_benchmark import TensorflowBenchmarkStack

from tests.linting import linted
from tests.stacks.stories import STORIES
from tests.synthesis import ROOT, Site


def benchmark(app: cdk.App, *gpu_instance_types: str) -> TensorflowBenchmarkStack:
    return TensorflowBenchmarkStack(app, "tensorflow-benchmark", gpu_instance_types=list(gpu_instance_types))


def test_a_wrong_context_is_one_line_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Given(cdk.App):
        def __init__(self) -> None:
            super().__init__(context={**Site.recommended_context(), "gpu_instance_type": "g6.xlrge"})

    monkeypatch.setattr(cdk, "App", Given)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "app.py"))
    # Python prints a text, and ends with 1.
    assert ended.value.code == (
        "error: gpu_instance_type=g6.xlrge: instance_types: 'g6.xlrge' cannot be an instance type: EC2 has never had a "
        "size 'xlrge'; fix: did you mean g6.xlarge or g6.8xlarge or g6.4xlarge?"
    )


@pytest.mark.parametrize(
    ("instance_type", "region"),
    [
        ("g6.48xlarge", "us-west-2"),
        ("p3.16xlarge", "us-east-1"),
        ("g5.xlarge", "eu-west-1"),
    ],
)
def test_cfn_lint_finds_no_error(site: Site, instance_type: str, region: str) -> None:
    found = linted(site.template(benchmark(site.app, instance_type)), region)
    assert [str(each) for each in found if each.rule.severity == "error"] == []


@pytest.mark.parametrize("story", STORIES)
def test_cfn_lint_finds_no_error_in_the_other_stories(site: Site, story: str) -> None:
    found = linted(site.template(STORIES[story](site.app)), "us-west-2")
    assert [str(each) for each in found if each.rule.severity == "error"] == []


def test_the_linter_is_awake(site: Site) -> None:
    template = site.template(benchmark(site.app, "g6.xlarge"))
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::EC2::LaunchTemplate":
            resource["Properties"]["LaunchTemplateData"]["InstanceType"] = "g6.gigantic"
    assert any("g6.gigantic" in str(each) for each in linted(template, "us-east-1"))
