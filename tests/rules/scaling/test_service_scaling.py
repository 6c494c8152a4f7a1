"""Service auto scaling: who sets the count, what wakes a service, which range there is."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import STEPS_IN_PERCENT, UNKNOWN
from gpu_constructs.rules import rules_of
from gpu_constructs.rules.scaling import service_scaling
from tests.rules.given import a_pool, running_on, said

RULES = rules_of(service_scaling)
REQUESTS = "ALBRequestCountPerTarget"
CPU = "ECSServiceAverageCPUUtilization"


def found(**workload: Any) -> list[str]:
    scaled = {"desired_count": UNKNOWN, "min_count": 1, "max_count": 4, **workload}
    return [each.rule for each in said(RULES, running_on(a_pool(), **scaled))]


@pytest.mark.parametrize(
    ("workload", "rules"),
    [
        ({"desired_count": 2}, ["GPU210"]),
        ({"desired_count": 2, "min_count": None, "max_count": None}, []),
        ({"min_count": 0, "scaled_by": (REQUESTS, CPU)}, ["GPU211"]),
        ({"min_count": 0, "scaled_by": (REQUESTS, "StepScaling")}, []),
        ({"min_count": 0, "scaled_by": (REQUESTS, UNKNOWN)}, []),
        ({"min_count": 0, "scaled_by": (REQUESTS, STEPS_IN_PERCENT)}, ["GPU211"]),
        ({"min_count": 0}, []),
        ({"min_count": 5}, ["GPU212"]),
        ({"min_count": 5, "max_count": UNKNOWN}, []),
        ({"scheduled": ((6, 2),)}, ["GPU212"]),
        ({"scheduled": ((5, None),)}, ["GPU212"]),
        ({"scheduled": ((None, 0),)}, ["GPU212"]),
        ({"scheduled": ((5, 8), (0, 0), (None, None), (UNKNOWN, 0), (5, UNKNOWN))}, []),
        ({"scaled_by": (REQUESTS,), "deployment_strategy": "CANARY"}, ["GPU213"]),
        ({"scaled_by": (CPU,), "deployment_strategy": "CANARY"}, []),
    ],
)
def test_what_is_asked_of_a_scaled_service(workload: dict[str, Any], rules: list[str]) -> None:
    assert found(**workload) == rules
