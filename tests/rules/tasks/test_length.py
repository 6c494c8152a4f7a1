"""The length of a task definition, as far as its files say it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.checking import check_files
from gpu_constructs.rules import Severity, find_rule
from gpu_constructs.testing import gpus
from tests.rules.given import GPU_TASK, a_pool, running_on

UNKNOWN = {"Fn::GetAtt": ["Bucket", "Arn"]}


def with_variables(*values: Any, **settings: Any) -> bytes:
    """A template with a GPU task that has these environment variables, and a bucket."""
    environment = [{"Name": f"V{number}", "Value": value} for number, value in enumerate(values)]
    asked = [{"Type": "GPU", "Value": "1"}]
    container = {"Name": "c", "Image": "busybox", "Memory": 512, "ResourceRequirements": asked}
    properties = {"ContainerDefinitions": [{**container, "Environment": environment}], **settings}
    task = {"Type": "AWS::ECS::TaskDefinition", "Properties": properties}
    return json.dumps({"Resources": {"Task": task, "Bucket": {"Type": "AWS::S3::Bucket"}}}).encode()


@pytest.mark.parametrize(
    ("template", "severity"),
    [
        (with_variables("x" * 66_000), Severity.ERROR),
        (with_variables("ä" * 33_000), Severity.ERROR),
        (with_variables({"Fn::Sub": "x" * 66_000 + "${Bucket}"}), Severity.ERROR),
        (with_variables(*["x" * 50] * 1_000), Severity.WARNING),
        (with_variables("x" * 60_000, UNKNOWN), None),
        (with_variables("x", Tags=[{"Key": "why", "Value": "x" * 66_000}]), None),
    ],
)
def test_a_definition_that_is_longer_than_ecs_takes_is_found(template: bytes, severity: Severity | None) -> None:
    found = check_files(["-"], stdin=template, rules=[find_rule("GPU392")]).findings
    assert [each.severity for each in found] == ([severity] if severity else [])


def test_a_task_that_ecs_does_not_register_is_not_placeable() -> None:
    fleet = running_on(a_pool(), task=replace(GPU_TASK, length=(66_000, 67_000)))
    with pytest.raises(AssertionError, match="its definition has 66000 bytes of text, and ECS takes 65536"):
        gpus(fleet).every_gpu_task_is_placeable()
