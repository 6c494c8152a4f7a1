"""Tasks on the hosts that they may be placed on: what does not fit, what may not, and needs that ECS does not see."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.facts import Architecture, DeclaredInstanceType, accelerated, instance_type
from gpu_constructs.fleet import (
    NEURON_DEVICE,
    UNKNOWN,
    Container,
    Fleet,
    GpuNeeds,
    InstanceRequirements,
    PlacementConstraint,
    Pool,
    PoolKind,
    ResourceRequirement,
    Task,
    Unknown,
    UserData,
)
from gpu_constructs.placement.pool_profile import share_of
from gpu_constructs.rules import Severity, check
from tests.rules.changed import severities
from tests.rules.given import (
    FIT_RULES,
    a_pool,
    a_task,
    found,
    on_launch_type,
    on_strategy,
    only,
    running_on,
    said,
    unpriced,
)

ONE_G6 = InstanceRequirements(allowed_instance_types=("g6.*",), accelerator_count=(1, 1))
KEPT = UserData(agent=(("ECS_RESERVED_MEMORY", "256"),))


@pytest.mark.parametrize(
    ("weight", "base", "rules"),
    [(0, 0, []), (1, 0, ["GPU060"]), (0, 1, ["GPU060"]), (UNKNOWN, 0, ["GPU060"])],
)
def test_a_pool_that_gets_no_tasks_may_be_too_small(weight: Any, base: int, rules: list[str]) -> None:
    fleet = on_strategy(a_task("4"), (a_pool("g5.12xlarge"), 1, 0), (a_pool("g5.xlarge", name="Small"), weight, base))
    assert [rule for rule, _, _ in found(fleet)] == rules


@pytest.mark.parametrize(
    "changes",
    [{"min_instances": 2}, {"managed_scaling": UNKNOWN}],
)
def test_larger_types_behind_a_small_one_are_a_warning_where_such_a_host_may_run(changes: dict[str, Any]) -> None:
    finding = only(FIT_RULES, running_on(a_pool("g5.xlarge", "g5.12xlarge", **changes), task=a_task("4")))
    assert (finding.rule, finding.severity) == ("GPU069", Severity.WARNING)
    assert "g5.12xlarge" in finding.message
    assert finding.fix == "a separate capacity provider for g5.12xlarge"


def test_no_pool_that_fits_a_launch_type_is_one_error_with_all_of_them() -> None:
    pools = a_pool("c7i.large", name="Cpu"), a_pool("g6.xlarge")
    finding = only(FIT_RULES, on_launch_type(*pools, task=a_task("4"), is_whole=True))
    assert (finding.rule, finding.severity) == ("GPU060", Severity.ERROR)
    assert "on any host of its cluster here" in finding.message
    assert "Cpu: GPUs: 4 asked, c7i.large has 0" in finding.message
    assert "Hosts: GPUs: 4 asked, g6.xlarge has 1" in finding.message


def test_a_reservation_of_the_deploy_is_a_warning() -> None:
    hosts = a_pool(user_data=UserData(agent=(("ECS_RESERVED_MEMORY", UNKNOWN),)))
    finding = only(FIT_RULES, running_on(hosts, task=a_task("1", memory_limit_mib=1024)))
    assert (finding.rule, "ECS_RESERVED_MEMORY" in finding.message) == ("GPU006", True)
    assert finding.fix == "write ECS_RESERVED_MEMORY as a number"


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (a_task(UNKNOWN, cpu_limit=256), "ResourceRequirements is"),
        (a_task("1", cpu_limit=UNKNOWN, memory_limit_mib=UNKNOWN), "Cpu and Memory are"),
        (a_task("1", architecture=UNKNOWN), "the architecture is"),
    ],
)
def test_numbers_of_the_deploy_are_one_warning_however_many_pools_there_are(task: Task, words: str) -> None:
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


def given_devices(*paths: str) -> Task:
    return Task(name="train", containers=(Container(name="c", devices=paths),))


NEURON_RESOURCE = Task(
    name="train",
    containers=(Container(name="c", requirements=(ResourceRequirement(type=NEURON_DEVICE, value="ALL"),)),),
)


def needing(gpus: str = "1", **needs: Any) -> Task:
    container = Container(
        name="vllm",
        requirements=(ResourceRequirement(value=gpus),),
        needs=GpuNeeds(**needs),
    )
    return Task(name="chat", containers=(Container(name="log"), container))


@pytest.mark.parametrize(
    ("task", "pool", "rule", "message", "fix"),
    [
        (
            a_task("4"),
            a_pool("g5.xlarge"),
            "GPU060",
            "train does not fit on Hosts: GPUs: 4 asked, g5.xlarge has 1",
            "hosts of a type such as g5.12xlarge, or GPUs no higher than 1",
        ),
        (
            a_task("1", cpu_limit=8192),
            a_pool("g4dn.xlarge"),
            "GPU060",
            "CPU units: 8192 asked, g4dn.xlarge has 4096",
            "hosts of a type such as g4dn.2xlarge, or CPU units no higher than 4096",
        ),
        (
            a_task("1", memory_limit_mib=73728),
            a_pool("g5.xlarge", "g5.4xlarge", kind=PoolKind.MANAGED_INSTANCES),
            "GPU060",
            "memory: 73728 MiB asked, g5.4xlarge has 65536 MiB",
            "memory no higher than 61603 MiB",
        ),
        (
            a_task("4", cpu_limit=8192, memory_limit_mib=20480),
            a_pool("g6.xlarge", "g6.2xlarge", kind=PoolKind.MANAGED_INSTANCES, requirements=ONE_G6),
            "GPU060",
            "GPUs: 4 asked, g6.2xlarge has 1",
            "hosts of a type such as g6.12xlarge, which AcceleratorCount 1 to 1 keeps out, or GPUs no higher than 1",
        ),
        (
            a_task(memory_limit_mib=8192),
            a_pool("c7i.large"),
            "GPU060",
            "memory: 8192 MiB asked, c7i.large has 4096 MiB",
            "c7i.",
        ),
        (
            a_task("1", architecture=Architecture.ARM64),
            a_pool("g6.xlarge", "g6.2xlarge"),
            "GPU067",
            "train cannot run on Hosts: a host (g6.xlarge or g6.2xlarge) is x86_64, and the task is built for arm64",
            "arm64 hosts, such as g5g.xlarge",
        ),
        (
            given_devices("/dev/neuron0", "/dev/neuron1"),
            a_pool("inf2.xlarge"),
            "GPU060",
            "Neuron devices: 2 asked, inf2.xlarge has 1",
            "hosts with as many Neuron devices, such as inf2.24xlarge",
        ),
        (
            NEURON_RESOURCE,
            a_pool(kind=PoolKind.MANAGED_INSTANCES),
            "GPU060",
            "a host (g6.xlarge) has no Neuron device",
            "hosts with as many Neuron devices, such as inf",
        ),
        (
            needing("4", nvlink=True),
            a_pool("g6.12xlarge"),
            "GPU064",
            "needs NVLink between its GPUs, and g6.12xlarge of Hosts has PCIe",
            "a type such as p3dn.24xlarge",
        ),
        (
            needing(precision="bf16"),
            a_pool("g4dn.xlarge"),
            "GPU064",
            "needs bf16, which takes compute capability 8.0, of its GPUs, and g4dn.xlarge of Hosts has 7.5 (T4)",
            "a type such as g5.xlarge",
        ),
        (
            needing(compute_capability=(9, 0)),
            a_pool(),
            "GPU064",
            "needs 9.0 or higher (CUDA compute capability), and g6.xlarge of Hosts has 8.9 (L4)",
            "a type such as",
        ),
        (needing(precision="fp3"), a_pool(), "GPU064", "'fp3', which is not a known number format,", ""),
    ],
)
def test_what_does_not_fit_is_an_error_and_a_need_that_is_not_served_a_warning_with_both_values(
    task: Task, pool: Pool, rule: str, message: str, fix: str
) -> None:
    finding = only(FIT_RULES, running_on(pool, task=task))
    judged = (Severity.WARNING, "chat") if rule == "GPU064" else (Severity.ERROR, "chat-service")
    assert (finding.rule, (finding.severity, finding.subject)) == (rule, judged)
    assert message in finding.message
    assert fix in unpriced(finding.fix)


@pytest.mark.parametrize(
    ("needs", "field"),
    [
        ({"memory_mib": 40_960}, "gpu_memory_mib"),
        ({"compute_capability": (9, 0)}, "compute_capability"),
        ({"precision": "fp8"}, "compute_capability"),
    ],
)
def test_what_a_declaration_does_not_say_is_to_be_stated_there(needs: dict[str, Any], field: str) -> None:
    new = DeclaredInstanceType("g9.xlarge", vcpus=8, memory_mib=65536, gpus=1, gpu_model="R200").instance_type
    finding = only(FIT_RULES, running_on(a_pool(instance_types=(new,)), task=needing(**needs)))
    assert "an unknown" in finding.message
    assert finding.fix == f"state {field} in the declaration of g9.xlarge"


def test_one_type_of_several_is_enough_to_be_warned_of_because_ecs_does_not_look() -> None:
    mixed = a_pool("g6.xlarge", "g6e.xlarge")
    finding = only(FIT_RULES, running_on(mixed, task=needing(memory_mib=40_960)))
    assert "g6.xlarge of Hosts, which it may be placed on, has 22.3 GiB" in finding.message


def test_a_task_that_does_not_fit_at_all_is_not_told_of_its_needs_too() -> None:
    assert [rule for rule, _, _ in found(running_on(a_pool(), task=needing("4", memory_mib=40_960)))] == ["GPU060"]


@pytest.mark.parametrize("value", ["8", "ALL"])
def test_one_vcpu_for_eight_gpus_is_a_warning_with_the_share_that_goes_with_them(value: str) -> None:
    finding = only(
        FIT_RULES,
        running_on(a_pool("p5.48xlarge"), a_pool("p5en.48xlarge", name="B"), task=a_task(value, cpu_limit=1024)),
    )
    assert (finding.rule, finding.severity, finding.subject) == ("GPU074", Severity.WARNING, "train")
    assert "1024 CPU units, 1 vCPU, for all containers with 8 GPUs together" in finding.message
    assert "p5.48xlarge has 24 vCPUs for each GPU" in finding.message
    assert finding.fix == "Cpu of 196608, the share of 8 GPUs, or no Cpu of the task"


@pytest.mark.parametrize(
    "what",
    [
        # what fits or is not known to be too large
        running_on(a_pool()),
        running_on(a_pool(), task=a_task("1", cpu_limit=4096, memory_limit_mib=14899)),
        running_on(a_pool(), task=a_task(cpu_limit=1024, memory_limit_mib=1024)),
        running_on(a_pool("g5.xlarge", "g5.2xlarge", "g5.4xlarge"), task=a_task("1")),
        running_on(a_pool(has_unknown_types=True), task=a_task("8")),
        # hosts that are what a task is made for
        running_on(a_pool(), task=a_task("1", architecture=Architecture.X86_64)),
        running_on(a_pool(has_unknown_types=True), task=a_task("1", architecture=Architecture.ARM64)),
        running_on(a_pool("inf2.xlarge"), task=NEURON_RESOURCE),  # found by GPU027
        # needs that are served
        running_on(a_pool(), task=needing(memory_mib=22888)),
        running_on(a_pool("g6.12xlarge"), task=needing(nvlink=True)),  # one GPU has nothing to be joined with
    ],
)
def test_what_fits_or_is_not_known_to_be_too_large_has_no_finding(what: Fleet | Pool) -> None:
    assert said(FIT_RULES, what) == []


@pytest.mark.parametrize(
    ("cores", "threads", "expected"),
    [(1, 1, ["error"]), (2, 2, []), ({"Ref": "AWS::NoValue"}, 1, []), (1, {"Fn::ImportValue": "Threads"}, ["info"])],
)
def test_cpu_options_leave_a_host_fewer_processors(cores: Any, threads: Any, expected: list[str]) -> None:
    task = {"ContainerDefinitions": [{"Name": "train", "Image": "train:1", "Memory": 8192, "Cpu": 3000}]}
    data = {"InstanceType": "g6.12xlarge", "CpuOptions": {"CoreCount": cores, "ThreadsPerCore": threads}}
    strategy = {"CapacityProviderStrategy": [{"CapacityProvider": {"Ref": "Provider"}, "Weight": 1}]}
    changes = {"Task": task, "Template": {"LaunchTemplateData": data}, "Service": strategy}
    found = [severity for rule in ("GPU060", "GPU229") for severity in severities(rule, changes)]
    assert found == expected
