"""Tasks on the hosts that they may be placed on: what certainly does not fit, and what may not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.facts import accelerated, instance_type
from gpu_constructs.fleet import (
    UNKNOWN,
    Fleet,
    InstanceRequirements,
    PlacementConstraint,
    Pool,
    PoolKind,
    Task,
    Unknown,
    UserData,
)
from gpu_constructs.placement.pool_profile import share_of
from gpu_constructs.rules import Severity, check
from tests.rules.given import FIT_RULES, a_pool, a_task, found, on_launch_type, on_strategy, only, running_on, unpriced

ONE_G6 = InstanceRequirements(allowed_instance_types=("g6.*",), accelerator_count=(1, 1))
KEPT = UserData(agent=(("ECS_RESERVED_MEMORY", "256"),))


@pytest.mark.parametrize(
    "fleet",
    [
        running_on(a_pool()),
        running_on(a_pool(), task=a_task("1", cpu_limit=4096, memory_limit_mib=14899)),
        running_on(a_pool(), task=a_task(cpu_limit=1024, memory_limit_mib=1024)),
        running_on(a_pool("g5.xlarge", "g5.2xlarge", "g5.4xlarge"), task=a_task("1")),
        running_on(a_pool(has_unknown_types=True), task=a_task("8")),
    ],
)
def test_what_fits_or_is_not_known_to_be_too_large_has_no_finding(fleet: Fleet) -> None:
    assert found(fleet) == []


@pytest.mark.parametrize(
    ("task", "pool", "message", "fix"),
    [
        (
            a_task("4"),
            a_pool("g5.xlarge"),
            "train does not fit on Hosts: GPUs: 4 asked, g5.xlarge has 1",
            "hosts of a type such as g5.12xlarge, or GPUs no higher than 1",
        ),
        (
            a_task("1", cpu_limit=8192),
            a_pool("g4dn.xlarge"),
            "CPU units: 8192 asked, g4dn.xlarge has 4096",
            "hosts of a type such as g4dn.2xlarge, or CPU units no higher than 4096",
        ),
        (
            a_task("1", memory_limit_mib=73728),
            a_pool("g5.xlarge", "g5.4xlarge", kind=PoolKind.MANAGED_INSTANCES),
            "memory: 73728 MiB asked, g5.4xlarge has 65536 MiB",
            "memory no higher than 60620 MiB",
        ),
        (
            a_task("4", cpu_limit=8192, memory_limit_mib=20480),
            a_pool("g6.xlarge", "g6.2xlarge", kind=PoolKind.MANAGED_INSTANCES, requirements=ONE_G6),
            "GPUs: 4 asked, g6.2xlarge has 1",
            "hosts of a type such as g6.12xlarge, which AcceleratorCount 1 to 1 keeps out, or GPUs no higher than 1",
        ),
        (a_task(memory_limit_mib=8192), a_pool("c7i.large"), "memory: 8192 MiB asked, c7i.large has 4096 MiB", "c7i."),
    ],
)
def test_a_task_that_is_too_large_is_an_error_with_both_numbers_and_a_way_out(
    task: Task, pool: Pool, message: str, fix: str
) -> None:
    finding = only(FIT_RULES, running_on(pool, task=task))
    assert (finding.rule, finding.severity, finding.subject) == ("GPU060", Severity.ERROR, "chat-service")
    assert message in finding.message
    assert fix in unpriced(finding.fix)


@pytest.mark.parametrize(
    ("weight", "base", "rules"),
    [(0, 0, []), (1, 0, ["GPU060"]), (0, 1, ["GPU060"]), (UNKNOWN, 0, ["GPU060"])],
)
def test_a_pool_that_gets_no_tasks_may_be_too_small(weight: Any, base: int, rules: list[str]) -> None:
    fleet = on_strategy(a_task("4"), (a_pool("g5.12xlarge"), 1, 0), (a_pool("g5.xlarge", name="Small"), weight, base))
    assert [rule for rule, _, _ in found(fleet)] == rules


class TestLargerTypesBehindASmallOne:
    @pytest.mark.parametrize(
        "changes",
        [{"min_instances": 2}, {"managed_scaling": UNKNOWN}],
    )
    def test_are_a_warning_where_such_a_host_may_run(self, changes: dict[str, Any]) -> None:
        finding = only(FIT_RULES, running_on(a_pool("g5.xlarge", "g5.12xlarge", **changes), task=a_task("4")))
        assert (finding.rule, finding.severity) == ("GPU069", Severity.WARNING)
        assert "g5.12xlarge" in finding.message
        assert finding.fix == "a separate capacity provider for g5.12xlarge"


class TestLaunchTypes:
    def test_none_that_fits_is_one_error_with_all_of_them(self) -> None:
        pools = a_pool("c7i.large", name="Cpu"), a_pool("g6.xlarge")
        finding = only(FIT_RULES, on_launch_type(*pools, task=a_task("4"), is_whole=True))
        assert (finding.rule, finding.severity) == ("GPU060", Severity.ERROR)
        assert "on any host of its cluster here" in finding.message
        assert "Cpu: GPUs: 4 asked, c7i.large has 0" in finding.message
        assert "Hosts: GPUs: 4 asked, g6.xlarge has 1" in finding.message


class TestWhatMayNotFit:
    def test_a_reservation_of_the_deploy_is_a_warning(self) -> None:
        hosts = a_pool(user_data=UserData(agent=(("ECS_RESERVED_MEMORY", UNKNOWN),)))
        finding = only(FIT_RULES, running_on(hosts, task=a_task("1", memory_limit_mib=1024)))
        assert (finding.rule, "ECS_RESERVED_MEMORY" in finding.message) == ("GPU006", True)
        assert finding.fix == "write ECS_RESERVED_MEMORY as a number"


class TestNumbersOfTheDeploy:
    @pytest.mark.parametrize(
        ("task", "words"),
        [
            (a_task(UNKNOWN), "ResourceRequirements is"),
            (a_task("1", cpu_limit=UNKNOWN, memory_limit_mib=UNKNOWN), "Cpu and Memory are"),
            (a_task("1", architecture=UNKNOWN), "the architecture is"),
        ],
    )
    def test_they_are_one_warning_however_many_pools_there_are(self, task: Task, words: str) -> None:
        finding = only(FIT_RULES, running_on(a_pool(), a_pool(name="Other"), task=task))
        assert (finding.rule, finding.subject) == ("GPU014", "train")
        assert f"{words} only known at deploy time" in finding.message


def test_a_fair_share_of_any_host_has_no_finding() -> None:
    for host in (each for each in accelerated() if each.gpus):
        for gpus in {1, host.gpus}:
            share = share_of({host: Fraction(gpus, host.gpus)})
            task = a_task(str(gpus), cpu_limit=share.cpu, memory_limit_mib=share.memory_mib, network_mode="awsvpc")
            assert found(running_on(a_pool(host.name, user_data=KEPT), task=task)) == [], host


@given(
    st.lists(st.sampled_from(["1", "8", "ALL", "0.25", "0.5", "-1", "many", "", "1e9", UNKNOWN]), max_size=3),
    st.lists(st.sampled_from(["g6.xlarge", "g6f.large", "inf2.xlarge", "c7i.large", "p5.48xlarge"]), max_size=3),
    st.sampled_from(list(PoolKind)),
    st.sampled_from([0, 1, UNKNOWN]),
    st.sampled_from(["attribute:ecs.instance-type == g6.xlarge", "(((", "x" * 3000, UNKNOWN]),
)
def test_whatever_is_asked_the_rules_answer(
    values: list[str | Unknown], types: list[str], kind: PoolKind, least: int | Unknown, expression: str | Unknown
) -> None:
    constraint = PlacementConstraint(type="memberOf", expression=expression)
    task = a_task(*values, constraints=(constraint,))
    pool = a_pool(instance_types=tuple(map(instance_type, types)), kind=kind, min_instances=least)
    for finding in check(running_on(pool, task=task), rules=FIT_RULES):
        assert finding.message
        assert not finding.message.endswith(".")
        assert "None" not in finding.message + finding.fix
