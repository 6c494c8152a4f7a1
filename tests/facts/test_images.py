"""The ECS images: their parameters against recorded ones, and what runs on what."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from typing import Any

import pytest

from gpu_constructs.errors import InvalidValueError, UnknownNameError
from gpu_constructs.facts import (
    IMAGES,
    Architecture,
    Image,
    OperatingSystem,
    Vendor,
    Verdict,
    accelerated,
    compatibility,
    default_image,
    general,
    image,
    instance_type,
    is_published,
    newest_release,
    regions,
)

from .dumps import below, published_images

ECS = "/aws/service/ecs/optimized-ami/"
BOTTLEROCKET = "/aws/service/bottlerocket/"
END = {OperatingSystem.AMAZON_LINUX_2: date(2026, 6, 30), OperatingSystem.AMAZON_LINUX_2023: date(2029, 6, 30)}
AMAZON_LINUX = tuple(each for each in IMAGES if each.operating_system is not OperatingSystem.BOTTLEROCKET)
EVERY = (*accelerated(), *general())


def published(parameter: str) -> dict[str, Any]:
    """The value of a parameter's parent, by the regions that have it."""
    *path, last = parameter.removeprefix(ECS).split("/")
    assert last == "image_id"
    nodes = {region: below(tree, *path) for region, tree in published_images().items()}
    return {region: node["Value"] for region, node in nodes.items() if "image_id" in node}


WITH_DRIVERS = ("2-nvidia", "3-nvidia", "4-nvidia", "2-nvidia-fips", "3-nvidia-fips")
# As the CDK's EcsOptimizedImage and BottleRocketImage emit them, and as AWS documents the ones the CDK lacks.
PARAMETERS = {
    "al2023": f"{ECS}amazon-linux-2023/recommended/image_id",
    "al2023-arm64": f"{ECS}amazon-linux-2023/arm64/recommended/image_id",
    "al2023-gpu": f"{ECS}amazon-linux-2023/gpu/recommended/image_id",
    "al2023-neuron": f"{ECS}amazon-linux-2023/neuron/recommended/image_id",
    "al2": f"{ECS}amazon-linux-2/recommended/image_id",
    "al2-arm64": f"{ECS}amazon-linux-2/arm64/recommended/image_id",
    "al2-gpu": f"{ECS}amazon-linux-2/gpu/recommended/image_id",
    "al2-inf": f"{ECS}amazon-linux-2/inf/recommended/image_id",
    "al2-kernel-5.10": f"{ECS}amazon-linux-2/kernel-5.10/recommended/image_id",
    "al2-kernel-5.10-arm64": f"{ECS}amazon-linux-2/kernel-5.10/arm64/recommended/image_id",
    "al2-kernel-5.10-gpu": f"{ECS}amazon-linux-2/kernel-5.10/gpu/recommended/image_id",
    "al2-kernel-5.10-inf": f"{ECS}amazon-linux-2/kernel-5.10/inf/recommended/image_id",
    **{
        f"bottlerocket-ecs-{variant}-{architecture}": f"{BOTTLEROCKET}aws-ecs-{variant}/{architecture}/latest/image_id"
        for variant in (*("2", "3", "4", "2-fips", "3-fips"), *WITH_DRIVERS)
        for architecture in ("x86_64", "arm64")
    },
}


def test_the_table_is_exactly_the_documented_parameters() -> None:
    assert {each.name: each.ssm_parameter for each in IMAGES} == PARAMETERS


@pytest.mark.parametrize("each", AMAZON_LINUX, ids=str)
def test_every_recorded_region_publishes_the_floating_parameter(each: Image) -> None:
    assert published(each.ssm_parameter).keys() == published_images().keys()


@pytest.mark.parametrize("each", AMAZON_LINUX, ids=str)
def test_the_newest_release_of_a_region_is_published_there(each: Image) -> None:
    assert each.stopped_in is not None
    assert published_images().keys() == set(regions())
    for region in regions():
        release = newest_release(each, region)
        assert release is not None
        value = published(each.pinned_ssm_parameter.format(release=release))[region]
        assert value["image_name"] == release
        if release == each.known_release:
            assert value["ecs_agent_version"] == each.agent_version
        else:
            assert is_published(each, release, region)
            assert not is_published(each, str(each.known_release), region)


@pytest.mark.parametrize("each", AMAZON_LINUX, ids=str)
def test_a_region_that_had_stopped_publishes_nothing_newer(each: Image) -> None:
    for region, release in each.stopped_in or ():
        assert max(names(each, published_images()[region]), key=day_of) == release


def names(each: Image, tree: dict[str, Any]) -> list[str]:
    """What one region publishes of an image, among it its releases by name."""
    return list(below(tree, *each.ssm_parameter.removeprefix(ECS).split("/")[:-2]))


def test_bottlerocket_is_pinned_by_its_version_and_its_releases_are_recorded_nowhere() -> None:
    bottlerocket = image("bottlerocket-ecs-2-nvidia-arm64")
    assert newest_release(bottlerocket, "me-central-1") == bottlerocket.known_release == "1.66.0"
    assert is_published(bottlerocket, "1.66.0", "us-east-1") is None
    pinned = bottlerocket.pinned_ssm_parameter.format(release="1.66.0")
    assert pinned == "/aws/service/bottlerocket/aws-ecs-2-nvidia/arm64/1.66.0/image_id"


def day_of(release: str) -> str:
    """The day in the name of an AMI, such as 20260922."""
    found = re.search(r"\.(20\d{6})-", release)
    return found[1] if found else ""


@pytest.mark.parametrize("each", AMAZON_LINUX, ids=str)
def test_no_newer_release_is_published_as_widely(each: Image) -> None:
    assert each.known_release is not None
    spread: Counter[str] = Counter()
    for tree in published_images().values():
        spread.update(name for name in names(each, tree) if day_of(name) > day_of(each.known_release))
    assert all(regions < 28 for regions in spread.values()), spread


def test_a_row_agrees_with_itself() -> None:
    for each in IMAGES:
        assert (each.architecture is Architecture.ARM64) is ("arm64" in each.ssm_parameter), each
        assert (each.accelerator is Vendor.NVIDIA) is (each.driver_branch is not None), each
        assert each.driver_version is None or each.driver_version.startswith(f"{each.driver_branch}."), each
        assert each.pinned_ssm_parameter.count("{release}") == 1, each
        assert each.end_of_life == END.get(each.operating_system), each
        devices = ("/dev/xvda", "/dev/xvdb" if each.operating_system is OperatingSystem.BOTTLEROCKET else "/dev/xvda")
        assert (each.root_device, each.image_device) == devices, each
        assert each.source.startswith("https://"), each


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("al2023-gpus", "al2023-gpu"),
        ("AL2023-GPU", "al2023-gpu"),
        ("bottlerocket-ecs-2-nvidia", "bottlerocket-ecs-2-nvidia-arm64"),
    ],
)
def test_an_unknown_image_raises_with_the_nearest_first(name: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        image(name)
    assert (raised.value.nearest[0], raised.value.value) == (nearest, name)


def test_what_is_no_string_is_no_image() -> None:
    with pytest.raises(InvalidValueError):
        image(5)  # type: ignore[arg-type]


def test_what_an_image_does_on_a_type_and_why() -> None:
    wrong = [
        (image_name, type_name, answer)
        for image_name, type_name, verdict, words in [
            ("al2023-gpu", "g6.xlarge", Verdict.DRIVES, "580"),
            ("al2023-gpu", "g7.2xlarge", Verdict.UNCONFIRMED, "branch 595"),
            ("al2023-gpu", "p2.xlarge", Verdict.CANNOT, "470 is the last that drives Kepler"),
            ("al2023-gpu", "g5g.xlarge", Verdict.CANNOT, "built for x86_64"),
            ("al2023-gpu", "c7i.large", Verdict.DRIVES, "nothing to drive"),
            ("al2023-gpu", "inf2.xlarge", Verdict.CANNOT, "no driver for the Inferentia2"),
            ("al2023-gpu", "g4ad.xlarge", Verdict.CANNOT, "AMD"),
            ("al2023-gpu", "f2.6xlarge", Verdict.CANNOT, "Xilinx"),
            ("al2023", "g6.xlarge", Verdict.CANNOT, "no driver for the L4"),
            ("al2023", "c7i.large", Verdict.DRIVES, "nothing to drive"),
            ("al2023", "c7g.large", Verdict.CANNOT, "built for x86_64"),
            ("al2023-neuron", "trn2.48xlarge", Verdict.DRIVES, "Trainium2"),
            ("al2023-neuron", "c7i.large", Verdict.CANNOT, "no Neuron device"),
            ("al2-gpu", "g7e.2xlarge", Verdict.CANNOT, "575.57.08 is the first that drives Blackwell"),
            ("al2-gpu", "g7.2xlarge", Verdict.CANNOT, "580.142 is the first"),
            ("al2-inf", "trn2.48xlarge", Verdict.UNCONFIRMED, "old Neuron driver"),
            ("bottlerocket-ecs-3-nvidia-x86_64", "g7.2xlarge", Verdict.UNCONFIRMED, "Bottlerocket"),
            ("bottlerocket-ecs-2-nvidia-x86_64", "g3.4xlarge", Verdict.UNCONFIRMED, "Maxwell"),
            ("bottlerocket-ecs-2-nvidia-x86_64", "p6-b200.48xlarge", Verdict.UNCONFIRMED, "EKS"),
            ("bottlerocket-ecs-2-nvidia-arm64", "p6e-gb200.36xlarge", Verdict.CANNOT, "GB200"),
            ("bottlerocket-ecs-2-nvidia-x86_64", "c7i.large", Verdict.CANNOT, "no GPU"),
            ("bottlerocket-ecs-2-arm64", "c7g.large", Verdict.DRIVES, "nothing to drive"),
        ]
        if (answer := compatibility(image(image_name), instance_type(type_name))).verdict is not verdict
        or words not in answer.reason
    ]
    assert not wrong


# Accelerated families that each kind of image drives, and those on which it is unconfirmed; all others it cannot.
TURING_TO_HOPPER = "g4dn g5 g6 g6e gr6 p4d p4de p5 p5e p5en"
NEURON = "inf1 inf2 trn1 trn1n trn2"
_PLAIN_BOTTLEROCKET = re.compile("bottlerocket-ecs-[0-9](-fips)?-x86_64")
MATRIX = {
    "al2023-gpu": (f"{TURING_TO_HOPPER} g3 g3s p3 p3dn g6f gr6f g7e p6-b200 p6-b300", "g7"),
    "al2023-neuron": (NEURON, ""),
    "al2-gpu": (f"{TURING_TO_HOPPER} g3 g3s p3 p3dn", ""),
    "al2-kernel-5.10-gpu": (f"{TURING_TO_HOPPER} g3 g3s p3 p3dn", ""),
    "al2-inf": ("inf1", "inf2 trn1 trn1n trn2"),
    "al2-kernel-5.10-inf": ("inf1", "inf2 trn1 trn1n trn2"),
    **{
        f"bottlerocket-ecs-{variant}-x86_64": (
            f"{TURING_TO_HOPPER} p3 p3dn g7e",
            "g3 g3s g6f gr6f g7 p6-b200 p6-b300",
        )
        for variant in WITH_DRIVERS
    },
    **{f"bottlerocket-ecs-{variant}-arm64": ("g5g", "") for variant in WITH_DRIVERS},
}


def test_the_families_an_image_drives() -> None:
    for each in IMAGES:
        answers: dict[Verdict, set[str]] = {verdict: set() for verdict in Verdict}
        for candidate in accelerated():
            answers[compatibility(each, candidate).verdict].add(candidate.family)
        drives, unconfirmed = MATRIX.get(each.name, ("", NEURON if _PLAIN_BOTTLEROCKET.fullmatch(each.name) else ""))
        assert answers[Verdict.DRIVES] == set(drives.split()), each
        assert answers[Verdict.UNCONFIRMED] == set(unconfirmed.split()), each
        assert not answers[Verdict.CANNOT] & (answers[Verdict.DRIVES] | answers[Verdict.UNCONFIRMED]), each


def test_types_without_accelerators_have_a_default_image_that_can_of_amazon_linux_2023() -> None:
    for each in general():
        chosen = default_image(each)
        assert compatibility(chosen, each).verdict is not Verdict.CANNOT, each
        assert chosen.end_of_life == END[OperatingSystem.AMAZON_LINUX_2023], each
    chosen_names = [default_image(instance_type(each)).name for each in ("c7i.2xlarge", "m7g.large")]
    assert chosen_names == ["al2023", "al2023-arm64"]
