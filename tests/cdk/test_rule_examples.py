"""The examples of ``docs/rules.md`` that are Python, because a template does not say what their rules ask."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from gpu_constructs import GpuCluster, HostNetwork
from gpu_constructs.rules import RULES
from tests.synthesis import Site
from tools.rule_examples import example_of

IN_PYTHON = ["GPU008", "GPU216"]


def test_no_other_rule_has_an_example_in_python() -> None:
    assert [each.id for each in RULES if example_of(each.id).python] == IN_PYTHON


def warnings(site: Site, part: str) -> list[str]:
    exec(part, {"cdk": cdk, "ec2": ec2, "GpuCluster": GpuCluster, "HostNetwork": HostNetwork, "stack": site.stack})  # noqa: S102 - our own example
    return site.warnings()


@pytest.mark.parametrize("rule", IN_PYTHON)
def test_a_rule_warns_of_the_wrong_example(site: Site, rule: str) -> None:
    assert any(rule in warning for warning in warnings(site, example_of(rule).wrong))


@pytest.mark.parametrize("rule", IN_PYTHON)
def test_no_rule_warns_of_the_right_example(site: Site, rule: str) -> None:
    assert warnings(site, example_of(rule).right) == []
