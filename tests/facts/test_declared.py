"""Instance types that the catalogue does not have, declared in Python."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_constructs.errors import GpuConstructsError, InvalidValueError, UnknownNameError
from gpu_constructs.facts import (
    DeclaredInstanceType,
    InstanceNeeds,
    Range,
    Vendor,
    accelerated,
    catalogue,
    choose,
    declare_instance_types,
    family,
    instance_type,
    known_type,
)
from gpu_constructs.facts.declared import declared_type_of, instance_types_of_declarations, metadata_of
from gpu_constructs.facts.images import default_image
from gpu_constructs.fleet import InstanceRequirements
from gpu_constructs.fleet.purchase import selected_types

G9 = DeclaredInstanceType(
    "g9.xlarge",
    vcpus=4,
    memory_mib=16384,
    gpus=1,
    gpu_model="R200",
    gpu_memory_mib=98304,
    compute_capability=(12, 0),
    max_interfaces=4,
    efa_cards=[0],
    local_disks_gb=[250, 250],
)
TRN3 = DeclaredInstanceType(
    "trn3.48xlarge", vcpus=192, memory_mib=2097152, neuron_devices=16, neuron_model="Trainium3", neuron_cores=8
)
PLAIN = DeclaredInstanceType("hpc9a.96xlarge", vcpus=192, memory_mib=786432, architecture="arm64")


pytestmark = pytest.mark.usefixtures("forget_declared_types")


def test_a_declared_type_is_found_by_every_look_up_and_is_in_no_list_of_what_was_recorded() -> None:
    declare_instance_types(G9, TRN3, PLAIN)
    found = instance_type("g9.xlarge")
    assert (found.gpus, found.gpu_memory_mib, found.declared, str(found), found.label) == (
        1,
        98304,
        True,
        "g9.xlarge",
        "g9.xlarge (declared)",
    )
    assert (found.local_storage_gb, found.network.efa_supported, found.regions) == (500, True, ())
    assert family("g9") == (found,)
    needs = InstanceNeeds(vendor=Vendor.NVIDIA, gpu_memory_mib=Range(98304))
    assert found in [each.instance_type for each in choose(needs).offers]
    assert found not in accelerated()
    assert found.name == selected_types(InstanceRequirements(allowed_instance_types=("g9.*",)))[0].name
    assert not any(each.declared for each in selected_types(InstanceRequirements(accelerator_names=("l4",))))
    trn3 = instance_type("trn3.48xlarge").accelerators
    assert trn3 is not None
    assert (trn3.vendor, trn3.count, trn3.cores) == (Vendor.NEURON, 16, 8)
    assert [str(default_image(each.instance_type)) for each in (G9, TRN3, PLAIN)] == [
        "al2023-gpu",
        "al2023-neuron",
        "al2023-arm64",
    ]


def test_a_known_model_brings_its_facts() -> None:
    declaration = DeclaredInstanceType("g9.xlarge", vcpus=4, memory_mib=16384, gpus=1, gpu_model="l40s")
    devices = declaration.instance_type.accelerators
    assert devices is not None
    assert (devices.model, devices.generation, devices.compute_capability) == ("L40S", "Ada", (8, 9))


def test_what_is_left_out_is_unknown() -> None:
    bare = DeclaredInstanceType("g9.xlarge", vcpus=4, memory_mib=16384, gpus=1, gpu_model="R200").instance_type
    assert (bare.gpu_memory_mib, bare.network.max_interfaces, bare.network.efa_supported, bare.quota) == (None,) * 4
    assert bare.accelerators is not None
    assert bare.accelerators.compute_capability is None


@pytest.mark.parametrize("declaration", [G9, TRN3, PLAIN], ids=str)
def test_what_templates_write_is_what_they_are_read_as(declaration: DeclaredInstanceType) -> None:
    ((name, facts),) = metadata_of([declaration.instance_type]).items()
    assert isinstance(facts, dict)
    assert declared_type_of(name, facts).instance_type == declaration.instance_type
    assert declared_type_of(name, {key.lower(): value for key, value in facts.items()}) == declared_type_of(name, facts)


FACTS: dict[str, Any] = {"vcpus": 4, "memory_mib": 16384}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"vcpus": 0}, "vcpus: got 0; allowed: a whole number from 1 to 10000"),
        ({"vcpus": True}, "vcpus: got True"),
        ({"memory_mib": 10**40}, "memory_mib: got 1000"),
        ({"architecture": "x86"}, "architecture: got 'x86'; allowed: x86_64 or arm64"),
        ({"gpus": 1}, "gpu_model: g9.xlarge has gpus and no gpu_model; fix: gpu_model='…'"),
        ({"gpu_model": "R200"}, "gpu_model: g9.xlarge has gpu_model and no gpus"),
        ({"gpus": -1, "gpu_model": "R200"}, "gpus: got -1"),
        ({"gpus": 1, "gpu_model": "R200\n"}, "gpu_model: got 'R200\\n'"),
        ({"gpus": 1, "gpu_model": "R200", "compute_capability": "13"}, "compute_capability: got '13'; allowed:"),
        (
            {"gpus": 1, "gpu_model": "R200", "neuron_devices": 1, "neuron_model": "T"},
            "GPUs or Neuron devices, not both; fix: leave gpus or neuron_devices out",
        ),
        ({"neuron_cores": 8}, "neuron_cores: g9.xlarge has neuron_cores and no neuron_devices"),
        ({"efa_cards": "0"}, "efa_cards: got '0'; allowed: a list"),
        ({"efa_cards": [0, 0]}, "efa_cards: got [0, 0]; allowed: a list of indexes of network cards from 0, each once"),
        ({"local_disks_gb": [0]}, "local_disks_gb: got [0]; allowed: a list"),
    ],
    ids=str,
)
def test_a_wrong_fact_is_refused_with_what_is_allowed(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        DeclaredInstanceType("g9.xlarge", **(FACTS | facts))
    assert words in str(refused.value)
    with pytest.raises(InvalidValueError) as read:
        declared_type_of("g9.xlarge", FACTS | facts)
    assert words in str(read.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [("g9.xlrge", "has never had a size"), ("g9", "a family, a dot and a size"), (9, "it is not a string")],
)
def test_a_name_that_no_type_can_have_is_refused(name: Any, words: str) -> None:
    with pytest.raises(UnknownNameError, match=f"name: .* cannot be an instance type: .*{words}"):
        DeclaredInstanceType(name, **FACTS)


def test_a_key_that_no_type_has_gets_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Memory: an instance type has no 'Memory'; .* memory_mib"):
        declared_type_of("g9.xlarge", {"Memory": 1})
    with pytest.raises(InvalidValueError, match="vcpus of 'g9.xlarge' is missing"):
        declared_type_of("g9.xlarge", {"MemoryMib": 1})
    with pytest.raises(InvalidValueError, match="Vcpus: 'vcpus' and 'Vcpus' are the same fact; fix: leave one out"):
        declared_type_of("g9.xlarge", {"vcpus": 4, "Vcpus": 64, "memory_mib": 16384})


def test_a_type_that_the_catalogue_has_by_now_may_stay_declared_while_both_agree() -> None:
    same = DeclaredInstanceType("g6.xlarge", vcpus=4, memory_mib=16384, gpus=1, gpu_model="L4")
    assert instance_types_of_declarations([same]) == {}
    recorded = known_type("p5.48xlarge")
    assert recorded is not None
    whole = metadata_of([replace(recorded, declared=True)])["p5.48xlarge"]
    assert isinstance(whole, dict)
    assert instance_types_of_declarations([declared_type_of("p5.48xlarge", whole)]) == {}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"gpus": 2}, "gpus 1, and it is declared with 2; fix: remove the declaration"),
        ({"gpu_model": "H100"}, "gpu_model L4, and it is declared with H100"),
        ({"compute_capability": (9, 0)}, r"compute_capability \[8, 9\], and it is declared with \[9, 0\]"),
        ({"efa_cards": [0]}, r"efa_cards \[\], and it is declared with \[0\]"),
        ({"local_disks_gb": [1]}, r"local_disks_gb \[250\], and it is declared with \[1\]"),
        ({"gpus": 0, "gpu_model": None}, "gpus 1, and it is declared with 0"),
        (
            {"gpus": 0, "gpu_model": None, "neuron_devices": 1, "neuron_model": "Trainium2"},
            "neuron_devices 0, and it is declared with 1",
        ),
    ],
    ids=str,
)
def test_a_fact_that_differs_from_the_catalogue_is_refused(facts: dict[str, Any], words: str) -> None:
    usual: dict[str, Any] = {"vcpus": 4, "memory_mib": 16384, "gpus": 1, "gpu_model": "l4"}
    with pytest.raises(InvalidValueError, match=f"g6.xlarge with {words}"):
        declare_instance_types(DeclaredInstanceType("g6.xlarge", **(usual | facts)))


def test_a_type_is_declared_once_or_twice_alike() -> None:
    declare_instance_types(PLAIN)
    declare_instance_types(PLAIN)
    with pytest.raises(InvalidValueError, match="hpc9a.96xlarge is declared twice, with different facts"):
        declare_instance_types(DeclaredInstanceType("hpc9a.96xlarge", vcpus=96, memory_mib=786432))
    with pytest.raises(InvalidValueError, match="'g9.xlarge' is not a DeclaredInstanceType; fix: DeclaredInstanceType"):
        declare_instance_types("g9.xlarge")  # type: ignore[arg-type] # on purpose


def test_what_one_check_declares_ends_with_it() -> None:
    with catalogue.for_one_check(instance_types_of_declarations([G9])):
        assert known_type("g9.xlarge") == G9.instance_type
    assert known_type("g9.xlarge") is None


_KEYS = st.sampled_from(["vcpus", "MemoryMib", "gpus", "gpu_model", "efa_cards", "compute_capability", "x", ""])
_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


@given(st.text() | st.just("g9.xlarge"), st.dictionaries(_KEYS, _VALUES))
def test_any_declaration_is_read_or_refused_in_our_words(name: str, facts: dict[str, Any]) -> None:
    with suppress(GpuConstructsError):
        assert declared_type_of(name, FACTS | facts).instance_type.declared
