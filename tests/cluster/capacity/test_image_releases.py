"""Releases of machine images: which a name takes, a region has and GPUs can be driven by."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest

from gpu_constructs import GpuCluster, GpuMachineImage, IncompatibleError, InvalidValueError
from gpu_constructs.facts import image, newest_release
from tests.synthesis import Ground, Site


def in_region(site: Site, region: str) -> Site:
    site.stack = cdk.Stack(site.app, "There", env=cdk.Environment(region=region))
    return site


STOPPED = "al2023-ami-ecs-gpu-hvm-2023.0.20260226-kernel-6.1-x86_64-ebs"
NEWER = "al2023-ami-ecs-gpu-hvm-2023.0.20260922-kernel-6.1-x86_64-ebs"


def test_hosts_get_releases_that_the_region_of_their_stack_publishes(site: Site) -> None:
    stacks = [
        cdk.Stack(site.app, region, env=cdk.Environment(region=region)) for region in ("us-east-1", "me-central-1")
    ]
    types = {"g6.xlarge": "al2023-gpu", "inf2.xlarge": "al2023-neuron", "c7i.large": "al2023"}
    for stack in stacks:
        cluster = GpuCluster(stack, "Cluster", vpc=site.vpc)
        for name in types:
            cluster.add_capacity(f"Of {name}", instance_types=[name], max_instances=1)
        asked = GpuMachineImage.pinned("al2023-gpu")
        cluster.add_capacity("Asked", instance_types=["g6.2xlarge"], max_instances=1, image=asked)
    assert [each for each in site.warnings() if "image" in each or "release" in each] == []
    for stack in stacks:
        defaults = {each["Default"] for each in site.template(stack)["Parameters"].values()}
        # What each region publishes is held by tests/facts/test_images.py.
        assert {each for each in defaults if "optimized-ami" in each} == {
            each.pinned_ssm_parameter.format(release=newest_release(each, stack.region))
            for each in map(image, types.values())
        }
    assert STOPPED in str(site.template(stacks[1]))


def test_a_release_that_is_not_published_in_the_region_is_refused(site: Site) -> None:
    image = GpuMachineImage.pinned("al2023-gpu", release=NEWER)
    with pytest.raises(IncompatibleError, match=f"image: .*{NEWER} of .* is not published.*GPU200") as raised:
        in_region(site, "me-central-1").capacity("g6.xlarge", image=image)
    assert STOPPED in str(raised.value)


@pytest.mark.parametrize(
    ("type_name", "day", "words", "first"),
    [
        (
            "p6-b300.48xlarge",
            "20250224",
            "older than driver 580.82.07 of 2025-09-02, the first that drives B300",
            "20251015",
        ),
        ("g7.2xlarge", "20260129", "driver 580.126.09, 580.142 is the first that drives", "20260323"),
        ("g6f.large", "20250224", "from before 20251027, which brought the GRID kernel module", "20260323"),
        ("p3.2xlarge", "20250916", "from before 20251027, which brought the proprietary kernel module", "20250224"),
    ],
)
def test_a_release_that_is_too_old_for_the_gpus_is_refused_with_the_first_that_is_not(
    ground: Ground, type_name: str, day: str, words: str, first: str
) -> None:
    old = GpuMachineImage.pinned("al2023-gpu", NEWER.replace("20260922", day))
    with pytest.raises(IncompatibleError, match=words) as refused:
        ground.capacity(type_name, image=old)
    assert refused.value.rule == "GPU052"
    assert refused.value.argument == "image"
    assert refused.value.fix == f"release {NEWER.replace('20260922', first)} of image al2023-gpu, or a later one"


ROCKET = "bottlerocket-ecs-2-nvidia-x86_64"


@pytest.mark.parametrize(
    ("name", "releases", "words"),
    [
        (
            "al2023-gpu",
            ["", "a/b", "{release}", "al2023-ami-ecs-gpu-hvm-\n1", 7],
            "is not a release of al2023-gpu",
        ),
        (
            "al2023-gpu",
            [" ", "recommended", "1.66.0", "al2023-ami-ecs-hvm-2023", "é"],
            "is not a release of al2023-gpu",
        ),
        (ROCKET, ["latest", "1.66", "al2023-ami-ecs-gpu-hvm-2023"], "whose releases are like 1.66.0"),
        ("bottlerocket-ecs-4-nvidia-x86_64", ["1.60.0"], "before the first release of {name}, 1.61.0"),
        ("bottlerocket-ecs-3-nvidia-arm64", ["1.50.0"], "before the first release of {name}, 1.51.0"),
        ("al2023-gpu", [NEWER.replace("20260922", "20241217")], "before the first release of {name}, 20250224"),
    ],
)
def test_a_release_is_one_that_the_image_can_have(name: str, releases: list[Any], words: str) -> None:
    for release in releases:
        with pytest.raises(InvalidValueError, match=words.format(name=name)):
            GpuMachineImage.pinned(name, release=release)
