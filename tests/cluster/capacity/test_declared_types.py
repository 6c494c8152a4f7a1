"""Capacity on instance types that are newer than the catalogue: declared, or with an image and no GPU task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs import (
    DeclaredInstanceType,
    GpuCapacity,
    GpuCluster,
    GpuMachineImage,
    GpuShare,
    GpuTaskDefinition,
    HostNetwork,
    HostStorage,
    declare_instance_types,
)
from gpu_constructs.check.report import check_files
from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.fleet import Fleet
from gpu_constructs.rules import Severity
from tests.synthesis import unwritten

IMAGE = ecs.ContainerImage.from_registry("nvidia/cuda:12.8.1-base-ubuntu24.04")
NEW = DeclaredInstanceType(
    "g8.12xlarge",
    vcpus=48,
    memory_mib=196608,
    gpus=4,
    gpu_model="L40S",
    gpu_memory_mib=45776,
    max_interfaces=8,
    efa_cards=[0],
    local_disks_gb=[1900],
)


pytestmark = pytest.mark.usefixtures("forget_declared_types")


@pytest.fixture
def cluster() -> GpuCluster:
    stack = cdk.Stack(cdk.App(), "Newer")
    return GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=1))


def template_of(cluster: GpuCluster) -> dict[str, Any]:
    return dict(assertions.Template.from_stack(cdk.Stack.of(cluster)).to_json())


def test_a_declared_type_is_checked_like_any_other_and_every_reader_has_the_same_facts(
    cluster: GpuCluster, forget_declared_types: Callable[[], None]
) -> None:
    declare_instance_types(NEW)
    disks = HostStorage(scratch_on_local_disks=True)
    big = cluster.add_capacity(
        "Big", instance_types=["g8.12xlarge"], max_instances=2, network=HostNetwork.efa(), storage=disks
    )
    managed = cluster.add_managed_capacity("Managed", instance_types=["g8.12xlarge"])
    task = GpuTaskDefinition(cdk.Stack.of(cluster), "Task", capacity=[big], network_mode=ecs.NetworkMode.HOST)
    with unwritten(), pytest.raises(GpuConstructsError, match=r"GPUs: 8 asked, g8.12xlarge \(declared\) has 4"):
        task.add_gpu_container("all", image=IMAGE, gpus=8)
    task.add_gpu_container("main", image=IMAGE, gpus=2, gpu_memory_gib=40, efa=True)
    template = template_of(cluster)
    forget_declared_types()
    report = check_files([template])
    # Whether ECS Managed Instances launch the type is not its user's word.
    assert [each.rule for each in report.findings if each.severity is not Severity.INFO] == ["GPU185"]
    found = {pool.name.removeprefix("Newer"): pool.instance_types for pool in report.fleet.pools}
    assert set(found.values()) == {big.pool.instance_types, managed.pool.instance_types}
    assert all(each.declared for types in found.values() for each in types)


def test_what_a_declaration_does_not_say_is_to_be_stated_there(cluster: GpuCluster) -> None:
    declare_instance_types(DeclaredInstanceType("g8.xlarge", vcpus=8, memory_mib=65536, gpus=1, gpu_model="R200"))
    with pytest.raises(GpuConstructsError, match=r"state efa_cards in the declaration of g8\.xlarge"):
        cluster.add_capacity("Efa", instance_types=["g8.xlarge"], max_instances=2, network=HostNetwork.efa())
    new = cluster.add_capacity("New", instance_types=["g8.xlarge"], max_instances=2)
    task = GpuTaskDefinition(cdk.Stack.of(cluster), "Task", capacity=[new])
    with pytest.raises(GpuConstructsError, match=r"gpus: .*; fix: state gpu_memory_mib in the declaration"):
        task.add_gpu_container("main", image=IMAGE, gpus=GpuShare(memory_mib=8192))


def test_a_task_on_hosts_of_another_app_declares_their_type_itself(
    cluster: GpuCluster, forget_declared_types: Callable[[], None]
) -> None:
    declare_instance_types(NEW)
    stack = cdk.Stack.of(cluster)
    theirs = GpuCapacity.from_attributes(
        stack,
        "Theirs",
        cluster=cluster,
        capacity_provider_name="new",
        instance_types=["g8.12xlarge"],
        max_instances=2,
    )
    task = GpuTaskDefinition(stack, "Task", capacity=[theirs])
    task.add_gpu_container("main", image=IMAGE, gpus=1, gpu_memory_gib=40)
    template = template_of(cluster)
    written = next(each for each in template["Resources"].values() if each["Type"] == "AWS::ECS::TaskDefinition")
    assert written["Metadata"]["gpu-constructs"].keys() == {"Containers", "InstanceTypes"}
    assert "GPU042" not in {each.rule for each in check_files([template]).findings}
    forget_declared_types()
    assert "GPU042" not in {each.rule for each in check_files([template]).findings}


def test_with_an_image_it_is_a_warning_and_a_gpu_task_there_is_not_checked(cluster: GpuCluster) -> None:
    pinned = GpuMachineImage.pinned("al2023-gpu")
    new = cluster.add_capacity("New", instance_types=["g8.12xlarge"], max_instances=1, image=pinned)
    assert new.pool.unknown_type_names == ("g8.12xlarge",)
    assert new.gpus == 0
    task = GpuTaskDefinition(cdk.Stack.of(cluster), "Task", capacity=[new])
    task.add_gpu_container("main", image=IMAGE, gpus=1, cpu=1024, memory_mib=4096)
    found = check_files([template_of(cluster)])
    assert [each.rule for each in found.findings if each.severity is Severity.WARNING] == ["GPU051"]
    assert not any(each.severity is Severity.ERROR for each in found.findings)
    assert len(found.unchecked) == 1
    assert found.fleet.pools[0].unknown_type_names == ("g8.12xlarge",)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (["g9.xlarge"], "InstanceTypes: expects instance types by name"),
        ({"g9.xlarge": 4}, "InstanceTypes.g9.xlarge: vcpus of 'g9.xlarge' is missing"),
        ({"g9.xlarge": {"Vcpus": 4}}, "memory_mib of 'g9.xlarge' is missing"),
        ({"g9.xlarge": {"Vcpus": "x", "MemoryMib": 4}}, "g9.xlarge.Vcpus: Vcpus: got 'x'; allowed: a whole number"),
        ({"g9": {"Vcpus": 4, "MemoryMib": 4}}, "cannot be an instance type"),
        ({"g6.xlarge": {"Vcpus": 8, "MemoryMib": 16384}}, "has g6.xlarge with vcpus 4, and it is declared with 8"),
        ({f"g{number}.xlarge": {} for number in range(500)}, "expects 400 instance types at most"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_declaration_in_a_template_is_remarked_at_its_place(written: Any, words: str) -> None:
    hosts = {
        "Type": "AWS::AutoScaling::AutoScalingGroup",
        "Metadata": {"gpu-constructs": {"InstanceTypes": written}},
        "Properties": {"MinSize": "0", "MaxSize": "1"},
    }
    fleet: Fleet = check_files([{"Resources": {"Hosts": hosts}}], rules=()).fleet
    assert any(words in each.text for each in fleet.remarks), [each.text for each in fleet.remarks]
