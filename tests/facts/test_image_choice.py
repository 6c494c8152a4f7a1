"""Image choice for every accelerated type, against a table that was written by hand from what AWS says.

Sources, read on 2026-11-21:

- Amazon Linux 2023 GPU: scripts/al2023/gpu/nvidia-kmod-load.sh of https://github.com/aws/amazon-ecs-ami, which loads
  the proprietary module on p3, p3dn and g3, the GRID module on fractions of an L4, and the open one on all other GPUs;
  x86_64 only (no SSM parameter and no recipe for arm64), and driver branch 580, which has no Kepler.
- Amazon Linux 2023 Neuron: scripts/al2023/neuron in the same place, with an older driver on inf1.
- Bottlerocket: https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html, whose images share
  drivers with those for ECS: arm64 is for g5g alone.
- What ECS has no image for: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html is about NVIDIA.
"""

from __future__ import annotations

import pytest

from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts import (
    accelerated,
    default_image,
    instance_type,
)

AL2023_GPU = "al2023-gpu"
NEURON = "al2023-neuron"
ARM_GPU = "bottlerocket-ecs-2-nvidia-arm64"

CHOICE = {
    "g3": AL2023_GPU,
    "g3s": AL2023_GPU,
    "g4dn": AL2023_GPU,
    "g5": AL2023_GPU,
    "g5g": ARM_GPU,
    "g6": AL2023_GPU,
    "g6e": AL2023_GPU,
    "g6f": AL2023_GPU,
    "g7": AL2023_GPU,
    "g7e": AL2023_GPU,
    "gr6": AL2023_GPU,
    "gr6f": AL2023_GPU,
    "inf1": NEURON,
    "inf2": NEURON,
    "p3": AL2023_GPU,
    "p3dn": AL2023_GPU,
    "p4d": AL2023_GPU,
    "p4de": AL2023_GPU,
    "p5": AL2023_GPU,
    "p5e": AL2023_GPU,
    "p5en": AL2023_GPU,
    "p6-b200": AL2023_GPU,
    "p6-b300": AL2023_GPU,
    "trn1": NEURON,
    "trn1n": NEURON,
    "trn2": NEURON,
}
"""The image of each family that has one."""

REFUSED = {
    "dl1.24xlarge": ("Gaudi", "trn1.32xlarge"),
    "dl2q.24xlarge": ("Qualcomm", "inf2.48xlarge"),
    "f1.2xlarge": ("FPGA", "g6.xlarge"),
    "f1.4xlarge": ("FPGA", "g6.xlarge"),
    "f1.16xlarge": ("FPGA", "g6.xlarge"),
    "f2.6xlarge": ("FPGA", "g6.xlarge"),
    "f2.12xlarge": ("FPGA", "g6.xlarge"),
    "f2.48xlarge": ("FPGA", "g6.xlarge"),
    "g2.2xlarge": ("470 is the last that drives Kepler", "g6.xlarge"),
    "g2.8xlarge": ("470 is the last that drives Kepler", "g6.12xlarge"),
    "g4ad.xlarge": ("AMD", "g6.xlarge"),
    "g4ad.2xlarge": ("AMD", "g6.2xlarge"),
    "g4ad.4xlarge": ("AMD", "g6.4xlarge"),
    "g4ad.8xlarge": ("AMD", "g6.12xlarge"),
    "g4ad.16xlarge": ("AMD", "g6.24xlarge"),
    "p2.xlarge": ("470 is the last that drives Kepler", "g6e.2xlarge"),
    "p2.8xlarge": ("470 is the last that drives Kepler", "g6.48xlarge"),
    "p2.16xlarge": ("470 is the last that drives Kepler", "g6.48xlarge"),
    "p6e-gb200.36xlarge": ("no arm64 ECS image for GB200", "p6-b200.48xlarge"),
    "vt1.3xlarge": ("media cards", "g6.xlarge"),
    "vt1.6xlarge": ("media cards", "g6.xlarge"),
    "vt1.24xlarge": ("media cards", "g6.xlarge"),
}
"""Types that no ECS image drives: the mechanism, and what to use instead."""


def test_the_table_is_about_every_accelerated_type_and_no_other() -> None:
    named = {each.name for each in accelerated() if each.family in CHOICE}
    assert named | REFUSED.keys() == {each.name for each in accelerated()}
    assert not named & REFUSED.keys()
    assert {each.family for each in accelerated()} >= CHOICE.keys()


def test_a_type_runs_the_image_of_its_family() -> None:
    chosen = [each for each in accelerated() if each.family in CHOICE]
    assert [each.name for each in chosen if default_image(each).name != CHOICE[each.family]] == []


@pytest.mark.parametrize("name", REFUSED)
def test_a_type_without_an_image_is_answered_with_another_type(name: str) -> None:
    mechanism, instead = REFUSED[name]
    with pytest.raises(IncompatibleError, match=rf"^no ECS image drives {name}: .*{mechanism}") as refused:
        default_image(instance_type(name))
    assert refused.value.value == name
    assert (refused.value.fix or "").endswith(instead)
    assert instance_type(instead).family in CHOICE
