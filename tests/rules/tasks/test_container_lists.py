"""The containers of a task definition among themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import Container, Dependency, Relations, Unknown
from gpu_constructs.rules import Severity
from gpu_constructs.rules.tasks.container_lists import health_check, taken_together
from tests.rules.given import a_pool, container, fleet_of, gpu, only, running_on, said, task_of


def after(*names: str, condition: str | Unknown = "START") -> Relations:
    return Relations(depends_on=tuple(Dependency(container=each, condition=condition) for each in names))


def worker(*depends_on: str, name: str = "main", essential: bool | Unknown = True) -> Container:
    return replace(container(gpu(), name=name), relations=after(*depends_on), essential=essential)


def helper(name: str, *depends_on: str, essential: bool | Unknown = False) -> Container:
    return replace(container(name=name), relations=after(*depends_on), essential=essential)


def open_helper(called: str) -> Container:
    return replace(helper(called), has_open_name=True)


@pytest.mark.parametrize(
    ("containers", "words"),
    [
        ([worker(), helper("main")], "2 containers of train are called 'main'"),
        ([worker("main")], "container main of train waits for itself"),
        ([worker("a"), helper("a", "b"), helper("b", "c"), helper("c", "a")], "in a circle: a → b → c → a"),
    ],
)
def test_what_ecs_refuses_is_an_error(containers: list[Container], words: str) -> None:
    finding = only(taken_together, fleet_of(task_of(*containers)))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU127", Severity.ERROR, "train")
    assert words in finding.message
    assert finding.fix


@pytest.mark.parametrize(
    "containers",
    [
        [worker(), *[helper(f"h{index}") for index in range(9)]],
        [worker(), helper(""), helper("")],
        [worker("logs"), open_helper("unknown")],
    ],
)
def test_what_ecs_takes_or_may_take_is_silent(containers: list[Container]) -> None:
    assert said(taken_together, fleet_of(task_of(*containers))) == []


def test_a_task_without_a_gpu_counts_where_it_runs_on_hosts_with_one() -> None:
    exporter = task_of(helper("dcgm", "gone", essential=True))
    assert only(taken_together, running_on(a_pool("g6.xlarge"), task=exporter)).rule == "GPU127"
    assert said(taken_together, running_on(a_pool("m6i.large"), task=exporter)) == []


@pytest.mark.parametrize(
    ("volumes", "words"),
    [((), "mounts volume models, and the task has no volumes"), (("model",), "and the task has model")],
)
def test_a_volume_that_the_task_does_not_have_is_an_error(volumes: tuple[str, ...], words: str) -> None:
    mounting = replace(container(gpu()), relations=Relations(mounts=("models", "models")))
    (finding,) = said(taken_together, fleet_of(replace(task_of(mounting), volumes=volumes)))
    assert words in finding.message


def _checked(**numbers: int) -> Container:
    return replace(container(gpu()), health_check=tuple(numbers.items()))


@pytest.mark.parametrize(("key", "number"), [("StartPeriod", 301), ("Timeout", 61)])
def test_a_number_beyond_the_limits_of_ecs_is_an_error(key: str, number: int) -> None:
    finding = only(health_check, fleet_of(task_of(_checked(**{key: number}))))
    assert (finding.property_name, finding.value) == (f"HealthCheck.{key}", number)


def test_the_limits_themselves_are_silent() -> None:
    least = _checked(StartPeriod=0, Interval=5, Timeout=2, Retries=1)
    most = _checked(StartPeriod=300, Interval=300, Timeout=60, Retries=10)
    assert said(health_check, fleet_of(task_of(least, replace(most, name="other")))) == []
