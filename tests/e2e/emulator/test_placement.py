from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from ecs_emulator.expressions import Subjects
from ecs_emulator.placement import ALL, Demand, Failure, GpuDemand, Host, Placement, place

FOUR = Host(
    arn="four",
    subjects=Subjects({"ecs.instance-type": "g6.12xlarge", "ecs.cpu-architecture": "x86_64"}),
    cpu=48 * 1024,
    memory=180_000,
    gpus=("a", "b", "c", "d"),
    gpu_total=4,
    ports=frozenset({22}),
)


def gpus(*counts: float | Literal["ALL"]) -> Demand:
    return Demand(gpus=tuple(GpuDemand(f"container-{index}", count) for index, count in enumerate(counts)))


def placed(demand: Demand, *hosts: Host) -> Placement:
    outcome = place(demand, hosts)
    assert isinstance(outcome, Placement)
    return outcome


@pytest.mark.parametrize(
    ("demand", "reason"),
    [
        (gpus(5), "RESOURCE:GPU"),
        (gpus(3, 2), "RESOURCE:GPU"),
        (gpus(0.25), "RESOURCE:GPU"),
        (Demand(cpu=48 * 1024 + 1), "RESOURCE:CPU"),
        (Demand(memory=180_001), "RESOURCE:MEMORY"),
        (Demand(ports=frozenset({22})), "RESOURCE:PORTS"),
        (Demand(attributes={"ecs.cpu-architecture": "arm64"}), "ATTRIBUTE"),
        (
            Demand(constraints=("attribute:ecs.instance-type in [g6.xlarge]",)),
            "MemberOf placement constraint unsatisfied.",
        ),
        (
            Demand(cpu=10**6, constraints=("attribute:ecs.instance-type =~ g6.*", "attribute:x exists")),
            "MemberOf placement constraint unsatisfied.",
        ),
    ],
)
def test_a_host_that_refuses_a_task_says_why(demand: Demand, reason: str) -> None:
    assert place(demand, [FOUR]) == (Failure("four", reason),)


def test_a_task_that_is_to_be_alone_stays_off_hosts_with_tasks_of_its_group() -> None:
    used = replace(FOUR, arn="used", subjects=replace(FOUR.subjects, task_groups=frozenset({"service:web"})))
    assert place(Demand(apart="service:web"), [used]) == (
        Failure("used", "DistinctInstance placement constraint unsatisfied."),
    )
    assert placed(Demand(apart="service:web"), used, FOUR).host.arn == "four"
    assert placed(Demand(apart="service:other"), used).host.arn == "used"


def test_all_takes_every_gpu_of_an_untouched_host() -> None:
    assert placed(gpus(ALL), FOUR).gpus == {"container-0": ("a", "b", "c", "d")}
    assert place(gpus(ALL), [replace(FOUR, gpus=("a", "b"))]) == (Failure("four", "RESOURCE:GPU"),)


def test_a_part_of_a_gpu_goes_to_a_host_that_has_such_a_part() -> None:
    quarter = replace(FOUR, arn="quarter", gpus=("q",), gpu_total=1, gpu_share=0.25)

    assert placed(gpus(0.25), FOUR, quarter).gpus == {"container-0": ("q",)}
    assert place(gpus(0.5), [quarter]) == (Failure("quarter", "RESOURCE:GPU"),)
