"""Look-up by name and family, and search by need."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import TypedDict, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpu_constructs.errors import GpuConstructsError, InvalidValueError, UnknownNameError
from gpu_constructs.facts import (
    Architecture,
    InstanceType,
    PurchaseClass,
    Vendor,
    accelerated,
    families,
    family,
    find,
    general,
    instance_type,
    models,
    regions,
)

EVERY = (*accelerated(), *general())


def order(each: InstanceType) -> tuple[int, float, int, int, str]:
    devices = each.accelerators
    return (
        0 if devices is None else devices.count,
        0.0 if devices is None else devices.partition,
        each.vcpus,
        each.memory_mib,
        each.name,
    )


@pytest.mark.parametrize("name", ["g6.xlarge", "p6-b200.48xlarge", "trn2.48xlarge", "p2.xlarge", "c7i.2xlarge"])
def test_a_type_is_found_by_the_name_aws_prints(name: str) -> None:
    found = instance_type(name)
    assert (str(found), found.name) == (name, name)
    assert found is instance_type(name)


def test_every_type_is_found_by_its_name() -> None:
    assert all(instance_type(each.name) is each for each in EVERY)
    assert len({each.name for each in EVERY}) == len(EVERY)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("g6.xlrge", "g6.xlarge"),
        ("p5.48xlrge", "p5.48xlarge"),
        ("p6b200.48xlarge", "p6-b200.48xlarge"),
        ("g6e.12xlargee", "g6e.12xlarge"),
        ("c7i.2xlage", "c7i.2xlarge"),
        ("G6.XLARGE", "g6.xlarge"),
        (" g6.xlarge ", "g6.xlarge"),
        ("g5", "g5.xlarge"),
        ("P6-B200", "p6-b200.48xlarge"),
        ("c7i", "c7i.large"),
    ],
)
def test_an_unknown_name_raises_with_the_nearest_first(name: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        instance_type(name)
    assert raised.value.nearest[0] == nearest
    assert raised.value.value == name
    assert f"did you mean {nearest}" in str(raised.value)


def test_a_family_in_place_of_a_type_is_told_apart() -> None:
    with pytest.raises(UnknownNameError, match="'g5' is a family, an instance type has a size too"):
        instance_type("g5")


def test_an_accelerator_in_place_of_a_family_or_a_type_names_what_has_it() -> None:
    with pytest.raises(UnknownNameError, match="'L4' is an accelerator, not an instance family") as of_family:
        family("L4")
    assert of_family.value.nearest == ("g6", "gr6", "g6f", "gr6f")
    with pytest.raises(UnknownNameError, match="'a10g' is an accelerator, not an instance type") as of_type:
        instance_type("a10g")
    assert of_type.value.nearest == ("g5.xlarge",)


def test_a_name_like_nothing_raises_without_a_suggestion() -> None:
    with pytest.raises(UnknownNameError) as raised:
        instance_type("zzzzzzzzzzzzzzzz")
    assert raised.value.nearest == ()


@pytest.mark.parametrize("value", ["", "   ", None, 5, 1.5, b"g6.xlarge", ["g6.xlarge"], object()])
@pytest.mark.parametrize("look_up", [instance_type, family])
def test_what_is_no_name_at_all_is_an_invalid_value(look_up: object, value: object) -> None:
    assert callable(look_up)
    with pytest.raises(InvalidValueError, match="the name AWS prints"):
        look_up(value)


def outcome(name: str) -> InstanceType | GpuConstructsError:
    """What looking a type up comes to: the type, or the error of ours that it raises."""
    try:
        return instance_type(name)
    except GpuConstructsError as error:
        return error


@given(st.text())
def test_looking_up_any_text_finds_its_namesake_or_raises_our_error(text: str) -> None:
    found = outcome(text)
    assert text == (found.value if isinstance(found, GpuConstructsError) else found.name)


@given(st.text())
def test_any_text_is_a_family_or_raises_our_error(text: str) -> None:
    assume(text not in families())
    with pytest.raises(GpuConstructsError) as raised:
        family(text)
    assert raised.value.value == text


@given(st.sampled_from(EVERY), st.data())
def test_a_name_with_one_letter_dropped_is_another_name_or_suggests(each: InstanceType, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(each.name) - 1))
    found = outcome(each.name[:at] + each.name[at + 1 :])
    if isinstance(found, GpuConstructsError):
        assert isinstance(found, UnknownNameError)
        assert found.nearest
        assert all(instance_type(near).name == near for near in found.nearest)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("g6f", ["large", "xlarge", "2xlarge", "4xlarge"]),
        ("g6", ["xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge", "12xlarge", "24xlarge", "48xlarge"]),
        ("p5", ["4xlarge", "48xlarge"]),
        ("inf2", ["xlarge", "8xlarge", "24xlarge", "48xlarge"]),
        ("g5g", ["xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge", "metal"]),
        ("p6-b300", ["48xlarge"]),
    ],
)
def test_a_family_is_ordered_by_devices_then_size(name: str, sizes: list[str]) -> None:
    assert [each.size for each in family(name)] == sizes


def test_the_families_share_out_all_types() -> None:
    assert sorted(each.name for name in families() for each in family(name)) == sorted(each.name for each in EVERY)
    assert list(families()) == sorted(set(families()))
    assert all(each.family == name for name in families() for each in family(name))


@pytest.mark.parametrize(
    ("name", "nearest"), [("p6_b200", "p6-b200"), ("G6", "g6"), ("g6.xlarge", "g6"), ("c7ii", "c7i")]
)
def test_an_unknown_family_raises_with_the_nearest_first(name: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        family(name)
    assert raised.value.nearest[0] == nearest


@pytest.mark.parametrize(
    ("found", "smallest"),
    [
        (find(min_gpus=1), "g5g.xlarge"),
        (find(min_gpus=1, gpu_memory_mib=40_000, region="eu-north-1"), "g6e.xlarge"),
        (find(min_gpus=8, gpu_memory_mib=140_000), "p5e.48xlarge"),
        (find(vendor=Vendor.NVIDIA, architecture=Architecture.ARM64, region="us-east-1"), "g5g.xlarge"),
        (find(model="l40s", efa=True), "g6e.8xlarge"),
        (find(purchase=PurchaseClass.CAPACITY_BLOCK, min_compute_capability=(9, 0)), "p5.4xlarge"),
        (find(vendor=Vendor.NEURON, region="us-east-1"), "inf1.xlarge"),
        (find(min_vcpus=8, min_memory_mib=16384, architecture=Architecture.ARM64, region="us-east-1"), None),
    ],
)
def test_the_smallest_type_that_satisfies_comes_first(found: tuple[InstanceType, ...], smallest: str | None) -> None:
    assert found == tuple(sorted(found, key=order))
    assert (found[0].name if smallest else found[0].accelerators) == smallest


def test_a_need_that_is_met_exactly_is_met() -> None:
    l4 = instance_type("g6.xlarge")
    for needs in ({"min_vcpus": 4}, {"min_memory_mib": 16384}, {"min_gpus": 1}, {"gpu_memory_mib": 22888}):
        assert l4 in find(**needs)  # type: ignore[arg-type]
    for needs in ({"min_vcpus": 5}, {"min_memory_mib": 16385}, {"min_gpus": 2}, {"gpu_memory_mib": 22889}):
        assert l4 not in find(**needs)  # type: ignore[arg-type]
    assert l4 in find(min_compute_capability=(8, 9))
    assert l4 not in find(min_compute_capability=(9, 0))


def test_without_a_need_everything_is_found() -> None:
    assert set(find()) == set(EVERY)


def test_a_fractional_type_is_no_whole_gpu() -> None:
    assert not any(each.family == "g6f" for each in find(min_gpus=1))
    assert find(model="L4")[0].name == "g6f.large"


def test_an_unknown_fact_never_satisfies_a_need() -> None:
    legacy = instance_type("p2.16xlarge")
    assert legacy.network.efa_supported is None
    assert legacy in find(model="K80")
    assert legacy not in find(model="K80", efa=True)
    assert legacy not in find(model="K80", efa=False)
    assert legacy not in find(model="K80", purchase=PurchaseClass.ON_DEMAND)
    assert instance_type("p6e-gb200.36xlarge") not in find(gpu_memory_mib=0)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("min_gpus", -1),
        ("min_gpus", True),
        ("min_gpus", 1.5),
        ("gpu_memory_mib", "24"),
        ("min_vcpus", -8),
        ("min_memory_mib", None.__class__),
        ("vendor", "nvidai"),
        ("architecture", "x64"),
        ("purchase", "on_demand"),
        ("min_compute_capability", 8.9),
        ("min_compute_capability", (8,)),
        ("min_compute_capability", ("8", "9")),
        ("model", 4),
        ("region", 1),
    ],
)
def test_a_need_that_means_nothing_is_refused_by_name(argument: str, value: object) -> None:
    with pytest.raises(InvalidValueError) as raised:
        find(**{argument: value})  # type: ignore[arg-type]
    assert raised.value.argument == argument
    assert raised.value.allowed


@pytest.mark.parametrize(
    ("argument", "value", "nearest"),
    [("model", "A10", "A10G"), ("model", "l4s", "L40S"), ("region", "us-est-1", "us-east-1")],
)
def test_a_model_or_region_that_is_not_recorded_raises_with_the_nearest(
    argument: str, value: str, nearest: str
) -> None:
    with pytest.raises(UnknownNameError) as raised:
        find(**{argument: value})  # type: ignore[arg-type]
    assert nearest in raised.value.nearest
    assert raised.value.argument == argument


class Needs(TypedDict, total=False):
    """The arguments of `find`."""

    vendor: Vendor | None
    model: str | None
    min_gpus: int | None
    gpu_memory_mib: int | None
    min_compute_capability: tuple[int, int] | None
    architecture: Architecture | None
    min_vcpus: int | None
    min_memory_mib: int | None
    efa: bool | None
    purchase: PurchaseClass | None
    region: str | None


NEEDS: st.SearchStrategy[Needs] = st.fixed_dictionaries(
    {},
    optional={
        "vendor": st.sampled_from(Vendor),
        "model": st.sampled_from(models()),
        "min_gpus": st.integers(0, 9),
        "gpu_memory_mib": st.sampled_from(sorted({each.gpu_memory_mib or 0 for each in EVERY}))
        | st.integers(0, 200_000),
        "min_compute_capability": st.tuples(st.integers(3, 12), st.integers(0, 9)),
        "architecture": st.sampled_from(Architecture),
        "min_vcpus": st.sampled_from(sorted({each.vcpus for each in EVERY})) | st.integers(0, 256),
        "min_memory_mib": st.sampled_from(sorted({each.memory_mib for each in EVERY})) | st.integers(0, 4_194_304),
        "efa": st.booleans(),
        "purchase": st.sampled_from(PurchaseClass),
        "region": st.sampled_from(regions()),
    },
).map(lambda needs: cast("Needs", needs))


def satisfies(each: InstanceType, needs: Needs) -> bool:
    """Whether a type satisfies every need, asked of its facts one by one."""
    devices = each.accelerators
    facts: dict[str, Callable[[Needs], bool]] = {
        "vendor": lambda n: devices is not None and devices.vendor == n["vendor"],
        "model": lambda n: devices is not None and devices.model == n["model"],
        "min_gpus": lambda n: each.gpus >= (n["min_gpus"] or 0),
        "gpu_memory_mib": lambda n: (each.gpu_memory_mib or -1) >= (n["gpu_memory_mib"] or 0),
        "min_compute_capability": lambda n: (
            devices is not None and (devices.compute_capability or (0, 0)) >= (n["min_compute_capability"] or (0, 0))
        ),
        "architecture": lambda n: each.architecture == n["architecture"],
        "min_vcpus": lambda n: each.vcpus >= (n["min_vcpus"] or 0),
        "min_memory_mib": lambda n: each.memory_mib >= (n["min_memory_mib"] or 0),
        "efa": lambda n: each.network.efa_supported == n["efa"],
        "purchase": lambda n: n["purchase"] in each.purchase_classes,
        "region": lambda n: n["region"] in each.regions,
    }
    return all(facts[need](needs) for need in needs)


@given(NEEDS)
def test_find_returns_all_that_satisfy_and_nothing_else(needs: Needs) -> None:
    assert find(**needs) == tuple(sorted((each for each in EVERY if satisfies(each, needs)), key=order))


PURE = """
import sys
import gpu_constructs.facts as hardware
hardware.default_image(hardware.instance_type("g6.xlarge"))
hardware.find(min_gpus=1, region="us-east-1")
print(*sorted(name for name in ("aws_cdk", "jsii", "constructs", "boto3", "botocore", "moto") if name in sys.modules))
print(hardware.catalogue._general.cache_info().currsize)
"""


def test_the_room_imports_no_cloud_library_and_reads_no_general_type_for_a_gpu() -> None:
    done = subprocess.run([sys.executable, "-c", PURE], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["", "0"]
