"""Containers that CDK adds by itself: it calls our methods with structs, and what it adds has its place on the host."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import DoesNotFitError, GpuService
from tests.synthesis import Site, Tenant

_FIRELENS = {"Name": "cloudwatch", "region": "eu-west-1"}


def containers(site: Site) -> dict[str, Any]:
    return {each["Name"]: each for each in site.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]}


def test_a_container_logs_with_firelens_through_the_router_that_cdk_adds(site: Site) -> None:
    task = site.task(site.l4)
    task.add_gpu_container("train", image=site.image, logging=ecs.LogDrivers.firelens(options=_FIRELENS))
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    assert [each.name for each in task.task.containers] == ["train", "log-router"]
    expected = task.task
    found = containers(site)
    assert (found["log-router"]["MemoryReservation"], found["train"]["Memory"]) == (50, 14899 - 50)
    assert found["train"]["LogConfiguration"]["LogDriver"] == "awsfirelens"
    assert task.task == expected
    assert site.warnings() == []


def test_one_of_your_own_takes_its_place(tenant: Tenant) -> None:
    task = tenant.task(tenant.l4)
    logging = ecs.LogDrivers.firelens(options=_FIRELENS)
    task.add_gpu_container("train", image=tenant.image, memory_mib=8000, logging=logging)
    kind = ecs.FirelensConfig(type=ecs.FirelensLogRouterType.FLUENTBIT)
    task.add_firelens_log_router("mine", image=tenant.image, memory_reservation_mib=200, firelens_config=kind)
    assert set(containers(tenant)) == {each.name for each in task.task.containers} == {"train", "mine"}


def test_a_sidecar_that_logs_with_firelens_needs_room_for_the_router_too(tenant: Tenant) -> None:
    task = tenant.task(tenant.l4)
    task.add_gpu_container("train", image=tenant.image, memory_mib=15900)
    with pytest.raises(DoesNotFitError):
        task.add_container(
            "web", image=tenant.image, memory_limit_mib=460, logging=ecs.LogDrivers.firelens(options=_FIRELENS)
        )
