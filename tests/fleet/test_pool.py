"""What the types of one pool have in common."""

from __future__ import annotations

import pytest

from gpu_constructs.facts import image, instance_type
from gpu_constructs.fleet import HostImage, Shape


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("g6.xlarge", "1 NVIDIA GPU, x86_64"),
        ("p5.48xlarge", "8 NVIDIA GPUs, x86_64"),
        ("g6f.large", "0.125 of an NVIDIA GPU, x86_64"),
        ("c7g.large", "no accelerator, arm64"),
    ],
)
def test_a_shape_is_said_in_words(name: str, words: str) -> None:
    assert str(Shape.of(instance_type(name))) == words


def test_an_image_without_a_release_floats() -> None:
    row = image("al2023-gpu")
    assert HostImage(image=row).is_floating
    assert HostImage(image=row).ssm_parameter.endswith("/amazon-linux-2023/gpu/recommended/image_id")
    pinned = HostImage(image=row, release="my-release")
    assert not pinned.is_floating
    assert pinned.ssm_parameter.endswith("/amazon-linux-2023/gpu/my-release/image_id")
