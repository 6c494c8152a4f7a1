"""Look-up by name and family."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpu_constructs.errors import GpuConstructsError, InvalidValueError, UnknownNameError
from gpu_constructs.facts import (
    InstanceType,
    accelerated,
    families,
    family,
    general,
    instance_type,
)

EVERY = (*accelerated(), *general())


def test_every_type_is_found_by_its_name() -> None:
    assert all(instance_type(each.name) is each for each in EVERY)
    assert len({each.name for each in EVERY}) == len(EVERY)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("g6.xlrge", "g6.xlarge"),
        ("p6b200.48xlarge", "p6-b200.48xlarge"),
        ("g6e.12xlargee", "g6e.12xlarge"),
        ("G6.XLARGE", "g6.xlarge"),
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


PURE = """
import sys
import gpu_constructs.facts as hardware
hardware.default_image(hardware.instance_type("g6.xlarge"))
hardware.choose(hardware.InstanceNeeds(gpus=hardware.Range(low=1), region="us-east-1"))
print(*sorted(name for name in ("aws_cdk", "jsii", "constructs", "boto3", "botocore", "moto") if name in sys.modules))
print(hardware.catalogue._general.cache_info().currsize)
"""


def test_the_room_imports_no_cloud_library_and_reads_no_general_type_for_a_gpu() -> None:
    done = subprocess.run([sys.executable, "-c", PURE], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["", "0"]
