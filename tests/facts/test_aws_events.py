"""Events of ECS: do their fields have the texts that the API of ECS lists?"""

from __future__ import annotations

import boto3

from gpu_constructs.facts.aws_limits import LOST_HOST, NOT_STARTED


def test_stop_codes_are_those_of_the_api() -> None:
    model = boto3.client("ecs", region_name="us-east-1").meta.service_model
    assert {*LOST_HOST, NOT_STARTED} <= set(model.shape_for("TaskStopCode").enum)
