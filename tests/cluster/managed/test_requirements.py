"""Requirements of Managed Instances, derived from types."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_constructs.cluster.managed import choice_of_types, requirements_data
from gpu_constructs.errors import GpuConstructsError, IncompatibleError, InvalidValueError, UnknownNameError
from gpu_constructs.facts import DeclaredInstanceType
from gpu_constructs.facts.catalogue import for_one_check
from gpu_constructs.facts.declared import instance_types_of_declarations
from gpu_constructs.fleet import PurchaseOption, TypeChoice


def names(choice: TypeChoice) -> set[str]:
    return {each.name for each in choice.instance_types}


def data(choice: TypeChoice, purchase: PurchaseOption = PurchaseOption.ON_DEMAND) -> dict[str, Any]:
    return requirements_data(choice, purchase)


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
    ],
)
def test_what_the_api_leaves_out_unless_told_so_is_told(types: list[str], said: dict[str, Any]) -> None:
    choice = choice_of_types(types)
    assert said.items() <= data(choice).items()
    assert names(choice) == set(types)


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
        ([], InvalidValueError, "a list with at least one instance type"),
        ("g6.xlarge", InvalidValueError, r"\['g6.xlarge'\]"),
        ([None], InvalidValueError, "expects names"),
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


def test_local_storage_wants_types_with_disks() -> None:
    assert data(choice_of_types(["g6.xlarge"], local_disks=True))["LocalStorage"] == "required"
    with pytest.raises(IncompatibleError, match="g5g.xlarge has no local disks") as caught:
        choice_of_types(["g5g.xlarge"], local_disks=True)
    assert caught.value.argument == "storage"


def test_a_declared_type_is_named() -> None:
    declared = DeclaredInstanceType(
        "g9.xlarge", vcpus=4, memory_mib=65536, gpus=1, gpu_model="R200", gpu_memory_mib=294912
    )
    with for_one_check(instance_types_of_declarations([declared])):
        choice = choice_of_types(["g9.xlarge"])
        assert names(choice) == {"g9.xlarge"}
        assert data(choice)["AllowedInstanceTypes"] == ["g9.xlarge"]
