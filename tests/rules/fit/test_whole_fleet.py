"""Everything at once: what has room alone and none together, what stands idle and costs money."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_constructs.fleet import UNKNOWN, Pool, ServiceScaling, Unknown, Workload
from gpu_constructs.rules import Finding, Severity, rules_of
from gpu_constructs.rules.fit import whole_fleet
from tests.rules import given
from tests.rules.fit.test_copies_fit import pool
from tests.rules.given import container, fleet_of, gpu, said, task_of

RULES = rules_of(whole_fleet)


def service(
    name: str, of: Pool, gpus: int = 1, copies: int | Unknown = 1, *, most: int | None = None, vcpus: int = 1
) -> Workload:
    main = replace(container(*([gpu(str(gpus))] if gpus else [])), cpu=vcpus * 1024)
    task = task_of(main, name=f"{name}-task")
    scaling = None if most is None else ServiceScaling(most=most)
    return given.service(task, of, name=name, desired_count=copies, scaling=scaling)


def found(*workloads: Workload) -> list[Finding]:
    return said(RULES, fleet_of(workloads=workloads))


L4 = pool()


@pytest.mark.parametrize(
    ("workloads", "rule", "severity", "words"),
    [pytest.param(
            [service("chat", L4, 3, 2), service("rank", L4, 2)],
            "GPU080",
            Severity.ERROR,
            ["chat and rank would each have room on L4 alone", "need 3 hosts for GPUs", "MaxSize is 2"],
            id="GPUs",
        ), pytest.param(
            [service("chat", L4, 4, 1, most=2), service("rank", L4, 4, 1)],
            "GPU080",
            Severity.WARNING,
            ["chat at 2 and rank at 1 copies", "need 3 hosts"],
            id="scaling beside others",
        ), pytest.param(
            [service("chat", L4, 1, 2, vcpus=40)],
            "GPU085",
            Severity.WARNING,
            ["3 of 4 GPUs of each g6.12xlarge stay idle", "CPU", "40 vCPU and 4096 MiB for each task leave room for 1",
             "$6.90 of $9.20 an hour", "2026-07-20"],
            id="stranded GPUs",
        ), pytest.param(
            [service("chat", L4, 3, 2)],
            "GPU085",
            Severity.WARNING,
            ["1 of 4 GPUs of each g6.12xlarge can never be used", "tasks here ask for 3 GPUs", "$1.15 of $4.60 an hour",
             "1, 2 or 4 GPUs for each task"],
            id="GPUs that are fewer than any task asks for",
        )],
)  # fmt: skip
def test_what_is_found_is_said_with_the_numbers(
    workloads: list[Workload], rule: str, severity: Severity, words: list[str]
) -> None:
    (finding,) = found(*workloads)
    assert (finding.rule, finding.severity) == (rule, severity)
    text = f"{finding.message}; {finding.fix}"
    assert [word for word in words if word not in text] == []


def test_a_packing_that_only_the_best_order_finds_may_not_be_found() -> None:
    hosts = pool("g6.48xlarge", name="L4")  # 8 GPUs, 192 vCPU
    sizes = [(1, 37), (4, 90), (2, 88), (2, 52), (3, 33), (4, 17)]  # two hosts hold them, but no order of first fit
    said = found(*(service(f"w{index}", hosts, gpus, vcpus=vcpus) for index, (gpus, vcpus) in enumerate(sizes)))
    (finding,) = [each for each in said if each.rule == "GPU080"]
    assert finding.severity is Severity.WARNING
    assert (
        "may need 3 hosts, if the largest tasks are placed first, and MaxSize is 2; at least 2 are needed"
        in finding.message
    )


@pytest.mark.parametrize(
    "workloads",
    [
        pytest.param([service("chat", L4, 3, 2), service("rank", L4, 1, 2)], id="all of them fit"),
        pytest.param([service("chat", L4, 3, 2), service("rank", L4, 2, 0)], id="two of the smaller fill a host"),
        pytest.param([service("chat", L4, 4, 3)], id="one alone is another rule's"),
        pytest.param([service("chat", L4, 4, 3), service("rank", L4)], id="one that has no room alone"),
        pytest.param([service("chat", L4, 4, UNKNOWN), service("rank", L4, 4)], id="an unknown count"),
        pytest.param([service("chat", pool(most=UNKNOWN), 4, 9, most=99)], id="an unknown number of hosts"),
        pytest.param([service("chat", L4, 4, 3, most=4)], id="too many from the beginning is said once"),
    ],
)
def test_what_has_room_and_wastes_nothing_is_silent(workloads: list[Workload]) -> None:
    assert found(*workloads) == []


def test_gpus_are_not_idle_for_interfaces_that_nobody_recorded() -> None:
    def of(name: str) -> Workload:
        one = service("chat", pool(name, most=1), 1, 8)
        assert one.task is not None
        return replace(one, task=replace(one.task, network_mode="awsvpc"))

    assert [each.rule for each in found(of("g5.48xlarge"))] == ["GPU085"]
    assert found(of("p2.8xlarge")) == []
