"""What the types of one pool have in common."""

from __future__ import annotations

import pytest

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import HostImage, Shape
from gpu_constructs.fleet.pool import require_one_shape
from gpu_constructs.hardware import accelerated, family, image, instance_type


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("g6.xlarge", "1 NVIDIA GPU, x86_64"),
        ("p5.48xlarge", "8 NVIDIA GPUs, x86_64"),
        ("g5g.16xlarge", "2 NVIDIA GPUs, arm64"),
        ("g6f.large", "0.125 of an NVIDIA GPU, x86_64"),
        ("g4ad.8xlarge", "2 AMD GPUs, x86_64"),
        ("inf2.24xlarge", "6 neuron devices, x86_64"),
        ("c7g.large", "no accelerator, arm64"),
    ],
)
def test_a_shape_is_said_in_words(name: str, words: str) -> None:
    assert str(Shape.of(instance_type(name))) == words


def test_types_of_one_shape_pass() -> None:
    require_one_shape([each for each in family("g6") if each.gpus == 1], argument="instance_types")
    require_one_shape([], argument="instance_types")


def test_no_two_shapes_of_a_family_pass_together() -> None:
    by_family: dict[str, set[Shape]] = {}
    for each in accelerated():
        by_family.setdefault(each.family, set()).add(Shape.of(each))
    several = [name for name, shapes in by_family.items() if len(shapes) > 1]
    assert "g6" in several
    for name in several:
        with pytest.raises(IncompatibleError, match="instance_types: these types have different shapes"):
            require_one_shape(family(name), argument="instance_types")


def test_an_image_without_a_release_floats() -> None:
    row = image("al2023-gpu")
    assert HostImage(image=row).is_floating
    assert HostImage(image=row).ssm_parameter.endswith("/amazon-linux-2023/gpu/recommended/image_id")
    pinned = HostImage(image=row, release="my-release")
    assert not pinned.is_floating
    assert pinned.ssm_parameter.endswith("/amazon-linux-2023/gpu/my-release/image_id")
