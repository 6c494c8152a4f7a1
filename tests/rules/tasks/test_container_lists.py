"""The containers of a task definition among themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.check.report import check_files
from gpu_constructs.fleet import UNKNOWN, Container, Dependency, Fleet, Relations, Scheduler, Task, Unknown
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
        ([worker(), *[helper(f"h{index}") for index in range(10)]], "train has 11 containers, and a task definition "),
        ([worker(), helper("main")], "2 containers of train are called 'main'"),
        ([worker(essential=False), helper("h")], "no container of train is essential"),
        ([worker("logs")], "container main of train depends on 'logs', and the task has main only"),
        ([worker("logs"), helper("unknown")], "depends on 'logs', and the task has main and unknown only"),
        ([worker("main")], "container main of train waits for itself"),
        ([worker("h"), helper("h", "main")], "wait for each other in a circle: main → h → main"),
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
        [worker(essential=UNKNOWN), helper("h")],
        [worker("h"), helper("h")],
        [worker("a", "b"), helper("a", "b"), helper("b")],
        [worker(), helper(""), helper("")],
        [worker("logs"), open_helper("unknown")],
        [worker(), helper("unknown"), open_helper("unknown")],
    ],
)
def test_what_ecs_takes_or_may_take_is_silent(containers: list[Container]) -> None:
    assert said(taken_together, fleet_of(task_of(*containers))) == []


def test_a_task_without_a_gpu_counts_where_it_runs_on_hosts_with_one() -> None:
    exporter = task_of(helper("dcgm", "gone", essential=True))
    assert only(taken_together, running_on(a_pool("g6.xlarge"), task=exporter)).rule == "GPU127"
    assert said(taken_together, running_on(a_pool("m6i.large"), task=exporter)) == []


@pytest.mark.parametrize(
    "task",
    [
        Task(name="none"),
        replace(task_of(worker(essential=False)), scheduler=Scheduler.BATCH),
        task_of(helper("a"), helper("a")),
    ],
)
def test_jobs_of_batch_and_tasks_without_accelerators_are_for_others(task: Task) -> None:
    assert said(taken_together, Fleet(tasks=(task,))) == []


@pytest.mark.parametrize(
    ("condition", "other", "words"),
    [
        ("SUCCESS", helper("init", essential=True), "init is essential, so the task would end with it"),
        ("COMPLETE", helper("init", essential=True), "container main of train waits until container init has ended"),
        ("HEALTHY", replace(helper("init"), has_health_check=False), "init has no health check"),
    ],
)
def test_a_state_that_never_comes_is_an_error(condition: str, other: Container, words: str) -> None:
    main = replace(worker(), relations=after("init", condition=condition))
    finding = only(taken_together, fleet_of(task_of(main, other)))
    assert (finding.severity, words in finding.message) == (Severity.ERROR, True)


@pytest.mark.parametrize(
    ("condition", "other"),
    [
        ("SUCCESS", helper("init")),
        ("SUCCESS", helper("init", essential=UNKNOWN)),
        (UNKNOWN, helper("init", essential=True)),
        ("START", helper("init", essential=True)),
        ("HEALTHY", replace(helper("init"), has_health_check=True)),
        ("HEALTHY", helper("init")),
    ],
)
def test_a_state_that_comes_or_may_come_is_silent(condition: str | Unknown, other: Container) -> None:
    main = replace(worker(), relations=after("init", condition=condition))
    assert not said(taken_together, fleet_of(task_of(main, other)))


def test_volumes_and_log_routing_come_from_containers_of_the_task() -> None:
    main = replace(worker(), relations=Relations(volumes_from=("data",)))
    assert "mounts the volumes of 'data'" in only(taken_together, fleet_of(task_of(main))).message
    assert not said(taken_together, fleet_of(task_of(main, helper("data"))))
    assert not said(taken_together, fleet_of(task_of(main, open_helper("unknown"))))
    sender = replace(worker(), relations=Relations(log_driver="awsfirelens"))
    assert "no container of the task routes" in only(taken_together, fleet_of(task_of(sender))).message
    router = replace(helper("logs"), relations=Relations(is_log_router=True))
    assert not said(taken_together, fleet_of(task_of(sender, router)))


@pytest.mark.parametrize(
    ("volumes", "words"),
    [((), "mounts volume models, and the task has no volumes"), (("model",), "and the task has model")],
)
def test_a_volume_that_the_task_does_not_have_is_an_error(volumes: tuple[str, ...], words: str) -> None:
    mounting = replace(container(gpu()), relations=Relations(mounts=("models", "models")))
    (finding,) = said(taken_together, fleet_of(replace(task_of(mounting), volumes=volumes)))
    assert words in finding.message


@pytest.mark.parametrize("volumes", [("models", "other"), UNKNOWN])
def test_a_volume_that_may_be_there_is_none(volumes: Any) -> None:
    mounting = replace(container(gpu()), relations=Relations(mounts=("models",)))
    assert not said(taken_together, fleet_of(replace(task_of(mounting), volumes=volumes)))


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"volumes": [{"name": "a"}]}, {"GPU127"}),
        ({"volumes": [{"name": "models"}]}, set()),
        ({"volumes": [{"name": "${name}"}]}, set()),
        ({}, {"GPU127"}),
    ],
)
def test_the_volumes_of_a_file_are_read(properties: dict[str, Any], expected: set[str]) -> None:
    one = {
        "name": "a",
        "image": "x",
        "memory": 512,
        "resourceRequirements": [{"type": "GPU", "value": "1"}],
        "mountPoints": [{"sourceVolume": "models", "containerPath": "/m"}],
    }
    for content in ({"family": "t", **properties, "containerDefinitions": [one]}, [one]):
        found = {each.rule for each in check_files(["-"], stdin=json.dumps(content).encode()).findings}
        assert found & {"GPU127"} == (expected if isinstance(content, dict) else set())


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


def linked() -> Container:
    return replace(container(gpu()), used_keys=("Links",))


@pytest.mark.parametrize("mode", ["awsvpc", "host", "none"])
def test_links_need_the_bridge(mode: str) -> None:
    assert f"has {mode}" in only(taken_together, fleet_of(replace(task_of(linked()), network_mode=mode))).message
    assert said(taken_together, fleet_of(replace(task_of(container(gpu())), network_mode=mode))) == []


def test_links_on_the_bridge_are_silent() -> None:
    assert said(taken_together, fleet_of(task_of(linked()))) == []
