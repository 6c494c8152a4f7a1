from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.facts import Architecture, image
from gpu_constructs.fleet import (
    UNKNOWN,
    HostImage,
    Pool,
    PoolKind,
    PurchaseOption,
    ResourceRequirement,
    Scheduler,
    Task,
)
from tests.template.resources.declared import fleet, only_pool


def environment(properties: dict[str, Any] | None = None, **resources: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::Batch::ComputeEnvironment",
        "Properties": {"Type": "MANAGED", "ComputeResources": {"Type": "EC2", **resources}, **(properties or {})},
    }


def pool(**resources: Any) -> Pool:
    return only_pool({"Ce": environment(**resources)})


def job(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::Batch::JobDefinition", "Properties": {"Type": "container", **properties}}


def task(**properties: Any) -> Task:
    (found,) = fleet({"Job": job(**properties)}).tasks
    return found


def test_a_compute_environment_is_a_pool_that_no_strategy_can_name() -> None:
    found = pool(InstanceTypes=["p4d.24xlarge"], MinvCpus=0, MaxvCpus="192")
    assert (found.kind, found.has_provider, found.runs_launch_type_ec2) == (PoolKind.BATCH, False, False)
    assert [each.name for each in found.instance_types] == ["p4d.24xlarge"]
    assert (found.min_instances, found.max_instances, found.bought.option) == (0, 2, PurchaseOption.ON_DEMAND)


def test_a_family_stands_for_its_types_without_bare_metal() -> None:
    names = [each.name for each in pool(InstanceTypes=["g4dn"]).instance_types]
    assert names[0] == "g4dn.xlarge"
    assert "g4dn.metal" not in names


def test_hosts_are_counted_by_the_smallest_type_at_most_and_by_the_largest_at_least() -> None:
    found = pool(InstanceTypes=["g6.xlarge", "g6.2xlarge"], MinvCpus=9, MaxvCpus=18)
    assert (found.min_instances, found.max_instances) == (2, 5)


@pytest.mark.parametrize(("types", "names"), [([{"Ref": "P"}], ()), (["g7000"], ("g7000",)), (None, ())])
def test_types_that_nobody_can_know_leave_the_number_of_hosts_unknown(types: Any, names: Any) -> None:
    found = pool(InstanceTypes=types, MaxvCpus=64)
    assert (found.max_instances, found.unknown_type_names, found.types_are_known) == (UNKNOWN, names, False)


@pytest.mark.parametrize("low", [0, 1, 16, 48])
def test_vcpus_of_less_than_a_host_are_no_contradiction(low: int) -> None:
    found = pool(InstanceTypes=["p4d.24xlarge"], MinvCpus=low, MaxvCpus=48)
    assert (found.min_instances, found.max_instances) == (min(low, 1), 1)


@pytest.mark.parametrize("words", [["optimal"], ["default_x86_64"], ["default_arm64"], ["optimal", "default_x86_64"]])
def test_words_for_types_without_accelerators_make_no_pool(words: list[str]) -> None:
    assert fleet({"Ce": environment(InstanceTypes=words, MaxvCpus=64)}).pools == ()


def test_a_word_beside_a_type_leaves_the_type_known() -> None:
    found = pool(InstanceTypes=["optimal", "g5.xlarge"], MinvCpus=8, MaxvCpus=64)
    assert [each.name for each in found.instance_types] == ["g5.xlarge"]
    assert found.batch_words == ("optimal",)
    assert (found.types_are_known, found.min_instances, found.max_instances) == (True, 0, 16)


@pytest.mark.parametrize(
    ("types", "configured", "expected"),
    [
        (["g6"], ["ECS_AL2_NVIDIA"], "al2-gpu"),
        (["g6"], ["ECS_AL2023_NVIDIA"], "al2023-gpu"),
        (["g6"], None, "al2023-gpu"),
        (["g6"], ["ECS_AL2", "ECS_AL2_NVIDIA"], "al2-gpu"),
        (["c7i"], None, "al2023"),
        (["c7g"], None, "al2023-arm64"),
        (["c7g"], ["ECS_AL2"], "al2-arm64"),
        (["g6"], ["EKS_AL2"], None),
        (["g6", "c7i"], None, None),
        (["g6"], [{"Ref": "P"}], None),
    ],
)
def test_batch_chooses_the_image_by_what_the_types_carry(types: Any, configured: Any, expected: str | None) -> None:
    kinds = None if configured is None else [{"ImageType": each} for each in configured]
    found = pool(InstanceTypes=types, Ec2Configuration=kinds)
    assert found.image == (UNKNOWN if expected is None else HostImage(image=image(expected)))


def test_an_image_type_that_batch_does_not_have_is_noted() -> None:
    configured = [{"ImageType": "ECS_AL_NVIDIA"}]
    read = fleet({"Ce": environment(InstanceTypes=["g6.xlarge"], Ec2Configuration=configured)})
    assert ["ECS_AL2023_NVIDIA, got 'ECS_AL_NVIDIA'" in each.text for each in read.remarks] == [True]


@pytest.mark.parametrize("own", [{"ImageId": "ami-1"}, {"Ec2Configuration": [{"ImageIdOverride": "ami-1"}]}])
def test_an_image_of_ones_own_is_unknown(own: Any) -> None:
    assert pool(InstanceTypes=["g6"], **own).image is UNKNOWN


def test_an_image_of_the_launch_template_goes_before_that_of_batch() -> None:
    template = {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"ImageId": "ami-1"}}}
    found = only_pool(
        {"T": template, "Ce": environment(InstanceTypes=["g6"], LaunchTemplate={"LaunchTemplateId": {"Ref": "T"}})}
    )
    assert found.image is UNKNOWN


def test_spot_is_bought_as_spot_and_a_launch_template_may_say_more() -> None:
    assert pool(Type="SPOT", InstanceTypes=["g6"]).bought.option is PurchaseOption.SPOT
    block = {"InstanceMarketOptions": {"MarketType": "capacity-block"}}
    found = only_pool(
        {
            "T": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": block}},
            "Ce": environment(InstanceTypes=["p5"], LaunchTemplate={"LaunchTemplateId": {"Ref": "T"}}),
        }
    )
    assert found.bought.option is PurchaseOption.CAPACITY_BLOCK


@pytest.mark.parametrize(
    "other",
    [
        environment(Type="FARGATE"),
        environment(Type="FARGATE_SPOT"),
        environment({"EksConfiguration": {"EksClusterArn": "a"}}, InstanceTypes=["g6"]),
        {"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"Type": "UNMANAGED"}},
    ],
)
def test_an_environment_without_ecs_hosts_of_its_own_is_no_pool(other: Any) -> None:
    assert fleet({"Ce": other}).pools == ()


def test_a_job_is_a_task_that_batch_places() -> None:
    found = task(
        PlatformCapabilities=["EC2"],
        ContainerProperties={
            "Image": "train",
            "ResourceRequirements": [
                {"Type": "GPU", "Value": "8"},
                {"Type": "VCPU", "Value": "96"},
                {"Type": "MEMORY", "Value": 1000000},
            ],
            "LinuxParameters": {"SharedMemorySize": 65536, "Devices": [{"HostPath": "/dev/infiniband/uverbs0"}]},
            "Environment": [{"Name": "A", "Value": "1"}],
        },
    )
    (container,) = found.containers
    assert (found.scheduler, found.network_mode, found.compatibilities) == (Scheduler.BATCH, "host", ("EC2",))
    assert container.requirements == (ResourceRequirement.gpus(8),)
    assert (container.cpu, container.memory_limit_mib, container.shared_memory_mib) == (98304, 1000000, 65536)
    assert (container.devices, container.environment) == (("/dev/infiniband/uverbs0",), (("A", "1"),))


def test_a_job_may_still_say_its_size_in_the_old_way() -> None:
    (container,) = task(ContainerProperties={"Vcpus": 4, "Memory": "8192"}).containers
    assert (container.name, container.cpu, container.memory_limit_mib) == ("default", 4096, 8192)


def test_part_of_a_vcpu_and_tokens_are_read() -> None:
    asked = [{"Type": "VCPU", "Value": "0.25"}, {"Type": "MEMORY", "Value": {"Ref": "P"}}]
    (container,) = task(ContainerProperties={"ResourceRequirements": asked}).containers
    assert (container.cpu, container.memory_limit_mib) == (256, UNKNOWN)


def test_a_job_may_have_several_containers() -> None:
    properties = {
        "Containers": [
            {"Name": "a", "ResourceRequirements": [{"Type": "GPU", "Value": "1"}]},
            {"Name": "b", "Essential": False},
        ],
        "RuntimePlatform": {"CpuArchitecture": "ARM64"},
        "IpcMode": "host",
    }
    found = task(EcsProperties={"TaskProperties": [properties]})
    assert [(each.name, each.gpus, each.essential) for each in found.containers] == [("a", 1, True), ("b", 0, False)]
    assert (found.architecture, found.ipc_mode, found.used_keys) == (Architecture.ARM64, "host", ("IpcMode",))


def test_every_range_of_nodes_is_a_task() -> None:
    def nodes(which: str, gpus: int) -> dict[str, Any]:
        asked = [{"Type": "GPU", "Value": str(gpus)}]
        return {"TargetNodes": which, "Container": {"ResourceRequirements": asked}}

    ranges = [nodes("0", 1), nodes("1:", 8)]
    found = fleet({"Job": job(Type="multinode", NodeProperties={"NodeRangeProperties": ranges})}).tasks
    assert [(each.name, each.gpus) for each in found] == [("Job[0]", 1), ("Job[1:]", 8)]
    one = fleet({"Job": job(Type="multinode", NodeProperties={"NodeRangeProperties": ranges[1:]})}).tasks
    assert [each.name for each in one] == ["Job"]


def test_a_job_of_eks_is_no_task() -> None:
    assert fleet({"Job": job(EksProperties={"PodProperties": {}})}).tasks == ()


def managed(**launch: Any) -> Pool:
    return pool(ManagedInstancesProvider={"InstanceLaunchTemplate": launch})


def test_managed_instances_without_requirements_are_of_types_that_nobody_knows() -> None:
    assert (managed().instance_types, managed().has_unknown_types) == ((), True)


def test_managed_instances_of_batch_are_asked_for_by_types_and_families_alone() -> None:
    wanted = {"InstanceRequirements": {"AllowedInstanceTypes": ["g6.xlarge", "p6-b200"]}}
    provider = {"InstanceLaunchTemplate": wanted}
    read = fleet({"Ce": environment(ManagedInstancesProvider=provider)})
    assert [each.name for each in read.pools[0].instance_types] == ["g6.xlarge", "p6-b200.48xlarge"]
    assert read.remarks == ()


@pytest.mark.parametrize(
    ("option", "bought"),
    [
        (None, PurchaseOption.ON_DEMAND),
        ("SPOT", PurchaseOption.SPOT),
        ("RESERVED", PurchaseOption.RESERVED),
        ("CAPACITY_BLOCK", UNKNOWN),
        ("MIXED", UNKNOWN),
    ],
)
def test_managed_instances_are_bought_as_their_option_says(option: str | None, bought: Any) -> None:
    assert managed(CapacityOptionType=option).bought.option is bought
