"""Events of ECS: do their fields have the texts that the API of ECS lists?"""

from __future__ import annotations

import boto3
import pytest

from gpu_constructs.hardware.aws_events import EVENT_VALUES, HOST_HEALTH, TASK_STATE


@pytest.mark.parametrize(
    ("event", "field", "shape"),
    [
        (TASK_STATE, "detail.stopCode", "TaskStopCode"),
        (TASK_STATE, "detail.launchType", "LaunchType"),
        (HOST_HEALTH, "detail.overallStatus", "InstanceHealthCheckState"),
    ],
)
def test_the_values_are_those_of_the_api(event: str, field: str, shape: str) -> None:
    model = boto3.client("ecs", region_name="us-east-1").meta.service_model
    assert set(EVENT_VALUES[event, field]) == set(model.shape_for(shape).enum)
