from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, PurchaseOption, Reservation
from tests.template.resources.declared import fleet, only_pool


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
    assert {each.name for each in pool.instance_types} == {"g6.xlarge"}
    assert (pool.kind, pool.cluster, pool.provider) == (PoolKind.MANAGED_INSTANCES, "Cluster", "gpu")
    assert (pool.min_instances, pool.max_instances, pool.image) == (0, UNKNOWN, UNKNOWN)
    assert pool.managed_scaling is True
    assert not pool.runs_launch_type_ec2


@pytest.mark.parametrize(
    ("option", "purchase"),
    [
        (None, PurchaseOption.ON_DEMAND),
        ("ON_DEMAND", PurchaseOption.ON_DEMAND),
        ("SPOT", PurchaseOption.SPOT),
        ("RESERVED", PurchaseOption.RESERVED),
        ({"Ref": "P"}, UNKNOWN),
        ("FREE", UNKNOWN),
    ],
)
def test_its_hosts_are_bought_as_it_says(option: Any, purchase: Any) -> None:
    assert managed({"CapacityOptionType": option}).bought.option is purchase


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


GPUS = {"VCpuCount": {"Min": 4}, "MemoryMiB": {"Min": 15000}, "AcceleratorManufacturers": ["nvidia"]}


def families(**wanted: Any) -> set[str]:
    return {each.family for each in managed({"InstanceRequirements": {**GPUS, **wanted}}).instance_types}


def test_what_no_region_offers_is_not_selected_by_its_attributes() -> None:
    assert "g6" in families()
    assert families().isdisjoint({"g2", "g3", "p2", "p3"})


def test_what_no_region_offers_is_kept_where_it_is_named() -> None:
    assert families(AllowedInstanceTypes=["p3.*"]) == {"p3"}
    assert "p3" not in families(AllowedInstanceTypes=["p*"])


@pytest.mark.parametrize(("generations", "missing"), [(["current"], "g5"), (["previous"], "g6"), ([], "g2")])
def test_generations_are_chosen_from(generations: list[str], missing: str) -> None:
    found = families(InstanceGenerations=generations)
    assert found
    assert missing not in found


@pytest.mark.parametrize("counted", [{"AcceleratorCount": {"Min": 1}}, {"AcceleratorNames": ["l4"]}])
def test_a_part_of_a_gpu_is_not_certainly_counted(counted: dict[str, Any]) -> None:
    assert "g6f" in families()
    assert "g6f" not in families(**counted)
    assert "g6f" in families(**counted, AllowedInstanceTypes=["g6f.*", "g6.*"])


def test_requirements_that_the_api_misses_are_told() -> None:
    launch = {"InstanceRequirements": {"VCpuCount": {"Min": 4}, "AcceleratorManufacturers": ["nvidia"]}}
    provider = {"ManagedInstancesProvider": {"InstanceLaunchTemplate": launch}}
    remarks = fleet({"Mi": {"Type": "AWS::ECS::CapacityProvider", "Properties": provider}}).remarks
    assert ["expects MemoryMiB, which the API requires" in each.text for each in remarks] == [True]


RESERVATIONS = {"ReservationGroupArn": "arn:group", "ReservationPreference": "RESERVATIONS_FIRST"}


@pytest.mark.parametrize(
    ("launch", "reservation"),
    [
        ({}, None),
        ({"CapacityReservations": {}}, Reservation()),
        ({"CapacityReservations": RESERVATIONS}, Reservation(group="arn:group", preference="RESERVATIONS_FIRST")),
        ({"CapacityReservations": {"ReservationGroupArn": {"Ref": "P"}}}, Reservation(group=UNKNOWN)),
    ],
)
def test_its_reservations_are_those_that_it_names(launch: dict[str, Any], reservation: Reservation | None) -> None:
    assert managed(launch).bought.reservation == reservation


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


def test_families_that_managed_instances_do_not_launch_are_not_selected_by_attributes() -> None:
    assert {"p5e", "g7"}.isdisjoint(families())
    assert families(AllowedInstanceTypes=["p5e.*"]) == {"p5e"}
