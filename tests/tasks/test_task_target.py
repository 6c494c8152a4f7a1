"""Where a task may be placed, and how it is written for an Auto Scaling group, Managed Instances, or both."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_ecs as ecs

from gpu_constructs import (
    DoesNotFitError,
    GpuService,
    IncompatibleError,
    InvalidValueError,
    ManagedGpuCapacity,
)
from gpu_constructs.facts import Architecture
from tests.synthesis import Properties, Site, Tenant

TASK = "AWS::ECS::TaskDefinition"
BOTH = ("EC2", "MANAGED_INSTANCES")


def managed(site: Site, *types: str, name: str = "Managed") -> ManagedGpuCapacity:
    return site.managed(name, instance_types=list(types or ("g6.xlarge",)))


def written(site: Site) -> Properties:
    return site.only(TASK)


def test_a_task_on_managed_instances_is_written_for_them(tenant: Tenant) -> None:
    task = tenant.task(managed(tenant))
    task.add_gpu_container("train", image=tenant.image)
    properties = written(tenant)
    assert properties["RequiresCompatibilities"] == ["MANAGED_INSTANCES"]
    assert properties["NetworkMode"] == "awsvpc"
    assert properties["RuntimePlatform"] == {"CpuArchitecture": "X86_64", "OperatingSystemFamily": "LINUX"}
    assert properties.keys().isdisjoint({"PlacementConstraints", "IpcMode", "Cpu", "Memory"})
    assert "SharedMemorySize" not in str(properties)
    assert (task.task.network_mode, task.task.compatibilities) == ("awsvpc", ("MANAGED_INSTANCES",))
    assert (task.task.architecture, task.task.operating_system) == (Architecture.X86_64, "LINUX")
    assert task.task.constraints == ()


def test_a_task_on_an_auto_scaling_group_is_written_as_ever(tenant: Tenant) -> None:
    task = tenant.task(tenant.capacity("g6.xlarge"))
    task.add_gpu_container("train", image=tenant.image)
    properties = written(tenant)
    assert properties["RequiresCompatibilities"] == ["EC2"]
    assert properties["NetworkMode"] == "bridge"
    assert "RuntimePlatform" not in properties
    assert task.task.architecture is None
    assert properties["PlacementConstraints"] == [
        {"Expression": "attribute:ecs.instance-type in [g6.xlarge]", "Type": "memberOf"}
    ]


def test_a_task_that_moves_between_both_is_written_for_both(tenant: Tenant) -> None:
    task = tenant.task(tenant.capacity("g6.xlarge"), managed(tenant, "g6.2xlarge"))
    task.add_gpu_container("train", image=tenant.image)
    properties = written(tenant)
    assert tuple(properties["RequiresCompatibilities"]) == BOTH
    assert properties["NetworkMode"] == "awsvpc"
    (constraint,) = properties["PlacementConstraints"]
    assert constraint["Expression"] == "attribute:ecs.instance-type in [g6.xlarge, g6.2xlarge]"
    assert "SharedMemorySize" not in str(properties)


@pytest.mark.parametrize("mode", [ecs.NetworkMode.BRIDGE, ecs.NetworkMode.NONE])
def test_other_network_modes_are_refused_there(tenant: Tenant, mode: ecs.NetworkMode) -> None:
    group, hosts = tenant.capacity("g6.xlarge"), managed(tenant)
    for each in ((hosts,), (group, hosts)):
        with pytest.raises(IncompatibleError, match="network_mode: .*is not valid.*fix: .*awsvpc or host.*GPU047"):
            tenant.task(*each, network_mode=mode)
    assert tenant.task(group, network_mode=mode).task.network_mode == mode.name.lower()


SETTINGS: list[tuple[str, Any]] = [
    ("disable_networking", True),
    ("dns_search_domains", ["a"]),
    ("dns_servers", ["10.0.0.2"]),
    ("docker_security_options", ["no-new-privileges"]),
    ("extra_hosts", {"a": "10.0.0.1"}),
    ("hostname", "a"),
]


@pytest.mark.parametrize(("setting", "value"), SETTINGS)
def test_settings_that_managed_instances_refuse(tenant: Tenant, setting: str, value: Any) -> None:
    task = tenant.task(managed(tenant))
    with tenant.refuses(IncompatibleError, match="is for ECS Managed Instances, where") as caught:
        task.add_container("sidecar", image=tenant.image, memory_limit_mib=64, **{setting: value})
    assert caught.value.argument == setting


def test_a_service_uses_one_kind(site: Site) -> None:
    group, hosts = site.capacity("g6.xlarge"), managed(site)
    task = site.task(group, hosts)
    task.add_gpu_container("train", image=site.image)
    for name, capacity in (("OnGroup", group), ("OnManaged", hosts)):
        service = GpuService(site.stack, name, cluster=site.cluster, task_definition=task, capacity=[capacity])
        assert [item.pool for item in service.workload.strategy] == [capacity.pool]
    strategies = [each["CapacityProviderStrategy"] for each in site.properties("AWS::ECS::Service")]
    assert [len(each) for each in strategies] == [1, 1]
    assert strategies[0] != strategies[1]
    # Managed Instances place tasks themselves.
    assert [bool(each.get("PlacementStrategies")) for each in site.properties("AWS::ECS::Service")] == [True, False]
    assert site.findings("GPU140") == []
    assert site.findings("GPU125") == []
    with pytest.raises(
        IncompatibleError, match=r"Instances \(Managed\) and Auto Scaling groups \(Capacity\).*GPU140"
    ) as caught:
        GpuService(site.stack, "Both", cluster=site.cluster, task_definition=task)
    assert caught.value.argument == "capacity"


def test_a_service_uses_capacity_of_its_task_only(site: Site) -> None:
    task = site.task(site.capacity("g6.xlarge"))
    task.add_gpu_container("train", image=site.image)
    other = site.capacity("g6.2xlarge", name="Other")
    with pytest.raises(InvalidValueError, match="does not name Other") as caught:
        GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task, capacity=[other])
    assert (caught.value.argument, caught.value.allowed) == ("capacity", "Capacity")


def test_an_auto_scaling_group_beside_it_keeps_its_smallest_host(tenant: Tenant) -> None:
    task = tenant.task(tenant.capacity("g6.xlarge"), managed(tenant, "g6.12xlarge"))
    with pytest.raises(DoesNotFitError, match="Task does not fit on Capacity: GPUs: 4 asked"):
        task.add_gpu_container("train", image=tenant.image, gpus=4)
