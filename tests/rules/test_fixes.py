"""Fixes that were seen not to fix: each is left out, or another one is told in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from gpu_constructs.facts import instance_type
from gpu_constructs.facts.budget import one_call
from gpu_constructs.fleet import (
    UNKNOWN,
    Container,
    Fleet,
    Origin,
    Pool,
    ProviderList,
    ResourceRequirement,
    Task,
    UserData,
    UserDataFormat,
)
from gpu_constructs.rules import Problem, catalogue, check, error
from gpu_constructs.rules.finding import Way
from tests.rules.given import a_pool, a_task, member_of, mps, of_image, on_launch_type, running_on, unpriced

NGINX = Task(name="nginx", containers=(Container(name="web", cpu=256, memory_limit_mib=512),))


def fixes(fleet: Fleet) -> dict[str, str]:
    """The fix of each rule that finds something."""
    return {each.rule: each.fix for each in check(fleet)}


def with_memory(mib: int, *gpus: str) -> Task:
    """A task of one container with memory."""
    task = a_task(*gpus)
    return replace(task, containers=(replace(task.containers[0], memory_limit_mib=mib),))


def test_the_image_after_amazon_linux_2_has_a_driver_where_the_hosts_have_gpus() -> None:
    told = fixes(running_on(a_pool("g6.xlarge", image=of_image("al2-gpu", release=None)), task=with_memory(4096, "1")))
    assert told["GPU003"] == "image al2023-gpu, which has taken its place"
    plain = fixes(running_on(a_pool("g6.xlarge", image=of_image("al2", release=None)), task=NGINX))
    assert plain["GPU003"] == plain["GPU099"] == "image al2023-gpu"


def test_a_launch_configuration_is_told_no_type_that_it_cannot_launch() -> None:
    old = a_pool("g6.xlarge", launch_configuration=True)
    told = fixes(running_on(old, task=with_memory(8_000, "4")))["GPU060"]
    assert told.startswith("hosts of a type such as g4dn.12xlarge")


def test_hosts_without_gpus_are_no_place_for_less_memory() -> None:
    told = fixes(running_on(a_pool("c7i.large", image=of_image("al2023")), task=with_memory(16_000, "1")))["GPU060"]
    assert "such as g" in told
    assert "memory no higher" not in told


@pytest.mark.parametrize(
    ("asked", "hosts", "told"),
    [
        ("== g5.xlarge", "g6.xlarge", "hosts of a type such as g5.xlarge"),
        ("in [g5.12xlarge, g5.48xlarge]", "g6.xlarge", "hosts of a type such as g5.12xlarge"),
        ("== c7i.large", "g6.xlarge", "hosts of a type such as g6.xlarge, in its placement constraint too"),
    ],
)
def test_the_type_that_a_constraint_asks_for_is_the_fix_where_it_can_run_the_task(
    asked: str, hosts: str, told: str
) -> None:
    only = (member_of(f"attribute:ecs.instance-type {asked}"),)
    task = replace(with_memory(4096, "1"), constraints=only, origin=Origin(resource="Task", file="task.json"))
    found = check(Fleet(pools=(a_pool(hosts),), tasks=(task,), is_whole=True))
    assert [unpriced(each.fix) for each in found if each.rule == "GPU061"] == [told]


@pytest.mark.parametrize(
    ("cpu", "size", "place"),
    [
        (8192, {}, "ContainerDefinitions.Cpu"),
        (0, {"cpu_limit": 8192}, "Cpu"),
        (0, {"memory_limit_mib": 90_000}, "Memory"),
    ],
)
def test_who_meant_gpus_is_told_hosts_with_gpus_at_the_size_that_is_too_large(
    cpu: int, size: dict[str, Any], place: str
) -> None:
    asking = Container(name="c", cpu=cpu, requirements=(ResourceRequirement(type="gpu", value="1"),))
    task = Task(name="train", containers=(asking,), compatibilities=("EC2",), **size)
    found = check(Fleet(pools=(a_pool("g6.xlarge"),), tasks=(task,), is_whole=True))
    (one,) = [each for each in found if each.rule == "GPU061"]
    told = unpriced(one.fix).removeprefix("hosts of a type such as ").partition(",")[0]
    assert (one.changes, instance_type(told).gpus > 0) == (place, True)


def test_no_image_is_told_where_none_drives_both_architectures() -> None:
    told = fixes(running_on(a_pool("g6.xlarge", "g5g.xlarge"), task=with_memory(4096, "1")))
    assert told["GPU052"] == "leave g5g.xlarge out"


H100 = a_pool("p5.48xlarge", name="H100", cluster="c")
CPU = a_pool("c7i.large", name="Cpu", cluster="c", image=of_image("al2023"))


@pytest.mark.parametrize(
    ("pools", "fix"),
    [
        ((H100, CPU), "a CapacityProviderStrategy with Cpu, and no LaunchType"),
        ((H100,), "a CapacityProviderStrategy with hosts that are made for the task"),
    ],
)
def test_a_task_without_gpus_is_sent_to_no_gpu_hosts(pools: tuple[Pool, ...], fix: str) -> None:
    fleet = on_launch_type(*pools, task=NGINX, cluster="c", is_whole=True)
    told = fixes(replace(fleet, provider_lists=(ProviderList(cluster="c", cluster_is_defined=True),)))
    rule = "GPU072" if "GPU072" in told else "GPU218"
    assert told[rule].startswith(fix)


def test_a_daemon_that_is_the_work_is_not_told_to_give_its_gpu_up() -> None:
    told = fixes(running_on(a_pool(), task=with_memory(4096, "1"), daemon=True))["GPU082"]
    assert told.startswith("if it only watches the GPUs, ")


def test_a_parameter_that_no_image_has_is_near_one_with_a_driver() -> None:
    wrong = "{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/arm64/gpu/recommended/image_id}}"
    hosts = a_pool("g5g.xlarge", image=UNKNOWN, image_written=wrong)
    assert "bottlerocket" in fixes(running_on(hosts, task=with_memory(4096, "1")))["GPU130"]


def test_regions_are_the_nearest_and_the_rest_is_counted() -> None:
    (said,) = [
        each for each in check(Fleet(pools=(a_pool("p5.48xlarge", region="eu-central-1"),))) if each.rule == "GPU011"
    ]
    assert "but in eu-" in said.message
    assert said.message.endswith("more")


def test_hosts_on_which_a_gpu_task_waits_are_told_no_image_without_a_driver() -> None:
    hosts = a_pool("c7i.large", image=of_image("al2", release=None))
    assert fixes(running_on(hosts, task=NGINX))["GPU003"] == "image al2023, which has taken its place"
    assert "al2023" not in fixes(running_on(hosts, task=with_memory(1024, "1")))["GPU003"]


def test_hosts_of_bottlerocket_join_the_cluster_that_their_script_named() -> None:
    script = UserData(format=UserDataFormat.SHELL, agent=(("ECS_CLUSTER", "gpu"),))
    hosts = a_pool("g5g.xlarge", image=of_image("al2-gpu"), cluster="gpu", user_data=script)
    told = fixes(running_on(hosts, task=with_memory(4096, "1")))
    assert told["GPU052"] == "image bottlerocket-ecs-2-nvidia-arm64, with its user data in TOML"


def test_docker_chooses_no_host_port_in_network_mode_host() -> None:
    ports = Container(name="web", memory_limit_mib=512, host_ports=((51678, "tcp"),))
    bridged = Task(name="web", containers=(ports,))
    for mode, told in (("bridge", "a dynamic host port (0), or another host port"), ("host", "another host port")):
        task = replace(bridged, network_mode=mode)
        assert fixes(running_on(a_pool(), task=task))["GPU084"] == told


def test_a_parameter_of_another_architecture_is_not_completed() -> None:
    wrong = "{{resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended}}"
    for kind, is_told in (("g6.xlarge", True), ("g5g.xlarge", False)):
        hosts = a_pool(kind, image=UNKNOWN, image_written=wrong)
        told = fixes(running_on(hosts, task=with_memory(1024, "1")))["GPU130"]
        assert told.endswith("gpu/recommended/image_id") is is_told


def test_a_misspelt_type_is_told_the_types_that_run_the_task() -> None:
    hosts = a_pool(instance_types=(), unknown_type_names=("g6xlarge",))
    assert fixes(running_on(hosts, task=with_memory(1024, "1")))["GPU050"] == "g6.xlarge, or g6e.xlarge"


def test_a_number_of_gpus_that_no_host_here_has_is_not_told() -> None:
    told = fixes(running_on(a_pool("g6.xlarge"), task=with_memory(1024, " 8")))["GPU020"]
    assert "8" not in told
    assert fixes(running_on(a_pool("g6.48xlarge"), task=with_memory(1024, " 8")))["GPU020"] == 'write it "8"'


@error("GPU991", question="?", because="b", source="https://docs.aws.amazon.com/")
def too_many(pool: Pool) -> Iterator[Problem]:
    if pool.max_instances != 3:
        ways = tuple(Way(text=f"{size} hosts", things=(replace(pool, max_instances=size),)) for size in (4, 0, 3))
        yield Problem(message="not three", fix="another number", ways=(ways,))


def test_of_several_changes_the_first_that_works_is_told_if_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(pools=(a_pool(max_instances=9),))
    monkeypatch.setattr("gpu_constructs.rules.catalogue._rules_about", lambda _: (too_many,))
    assert [each.fix for each in check(fleet, rules=[too_many])] == ["3 hosts"]
    with one_call(4_100):  # for the first two
        assert [each.fix for each in check(fleet, rules=[too_many])] == ["another number"]


def test_shares_are_sent_to_newer_gpus() -> None:
    share = Container(name="main", memory_limit_mib=4096, requirements=(mps(),))
    told = fixes(running_on(a_pool("p2.xlarge", image=UNKNOWN), task=Task(name="shared", containers=(share,))))
    assert "such as g4dn.xlarge" in told["GPU032"]


def crowd(size: int, **wrong: Any) -> Fleet:
    """A service whose task has so many containers, with the same mistake in each."""
    usual: dict[str, Any] = {"memory_limit_mib": 512, "requirements": (ResourceRequirement.gpus(1),)}
    containers = tuple(Container(name=f"c{each}", **(usual | wrong)) for each in range(size))
    return running_on(a_pool(), task=Task(name="crowd", containers=containers))


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory_limit_mib": 100},
        {"requirements": (ResourceRequirement(value="1.5"),)},
        {"host_ports": tuple((port, "tcp") for port in range(80, 120))},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_change_of_a_container_makes_a_task_only_when_it_is_tried(
    wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Task] = []
    of_dataclass = Task.__init__

    def counted(self: Task, *args: Any, **fields: Any) -> None:
        made.append(self)
        of_dataclass(self, *args, **fields)

    fleet = crowd(10, **wrong)
    assert fixes(fleet).keys() - fixes(crowd(10)).keys()
    monkeypatch.setattr(Task, "__init__", counted)
    check(fleet, fixes=False)
    assert len(made) < 10


def test_fixes_are_tried_on_no_more_containers_than_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []
    grave = catalogue._grave

    def counted(fleet: Fleet, also: str, *, alone: bool = False) -> Counter[tuple[str, str]]:
        checked.extend(len(each.containers) for each in fleet.tasks)
        return grave(fleet, also, alone=alone)

    monkeypatch.setattr("gpu_constructs.rules.catalogue._grave", counted)
    with one_call(1_000_000) as work:
        check(crowd(100, memory_limit_mib=100))
    assert 0 < sum(checked) <= 1_000
    assert work.left > 400_000, "half is left for other values of parameters"


def test_of_one_rule_no_more_is_found_than_anybody_reads_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "FOUND", 5)
    *found, said = check(crowd(9, memory_limit_mib=100), rules=[catalogue.find_rule("GPU312")])
    assert [each.rule for each in found] == ["GPU312"] * 5
    assert (said.rule, said.message) == ("GPU116", "GPU312 found 5 places, and was not asked for more")
