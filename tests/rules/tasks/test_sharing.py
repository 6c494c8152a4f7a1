"""Shares of a GPU: what they say, which hosts serve them, and what neighbours cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.facts import OperatingSystem, image
from gpu_constructs.fleet import (
    UNKNOWN,
    Fleet,
    HostImage,
    Pool,
    PoolKind,
    Workload,
)
from gpu_constructs.rules import Rule
from gpu_constructs.rules.tasks.sharing import apart, new_enough, served, shareable
from tests.rules.given import (
    a_pool,
    container,
    fleet_of,
    managed_pool,
    mps,
    of_image,
    on_strategy,
    only,
    said,
    service,
    task_of,
)

SHARING = task_of(container(mps(), name="serve"))
OLD = "al2023-ami-ecs-gpu-hvm-2023.0.20260918-kernel-6.1-x86_64-ebs"
BOTTLEROCKET = a_pool(image=of_image("bottlerocket-ecs-2-nvidia-x86_64", release="1.66.0"))


def own(**declared: Any) -> Pool:
    return a_pool(image=HostImage(image=replace(image("al2023-gpu"), **declared), release="custom"))


def on(pool: Pool) -> Fleet:
    return fleet_of(SHARING, workloads=(service(SHARING, pool),))


def test_a_task_for_external_hosts_cannot_share() -> None:
    finding = only(shareable, fleet_of(replace(SHARING, compatibilities=("EC2", "EXTERNAL"))))
    assert finding.rule == "GPU032"
    assert "EXTERNAL cannot share GPUs" in finding.message


def test_a_service_of_launch_type_external_cannot_share() -> None:
    workload = Workload(name="edge", task=SHARING, launch_type="EXTERNAL")
    assert only(shareable, fleet_of(SHARING, workloads=(workload,))).subject == "edge"


def test_a_part_of_a_gpu_cannot_be_shared() -> None:
    finding = only(shareable, on(a_pool("g6f.xlarge", "g6f.2xlarge")))
    assert "g6f.xlarge and g6f.2xlarge" in finding.message
    assert finding.fix == "hosts with whole GPUs"


@pytest.mark.parametrize(
    "fleet",
    [
        on(replace(a_pool("g6f.xlarge"), has_unknown_types=True)),
        on_strategy(SHARING, (a_pool(), 1, 0), (a_pool("g6f.xlarge", name="part"), 0, 0)),
        on(a_pool("p3.2xlarge")),
        on(a_pool("inf2.xlarge")),
    ],
)
def test_hosts_that_can_share_and_tasks_that_do_not_are_silent(fleet: Fleet) -> None:
    assert said(shareable, fleet) == []


@pytest.mark.parametrize(
    ("pool", "rule", "words"),
    [
        (own(agent_version="1.106.2"), new_enough, "is declared with ECS agent 1.106.2, and 1.107.0 is the first"),
        (own(has_mps_service=False), new_enough, "is declared without nvidia-mps.service"),
        (BOTTLEROCKET, served, "documented nowhere"),
        (own(agent_version=None), served, "has ECS agent 1.107.0 or later and nvidia-mps.service is not known"),
    ],
)
def test_an_image_that_is_too_old_to_share_is_an_error_and_one_of_which_nobody_knows_a_warning(
    pool: Pool, rule: Rule, words: str
) -> None:
    (finding,) = [each for one in (new_enough, served) for each in said(one, on(pool))]
    id_, severity = ("GPU033", "error") if rule is new_enough else ("GPU030", "warning")
    assert (finding.rule, finding.severity) == (id_, severity)
    assert words in finding.message
    assert rule is served or "2023.0.20260922 or later" in finding.fix


@pytest.mark.parametrize(
    "pool",
    [
        a_pool(),
        managed_pool(),
        own(agent_version="2.0.0", has_mps_service=True, operating_system=OperatingSystem.AMAZON_LINUX_2),
    ],
)
def test_an_image_that_shares_is_silent(pool: Pool) -> None:
    assert said(new_enough, on(pool)) == []
    assert said(served, on(pool)) == []


def test_an_old_image_among_hosts_that_may_be_others_is_a_warning_only() -> None:
    old = a_pool(image=of_image(release=OLD), kind=PoolKind.INSTANCE)
    workload = Workload(name="s", task=SHARING, launch_type="EC2")
    fleet = Fleet(pools=(old,), tasks=(SHARING,), workloads=(workload,))
    assert said(new_enough, fleet) == []
    assert "2026-09-18" in only(served, fleet).message
    assert only(new_enough, replace(fleet, is_whole=True)).subject == "s"


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (service(SHARING, a_pool(), desired_count=UNKNOWN), "only known at deploy time"),
        (replace(service(SHARING, a_pool()), daemon=True), "one on every host"),
    ],
)
def test_copies_that_may_share_a_gpu_share_its_faults(workload: Workload, words: str) -> None:
    assert words in only(apart, fleet_of(SHARING, workloads=(workload,))).message
