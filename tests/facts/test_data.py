"""The data files: complete, equal to what they were made from, and made from the pinned moto."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.session import Session

import gpu_constructs.facts
from gpu_constructs.facts import (
    RECORDED,
    Vendor,
    accelerated,
    general,
    instance_type,
    regions,
)
from gpu_constructs.facts.aws_limits import LOST_HOST, NOT_STARTED
from gpu_constructs.facts.records import read
from tools import build_catalogue, ec2_dump

from .dumps import instance_types, offerings
from .table import ACCELERATED

DATA = Path(gpu_constructs.facts.__file__).with_name("data")


def row_of(name: str) -> Any:
    """The line of a type in the data."""
    file = "accelerated" if name in read("accelerated")["instance_types"] else "general"
    return read(file)["instance_types"][name]


EVERY = (*accelerated(), *general())
IN_DUMP = tuple(each for each in EVERY if each.name in instance_types())


def devices_of(name: str) -> list[dict[str, Any]]:
    """The devices the dump gives a type, from whichever block holds them."""
    blocks = {
        "GpuInfo": "Gpus",
        "NeuronInfo": "NeuronDevices",
        "FpgaInfo": "Fpgas",
        "InferenceAcceleratorInfo": "Accelerators",
        "MediaAcceleratorInfo": "Accelerators",
    }
    info = instance_types()[name]
    return next((info[block][key] for block, key in blocks.items() if block in info), [])


def cards_that_take(interface: str, cards: list[dict[str, Any]]) -> tuple[int, ...]:
    """Indexes of the cards that list an interface type."""
    return tuple(each["NetworkCardIndex"] for each in cards if interface in each.get("InterfaceTypes", ()))


@pytest.fixture(scope="module")
def regenerated() -> build_catalogue.Built:
    return build_catalogue.build()


@pytest.mark.parametrize("file", ["accelerated.json", "general.json"])
def test_the_checked_in_file_is_what_the_generator_writes(file: str, regenerated: build_catalogue.Built) -> None:
    assert (DATA / file).read_text(encoding="utf-8") == regenerated.files[file], "run make catalogue"


def test_every_fact_that_no_api_gives_is_curated(regenerated: build_catalogue.Built) -> None:
    assert not regenerated.gaps
    assert not regenerated.stale


@pytest.mark.parametrize("file", ["accelerated", "general"])
def test_a_file_says_when_and_from_what_it_was_recorded(file: str) -> None:
    header = read(file)
    assert header["recorded"] == str(RECORDED) == ec2_dump.recorded()
    assert header["versions"] == {"moto": "5.2.5"}
    assert header["doubts"]


@pytest.mark.parametrize("file", ["accelerated", "general"])
def test_each_instance_type_has_a_line_of_its_own(file: str) -> None:
    lines = (DATA / f"{file}.json").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if line.startswith('"') and '"vcpus":' in line]
    assert len(named) == len(read(file)["instance_types"])


def test_what_no_second_set_has_is_in_an_independent_table() -> None:
    found = {
        each.name: (each.name, each.accelerators.count, each.accelerators.memory_mib, each.vcpus, each.memory_mib)
        for each in accelerated()
        if each.accelerators
    }
    assert [found[row[0]] for row in ACCELERATED] == [*ACCELERATED]


def test_85_accelerated_types_are_in_the_dump_and_22_are_curated() -> None:
    curated = [each for each in accelerated() if each.name not in instance_types()]
    assert (len(accelerated()) - len(curated), len(curated)) == (85, 22)
    assert all("source" in row_of(each.name) and not each.regions for each in curated)


def test_every_name_is_an_instance_type_of_the_ec2_api() -> None:
    enum = set(Session().get_service_model("ec2").shape_for("InstanceType").enum)
    assert {each.name for each in EVERY} <= enum


def test_stop_codes_are_those_of_the_api() -> None:
    codes = Session().get_service_model("ecs").shape_for("TaskStopCode").enum
    assert {*LOST_HOST, NOT_STARTED} <= set(codes)


def test_every_type_equals_the_dump_in_what_the_dump_says() -> None:
    for each in IN_DUMP:
        info = instance_types()[each.name]
        assert each.vcpus == info["VCpuInfo"]["DefaultVCpus"], each
        assert each.memory_mib == info["MemoryInfo"]["SizeInMiB"], each
        assert each.architecture.value in info["ProcessorInfo"]["SupportedArchitectures"], each
        assert each.current_generation is info["CurrentGeneration"], each
        assert each.bare_metal is info["BareMetal"], each
        assert {bought.value for bought in each.purchase_classes} == set(info["SupportedUsageClasses"]), each
        assert each.local_storage_gb == info.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0), each


def test_every_network_equals_the_dump() -> None:
    for each in IN_DUMP:
        info, network = instance_types()[each.name]["NetworkInfo"], each.network
        assert network.performance == info["NetworkPerformance"], each
        assert network.cards == info["MaximumNetworkCards"], each
        assert network.max_interfaces == info["MaximumNetworkInterfaces"], each
        assert network.max_interfaces_card_0 == info["NetworkCards"][0]["MaximumNetworkInterfaces"], each
        assert network.efa_supported is info["EfaSupported"], each
        assert network.max_efa_interfaces == info.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0), each
        assert network.efa_cards == cards_that_take("efa", info["NetworkCards"]), each
        assert network.efa_only_cards == cards_that_take("efa-only", info["NetworkCards"]), each


def test_every_accelerated_type_takes_an_adapter_on_each_card_that_can() -> None:
    for each in accelerated():
        if each.network.max_efa_interfaces is not None:
            assert len(each.network.efa_cards) == each.network.max_efa_interfaces, each


def test_every_region_list_equals_the_recorded_offerings() -> None:
    for each in EVERY:
        assert set(each.regions) == {region for region, names in offerings().items() if each.name in names}, each
        assert list(each.regions) == sorted(each.regions)
    assert set(regions()) == set(offerings())
    assert len(regions()) == 30


def test_the_devices_equal_the_dump_or_say_what_was_corrected() -> None:
    for each in (each for each in accelerated() if each.name in instance_types()):
        devices = each.accelerators
        assert devices is not None, each
        (reported,) = devices_of(each.name)
        corrected = {of["field"]: of["reported"] for of in row_of(each.name).get("corrections", ())}
        assert (devices.model, devices.count) == (reported["Name"], reported["Count"]), each
        memory = corrected.get("accelerators.memory_mib", devices.memory_mib)
        assert memory == reported.get("MemoryInfo", {}).get("SizeInMiB"), each
        assert devices.logical_count == reported.get("LogicalGpuCount", reported["Count"]), each
        assert devices.partition == reported.get("GpuPartitionSize", 1.0), each
        assert devices.cores == reported.get("CoreInfo", {}).get("Count"), each


def test_only_the_memory_of_trainium2_is_corrected_and_that_is_visible() -> None:
    corrected = [each for each in EVERY if "corrections" in row_of(each.name)]
    assert [each.name for each in corrected] == ["trn2.3xlarge", "trn2.48xlarge"]
    for each in corrected:
        (correction,) = row_of(each.name)["corrections"]
        assert (correction["reported"], correction["corrected"]) == (524288, 98304)
        assert correction["reason"]
        assert correction["source"].startswith("https://")
        assert each.accelerators is not None
        assert each.accelerators.memory_mib == 98304


@pytest.mark.parametrize(
    ("name", "capability", "generation"),
    [
        ("g2.2xlarge", (3, 0), "Kepler"),
        ("p2.xlarge", (3, 7), "Kepler"),
        ("g3s.xlarge", (5, 2), "Maxwell"),
        ("p3.2xlarge", (7, 0), "Volta"),
        ("g4dn.xlarge", (7, 5), "Turing"),
        ("g5g.xlarge", (7, 5), "Turing"),
        ("p4de.24xlarge", (8, 0), "Ampere"),
        ("g5.xlarge", (8, 6), "Ampere"),
        ("g6e.xlarge", (8, 9), "Ada"),
        ("p5en.48xlarge", (9, 0), "Hopper"),
        ("p6-b200.48xlarge", (10, 0), "Blackwell"),
        ("p6-b300.48xlarge", (10, 3), "Blackwell Ultra"),
        ("g7e.2xlarge", (12, 0), "Blackwell"),
    ],
)
def test_the_compute_capability_of_each_generation(name: str, capability: tuple[int, int], generation: str) -> None:
    devices = instance_type(name).accelerators
    assert devices is not None
    assert (devices.compute_capability, devices.generation) == (capability, generation)


def test_exactly_the_nvidia_types_have_a_compute_capability() -> None:
    for each in accelerated():
        assert each.accelerators is not None
        assert (each.accelerators.compute_capability is not None) is (each.accelerators.vendor is Vendor.NVIDIA), each


@pytest.mark.parametrize(
    ("name", "interconnect"),
    [
        ("g5.48xlarge", "PCIe"),
        ("g6e.48xlarge", "PCIe"),
        ("p3.2xlarge", "PCIe"),
        ("p3.16xlarge", "NVLink2"),
        ("p4d.24xlarge", "NVSwitch 600GB/s"),
        ("p5.48xlarge", "NVSwitch 900GB/s"),
        ("p5.4xlarge", "PCIe"),
        ("p6-b200.48xlarge", "NVLink5/NVSwitch 1800GB/s"),
        ("inf2.48xlarge", None),
    ],
)
def test_the_interconnect_is_that_of_the_size_not_only_of_the_family(name: str, interconnect: str | None) -> None:
    devices = instance_type(name).accelerators
    assert devices is not None
    assert devices.interconnect == interconnect


@pytest.mark.parametrize(
    ("name", "group", "on_demand", "spot"),
    [
        ("g6.xlarge", "G/VT", "L-DB2E81BA", "L-3819A6DF"),
        ("vt1.3xlarge", "G/VT", "L-DB2E81BA", "L-3819A6DF"),
        ("p4d.24xlarge", "P", "L-417A185B", "L-7212CCBC"),
        ("p5.48xlarge", "P", "L-417A185B", "L-C4BD4855"),
        ("inf2.xlarge", "Inf", "L-1945791B", "L-B5D1601B"),
        ("trn2.48xlarge", "Trn", "L-2C3B7624", "L-6B0D517C"),
        ("dl2q.24xlarge", "DL", "L-6E869C2A", "L-85EED4F7"),
        ("f2.6xlarge", "F", "L-74FC7D96", "L-88CF9481"),
        ("c7i.large", "Standard", "L-1216C47A", "L-34B43A08"),
        ("x8g.large", "X", "L-7295265B", "L-E3A00192"),
    ],
)
def test_the_quota_of_a_type(name: str, group: str, on_demand: str, spot: str) -> None:
    quota = instance_type(name).quota
    assert quota is not None
    assert (quota.group, quota.on_demand_code, quota.spot_code) == (group, on_demand, spot)


def test_the_standard_quota_is_only_for_the_letters_aws_names() -> None:
    for each in EVERY:
        assert each.quota is not None
        assert (each.quota.group == "Standard") is (each.accelerators is None and each.name[0] in "acdhimrtz"), each


def test_only_the_spot_quota_of_p6_is_in_doubt() -> None:
    doubted = {each.family for each in EVERY if each.quota and each.quota.spot_note is not None}
    assert doubted == {"p6-b200", "p6-b300", "p6e-gb200"}


SUPERSEDED = tuple(each for each in accelerated() if each.replaced_by is not None)


def test_the_replacement_has_as_many_devices_with_as_much_memory() -> None:
    for each in SUPERSEDED:
        assert each.replaced_by is not None
        successor = instance_type(each.replaced_by)
        assert successor.name in instance_types(), each
        assert successor.is_offered_anywhere, each
        assert successor.replaced_by is None, each
        assert each.accelerators is not None
        assert successor.accelerators is not None, each
        assert successor.accelerators.count >= each.accelerators.count, each
        assert (successor.accelerators.memory_mib or 0) >= (each.accelerators.memory_mib or 0), each


def test_every_type_that_is_offered_nowhere_names_a_replacement_or_why_there_is_none() -> None:
    without = {each.name for each in accelerated() if not each.regions and each.replaced_by is None}
    assert without == {"p2.16xlarge", "p6e-gb200.36xlarge"}
    assert all(instance_type(name).note for name in without)
    assert max(each.gpus for each in accelerated() if each.regions) < instance_type("p2.16xlarge").gpus


def test_only_families_on_which_the_sources_disagree_name_both() -> None:
    without = [each for each in accelerated() if not each.regions]
    both = {each.name for each in without if "prices it in us-east-1" in (each.note or "")}
    assert both == {each.name for each in without if each.family in {"p3", "g4ad"}}


def test_the_general_types_carry_nothing_and_are_offered_somewhere() -> None:
    for each in general():
        assert each.accelerators is None
        assert each.gpus == 0
        assert each.gpu_memory_mib is None
        assert each.regions, each


def test_the_general_types_are_all_of_the_dump_but_the_families_left_out_on_purpose() -> None:
    missing = set(instance_types()) - {each.name for each in EVERY}
    left_out = {name.partition(".")[0] for name in missing}
    odd = {family for family in left_out if family.startswith(("mac", "hpc", "u-", "u7i"))}
    assert left_out - odd == {"a1", "c1", "c3", "i2", "m1", "m2", "m3", "r3", "t1", "trn2u"}


def test_every_field_that_no_api_gives_names_its_source() -> None:
    sources = {"quota", "replaced_by", "accelerators.compute_capability"}
    assert sources <= read("accelerated")["sources"].keys()
    assert "quota" in read("general")["sources"]
