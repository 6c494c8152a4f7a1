"""Services that fill hosts together are judged together: each alone would have room for one more copy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, PoolKind, ServiceScaling, Task, Unknown, Workload
from gpu_constructs.rules import rules_of
from gpu_constructs.rules.fit import deployments
from tests.placement.given import neuron
from tests.rules.fit.test_copies_fit import DISTINCT, pool, service, task
from tests.rules.given import fleet_of, said

ONE = pool()
SCALED: dict[str, Any] = {"copies": UNKNOWN, "scaling": ServiceScaling(least=1, most=6)}


def named(name: str, gpus: int = 1, copies: int | Unknown = 4, **changes: Any) -> Workload:
    made = service(task(gpus), ONE, **{"copies": copies, **changes})
    return replace(made, name=name)


@pytest.mark.parametrize(
    ("others", "rule", "words"),
    [
        ([named("a"), named("b"), named("c", copies=9)], set(), []),  # GPU080 and GPU009 say that
        ([named("a"), named("b", copies=UNKNOWN)], set(), []),
        (
            [named("a", copies=2), named("b", **SCALED)],
            {"GPU010"},
            ["once scaling has asked for the most", "2 tasks run, b"],
        ),
        (
            [named("a", copies=3, deployment_strategy="BLUE_GREEN"), named("b", copies=3, low=50)],
            {"GPU203"},
            ["runs 3 tasks twice, and L4 holds 8 at MaxSize, 2 more beside b"],
        ),
    ],
)
def test_services_of_one_pool_are_counted_together(others: list[Workload], rule: set[str], words: list[str]) -> None:
    found = said(rules_of(deployments), fleet_of(workloads=tuple(others)))
    assert {each.rule for each in found} == rule
    assert all(any(word in each.message + each.fix for each in found) for word in words)


def test_hosts_that_are_instances_have_no_largest_size() -> None:
    instances = replace(ONE, kind=PoolKind.INSTANCE)
    found = said(rules_of(deployments), fleet_of(workloads=(service(task(), instances, copies=8),)))
    assert [each.fix.partition(" to ")[0] for each in found] == ["raise the number of instances"]


def test_a_copy_with_a_neuron_device_counts_as_one_with_a_gpu() -> None:
    one = neuron("/dev/neuron0")
    full = replace(one, containers=(replace(one.containers[0], cpu=8192, memory_limit_mib=64 * 1024),))
    pools = (pool("inf2.8xlarge", most=2),)
    found = said(rules_of(deployments), fleet_of(workloads=(service(full, *pools, copies=2),)))
    assert [(each.rule, "2 tasks run, 2 fit at" in each.message) for each in found] == [("GPU010", True)]


NEAR, FAR = (pool(name=name, most=1) for name in ("near", "far"))


def anywhere(name: str, copies: int, gpus: int = 1) -> Workload:
    return named(name, gpus, copies, strategy=(), cluster="c")


@pytest.mark.parametrize(
    ("services", "full"),
    [
        ((anywhere("a", 3), anywhere("b", 4, gpus=1), anywhere("c", 1)), ["a", "b", "c"]),
        ((anywhere("a", 1, gpus=4), anywhere("b", 4)), ["a", "b"]),
        ((replace(service(task(), NEAR, copies=2), name="a"), anywhere("b", 2)), []),  # which may all be on the other
    ],
)
def test_copies_that_may_be_on_any_of_several_pools_are_counted_once(services: Any, full: list[str]) -> None:
    pools = tuple(replace(each, cluster="c", min_instances=1) for each in (NEAR, FAR))
    fleet = replace(fleet_of(workloads=services), pools=pools)
    assert [each.subject for each in said(rules_of(deployments), fleet)] == full


@pytest.mark.parametrize(
    ("of", "changes", "reason"),
    [
        (task(ports=(8080,)), {}, "; each copy takes host port 8080/tcp of its host"),
        (task(), {"constraints": DISTINCT}, "; each copy needs a host of its own"),
        (task(gib=100), {}, ""),
    ],
)
def test_what_leaves_no_room_for_one_more_copy_is_said(of: Task, changes: dict[str, Any], reason: str) -> None:
    (finding,) = said(rules_of(deployments), fleet_of(workloads=(service(of, ONE, copies=2, **changes),)))
    assert finding.message.endswith(f"at most 200 % may run{reason}")
