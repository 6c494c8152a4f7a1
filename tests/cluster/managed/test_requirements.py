"""Requirements of Managed Instances: derived from types, or from a need."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.cluster.managed.options import HostNeed
from gpu_constructs.cluster.managed.requirements import ManagedChoice, choice_of_need, choice_of_types
from gpu_constructs.errors import GpuConstructsError, IncompatibleError, InvalidValueError, UnknownNameError
from gpu_constructs.facts import Architecture, DeclaredInstanceType, Vendor, accelerated, instance_type
from gpu_constructs.facts.catalogue import for_one_check
from gpu_constructs.facts.declared import instance_types_of_declarations
from gpu_constructs.fleet import PurchaseOption, satisfies


def names(choice: ManagedChoice) -> set[str]:
    return {each.name for each in choice.types}


def data(choice: ManagedChoice, purchase: PurchaseOption = PurchaseOption.ON_DEMAND) -> dict[str, Any]:
    return choice.template_data(purchase)


def test_a_list_of_types_selects_these_and_no_others() -> None:
    choice = choice_of_types(["g6.2xlarge", "g6.12xlarge", "g6.2xlarge"])
    assert names(choice) == {"g6.2xlarge", "g6.12xlarge"}
    assert data(choice) == {
        "VCpuCount": {"Min": 1},
        "MemoryMiB": {"Min": 1},
        "AcceleratorCount": {"Min": 1, "Max": 4},
        "AcceleratorManufacturers": ["nvidia"],
        "AllowedInstanceTypes": ["g6.2xlarge", "g6.12xlarge"],
        "OnDemandMaxPricePercentageOverLowestPrice": 999_999,
    }


@pytest.mark.parametrize(
    ("types", "said"),
    [
        (["g5g.metal"], {"BareMetal": "included", "AcceleratorCount": {"Min": 2, "Max": 2}}),
        (["t3.large", "m7i.large"], {"BurstablePerformance": "included"}),
        (["inf2.xlarge", "inf2.48xlarge"], {"AcceleratorManufacturers": ["amazon-web-services"]}),
        (["g6f.large"], {"AcceleratorManufacturers": ["nvidia"]}),
        (["g5g.xlarge"], {"AcceleratorCount": {"Min": 1, "Max": 1}}),
        (["p5e.48xlarge"], {"AllowedInstanceTypes": ["p5e.48xlarge"]}),
    ],
)
def test_what_the_api_leaves_out_unless_told_so_is_told(types: list[str], said: dict[str, Any]) -> None:
    choice = choice_of_types(types)
    assert said.items() <= data(choice).items()
    assert names(choice) == set(types)
    assert choice.architecture is instance_type(types[0]).architecture


@pytest.mark.parametrize(
    ("purchase", "lifted"),
    [
        (PurchaseOption.ON_DEMAND, "OnDemandMaxPricePercentageOverLowestPrice"),
        (PurchaseOption.RESERVED, "OnDemandMaxPricePercentageOverLowestPrice"),
        (PurchaseOption.SPOT, "SpotMaxPricePercentageOverLowestPrice"),
    ],
)
def test_no_price_keeps_a_type_out(purchase: PurchaseOption, lifted: str) -> None:
    written = data(choice_of_types(["g6.xlarge"]), purchase)
    assert {key: value for key, value in written.items() if "Price" in key} == {lifted: 999_999}


@pytest.mark.parametrize(
    ("types", "error", "words"),
    [
        ([], InvalidValueError, "expects at least one instance type"),
        ("g6.xlarge", InvalidValueError, r"\['g6.xlarge'\]"),
        ([None], InvalidValueError, "expects a list of text"),
        (["${Token[TOKEN.1]}"], InvalidValueError, "only known at deploy time"),
        (["g6.xlage"], UnknownNameError, "g6.xlarge"),
        (["g4ad.xlarge"], IncompatibleError, "Radeon Pro V520 devices.*NVIDIA GPUs and Neuron"),
        (["dl1.24xlarge"], IncompatibleError, "Neuron devices only"),
        (["t3.micro"], IncompatibleError, "t3.micro is too small"),
        (["m7g.medium"], IncompatibleError, "m7g.medium is too small"),
        (["g6.xlarge", "g5g.xlarge"], IncompatibleError, "g6.xlarge: x86_64, nvidia; g5g.xlarge: arm64, nvidia"),
        (["g6.xlarge", "m7i.large"], IncompatibleError, "no accelerators.*2 here"),
        (["g6.xlarge", "inf2.xlarge"], IncompatibleError, "one kind of accelerator"),
    ],
)
def test_types_that_cannot_be_managed_together(types: Any, error: type[GpuConstructsError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        choice_of_types(types)
    assert caught.value.argument == "instance_types"


def test_a_need_selects_every_type_that_has_it_and_no_part_of_a_gpu() -> None:
    choice = choice_of_need(HostNeed(gpu_memory_gib=40))
    assert {"g6e.xlarge", "g7e.2xlarge", "p5.4xlarge"} <= names(choice)
    assert all(each.gpus == 1 and (each.gpu_memory_mib or 0) >= 40 * 1024 for each in choice.types)
    assert data(choice) == {
        "VCpuCount": {"Min": 1},
        "MemoryMiB": {"Min": 1},
        "AcceleratorCount": {"Min": 1, "Max": 1},
        "AcceleratorTotalMemoryMiB": {"Min": 40960},
        "AcceleratorManufacturers": ["nvidia"],
        "AcceleratorTypes": ["gpu"],
        "CpuManufacturers": ["intel", "amd"],
        "ExcludedInstanceTypes": ["g6f.*", "gr6f.*"],
        "OnDemandMaxPricePercentageOverLowestPrice": 999_999,
    }


@pytest.mark.parametrize(
    ("need", "key", "value"),
    [
        (HostNeed(models=("l4", "T4")), "AcceleratorNames", ["t4", "l4"]),
        (HostNeed(gpus=8, models=["H200"]), "AllowedInstanceTypes", ["p5en.48xlarge"]),
        (HostNeed(gpus=8, models=["H100", "B200"]), "AllowedInstanceTypes", ["p5.48xlarge", "p6-b200.48xlarge"]),
        (HostNeed(architecture="arm64"), "CpuManufacturers", ["amazon-web-services"]),
        (HostNeed(architecture=Architecture.ARM64), "CpuManufacturers", ["amazon-web-services"]),
    ],
)
def test_a_need_in_the_words_of_the_api(need: HostNeed, key: str, value: Any) -> None:
    assert data(choice_of_need(need))[key] == value


@pytest.mark.parametrize(
    "need",
    [
        HostNeed(),
        HostNeed(gpus=8, models=["H100", "B200"]),
        HostNeed(models=["L4"]),
        HostNeed(gpus=2, architecture="arm64"),
    ],
)
def test_what_a_need_selects_satisfies_it(need: HostNeed) -> None:
    choice = choice_of_need(need)
    assert choice.types
    for each in choice.types:
        assert each.accelerators is not None
        assert (each.gpus, each.accelerators.vendor) == (need.gpus, Vendor.NVIDIA)
        assert each.architecture is choice.architecture
        assert not need.models or each.accelerators.model in need.models
        assert satisfies(each, choice.requirements)


R200 = DeclaredInstanceType("g9.xlarge", vcpus=4, memory_mib=65536, gpus=1, gpu_model="R200", gpu_memory_mib=294912)
L4 = DeclaredInstanceType("g8.xlarge", vcpus=4, memory_mib=32768, gpus=1, gpu_model="L4", gpu_memory_mib=22888)


@pytest.mark.parametrize(
    ("declared", "need", "chosen"),
    [
        (R200, {"models": ["r200"]}, ["g9.xlarge"]),
        (R200, {"gpu_memory_gib": 200}, ["g9.xlarge"]),
        (R200, {"gpu_memory_gib": 140}, ["g9.xlarge"]),
    ],
)
def test_a_declared_type_that_satisfies_a_need_is_named(
    declared: DeclaredInstanceType, need: dict[str, Any], chosen: list[str]
) -> None:
    with for_one_check(instance_types_of_declarations([declared])):
        choice = choice_of_need(HostNeed(**need))
        assert names(choice) == set(chosen)
        assert data(choice)["AllowedInstanceTypes"] == [each.name for each in choice.types]
        assert all(satisfies(each, choice.requirements) for each in choice.types)


def test_a_declared_type_that_does_not_satisfy_a_need_changes_nothing() -> None:
    need = HostNeed(gpus=4, gpu_memory_gib=20)
    before = data(choice_of_need(need))
    metal = DeclaredInstanceType(
        "g9.metal-24xl", vcpus=96, memory_mib=65536, gpus=4, gpu_model="R200", gpu_memory_mib=294912
    )
    neuron = DeclaredInstanceType("trn9.xlarge", vcpus=4, memory_mib=65536, neuron_devices=4, neuron_model="Trainium9")
    with for_one_check(instance_types_of_declarations([R200, metal, neuron])):
        assert data(choice_of_need(need)) == before
        with pytest.raises(IncompatibleError):
            choice_of_need(HostNeed(models=["R200"], gpu_memory_gib=300))


@pytest.mark.parametrize(
    "need",
    [HostNeed(gpus=3), HostNeed(models=["H200"]), HostNeed(gpu_memory_gib=500), HostNeed(gpus=8, architecture="arm64")],
)
def test_a_need_that_no_type_has_is_refused(need: HostNeed) -> None:
    with pytest.raises(
        IncompatibleError, match="no instance type that Managed Instances launch has all of this"
    ) as caught:
        choice_of_need(need)
    assert caught.value.argument == "need"


def test_local_storage_leaves_out_types_without_disks() -> None:
    choice = choice_of_need(HostNeed(gpus=1, gpu_memory_gib=15))
    with_disks = choice.with_local_storage()
    assert data(with_disks)["LocalStorage"] == "required"
    assert with_disks.types
    assert all(each.local_disks for each in with_disks.types)


def test_amd_is_never_selected() -> None:
    amd = [each for each in accelerated() if each.accelerators and each.accelerators.vendor is Vendor.AMD]
    assert amd
    assert not any(satisfies(each, choice_of_need(HostNeed()).requirements) for each in amd)


def test_memory_is_that_of_all_gpus_together_rounded_up() -> None:
    assert data(choice_of_need(HostNeed(gpus=4, gpu_memory_gib=22.3)))["AcceleratorTotalMemoryMiB"] == {"Min": 91344}
