"""Numbers of health checks, links, and numbers in place of strings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpu_constructs.checking.report import check_files
from gpu_constructs.fleet import Container
from gpu_constructs.rules.tasks.container_settings import health_check, links, texts
from tests.rules.given import container, fleet_of, gpu, only, said, task_of

LINKED = replace(container(gpu()), used_keys=("Links",))


def _checked(**numbers: int) -> Container:
    return replace(container(gpu()), health_check=tuple(numbers.items()))


@pytest.mark.parametrize(("key", "number"), [("StartPeriod", 301), ("Interval", 4), ("Timeout", 61), ("Retries", 0)])
def test_a_number_beyond_the_limits_of_ecs_is_an_error(key: str, number: int) -> None:
    finding = only(health_check, fleet_of(task_of(_checked(**{key: number}))))
    assert (finding.property_name, finding.value) == (f"HealthCheck.{key}", number)


def test_the_limits_themselves_are_silent() -> None:
    least = _checked(StartPeriod=0, Interval=5, Timeout=2, Retries=1)
    most = _checked(StartPeriod=300, Interval=300, Timeout=60, Retries=10)
    assert said(health_check, fleet_of(task_of(least, replace(most, name="other")))) == []


@pytest.mark.parametrize("mode", ["awsvpc", "host", "none"])
def test_links_need_the_bridge(mode: str) -> None:
    assert f"has {mode}" in only(links, fleet_of(replace(task_of(LINKED), network_mode=mode))).message
    assert said(links, fleet_of(replace(task_of(container(gpu())), network_mode=mode))) == []


def test_links_on_the_bridge_are_silent() -> None:
    assert said(links, fleet_of(task_of(LINKED))) == []


@pytest.mark.parametrize(("value", "found"), [(1, ["GPU292"]), ("1", []), (True, [])])
def test_the_api_takes_no_number_for_a_text(value: object, found: list[str]) -> None:
    requirement = {"type": "GPU", "value": value}
    written = {
        "family": "chat",
        "containerDefinitions": [
            {"name": "vllm", "image": "vllm", "memory": 8192, "resourceRequirements": [requirement]}
        ],
    }
    findings = check_files(["-"], stdin=json.dumps(written).encode()).findings
    assert [each.rule for each in findings if each.rule == "GPU292"] == found


def test_cloudformation_turns_a_number_into_a_text() -> None:
    number = replace(gpu("1"), is_number=True)
    assert said(texts, fleet_of(task_of(container(number)))) == []
    assert said(texts, fleet_of(replace(task_of(container(number)), is_api_request=True)))
