"""Public modules of Terraform: the same fault is named in each, and one that works gets no error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpu_constructs.check.report import Report, check_files
from gpu_constructs.rules import Severity
from tests.template.terraform.module_plans import aws_modules, batch_module, cloudposse, planned

Make = Callable[..., dict[str, Any]]
EVERY = [aws_modules, cloudposse, batch_module]


def grave(report: Report) -> list[str]:
    return [f"{each.rule} {each.message}" for each in report.findings if each.severity is Severity.ERROR]


@pytest.mark.parametrize("make", EVERY)
def test_what_works_gets_no_error_and_is_checked(make: Make) -> None:
    report = check_files([make()])
    assert grave(report) == []
    assert report.unchecked == ()


@pytest.mark.parametrize("make", EVERY)
def test_more_gpus_than_the_hosts_have_is_an_error(make: Make) -> None:
    found = grave(check_files([make(gpus=4)]))
    assert [each for each in found if "4" in each and "g6.xlarge" in each]


@pytest.mark.parametrize("make", [aws_modules, cloudposse])
def test_an_arm_host_with_the_image_of_another_processor_is_an_error(make: Make) -> None:
    assert [each for each in grave(check_files([make(instance_type="g5g.xlarge")])) if "g5g.xlarge" in each]


@pytest.mark.parametrize("make", [aws_modules, cloudposse])
def test_links_that_no_configuration_shows_are_inferred_where_only_one_can_be_meant(make: Make) -> None:
    plan = make(gpus=4)
    (workload,) = check_files([plan], rules=()).fleet.workloads
    assert workload.task is not None
    assert "aws_ecs_cluster" in str(workload.cluster)


def test_a_link_that_may_be_to_either_of_two_is_not_inferred() -> None:
    plan = aws_modules(gpus=4)
    (template,) = [each for each in plan["resource_changes"] if each["type"] == "aws_launch_template"]
    other = {**template, "address": template["address"].replace("this", "other"), "name": "other"}
    plan["resource_changes"].append(other)
    report = check_files([plan])
    assert grave(report) == []
    assert report.unchecked


@pytest.mark.parametrize(("image_type", "rule"), [("ECS_AL2023", "GPU052"), ("ECS_AL2_NVIDIA", "GPU003")])
def test_the_image_type_of_a_dynamic_block_is_what_its_hosts_have(image_type: str, rule: str) -> None:
    written = batch_module(image_type=image_type)
    found = {each.rule: each for each in check_files([written]).findings}
    assert found[rule].severity is Severity.ERROR
    assert found[rule].fix == "image_type ECS_AL2023_NVIDIA"
    # An image that is made by the same apply may be what is meant.
    written["resource_changes"].append(planned("aws_ami_copy.own", {"name": "own"}, id=True))
    assert rule not in {each.rule for each in check_files([written]).findings}


@pytest.mark.parametrize("actions", [["no-op"], ["update"], ["delete", "create"]])
def test_an_environment_that_exists_is_not_refused_for_an_image_that_new_ones_must_not_have(actions: list[str]) -> None:
    written = batch_module(image_type="ECS_AL2_NVIDIA")
    written["resource_changes"][0]["change"]["actions"] = actions
    (found,) = (each for each in check_files([written]).findings if each.rule == "GPU003")
    assert found.severity is (Severity.ERROR if "create" in actions else Severity.WARNING)
    assert ("refuses new compute environments" in found.message) is ("create" in actions)
