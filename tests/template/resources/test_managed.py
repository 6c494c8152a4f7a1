from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind
from tests.template.resources.declared import fleet, only_pool, resource


def managed(launch: dict[str, Any], **properties: Any) -> Pool:
    given = {"ClusterName": {"Ref": "Cluster"}, "ManagedInstancesProvider": {"InstanceLaunchTemplate": launch}}
    provider = resource("ECS::CapacityProvider", **given, **properties)
    return only_pool({"Cluster": resource("ECS::Cluster"), "Mi": provider})


def test_a_provider_of_managed_instances_launches_what_satisfies_its_requirements() -> None:
    wanted = {
        "VCpuCount": {"Min": 4, "Max": 4},
        "MemoryMiB": {"Min": 1024},
        "AcceleratorNames": ["l4"],
        "AcceleratorManufacturers": ["nvidia"],
        "AcceleratorCount": {"Min": 1},
    }
    pool = managed({"InstanceRequirements": wanted}, Name="gpu")
    assert {each.name for each in pool.instance_types} == {"g6.xlarge"}
    assert (pool.kind, pool.cluster, pool.provider) == (PoolKind.MANAGED_INSTANCES, "Cluster", "gpu")
    assert (pool.min_instances, pool.max_instances, pool.image) == (0, UNKNOWN, UNKNOWN)
    assert pool.managed_scaling is True
    assert not pool.runs_launch_type_ec2


@pytest.mark.parametrize(("makers", "architectures"), [(["amazon-web-services"], {"arm64"}), (["intel"], {"x86_64"})])
def test_the_maker_of_the_processor_decides_the_architecture(makers: list[str], architectures: set[str]) -> None:
    wanted = {"AcceleratorTypes": ["gpu"], "AllowedInstanceTypes": ["g5*"], "CpuManufacturers": makers}
    assert {
        str(each.architecture) for each in managed({"InstanceRequirements": wanted}).instance_types
    } == architectures


def test_more_patterns_than_the_api_takes_are_not_read() -> None:
    pool = managed({"InstanceRequirements": {"AllowedInstanceTypes": [f"g{i}.*" for i in range(500)]}})
    assert (pool.instance_types, pool.has_unknown_types) == ((), True)


GPUS = {"VCpuCount": {"Min": 4}, "MemoryMiB": {"Min": 15000}, "AcceleratorManufacturers": ["nvidia"]}


def families(**wanted: Any) -> set[str]:
    return {each.family for each in managed({"InstanceRequirements": {**GPUS, **wanted}}).instance_types}


@pytest.mark.parametrize(("generations", "missing"), [(["current"], "g5"), (["previous"], "g6"), ([], "g2")])
def test_generations_are_chosen_from(generations: list[str], missing: str) -> None:
    found = families(InstanceGenerations=generations)
    assert found
    assert missing not in found


def test_a_preference_that_the_api_does_not_have_is_told() -> None:
    launch = {"CapacityReservations": {"ReservationPreference": "open"}}
    provider = {"ManagedInstancesProvider": {"InstanceLaunchTemplate": launch}}
    remarks = fleet({"Mi": {"Type": "AWS::ECS::CapacityProvider", "Properties": provider}}).remarks
    assert ["expects RESERVATIONS_ONLY" in each.text for each in remarks] == [True]


@pytest.mark.parametrize(
    ("storage", "has", "misses"), [("required", "g6", "g5g"), ("excluded", "g5g", "g6"), ("included", "g5g", "g2")]
)
def test_local_storage_is_chosen_by(storage: str, has: str, misses: str) -> None:
    found = families(LocalStorage=storage, MemoryMiB={"Min": 1})
    assert has in found
    assert misses not in found
