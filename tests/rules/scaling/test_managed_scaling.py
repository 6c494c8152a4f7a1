"""Hosts that nobody starts, nobody can stop, or that contradict themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import PoolKind
from gpu_constructs.rules import Severity, rules_of
from gpu_constructs.rules.scaling import managed_scaling
from tests.rules.changed import severities
from tests.rules.given import a_pool, asked, running_on

RULES = rules_of(managed_scaling)


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"group": "Hosts"}, Severity.ERROR),
        ({"group": "Hosts", "may_be_started_by_others": True}, Severity.WARNING),
        ({}, Severity.WARNING),
    ],
)
def test_that_is_an_error_where_nothing_else_can_start_hosts(changes: dict[str, Any], severity: Severity) -> None:
    fleet = replace(running_on(a_pool(managed_scaling=False, **changes)), is_whole=True)
    assert asked(RULES, fleet)["GPU110"].severity is severity


@pytest.mark.parametrize(
    "changes",
    [
        {"managed_scaling": True},
        {"managed_scaling": False, "desired_instances": 1},
        {"managed_scaling": False, "kind": PoolKind.MANAGED_INSTANCES},
    ],
    ids=str,
)
def test_a_service_whose_hosts_are_there_or_come_is_fine(changes: dict[str, Any]) -> None:
    assert asked(RULES, running_on(a_pool(**changes))) == {}


def test_an_empty_pool_that_no_service_waits_for_is_fine() -> None:
    pool = a_pool(managed_scaling=False)
    assert asked(RULES, pool) == {}
    assert asked(RULES, running_on(pool, desired_count=0)) == {}


@pytest.mark.parametrize(("weights", "expected"), [(["1", "2"], ["error"]), (["1", "1"], ["warning"]), ([], [])])
def test_ecs_supports_no_weights_and_those_of_one_change_nothing(weights: list[str], expected: list[str]) -> None:
    types = ("g6.xlarge", "g6.2xlarge")
    weighted = [
        {"InstanceType": each, "WeightedCapacity": weight} for each, weight in zip(types, weights, strict=False)
    ]
    overrides = weighted or [{"InstanceType": each} for each in types]
    changed = {"Hosts": {"MixedInstancesPolicy": {"LaunchTemplate": {"Overrides": overrides}}}}
    assert severities("GPU269", changed) == expected
