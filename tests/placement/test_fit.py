"""One task on one host, and on a pool: the answer, and every reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.facts import Architecture, InstanceType, accelerated
from gpu_constructs.fleet import UNKNOWN, Container, GpuNeeds, NetworkInterface, Pool, PoolKind, Task, UserData
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.fit import fit, refusals
from gpu_constructs.placement.one_host import on_host
from gpu_constructs.placement.pool_profile import profile_of
from gpu_constructs.placement.reasons import DoubtKind, HostResource, ObstacleKind, Shortfall
from tests.placement.given import a_pool, a_task, told
from tests.rules.given import member_of

NVIDIA = [each for each in accelerated() if each.gpus]
G5 = ("g5.xlarge", "g5.12xlarge")


def short(task: Task, pool: Pool) -> list[tuple[HostResource, int, int | None, str]]:
    found = fit(task, pool).shortfalls
    return [(each.resource, each.asked, each.available, each.instance_type.name) for each in found]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (a_task("4"), [(HostResource.GPU, 4, 1, "g6.xlarge")]),
        (a_task("1", "1"), [(HostResource.GPU, 2, 1, "g6.xlarge")]),
        (a_task("ALL", "1"), [(HostResource.GPU, 2, 1, "g6.xlarge")]),
        (a_task("1", cpu=4097), [(HostResource.CPU, 4097, 4096, "g6.xlarge")]),
        (a_task("1", memory_mib=16385), [(HostResource.MEMORY, 16385, 16384, "g6.xlarge")]),
        (
            a_task("2", cpu=8192, memory_mib=65536),
            [
                (HostResource.GPU, 2, 1, "g6.xlarge"),
                (HostResource.CPU, 8192, 4096, "g6.xlarge"),
                (HostResource.MEMORY, 65536, 16384, "g6.xlarge"),
            ],
        ),
    ],
)
def test_every_resource_that_is_short_is_told_with_its_numbers(task: Task, expected: list[Any]) -> None:
    assert fit(task, a_pool("g6.xlarge")).answer is False
    assert short(task, a_pool("g6.xlarge")) == expected


def test_the_smallest_type_is_the_first_of_the_doubts() -> None:
    found = fit(a_task("1", memory_mib=185 * 1024), a_pool("g6.xlarge", "g6.12xlarge", min_instances=1))
    assert [each.kind for each in found.doubts] == [DoubtKind.SMALLEST_TYPE, DoubtKind.MEMORY]


def test_what_is_not_known_of_a_task_stays_so_with_the_constraints_of_its_service() -> None:
    task, on_g6 = a_task(UNKNOWN), member_of("attribute:ecs.instance-type == g6.xlarge")
    assert demand_of(task).unknown
    assert demand_of(task, (on_g6,)).unknown == demand_of(task).unknown


@pytest.mark.parametrize(
    ("user_data", "memory_mib", "answer"),
    [
        (told(), 15400, True),  # 16384 less 6 %
        (told(), 15401, UNKNOWN),
        (told(), 16383, UNKNOWN),
        (told(), 16384, False),  # a host registers less than its nominal memory
        (told(ECS_RESERVED_MEMORY=UNKNOWN), 1024, UNKNOWN),
    ],
)
def test_memory_is_held_against_what_the_agents_leave(user_data: UserData, memory_mib: int, answer: object) -> None:
    pool = a_pool("g6.xlarge", user_data=user_data)
    found = fit(a_task("1", memory_mib=memory_mib), pool)
    assert found.answer is answer
    assert {each.kind for each in found.doubts} == ({DoubtKind.MEMORY} if answer is UNKNOWN else set())


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"has_unknown_types": True}, "only known at deploy time"),
        ({"unknown_type_names": ("g9.xlarge",)}, "g9.xlarge is not in the catalogue"),
    ],
)
@pytest.mark.parametrize("task", [a_task("1"), a_task("8")])
def test_hosts_that_nobody_knows_are_never_a_fit_and_never_a_refusal(
    changes: dict[str, Any], word: str, task: Task
) -> None:
    found = fit(task, a_pool("g6.xlarge", **changes))
    assert found.answer is UNKNOWN
    assert word in found.reasons[0]


@pytest.mark.parametrize(
    ("changes", "answer"),
    [({}, False), ({"managed_scaling": UNKNOWN}, UNKNOWN), ({"kind": PoolKind.MANAGED_INSTANCES}, True)],
)
def test_with_managed_scaling_the_smallest_type_decides(changes: dict[str, Any], answer: object) -> None:
    found = fit(a_task("4"), a_pool(*G5, **changes))
    assert found.answer is answer
    assert [each.name for each in found.hosts] == ["g5.12xlarge"]


@pytest.mark.parametrize(
    ("interfaces", "network_mode", "answer"),
    [(1, "awsvpc", True), (2, "awsvpc", False), (9, "bridge", True)],
)
def test_a_task_with_an_interface_of_its_own_needs_a_free_one(interfaces: int, network_mode: str, answer: bool) -> None:
    # g6f.large takes two, one of which is the host's own.
    pool = a_pool("g6f.large", interfaces=tuple(NetworkInterface(device=each) for each in range(interfaces)))
    found = fit(a_task("0.125", network_mode=network_mode), pool)
    assert found.answer is answer
    assert {each.resource for each in found.shortfalls} == (set() if answer else {HostResource.INTERFACES})


def test_more_interfaces_than_every_type_has_are_a_doubt_where_nobody_recorded_them() -> None:
    full = a_pool("g3s.xlarge", interfaces=(NetworkInterface(), NetworkInterface(device=1)))
    (doubt,) = fit(a_task("1", network_mode="awsvpc"), full).doubts
    assert doubt.text == "no source says how many network interfaces g3s.xlarge takes"


def test_an_image_for_another_processor_runs_nowhere() -> None:
    found = fit(a_task("1", architecture=Architecture.ARM64), a_pool("g6.xlarge", "g6.2xlarge"))
    assert found.answer is False
    assert [each.kind for each in found.obstacles] == [ObstacleKind.ARCHITECTURE]
    assert found.reasons == ("a host (g6.xlarge or g6.2xlarge) is x86_64, and the task is built for arm64",)


@pytest.mark.parametrize(("task", "answer"), [(a_task("1"), False), (a_task(), True)])
def test_containers_on_windows_get_no_gpu(task: Task, answer: bool) -> None:
    on_windows = Task(name="w", containers=task.containers, operating_system="WINDOWS_SERVER_2022_CORE")
    assert fit(on_windows, a_pool("g6.xlarge")).answer is answer


class TestConstraints:
    @pytest.mark.parametrize(
        ("expression", "answer"),
        [
            ("attribute:ecs.instance-type in [g6.xlarge, g6.2xlarge]", True),
            ("attribute:ecs.cpu-architecture == arm64", False),
            ("attribute:ecs.availability-zone == us-east-1a", UNKNOWN),
            ("attribute:ecs.instance-type = g6.xlarge", UNKNOWN),  # no expression: a rule of its own tells
        ],
    )
    def test_of_the_task_and_of_its_service_count_alike(self, expression: str, answer: object) -> None:
        pool = a_pool("g6.xlarge")
        constraint = (member_of(expression),)
        assert fit(a_task("1", constraints=constraint), pool).answer is answer
        assert fit(a_task("1"), pool, constraints=constraint).answer is answer

    def test_custom_attributes_come_from_the_user_data(self) -> None:
        pool = a_pool(
            "g6.xlarge", user_data=told(ECS_INSTANCE_ATTRIBUTES='{"stack": "prod", "ecs.instance-type": "x"}')
        )
        assert fit(a_task("1"), pool, constraints=(member_of("attribute:stack == prod"),)).answer is True
        assert fit(a_task("1"), pool, constraints=(member_of("attribute:stack == test"),)).answer is False
        assert fit(a_task("1"), pool, constraints=(member_of("attribute:ecs.instance-type == x"),)).answer is False

    @pytest.mark.parametrize("text", ["{", '{"stack": 1}', '{"stack": "' + "x" * 20_000 + '"}'])
    def test_attributes_that_cannot_be_read_are_unknown(self, text: str) -> None:
        pool = a_pool("g6.xlarge", user_data=told(ECS_INSTANCE_ATTRIBUTES=text))
        assert fit(a_task("1"), pool, constraints=(member_of("attribute:stack == prod"),)).answer is UNKNOWN

    def test_a_list_of_log_drivers_that_batch_may_write_over_says_nothing(self) -> None:
        data = told(ECS_AVAILABLE_LOGGING_DRIVERS="[awslogs]")
        assert profile_of(a_pool("g6.xlarge", kind=PoolKind.BATCH, user_data=data)).capability_settings == ()

    def test_types_that_are_excluded_may_stop_scale_out_and_are_no_refusal(self) -> None:
        pool = a_pool("g6.xlarge", "g6.2xlarge")
        found = fit(a_task("1"), pool, constraints=(member_of("attribute:ecs.instance-type == g6.2xlarge"),))
        assert found.answer is UNKNOWN
        assert [each.kind for each in found.doubts] == [DoubtKind.CONSTRAINED_TYPES]
        assert [each.name for each in found.hosts] == ["g6.2xlarge"]


@given(
    st.lists(st.sampled_from(NVIDIA), min_size=1, max_size=4),
    st.integers(min_value=0, max_value=9),
    st.integers(min_value=0, max_value=250_000),
    st.integers(min_value=0, max_value=2_200_000),
)
def test_numbers_alone_agree_with_the_smallest_type_by_resource(
    types: list[InstanceType], gpus: int, cpu: int, memory_mib: int
) -> None:
    pool = a_pool(*(each.name for each in types), user_data=told(ECS_RESERVED_MEMORY="256"))
    task = a_task(*([str(gpus)] if gpus else []), cpu=cpu, memory_mib=memory_mib)
    found = fit(task, pool)
    assert (found.answer is False) is any(refusals(task, each, pool) for each in pool.instance_types)
    if found.answer is True:
        assert all(on_host(demand_of(task), each, profile_of(pool)).answer is True for each in types)


@given(st.sampled_from(NVIDIA), st.integers(min_value=1, max_value=9), st.integers(min_value=1, max_value=2_200_000))
def test_asking_for_less_never_turns_a_fit_into_a_refusal(host: InstanceType, gpus: int, memory_mib: int) -> None:
    pool = a_pool(host.name)
    if fit(a_task(str(gpus), memory_mib=memory_mib), pool).answer is True:
        assert fit(a_task("1", memory_mib=memory_mib), pool).answer is True
        assert fit(a_task(str(gpus), memory_mib=max(1, memory_mib // 2)), pool).answer is True


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        (15_000, " (ECS_RESERVED_MEMORY keeps 4096 MiB)"),
        (12_288, " (ECS_RESERVED_MEMORY keeps 4096 MiB, and firmware and the kernel keep some of it)"),
        (17_000, ""),
    ],
)
def test_memory_that_the_agent_keeps_is_named_where_the_host_had_enough(asked: int, note: str) -> None:
    pool = a_pool("g5.xlarge", user_data=told(ECS_RESERVED_MEMORY="4096"))
    (short,) = fit(a_task("1", memory_limit_mib=asked), pool).shortfalls
    assert str(short) == f"memory: {asked} MiB asked, g5.xlarge has 12288 MiB{note}"


def test_gpu_memory_that_nobody_tells_never_satisfies_a_need() -> None:
    (host,) = [each for each in accelerated() if each.gpus and each.gpu_memory_mib is None]
    needy = replace(a_task("1").containers[0], needs=GpuNeeds(memory_mib=1))
    (short,) = refusals(replace(a_task("1"), containers=(needy,)), host, a_pool(host.name))
    assert isinstance(short, Shortfall)
    assert (short.resource, short.available) == (HostResource.GPU_MEMORY, None)
    assert "an unknown amount" in str(short)


def test_the_soft_limit_of_a_container_is_what_is_reserved() -> None:
    soft = Container(name="c", memory_limit_mib=99_999, memory_reservation_mib=1024)
    assert fit(Task(name="t", containers=(soft,)), a_pool("g6.xlarge")).answer is True
