"""Logs that go through a log router: it comes first, and has its place on the host."""

from __future__ import annotations

import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import GpuService, IncompatibleError
from tests.synthesis import Site, Tenant, unwritten


def test_containers_that_log_with_firelens_come_after_the_router_and_share_what_it_leaves(site: Site) -> None:
    task = site.task(site.l4)
    kind = ecs.FirelensConfig(type=ecs.FirelensLogRouterType.FLUENTBIT)
    task.add_firelens_log_router("router", image=site.image, memory_reservation_mib=200, firelens_config=kind)
    task.add_gpu_container("train", image=site.image, logging=ecs.LogDrivers.firelens(options={"Name": "cloudwatch"}))
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    made = site.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    found = {each["Name"]: each for each in made}
    assert found.keys() == {"router", "train"}
    assert found["train"]["Memory"] == 14899 - 200
    assert found["train"]["LogConfiguration"]["LogDriver"] == "awsfirelens"
    assert site.warnings() == []


def test_without_a_router_they_are_refused(tenant: Tenant) -> None:
    task = tenant.task(tenant.l4)
    for add in (task.add_gpu_container, task.add_container):
        with unwritten(), pytest.raises(IncompatibleError, match="logging: .*fix: add_firelens_log_router before"):
            add("train", image=tenant.image, logging=ecs.LogDrivers.firelens(options={}))
