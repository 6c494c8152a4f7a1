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

_FAMILIES = {
    "al2023-gpu": "g3 g3s g4dn g5 g6 g6e g6f g7 g7e gr6 gr6f p3 p3dn p4d p4de p5 p5e p5en p6-b200 p6-b300",
    "al2023-neuron": "inf1 inf2 trn1 trn1n trn2",
    "bottlerocket-ecs-2-nvidia-arm64": "g5g",
}
CHOICE = {name: chosen for chosen, names in _FAMILIES.items() for name in names.split()}
"""The image of each family that has one."""

REFUSED = {
    "dl1.24xlarge": ("Gaudi", "trn1.32xlarge"),
    "dl2q.24xlarge": ("Qualcomm", "inf2.48xlarge"),
    "f1.2xlarge": ("FPGA", "g6.xlarge"),
    "f2.48xlarge": ("FPGA", "g6.xlarge"),
    "g2.2xlarge": ("470 is the last that drives Kepler", "g6.xlarge"),
    "g2.8xlarge": ("470 is the last that drives Kepler", "g6.12xlarge"),
    "g4ad.4xlarge": ("AMD", "g6.4xlarge"),
    "g4ad.8xlarge": ("AMD", "g6.12xlarge"),
    "g4ad.16xlarge": ("AMD", "g6.24xlarge"),
    "p2.xlarge": ("470 is the last that drives Kepler", "g6.4xlarge"),
    "p2.16xlarge": ("470 is the last that drives Kepler", "g6.48xlarge"),
    "p6e-gb200.36xlarge": ("no arm64 ECS image for GB200", "p6-b200.48xlarge"),
    "vt1.24xlarge": ("media cards", "g6.xlarge"),
}
"""Of each family that no ECS image drives a type or more: the mechanism, and what to use instead."""


def test_the_tables_are_about_every_accelerated_family_and_no_other() -> None:
    refused = {instance_type(name).family for name in REFUSED}
    assert CHOICE.keys() | refused == {each.family for each in accelerated()}
    assert not CHOICE.keys() & refused


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
