from __future__ import annotations

from typing import Any

import pytest

from tests.template.resources.declared import only_pool

PROVIDER = {"Type": "AWS::ECS::CapacityProvider", "Properties": {"AutoScalingGroupProvider": {}}}


def logging_to(region: Any) -> dict[str, Any]:
    log = {"LogDriver": "awslogs", "Options": {"awslogs-region": region}}
    containers = [{"Name": "c", "LogConfiguration": log}]
    return {"Type": "AWS::ECS::TaskDefinition", "Properties": {"ContainerDefinitions": containers}}


@pytest.mark.parametrize(
    ("hints", "stack_region", "expected"),
    [(["eu-west-1"], None, "eu-west-1"), (["eu-west-1"], "us-east-1", "us-east-1"), (["somewhere"], None, None)],
)
def test_the_region_of_the_logs_stands_in_for_that_of_the_stack(hints: Any, stack_region: Any, expected: Any) -> None:
    resources = {f"Task{number}": logging_to(hint) for number, hint in enumerate(hints)}
    pool = only_pool({**resources, "Provider": PROVIDER}, region=stack_region)
    assert pool.region == expected
    assert pool.origin is not None
    assert pool.origin.place.region == expected
