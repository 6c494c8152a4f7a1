"""GPUs asked for as a share, as all, or as a part: what reaches the template, and what is refused and why."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from gpu_constructs import (
    DoesNotFitError,
    GpuMachineImage,
    GpuShare,
    GpuTaskDefinition,
    IncompatibleError,
    InvalidValueError,
)
from gpu_constructs.facts import instance_type
from gpu_constructs.fleet import NvidiaMps
from gpu_constructs.placement.pool_profile import share_of
from gpu_constructs.placement.rollout import task_slots
from gpu_constructs.tasks import accelerated_container
from tests.synthesis import Site, Tenant, unwritten

OLD = "al2023-ami-ecs-gpu-hvm-2023.0.20260902-kernel-6.1-x86_64-ebs"
L4_MIB = 22888


def test_a_share_reaches_the_template_whole(tenant: Tenant) -> None:
    task = tenant.task()
    task.add_container("sidecar", image=tenant.image, memory_limit_mib=64)
    task.add_gpu_container("chat", image=tenant.image, gpus=GpuShare(memory_mib=4096, max_compute_percent=30))
    sidecar, chat = tenant.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    assert chat["ResourceRequirements"] == [
        {"Type": "GPU", "SharingStrategy": {"NvidiaMps": {"Memory": 4096, "MaxComputePercent": 30}}}
    ]
    assert "ResourceRequirements" not in sidecar
    assert task.task.containers[1].mps == (NvidiaMps(memory_mib=4096, max_compute_percent=30),)


@pytest.mark.parametrize("is_known", [True, False])
def test_only_what_the_schema_of_cdk_lacks_is_acknowledged(
    site: Site, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    monkeypatch.setattr(accelerated_container, "_IS_SHARING_KNOWN", is_known)
    site.task(site.capacity("g6.xlarge")).add_gpu_container("chat", image=site.image, gpus=GpuShare(memory_mib=64))
    written = [each.read_text() for each in Path(site.app.synth().directory).glob("*.json")]
    for plugin in ("CloudFormation-Validate", "cdk-preflight"):
        assert any(f"{plugin}::F3002" in each for each in written) is not is_known


def test_as_many_shares_fit_a_host_as_its_gpus_have_memory_for(site: Site) -> None:
    usable = L4_MIB * 92 // 100
    capacity = site.capacity("g6.12xlarge", max_instances=1)
    for count in (2, 3, 5):
        task = site.task(capacity, name=f"Task{count}")
        task.add_gpu_container("chat", image=site.image, gpus=GpuShare(memory_mib=usable // count))
        assert task_slots(task.task, capacity.pool) == 4 * count
        host = instance_type("g6.12xlarge")
        assert task.task.cpu == host.vcpus * 1024 * (usable // count) // (4 * L4_MIB)
    assert site.warnings() == []


def test_a_share_of_all_that_a_driver_shows_of_the_only_gpu_brings_the_whole_host(site: Site) -> None:
    task = site.task(site.capacity("g5.xlarge"))
    task.add_gpu_container("chat", image=site.image, gpus=GpuShare(memory_mib=22_950))  # EC2 reports 22,888
    assert task.task.cpu == 4096


def test_shares_of_one_task_add_up_on_one_gpu(tenant: Tenant) -> None:
    task = tenant.task()
    task.add_gpu_container("first", image=tenant.image, gpus=GpuShare(memory_mib=10_000))
    with tenant.refuses(
        DoesNotFitError, match="shared through MPS: 23100 MiB asked, g6.xlarge has 22888 MiB"
    ) as refused:
        task.add_gpu_container("second", image=tenant.image, gpus=GpuShare(memory_mib=13_100))
    assert (refused.value.argument, refused.value.allowed) == ("gpus", "up to 21056 MiB")
    assert "memory_mib of the shares no higher than 21056 for all containers together" in str(refused.value.fix)
    task.add_gpu_container("second", image=tenant.image, gpus=GpuShare(memory_mib=11_000), essential=False)
    assert [bool(each.mps) for each in task.task.containers] == [True, True]


def test_memory_that_a_gpu_may_not_have_to_share_and_neighbours_that_fail_together_are_warnings(site: Site) -> None:
    site.task(name="Large").add_gpu_container("chat", image=site.image, gpus=GpuShare(memory_mib=L4_MIB))
    task = site.task(name="Two")
    for name in ("first", "second"):
        task.add_gpu_container(name, image=site.image, gpus=GpuShare(memory_mib=4096))
    large, two = sorted(site.warnings())
    assert "GPU006" in large
    assert "ask for no more than 21056" in large
    assert "GPU034" in two
    assert "first and second may share a GPU" in two


# Capacity, what is asked for, and the reason why it cannot be had.
REFUSED: list[Any] = [
    pytest.param("g6f.2xlarge", {}, GpuShare(memory_mib=512), "only whole GPUs are shared", id="a share of a part"),
    pytest.param(
        "g6.xlarge",
        {"image": GpuMachineImage.pinned("al2023-gpu", OLD)},
        GpuShare(memory_mib=512),
        "gpus: .* older than 1.107.0; fix: image al2023-gpu of release 2023.0.20260922.*GPU033",
        id="too old an agent",
    ),
    pytest.param(
        "g6.xlarge",
        {"image": GpuMachineImage.newest("al2-gpu")},
        GpuShare(memory_mib=512),
        "no MPS service",
        id="Amazon Linux 2",
    ),
    pytest.param("inf2.xlarge", {}, GpuShare(memory_mib=512), "fix: add_neuron_container, or", id="a share of Neuron"),
    pytest.param("g6.xlarge", {}, 0.25, "has whole GPUs, and 0.25 of one .*; fix: .*g6f.*whole GPUs", id="a part"),
    pytest.param(
        "g6f.2xlarge",
        {},
        0.5,
        "has 0.25 of a GPU, and 0.5 .*fix: .*, or 0.25 of a GPU",
        id="more than the part",
    ),
]


@pytest.mark.parametrize(("types", "arguments", "gpus", "message"), REFUSED)
def test_capacity_that_cannot_give_it_is_refused(
    tenant: Tenant, types: str, arguments: dict[str, Any], gpus: Any, message: str
) -> None:
    task = tenant.task(tenant.capacity(types, **arguments))
    with tenant.refuses(IncompatibleError, match=message):
        task.add_gpu_container("chat", image=tenant.image, gpus=gpus)
    assert task.task.containers == ()


def test_a_share_too_small_for_a_share_of_the_host_needs_sizes(tenant: Tenant) -> None:
    task = tenant.task()
    with (
        unwritten(),
        pytest.raises(
            InvalidValueError,
            match=r"^gpus: 3 MiB of a host's memory go with 6 MiB of one GPU, .* 6 MiB .*GpuShare\(memory_mib=6144\)",
        ),
    ):
        task.add_gpu_container("chat", image=tenant.image, gpus=GpuShare(memory_mib=6))
    task.add_gpu_container("chat", image=tenant.image, gpus=GpuShare(memory_mib=1), cpu=0, memory_mib=64)
    assert tenant.container()["Memory"] == 64


def test_bytes_are_no_mib(tenant: Tenant) -> None:
    said = r"got 8589934592; allowed: 1 to 2147483647; fix: memory_mib=8192, where 8589934592 is in bytes"
    with pytest.raises(InvalidValueError, match=said):
        GpuShare(memory_mib=8 * 1024**3)
    with unwritten(), pytest.raises(InvalidValueError, match=said.replace("1 to", ".* to")):
        tenant.task().add_gpu_container("chat", image=tenant.image, memory_mib=8 * 1024**3)


def test_all_is_written_and_gets_the_whole_host(site: Site) -> None:
    task = site.task(site.capacity("g6.24xlarge", "g6.12xlarge"))
    task.add_gpu_container("train", image=site.image, gpus="ALL")
    assert site.warnings() == []
    container = site.container()
    assert container["ResourceRequirements"] == [{"Type": "GPU", "Value": "ALL"}]
    host = share_of({instance_type("g6.12xlarge"): Fraction(1)})
    assert (container["Cpu"], container["Memory"]) == (host.cpu, host.memory_mib)
    assert task_slots(task.task, task.capacity[0].pool) == 4


def test_a_part_is_written_as_a_decimal_and_gets_the_whole_host(site: Site) -> None:
    parts = {"g6f.large": 0.125, "g6f.2xlarge": 0.25, "g6f.4xlarge": 0.5, "gr6f.4xlarge": 0.5}
    for number, (name, part) in enumerate(parts.items()):
        task = site.task(site.capacity(name, name=f"Hosts{number}"), name=f"Task{number}")
        task.add_gpu_container("draw", image=site.image, gpus=part, gpu_memory_gib=2)
        assert task_slots(task.task, task.capacity[0].pool) == 4
    assert [each for each in site.warnings() if "GPU006" in each] == []
    for (name, part), made in zip(parts.items(), site.properties("AWS::ECS::TaskDefinition"), strict=True):
        (container,) = made["ContainerDefinitions"]
        assert container["ResourceRequirements"] == [{"Type": "GPU", "Value": str(part)}]
        host = instance_type(name)
        assert (container["Cpu"], container["Memory"]) == (host.vcpus * 1024, int(host.memory_mib * 0.925) - 256)


def test_less_than_the_part_and_all_of_it_are_warned_of(site: Site) -> None:
    hosts = site.capacity("g6f.2xlarge")
    site.task(hosts, name="LessThanIt").add_gpu_container("draw", image=site.image, gpus=0.125)
    site.task(hosts, name="AllOfIt").add_gpu_container("draw", image=site.image, gpus="ALL")
    site.task(hosts, name="WholeOne").add_gpu_container("draw", image=site.image, gpus=1)
    found = [each for each in site.warnings() if "GPU006" in each and "not document" in each]
    assert all(any(name in each for each in found) for name in ("LessThanIt", "AllOfIt", "WholeOne"))


def test_bottlerocket_shares_at_ones_own_risk(tenant: Tenant) -> None:
    # That no page says whether it can is GPU030 of a service, a warning.
    task = tenant.task(tenant.capacity("g6.xlarge", image=GpuMachineImage.pinned("bottlerocket-ecs-2-nvidia-x86_64")))
    task.add_gpu_container("chat", image=tenant.image, gpus=GpuShare(memory_mib=512))
    assert task.task.shares_gpu


def test_managed_instances_launch_a_host_that_is_large_enough(tenant: Tenant) -> None:
    managed = tenant.managed("Managed", instance_types=["g6.xlarge", "g6.12xlarge", "g6.48xlarge"])
    task = GpuTaskDefinition(tenant.stack, "Task", capacity=[managed])
    task.add_gpu_container("train", image=tenant.image, gpus=4)
    host = share_of({instance_type("g6.12xlarge"): Fraction(1)})
    # The larger host gives four of its eight GPUs.
    assert (task.task.cpu, task.task.memory_mib) == (host.cpu, host.memory_mib)
    with pytest.raises(DoesNotFitError, match="More does not fit on Managed: .*16 asked, g6.48xlarge has 8"):
        GpuTaskDefinition(tenant.stack, "More", capacity=[managed]).add_gpu_container("x", image=tenant.image, gpus=16)


def test_managed_instances_share(tenant: Tenant) -> None:
    managed = tenant.managed("Managed", instance_types=["g6.xlarge"])
    task = GpuTaskDefinition(tenant.stack, "Task", capacity=[managed])
    task.add_gpu_container("chat", image=tenant.image, gpus=GpuShare(memory_mib=4096))
    assert tenant.container()["ResourceRequirements"][0]["SharingStrategy"] == {"NvidiaMps": {"Memory": 4096}}
