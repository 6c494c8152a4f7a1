"""Service auto scaling: who sets the count, what wakes a service, which range there is."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, ServiceScaling
from gpu_constructs.rules import rules_of
from gpu_constructs.rules.scaling import service_scaling
from gpu_constructs.rules.scaling.service_scaling import numbers_are_left
from tests.reports import of_part
from tests.rules.given import a_pool, only, running_on, said

RULES = rules_of(service_scaling)
REQUESTS = "ALBRequestCountPerTarget"
CPU = "ECSServiceAverageCPUUtilization"


def found(scaling: dict[str, Any] | None, **workload: Any) -> list[str]:
    scaled = None if scaling is None else ServiceScaling(**{"least": 1, "most": 4, **scaling})
    fleet = running_on(a_pool(), **{"desired_count": UNKNOWN, "scaling": scaled, **workload})
    return [each.rule for each in said(RULES, fleet)]


@pytest.mark.parametrize(
    ("scaling", "rules"),
    [
        ({"least": 0, "by": (REQUESTS, CPU)}, ["GPU211"]),
        ({"least": 0}, []),
    ],
)
def test_what_is_asked_of_a_scaled_service(scaling: dict[str, Any], rules: list[str]) -> None:
    assert found(scaling) == rules


@pytest.mark.parametrize(("by", "rules"), [(REQUESTS, ["GPU213"]), (CPU, [])])
def test_requests_are_counted_after_each_deployment(by: str, rules: list[str]) -> None:
    assert found({"by": (by,)}, deployment_strategy="CANARY") == rules


def test_nothing_but_managed_scaling_sets_the_number_of_hosts() -> None:
    for count in (0, 2):
        group = running_on(a_pool(desired_instances=count))
        assert f"sets it to {count} again" in only(numbers_are_left, group).message
    in_order: list[dict[str, Any]] = [
        {"desired_instances": UNKNOWN},
        {"desired_instances": 2, "has_provider": False},
        {"desired_instances": 2, "min_instances": 2, "max_instances": 2},
    ]
    for fine in in_order:
        assert said(numbers_are_left, running_on(a_pool(**fine))) == []


_POLICY = """
Resources:
  Policy:
    Type: AWS::AutoScaling::ScalingPolicy
    Properties: {AutoScalingGroupName: !Ref Hosts, %s}
  Provider: {Properties: {AutoScalingGroupProvider: {ManagedScaling: {Status: %s}}}}
"""


@pytest.mark.parametrize(
    ("policy", "managed", "rules"),
    [
        ("PolicyType: TargetTrackingScaling", "ENABLED", ["GPU210"]),
        (
            "PolicyType: PredictiveScaling, PredictiveScalingConfiguration: {Mode: ForecastAndScale}",
            "ENABLED",
            ["GPU210"],
        ),
        ("PolicyType: PredictiveScaling, PredictiveScalingConfiguration: {Mode: ForecastOnly}", "ENABLED", []),
        ("PolicyType: StepScaling", "DISABLED", []),
    ],
)
def test_a_group_has_managed_scaling_or_a_policy_of_its_own(policy: str, managed: str, rules: list[str]) -> None:
    assert [each.rule for each in of_part("GPU210", _POLICY % (policy, managed))] == rules
