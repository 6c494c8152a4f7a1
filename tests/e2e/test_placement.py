from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from emulator.expressions import Subjects
from emulator.placement import ALL, Demand, Failure, GpuDemand, Host, Placement, place

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


def test_containers_of_a_task_get_gpus_of_their_own() -> None:
    outcome = placed(gpus(1, 2), FOUR)

    assert outcome.gpus == {"container-0": ("a",), "container-1": ("b", "c")}
    assert outcome.host.gpus == ("d",)


def test_a_task_leaves_less_for_the_next() -> None:
    after = placed(Demand(cpu=1024, memory=80_000, ports=frozenset({80})), FOUR).host

    assert (after.cpu, after.memory, after.ports) == (47 * 1024, 100_000, frozenset({22, 80}))


def test_the_first_host_that_takes_the_task_gets_it() -> None:
    full = replace(FOUR, arn="full", gpus=())

    assert placed(gpus(1), full, FOUR).host.arn == "four"


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


def test_every_host_has_its_own_reason() -> None:
    hosts = [replace(FOUR, arn="busy", gpus=()), replace(FOUR, arn="small", memory=1)]

    assert place(replace(gpus(1), memory=2), hosts) == (
        Failure("busy", "RESOURCE:GPU"),
        Failure("small", "RESOURCE:MEMORY"),
    )


def test_no_hosts_give_no_reasons() -> None:
    assert place(gpus(1), []) == ()


def test_all_takes_every_gpu_of_an_untouched_host() -> None:
    assert placed(gpus(ALL), FOUR).gpus == {"container-0": ("a", "b", "c", "d")}
    assert place(gpus(ALL), [replace(FOUR, gpus=("a", "b"))]) == (Failure("four", "RESOURCE:GPU"),)


def test_a_part_of_a_gpu_goes_to_a_host_that_has_such_a_part() -> None:
    quarter = replace(FOUR, arn="quarter", gpus=("q",), gpu_total=1, gpu_share=0.25)

    assert placed(gpus(0.25), FOUR, quarter).gpus == {"container-0": ("q",)}
    assert place(gpus(0.5), [quarter]) == (Failure("quarter", "RESOURCE:GPU"),)
