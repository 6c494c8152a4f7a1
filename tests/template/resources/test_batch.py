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
    Task,
)
from tests.template.resources.declared import fleet, only_pool, resource


def environment(properties: dict[str, Any] | None = None, **resources: Any) -> dict[str, Any]:
    given = {"Type": "MANAGED", "ComputeResources": {"Type": "EC2", **resources}, **(properties or {})}
    return resource("Batch::ComputeEnvironment", **given)


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


def test_hosts_are_counted_by_the_smallest_type_at_most_and_by_the_largest_at_least() -> None:
    found = pool(InstanceTypes=["g6.xlarge", "g6.2xlarge"], MinvCpus=9, MaxvCpus=18)
    assert (found.min_instances, found.max_instances) == (2, 5)


@pytest.mark.parametrize(("types", "names"), [([{"Ref": "P"}], ()), (["g7000"], ("g7000",)), (None, ())])
def test_types_that_nobody_can_know_leave_the_number_of_hosts_unknown(types: Any, names: Any) -> None:
    found = pool(InstanceTypes=types, MaxvCpus=64)
    assert (found.max_instances, found.unknown_type_names, found.types_are_known) == (UNKNOWN, names, False)


def test_a_word_beside_a_type_leaves_the_type_known() -> None:
    found = pool(InstanceTypes=["optimal", "g5.xlarge"], MinvCpus=8, MaxvCpus=64)
    assert [each.name for each in found.instance_types] == ["g5.xlarge"]
    assert found.batch_words == ("optimal",)
    assert (found.types_are_known, found.min_instances, found.max_instances) == (True, 0, 16)


@pytest.mark.parametrize(
    ("types", "configured", "expected"),
    [
        (["g6"], ["ECS_AL2_NVIDIA"], "al2-gpu"),
        (["c7i"], None, "al2023"),
        (["g6"], ["EKS_AL2"], None),
        (["g6", "c7i"], None, None),
    ],
)
def test_batch_chooses_the_image_by_what_the_types_carry(types: Any, configured: Any, expected: str | None) -> None:
    kinds = None if configured is None else [{"ImageType": each} for each in configured]
    found = pool(InstanceTypes=types, Ec2Configuration=kinds)
    assert found.image == (UNKNOWN if expected is None else HostImage(image=image(expected)))


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
        environment({"EksConfiguration": {"EksClusterArn": "a"}}, InstanceTypes=["g6"]),
        {"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"Type": "UNMANAGED"}},
    ],
)
def test_an_environment_without_ecs_hosts_of_its_own_is_no_pool(other: Any) -> None:
    assert fleet({"Ce": other}).pools == ()


def test_a_job_may_have_several_containers() -> None:
    properties = {
        "Containers": [
            {"Name": "a", "ResourceRequirements": [{"Type": "GPU", "Value": "1"}]},
            {"Name": "b", "Privileged": True},
        ],
        "RuntimePlatform": {"CpuArchitecture": "ARM64"},
        "IpcMode": "host",
    }
    found = task(EcsProperties={"TaskProperties": [properties]})
    assert [(each.name, each.gpus, each.privileged) for each in found.containers] == [("a", 1, False), ("b", 0, True)]
    assert (found.architecture, found.ipc_mode, found.used_keys) == (Architecture.ARM64, "host", ("IpcMode",))


def test_every_range_of_nodes_is_a_task() -> None:
    def nodes(which: str, gpus: int) -> dict[str, Any]:
        asked = [{"Type": "GPU", "Value": str(gpus)}]
        return {"TargetNodes": which, "Container": {"ResourceRequirements": asked}}

    ranges = [nodes("0", 1), nodes("1:", 8)]
    found = fleet({"Job": job(Type="multinode", NodeProperties={"NodeRangeProperties": ranges})}).tasks
    assert [(each.name, each.gpus) for each in found] == [("Job[0]", 1), ("Job[1:]", 8)]
    one = fleet({"Job": job(ContainerProperties={}, NodeProperties={"NodeRangeProperties": ranges[1:]})}).tasks
    assert [each.name for each in one] == ["Job"]


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


def test_a_family_stands_for_its_types_without_bare_metal() -> None:
    names = [each.name for each in pool(InstanceTypes=["g4dn"]).instance_types]
    assert names[0] == "g4dn.xlarge"
    assert "g4dn.metal" not in names
