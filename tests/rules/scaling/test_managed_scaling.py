"""Hosts that nobody starts, nobody can stop, or that contradict themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.facts.aws_limits import MAX_CLUSTER_PROVIDERS
from gpu_constructs.fleet import UNKNOWN, Fleet, PoolKind
from gpu_constructs.rules import Severity, find_rule, rules_of
from gpu_constructs.rules.scaling import managed_scaling
from gpu_constructs.rules.scaling.managed_scaling import protection_works
from tests.rules.given import a_pool, a_task, asked, only, running_on, said

RULES = rules_of(managed_scaling)


def test_termination_protection_outlives_the_stack() -> None:
    found = asked(RULES, a_pool(managed_termination_protection=True))
    assert list(found) == ["GPU007"]
    assert found["GPU007"].severity is Severity.INFO
    assert "2862" in found["GPU007"].message
    assert asked(RULES, a_pool(managed_termination_protection=UNKNOWN)) == {}


def test_a_cluster_has_no_more_providers_than_its_quota() -> None:
    pools = tuple(a_pool(name=f"P{each}", cluster="gpu") for each in range(MAX_CLUSTER_PROVIDERS + 1))
    found = asked(RULES, Fleet(pools=pools))
    assert list(found) == ["GPU013"]
    assert "21 capacity providers, and the service quota is 20" in found["GPU013"].message
    assert found["GPU013"].subject == "P20"
    assert asked(RULES, Fleet(pools=pools[1:])) == {}


def test_a_service_on_an_empty_pool_that_nothing_scales_waits() -> None:
    found = asked(RULES, running_on(a_pool(managed_scaling=False)))
    assert list(found) == ["GPU110"]
    assert "nothing starts hosts for chat-service unless you scale the group yourself" in found["GPU110"].message
    assert found["GPU110"].severity is Severity.WARNING


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
        {"managed_scaling": UNKNOWN},
        {"managed_scaling": False, "min_instances": 1},
        {"managed_scaling": False, "min_instances": UNKNOWN},
        {"managed_scaling": False, "desired_instances": 1},
        {"managed_scaling": False, "kind": PoolKind.MANAGED_INSTANCES},
        {"managed_scaling": False, "has_provider": False},
    ],
    ids=str,
)
def test_a_service_whose_hosts_are_there_or_come_is_fine(changes: dict[str, Any]) -> None:
    assert asked(RULES, running_on(a_pool(**changes))) == {}


def test_an_empty_pool_that_no_service_waits_for_is_fine() -> None:
    pool = a_pool(managed_scaling=False)
    assert asked(RULES, pool) == {}
    assert asked(RULES, running_on(pool, desired_count=0)) == {}


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({}, ["GPU110"]),
        ({"has_provider": False}, ["GPU110"]),
        ({"managed_scaling": True}, []),
        ({"managed_scaling": UNKNOWN}, []),
        ({"desired_instances": 3}, []),
        ({"may_be_started_by_others": True}, []),
    ],
)
def test_hosts_that_nothing_starts_do_not_count(changes: dict[str, Any], rules: list[str]) -> None:
    pool = a_pool(**{"managed_scaling": False, "min_instances": 1, "group": "Group", **changes})
    (workload,) = running_on(pool, task=a_task("1")).workloads
    fleet = Fleet(pools=(pool,), workloads=(replace(workload, desired_count=3),))
    findings = said(find_rule("GPU110"), fleet)
    assert [each.rule for each in findings] == rules
    assert all(each.severity is Severity.WARNING and "needs 3 hosts of Hosts" in each.message for each in findings)


@pytest.mark.parametrize(
    ("changes", "severity", "words"),
    [
        ({"managed_scaling": False}, Severity.WARNING, "managed scaling is off"),
        ({"managed_scaling": False, "scale_in_protection": False}, Severity.WARNING, "managed scaling is off"),
        ({"scale_in_protection": False}, Severity.ERROR, "does not protect new hosts from scale-in"),
    ],
)
def test_protection_that_does_not_work(changes: dict[str, Any], severity: Severity, words: str) -> None:
    finding = only(protection_works, a_pool(managed_termination_protection=True, **changes))
    assert finding.severity is severity
    assert words in finding.message


@pytest.mark.parametrize(
    "changes",
    [
        {"managed_termination_protection": True},
        {"managed_termination_protection": True, "scale_in_protection": True},
        {"managed_termination_protection": True, "managed_scaling": UNKNOWN},
        {"managed_termination_protection": False, "managed_scaling": False},
        {"managed_termination_protection": UNKNOWN, "managed_scaling": False, "scale_in_protection": False},
        {"managed_termination_protection": True, "managed_scaling": False, "kind": PoolKind.BATCH},
    ],
)
def test_protection_that_works_or_is_off_is_silent(changes: dict[str, Any]) -> None:
    assert said(protection_works, a_pool(**changes)) == []
