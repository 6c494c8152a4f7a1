from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, Purchase
from tests.template.declared import only_pool


def managed(launch: dict[str, Any], **properties: Any) -> Pool:
    return only_pool(
        {
            "Cluster": {"Type": "AWS::ECS::Cluster"},
            "Mi": {
                "Type": "AWS::ECS::CapacityProvider",
                "Properties": {
                    "ClusterName": {"Ref": "Cluster"},
                    "ManagedInstancesProvider": {"InstanceLaunchTemplate": launch},
                    **properties,
                },
            },
        }
    )


def test_a_provider_of_managed_instances_launches_what_satisfies_its_requirements() -> None:
    wanted = {
        "VCpuCount": {"Min": 4, "Max": 4},
        "MemoryMiB": {"Min": 1024},
        "AcceleratorNames": ["l4"],
        "AcceleratorManufacturers": ["nvidia"],
        "AcceleratorCount": {"Min": 1},
    }
    pool = managed({"InstanceRequirements": wanted}, Name="gpu")
    assert {each.name for each in pool.instance_types} == {"g6.xlarge", "g6f.xlarge"}
    assert (pool.kind, pool.cluster, pool.provider) == (PoolKind.MANAGED_INSTANCES, "Cluster", "gpu")
    assert (pool.min_instances, pool.max_instances, pool.image) == (0, UNKNOWN, UNKNOWN)
    assert pool.managed_scaling is True
    assert not pool.runs_launch_type_ec2


@pytest.mark.parametrize(
    ("option", "purchase"),
    [
        (None, Purchase.ON_DEMAND),
        ("ON_DEMAND", Purchase.ON_DEMAND),
        ("SPOT", Purchase.SPOT),
        ("RESERVED", Purchase.RESERVED),
        ({"Ref": "P"}, UNKNOWN),
        ("FREE", UNKNOWN),
    ],
)
def test_its_hosts_are_bought_as_it_says(option: Any, purchase: Any) -> None:
    assert managed({"CapacityOptionType": option}).purchase is purchase


def test_without_requirements_nobody_knows_what_ecs_chooses() -> None:
    pool = managed({})
    assert (pool.instance_types, pool.has_unknown_types) == ((), True)


@pytest.mark.parametrize(("makers", "architectures"), [(["amazon-web-services"], {"arm64"}), (["intel"], {"x86_64"})])
def test_the_maker_of_the_processor_decides_the_architecture(makers: list[str], architectures: set[str]) -> None:
    wanted = {"AcceleratorTypes": ["gpu"], "AllowedInstanceTypes": ["g5*"], "CpuManufacturers": makers}
    assert {
        str(each.architecture) for each in managed({"InstanceRequirements": wanted}).instance_types
    } == architectures


def test_more_patterns_than_the_api_takes_are_not_read() -> None:
    pool = managed({"InstanceRequirements": {"AllowedInstanceTypes": [f"g{i}.*" for i in range(500)]}})
    assert (pool.instance_types, pool.has_unknown_types) == ((), True)
