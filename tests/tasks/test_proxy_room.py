"""A service in Service Connect has tasks with a size, on hosts that have room for the proxy of each."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import DoesNotFitError, GpuService, GpuTaskDefinition
from tests.synthesis import Site

_CONNECT = ecs.ServiceConnectProps(
    namespace="models", services=[ecs.ServiceConnectService(port_mapping_name="http", dns_name="chat", port=80)]
)
_PORTS = [ecs.PortMapping(container_port=8000, name="http")]


def task_on(site: Site, *types: str, service_connect: bool = False, **container: Any) -> GpuTaskDefinition:
    capacity = site.capacity(*types)
    task = GpuTaskDefinition(site.stack, "Task", capacity=[capacity], service_connect=service_connect)
    task.add_gpu_container("vllm", image=site.image, port_mappings=_PORTS, **container)
    return task


def connect(site: Site, task: GpuTaskDefinition) -> GpuService:
    options: Any = {"service_connect_configuration": _CONNECT}
    return GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task, desired_count=1, **options)


def sizes(site: Site) -> tuple[str, str]:
    task = site.only("AWS::ECS::TaskDefinition")
    return task["Cpu"], task["Memory"]


def test_the_share_of_a_host_leaves_room_for_the_proxy_if_the_task_is_made_for_service_connect(site: Site) -> None:
    task = task_on(site, "g6.xlarge", service_connect=True)
    connect(site, task)
    assert site.warnings() == []
    container = site.container()
    assert (container["Cpu"], container["Memory"]) == (4096 - 256, 14899 - 64)
    assert sizes(site) == ("4096", "14899")
    configuration = site.only("AWS::ECS::Service")["ServiceConnectConfiguration"]
    assert (configuration["Namespace"], configuration["Services"][0]["PortName"]) == ("models", "http")


def test_every_gpu_of_a_host_gets_its_task_and_proxy(site: Site) -> None:
    connect(site, task_on(site, "g6.12xlarge", service_connect=True))
    assert site.warnings() == []
    assert sizes(site)[0] == str(48 * 1024 // 4)


def test_containers_before_and_after_the_service_count_and_so_does_the_log_router_of_cdk(site: Site) -> None:
    task = task_on(site, "g6.xlarge", cpu=1024, memory_mib=8000, memory_reservation_mib=4000)
    task.add_container("before", image=site.image, memory_reservation_mib=100)
    connect(site, task)
    logging = ecs.LogDrivers.firelens(options={"Name": "cloudwatch", "region": "eu-west-1"})
    task.add_container("after", image=site.image, cpu=128, memory_limit_mib=200, logging=logging)
    assert site.warnings() == []
    assert sizes(site) == (str(1024 + 128 + 256), str(8000 + 100 + 200 + 50 + 64))


@pytest.mark.parametrize(("types", "room"), [(["g6.xlarge"], "0 tasks.*for 1"), (["g6.12xlarge"], "3 tasks.*for 4")])
def test_containers_that_took_the_whole_share_leave_no_room(site: Site, types: list[str], room: str) -> None:
    task = task_on(site, *types)
    with pytest.raises(DoesNotFitError, match=rf"service_connect_configuration: .*{room}.*service_connect=True"):
        connect(site, task)


def test_a_container_with_a_size_that_is_too_large_for_the_proxy_is_refused_on_its_line(site: Site) -> None:
    with pytest.raises(DoesNotFitError, match=r"cpu: .*4352 asked with the proxy of Service Connect"):
        task_on(site, "g6.xlarge", service_connect=True, cpu=4096, memory_mib=8000)
