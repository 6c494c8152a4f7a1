"""Tasks that fit on a host alone, and not beside its daemons: the same is said at every door."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpu_constructs import GpuService
from gpu_constructs.check.planning import plan
from gpu_constructs.fleet import (
    INSTANCE_ATTRIBUTES,
    UNKNOWN,
    Fleet,
    PlacementConstraint,
    Pool,
    StrategyItem,
    UserData,
    Workload,
)
from gpu_constructs.placement.destinations import answer_of, routes_of
from gpu_constructs.placement.prover import prove
from gpu_constructs.rules import Finding, check
from gpu_constructs.rules.catalogue import one_of
from tests.rules.fit.test_copies_fit import pool
from tests.rules.fit.test_whole_fleet import service
from tests.rules.given import gpu, mps
from tests.synthesis import Site

L4, L4_TOO = pool(name="L4", most=4), pool(name="L4Too", most=4)
OF_ROOM = one_of("GPU006", "GPU009", "GPU060", "GPU061")


def of_container(workload: Workload, **changes: object) -> Workload:
    assert workload.task is not None
    containers = tuple(replace(each, **changes) for each in workload.task.containers)  # type: ignore[arg-type] # a field
    return replace(workload, task=replace(workload.task, containers=containers))


def on_port(workload: Workload, port: int = 9400) -> Workload:
    return of_container(workload, host_ports=((port, "tcp"),))


def daemon(gpus: int = 0) -> Workload:
    return replace(service("watch", L4, gpus), strategy=(), daemon=True)


def named(workload: Workload, name: str) -> Workload:
    assert workload.task is not None
    return replace(workload, name=name, task=replace(workload.task, name=f"{name}-task"))


def sent(workload: Workload, *pools: Pool, base: int = 0) -> Workload:
    bases = (base, *(0 for _ in pools[1:]))
    items = (
        StrategyItem(provider=each.name, pool=each, weight=1, base=of) for each, of in zip(pools, bases, strict=True)
    )
    return replace(workload, strategy=tuple(items))


def fleet_of(*workloads: Workload, pools: tuple[Pool, ...] = (L4, L4_TOO)) -> Fleet:
    tasks = tuple(each.task for each in workloads if each.task is not None)
    return Fleet(pools=pools, tasks=tasks, workloads=workloads, is_whole=True)


def said(fleet: Fleet) -> list[Finding]:
    return list(check(fleet, rules=OF_ROOM))


@pytest.mark.parametrize(
    ("chat", "watch", "reason", "fix"),
    [
        pytest.param(
            service("chat", L4, 4, vcpus=48),
            daemon(),
            "CPU units: 49152 asked, g6.12xlarge has 48128",
            "CPU units no higher than 48128",
            id="CPU",
        ),
        pytest.param(
            service("chat", L4, 4),
            of_container(daemon(), requirements=(mps(),)),
            "GPUs: 4 asked, g6.12xlarge has 3",
            "GPUs no higher than 3",
            id="a GPU that the daemon shares",
        ),
        pytest.param(
            on_port(service("chat", L4)),
            on_port(daemon()),
            "a host (g6.12xlarge) has no host port 9400/tcp left",
            "another host port, or a dynamic one (0)",
            id="a host port",
        ),
    ],
)
def test_what_a_daemon_takes_is_missing_on_every_pool(chat: Workload, watch: Workload, reason: str, fix: str) -> None:
    for pools in ((L4,), (L4, L4_TOO)):
        fleet = fleet_of(sent(chat, *pools), watch)
        assert [f"{each.severity} {each.rule} {each.message}" for each in said(fleet)] == [
            f"error GPU060 chat-task does not fit on {each.name}: {reason} beside watch, a daemon that ECS starts first"
            for each in pools
        ]
        assert all(each.fix.endswith(fix) for each in said(fleet))
        assert chat.task is not None
        assert answer_of(routes_of(fleet, chat.task)) is False
        assert [each.misfits for each in plan(fleet).pools][: len(pools)] == [("chat",)] * len(pools)
        proof = next(each for each in prove(fleet).workloads if each.workload.name == "chat")
        assert (proof.unplaced, proof.answer) == (1, False)


def test_a_share_of_the_gpu_that_a_daemon_shares_is_left() -> None:
    shared = of_container(sent(service("chat", L4), L4), requirements=(mps(),))
    fleet = fleet_of(replace(shared, desired_count=20), of_container(daemon(), requirements=(mps(),)))
    assert said(fleet) == []


def test_what_a_daemon_of_unknown_size_leaves_is_not_known() -> None:
    for watch in (of_container(daemon(), cpu=UNKNOWN), replace(daemon(), task=None)):
        fleet = fleet_of(sent(service("chat", L4), L4), watch)
        task = fleet.tasks[0]
        assert answer_of(routes_of(fleet, task)) is UNKNOWN
        assert said(fleet) == []


def test_memory_that_a_daemon_may_leave_is_a_doubt() -> None:
    expected = 184_811
    chat = of_container(sent(service("chat", L4), L4), memory_limit_mib=expected)
    (found,) = said(fleet_of(chat, of_container(daemon(), memory_limit_mib=128)))
    assert (found.rule, found.fix) == ("GPU006", f"ask for no more than {expected - 128} MiB")


def test_a_task_that_nothing_runs_is_held_against_what_daemons_leave() -> None:
    task = service("chat", L4, 4).task
    assert task is not None
    fleet = fleet_of(daemon(1))
    (found,) = said(replace(fleet, tasks=(*fleet.tasks, task)))
    assert found.rule == "GPU061"


def test_two_daemons_that_have_no_room_together_are_a_doubt() -> None:
    both = daemon(3), named(daemon(2), "other")
    assert [each.rule for each in said(fleet_of(sent(service("chat", L4), L4), *both))] == ["GPU006"]


def test_a_pool_that_no_copy_goes_to_while_a_base_takes_all_is_a_warning() -> None:
    """It runs today, and would not at one copy more."""
    small = pool("g6.xlarge", name="Small", most=4)
    for copies, severity in ((2, "warning"), (3, "error")):
        chat = sent(service("chat", L4, 4, copies), L4, small, base=2)
        fleet = fleet_of(chat, pools=(L4, small))
        (found,) = said(fleet)
        assert (found.rule, str(found.severity)) == ("GPU060", severity)
        assert (prove(fleet).answer is True) is (severity == "warning")
        assert chat.task is not None
        assert answer_of(routes_of(fleet, chat.task)) is (UNKNOWN if severity == "warning" else False)


def test_copies_that_a_base_sends_are_counted_though_another_pool_never_takes_one() -> None:
    full, small = replace(L4, max_instances=1), pool("g6.xlarge", name="Small", most=4)
    chat = sent(service("chat", full, 4, 2), full, small, base=2)
    found = {each.rule: str(each.severity) for each in said(fleet_of(chat, pools=(full, small)))}
    assert found == {"GPU060": "warning", "GPU009": "error"}


def test_a_copy_that_rounding_of_weights_may_strand_is_a_warning() -> None:
    one, two = replace(L4, max_instances=1), replace(L4_TOO, max_instances=2)
    (found,) = said(fleet_of(sent(service("chat", one, 4, 3), one, two), pools=(one, two)))
    assert (found.rule, str(found.severity)) == ("GPU009", "warning")
    assert found.message.startswith("the strategy may give 2 of 3 tasks to L4, because how ECS rounds")


def test_a_size_that_was_given_is_found_when_the_cluster_is_monitored(site: Site) -> None:
    task = site.task(site.capacity("g6.xlarge"))
    task.add_gpu_container("work", image=site.image, cpu=4096)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    site.cluster.add_monitoring("Monitoring")
    (message,) = site.findings("GPU060")
    assert "beside Cluster/Monitoring/Daemon, a daemon that ECS starts first" in message


def only_on(workload: Workload, expression: str) -> Workload:
    return replace(workload, constraints=(PlacementConstraint(type="memberOf", expression=expression),))


def test_all_gpus_of_a_type_without_the_daemon_are_left() -> None:
    both = pool("g6.12xlarge", "g6.xlarge", name="Both", most=2)
    chat = sent(of_container(service("chat", both), requirements=(gpu("ALL"),)), both)
    watch = only_on(daemon(1), "attribute:ecs.instance-type == g6.12xlarge")
    fleet = fleet_of(chat, watch, pools=(both,))
    assert prove(fleet).answer is UNKNOWN
    assert [str(each.severity) for each in said(fleet)] == []


@pytest.mark.parametrize(
    ("here", "there", "expression", "rules"),
    [
        ({}, {"mon": "yes"}, "attribute:mon == yes", []),
        ({}, {}, "attribute:mon == yes", ["GPU006"]),  # a call of PutAttributes gives it to some of the hosts
        (None, {"mon": "yes"}, "attribute:mon == yes", ["GPU006"]),
        ({"mon": "yes"}, {"mon": "yes"}, "attribute:mon == yes", ["GPU060"]),
        ({}, {"mon": "no"}, "attribute:mon not_exists", ["GPU006"]),
    ],
)
def test_an_attribute_that_only_other_pools_set_keeps_a_daemon_off(
    here: dict[str, str] | None, there: dict[str, str], expression: str, rules: list[str]
) -> None:
    first, second = (
        replace(
            each, user_data=UserData(agent=((INSTANCE_ATTRIBUTES, json.dumps(told or {})),), complete=told is not None)
        )
        for each, told in ((L4, here), (L4_TOO, there))
    )
    chat, watch = sent(service("chat", L4, 4), first), only_on(daemon(1), expression)
    assert [each.rule for each in said(fleet_of(chat, watch, pools=(first, second)))] == rules
