from __future__ import annotations

import pytest
from emulator.agent import AgentConfig, agent_config
from emulator.demands import TaskDefinitionError, demand_of
from emulator.placement import ALL, GpuDemand

SHELL = """#!/bin/bash
echo ECS_CLUSTER=first >> /etc/ecs/ecs.config
cat <<'EOF' >> /etc/ecs/ecs.config
ECS_CLUSTER=gpu-cluster
ECS_RESERVED_MEMORY=256
ECS_INSTANCE_ATTRIBUTES={"tier":"spot","size":"8"}
EOF"""
TOML = """
[settings.ecs]
cluster = "gpu-cluster"
reserved-memory = 256  # MiB
[settings.ecs.instance-attributes]
"tier" = "spot"
size = "8"
"""


@pytest.mark.parametrize("user_data", [SHELL, TOML])
def test_the_agent_joins_the_cluster_that_user_data_names(user_data: str) -> None:
    assert agent_config(user_data) == AgentConfig("gpu-cluster", 256, {"tier": "spot", "size": "8"})


def test_an_agent_that_is_told_nothing_joins_the_default_cluster() -> None:
    assert agent_config("") == AgentConfig("default", 0, {})


def container(**more: object) -> dict[str, object]:
    return {"name": "training", "memory": 512, **more}


def gpu(value: object) -> dict[str, object]:
    return container(resourceRequirements=[{"type": "GPU", "value": value}])


@pytest.mark.parametrize(("value", "count"), [("1", 1), ("8", 8), ("0.25", 0.25), ("ALL", ALL)])
def test_gpus_are_read_from_the_resource_requirements(value: str, count: object) -> None:
    assert demand_of([gpu(value)]).gpus == (GpuDemand("training", count),)  # type: ignore[arg-type]


def test_a_task_asks_for_what_its_containers_reserve() -> None:
    demand = demand_of(
        [
            container(cpu=256, portMappings=[{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81}]),
            container(memoryReservation=128),
        ]
    )

    assert (demand.cpu, demand.memory, demand.ports) == (256, 640, frozenset({8080}))


def test_the_size_of_the_task_goes_before_that_of_its_containers() -> None:
    demand = demand_of([container(cpu=256)], cpu="2 vCPU", memory="4 GB")

    assert (demand.cpu, demand.memory) == (2048, 4096)


@pytest.mark.parametrize(
    "definition",
    [
        gpu("0"),
        gpu("-1"),
        gpu("one"),
        gpu("1.5"),
        gpu(1),
        gpu(None),
        {"name": "no-memory"},
        container(resourceRequirements=[{"type": "gpu", "value": "1"}]),
        container(resourceRequirements=[{"type": "InferenceAccelerator", "value": "x"}]),
        container(resourceRequirements=[{"type": "GPU", "value": "1"}] * 2),
    ],
)
def test_a_requirement_that_ecs_refuses_is_an_error(definition: dict[str, object]) -> None:
    with pytest.raises(TaskDefinitionError):
        demand_of([definition])


@pytest.mark.parametrize(
    "constraints",
    [
        [{"type": "distinctInstance"}],
        [{"type": "memberOf", "expression": "attribute:a = b"}],
        [{"type": "memberOf", "expression": "attribute:a exists"}] * 11,
    ],
)
def test_a_placement_constraint_that_ecs_refuses_is_an_error(constraints: list[dict[str, str]]) -> None:
    with pytest.raises(TaskDefinitionError):
        demand_of([container()], constraints=constraints)
