"""What a group of hosts has to say before any of them starts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.changed import severities


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"Template": {"LaunchTemplateData": {"InstanceType": None}}}, ["error"]),
        ({"Template": {"LaunchTemplateData": {"ImageId": None}}}, ["error"]),
        ({"Template": {"LaunchTemplateData": {"ImageId": "ami-1"}}}, []),
        ({"Template": {"LaunchTemplateData": {"ImageId": "ami-1", "InstanceType": {"Fn::ImportValue": "T"}}}}, []),
        ({"Hosts": {"LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "1"}}}, []),
    ],
)
def test_a_group_has_an_image_and_a_type(properties: dict[str, Any], expected: list[str]) -> None:
    subnets = {"VPCZoneIdentifier": ["subnet-1"]}
    assert severities("GPU266", {**properties, "Hosts": {**subnets, **properties.get("Hosts", {})}}) == expected


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, ["warning"]),
        ({"Hosts": {"MaxSize": 1}}, []),
        ({"Hosts": {"VPCZoneIdentifier": {"Ref": "Subnets"}}}, []),
        ({"Near": {"Strategy": "spread"}}, []),
    ],
)
def test_a_cluster_placement_group_is_in_one_zone(properties: dict[str, Any], expected: list[str]) -> None:
    assert severities("GPU282", properties) == expected


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("ECSServiceAverageGPUUtilization", ["error"]),
        ("ALBRequestCountPerTarget", []),
        ("ECSServiceAverageMemoryUtilizationHighResolution", []),
        ({"Fn::ImportValue": "Metric"}, []),
    ],
)
def test_a_predefined_metric_exists(metric: Any, expected: list[str]) -> None:
    tracking = {"PredefinedMetricSpecification": {"PredefinedMetricType": metric}}
    assert severities("GPU281", {"Policy": {"TargetTrackingScalingPolicyConfiguration": tracking}}) == expected
