"""One cause has one finding: what one rule says for certain, no other repeats or doubts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts import Architecture, Image, InstanceType, accelerated, default_image
from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    Fleet,
    GpuNeeds,
    NvidiaMps,
    PlacementConstraint,
    Pool,
    ResourceRequirement,
    Task,
    UserData,
)
from gpu_constructs.rules import Severity, check
from tests.rules.given import a_pool, container, gpu, member_of, mps, of_image, on_launch_type, running_on, task_of

JOINS = ("ECS_CLUSTER", "gpu")
HIDES = UserData(agent=(JOINS, ("ECS_ENABLE_GPU_SUPPORT", "false")))
PLAIN = of_image("al2023")
DISTINCT = (PlacementConstraint(type="distinctInstance"),)


def hosts(*types: str, **changes: Any) -> Pool:
    return a_pool(*types, **{"user_data": UserData(agent=(JOINS,)), "cluster": "gpu", **changes})


def main(*requirements: ResourceRequirement, **changes: Any) -> Container:
    return replace(container(*requirements), **changes)


def task(*requirements: ResourceRequirement, **changes: Any) -> Task:
    return task_of(main(*requirements, **changes))


def both(first: ResourceRequirement, second: ResourceRequirement) -> Task:
    return task_of(main(first), main(second, name="b"))


def of_type(name: str) -> Pool:
    return hosts(instance_types=(), unknown_type_names=(name,))


def where(expression: str) -> Task:
    return replace(task(gpu()), constraints=(member_of(expression),))


def on(pool: Pool, what: Task, **changes: Any) -> Fleet:
    return running_on(pool, task=what, **{"desired_count": 2, **changes})


def elsewhere(pool: Pool, what: Task) -> Fleet:
    """A service in a cluster of which other files may have hosts."""
    return on_launch_type(pool, task=what, cluster="gpu")


def by_hand(what: Task, *pools: Pool) -> Fleet:
    return Fleet(pools=pools, tasks=(replace(what, compatibilities=("EC2",)),), is_whole=True)


def beside(what: Task, pool: Pool, **changes: Any) -> Fleet:
    """A service on its own pool, beside one with a GPU on another."""
    first, second = on(hosts(), task(gpu())), on(pool, what, **{"name": "web-service", **changes})
    return Fleet(
        pools=tuple({each.name: each for each in (*first.pools, *second.pools)}.values()),
        tasks=(*first.tasks, *second.tasks),
        workloads=(*first.workloads, *second.workloads),
    )


OLD = "al2023-ami-ecs-gpu-hvm-2023.0.20260918-kernel-6.1-x86_64-ebs"
SERVES = {"image": "vllm/vllm-openai:v0.19.1", "command": ("--model", "meta-llama/Llama-3.1-70B-Instruct")}
LARGE = task(gpu(), needs=GpuNeeds(memory_mib=40_000))
WINDOWS = replace(task(gpu()), operating_system="WINDOWS_SERVER_2022_CORE")
CONTRADICTION = where("attribute:ecs.instance-type == g6.xlarge and attribute:ecs.instance-type == g5.xlarge")
NEURON = task(ResourceRequirement(type="NeuronDevice", value="ALL"))
NEURON_HOSTS = hosts("inf2.xlarge", image=of_image("al2023-neuron"))
FOUR = task(gpu("4"))
BOTH_WAYS = ResourceRequirement(value="1", nvidia_mps=NvidiaMps(memory_mib=1000))
NOBODY_HAS = task(gpu("99"))
ON_FARGATE = replace(task(gpu()), compatibilities=("FARGATE",))


@pytest.mark.parametrize(
    ("rule", "fleet"),
    [
        pytest.param("GPU005", on(hosts(has_unknown_types=True), task(gpu())), id="types of the deploy"),
        pytest.param("GPU005", on(hosts(max_instances=UNKNOWN), task(gpu())), id="a number of hosts of the deploy"),
        pytest.param("GPU006", on(hosts(), task(gpu(), memory_limit_mib=15_800)), id="memory near the nominal size"),
        pytest.param("GPU009", on(hosts(), task(gpu()), desired_count=9), id="more copies than hosts take"),
        pytest.param("GPU012", on(hosts(), task(gpu()), desired_count=UNKNOWN), id="a count of the deploy"),
        pytest.param("GPU014", on(hosts(), task(gpu(UNKNOWN))), id="GPUs of the deploy"),
        pytest.param("GPU014", on(hosts(), task(gpu(), memory_limit_mib=UNKNOWN)), id="memory of the deploy"),
        pytest.param("GPU020", on(hosts(), task(gpu("banana"))), id="a number of GPUs that is none"),
        pytest.param("GPU020", on(hosts(), task(gpu("0"), **SERVES)), id="no GPU"),
        pytest.param("GPU020", on(hosts(), task(ResourceRequirement(type="gpu", value="1"))), id="lower case"),
        pytest.param("GPU020", on(hosts(), task(gpu(None))), id="GPUs without a number"),
        pytest.param("GPU023", on(hosts("g6.12xlarge"), both(gpu("ALL"), gpu())), id="ALL and one"),
        pytest.param("GPU020", on(hosts(), task(BOTH_WAYS), desired_count=1), id="a number and a share"),
        pytest.param("GPU023", on(hosts(), both(gpu(), mps(1000)), desired_count=1), id="one and a share"),
        pytest.param("GPU023", on(hosts("g6f.4xlarge"), both(gpu("0.5"), gpu("0.5"))), id="two parts"),
        pytest.param("GPU027", on(NEURON_HOSTS, replace(NEURON, compatibilities=("EC2",))), id="Neuron on EC2"),
        pytest.param("GPU027", by_hand(NEURON, NEURON_HOSTS), id="Neuron devices for EC2, that no service runs"),
        pytest.param("GPU028", on_launch_type(hosts(), task=ON_FARGATE, launch_type="FARGATE"), id="Fargate"),
        pytest.param("GPU028", on(hosts(), WINDOWS), id="Windows"),
        pytest.param("GPU020", on(hosts(), task(mps(None)), desired_count=1), id="a share without a size"),
        pytest.param("GPU032", on(hosts("g6f.large"), task(mps(1000)), desired_count=1), id="a share of a part"),
        pytest.param("GPU040", on(hosts(), where("attribute:team = = ml")), id="an expression that nobody can read"),
        pytest.param("GPU070", on(hosts(), CONTRADICTION), id="a contradiction"),
        pytest.param("GPU050", on(of_type("g6xlarge"), task(gpu())), id="no name"),
        pytest.param("GPU051", on(of_type("g99.xlarge"), task(gpu())), id="a new type"),
        pytest.param("GPU052", on(hosts(image=PLAIN), task(gpu())), id="an image without a driver"),
        pytest.param("GPU052", on(hosts("g5g.xlarge"), task(gpu())), id="an image of another architecture"),
        pytest.param("GPU054", on(NEURON_HOSTS, task(gpu())), id="no NVIDIA"),
        pytest.param("GPU054", by_hand(task(gpu()), NEURON_HOSTS), id="no NVIDIA, for a task that nothing runs"),
        pytest.param("GPU058", on(hosts(user_data=HIDES), task(gpu())), id="an agent that hides the GPUs"),
        pytest.param("GPU060", on(hosts(), FOUR), id="too many GPUs"),
        pytest.param("GPU060", on(hosts(), FOUR, desired_count=UNKNOWN), id="too many GPUs, a count of the deploy"),
        pytest.param("GPU060", on(hosts(), task(gpu(), memory_limit_mib=25_800)), id="too much memory"),
        pytest.param("GPU060", on(hosts("c7i.xlarge", image=PLAIN), task(gpu())), id="hosts without GPUs"),
        pytest.param("GPU060", on(hosts("g6f.large"), task(gpu("2"))), id="hosts with a part of a GPU"),
        pytest.param("GPU060", on(hosts(), task(gpu("0.25"))), id="a part of a GPU on hosts with whole ones"),
        pytest.param("GPU060", on(hosts("g6.xlarge", "g6.12xlarge"), FOUR), id="a smaller type beside the right one"),
        pytest.param("GPU060", replace(elsewhere(hosts(min_instances=4), FOUR), is_whole=True), id="in its cluster"),
        pytest.param("GPU061", elsewhere(hosts(min_instances=4), FOUR), id="in a cluster of other files"),
        pytest.param("GPU061", by_hand(FOUR, hosts()), id="started by hand"),
        pytest.param("GPU061", Fleet(pools=(hosts(),), tasks=(FOUR,)), id="started by hand, of other files"),
        pytest.param("GPU062", Fleet(pools=(hosts("c7i.xlarge", image=PLAIN),), tasks=(FOUR,)), id="by hand, no GPUs"),
        pytest.param("GPU063", on(hosts(), NOBODY_HAS), id="GPUs that no host has"),
        pytest.param("GPU063", Fleet(pools=(hosts(),), tasks=(NOBODY_HAS,)), id="GPUs that no host has, by hand"),
        pytest.param("GPU064", on(hosts(), LARGE), id="memory of the GPU"),
        pytest.param("GPU064", on(hosts("g6f.large"), task(gpu("0.125"), **SERVES)), id="memory of a part of a GPU"),
        pytest.param("GPU067", on(hosts(), replace(task(gpu()), architecture=Architecture.ARM64)), id="arm64"),
        pytest.param("GPU069", on(hosts("g6.xlarge", "g6.12xlarge", min_instances=1), FOUR), id="a smaller type"),
        pytest.param("GPU070", on(hosts(), where("attribute:ecs.instance-type == p5.48xlarge")), id="other types"),
        pytest.param(
            "GPU083", on(hosts("g6.12xlarge"), task(gpu()), desired_count=9, constraints=DISTINCT), id="alone"
        ),
        pytest.param("GPU084", on(hosts(), task(gpu(), host_ports=((2376, "tcp"),))), id="a port of the agent"),
        pytest.param("GPU084", on(hosts(), task(gpu(), host_ports=((80, "tcp"),)), desired_count=9), id="a port each"),
        pytest.param("GPU060", on(hosts(), task(mps(99_999)), desired_count=1), id="a share that no GPU has"),
        pytest.param("GPU110", on(hosts(managed_scaling=False), task(gpu())), id="nobody starts hosts"),
        # Hosts of other files are no way out of what no host anywhere can run.
        pytest.param("GPU063", elsewhere(hosts(), NOBODY_HAS), id="GPUs that no host has, in a cluster of other files"),
        pytest.param("GPU028", elsewhere(hosts(), WINDOWS), id="Windows, in a cluster of other files"),
        pytest.param("GPU070", elsewhere(hosts(), CONTRADICTION), id="a contradiction, in a cluster of other files"),
        pytest.param("GPU027", elsewhere(NEURON_HOSTS, NEURON), id="Neuron devices, in a cluster of other files"),
        # What no service runs is judged by the hosts that it may be run on.
        pytest.param("GPU033", by_hand(task(mps()), hosts(image=of_image(release=OLD))), id="a share, by hand"),
        pytest.param("GPU064", by_hand(LARGE, hosts()), id="memory of the GPU, by hand"),
        pytest.param("GPU061", by_hand(task(memory_limit_mib=500_000), hosts()), id="memory without GPUs, by hand"),
    ],
)
def test_a_cause_is_told_by_one_rule(rule: str, fleet: Fleet) -> None:
    assert [each.rule for each in check(fleet) if each.severity is not Severity.INFO] == [rule]


WEB = replace(task(), name="web")


@pytest.mark.parametrize(
    "fleet",
    [
        pytest.param(Fleet(pools=(a_pool(),)), id="hosts without a service"),
        pytest.param(on(hosts(), task(gpu())), id="a service on its hosts"),
        pytest.param(by_hand(LARGE, hosts(), hosts("g6e.xlarge", name="Larger")), id="by hand, and one pool is enough"),
        pytest.param(beside(WEB, hosts("m7i.large", image=PLAIN, name="Cpu")), id="no GPUs on hosts of its own"),
        pytest.param(beside(WEB, hosts(), desired_count=0), id="no copy on hosts with GPUs"),
    ],
)
def test_a_good_fleet_has_no_finding(fleet: Fleet) -> None:
    assert check(fleet) == ()


def _defaults() -> Iterator[tuple[InstanceType, Image]]:
    for each in accelerated():
        with suppress(IncompatibleError):
            yield each, default_image(each)


def test_a_type_with_its_default_image_has_no_error() -> None:
    for each, row in _defaults():
        findings = check(Fleet(pools=(a_pool(each.name, image=of_image(row.name)),)))
        assert [finding for finding in findings if finding.severity is Severity.ERROR] == [], each


def test_defaults_that_are_offered_are_silent_but_for_what_nobody_confirms() -> None:
    loud = {
        (finding.rule, each.family)
        for each, row in _defaults()
        if each.is_offered_anywhere
        for finding in check(Fleet(pools=(a_pool(each.name, image=of_image(row.name)),)))
        if finding.severity is not Severity.INFO
    }
    assert loud == {("GPU004", "g7")}
