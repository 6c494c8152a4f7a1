"""The releases of the images: against the recorded parameters, and every one of them against every GPU family.

The oracle is written by hand from NVIDIA's lists of open kernel modules at their tags, the notes of amazon-ecs-ami and
the pages of Bottlerocket's drivers. It names the first release that drives a family for certain, and the last that
certainly does not; what is between them is in doubt.
"""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise

import pytest

from gpu_constructs.facts import (
    IMAGES,
    Image,
    Vendor,
    Verdict,
    compatibility,
    drivers_of,
    family,
    first_release,
    image,
    instance_type,
    release_line,
    release_number,
    release_problem,
)
from gpu_constructs.facts.releases import ReleaseLine, recorded_number

from .dumps import below, published_images

AL2023 = "al2023-ami-ecs-gpu-hvm-2023.0.{}-kernel-6.1-x86_64-ebs"
AL2 = "amzn2-ami-ecs-gpu-hvm-2.0.{}-x86_64-ebs"
NVIDIA = tuple(each for each in IMAGES if each.accelerator is Vendor.NVIDIA)


def the_line(each: Image) -> ReleaseLine:
    line = release_line(each)
    assert line is not None
    return line


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("al2023-gpu", ("amazon-linux-2023", "gpu")),
        ("al2-gpu", ("amazon-linux-2", "gpu")),
        ("al2-kernel-5.10-gpu", ("amazon-linux-2", "kernel-5.10", "gpu")),
    ],
)
def test_every_recorded_release_is_in_the_table_with_its_agent(name: str, folder: tuple[str, ...]) -> None:
    line = the_line(image(name))
    for tree in published_images().values():
        recorded = below(tree, *folder)
        assert recorded
        for release, value in recorded.items():
            number = release_number(image(name), release)
            if number is not None:
                assert line.releases[number].agent_version == value["Value"]["ecs_agent_version"], release


@pytest.mark.parametrize("each", NVIDIA, ids=str)
def test_a_line_is_in_order_and_agrees_with_the_row_of_its_image(each: Image) -> None:
    line = the_line(each)
    assert list(line.releases) == sorted(line.releases)
    assert line.first is None or line.first <= min(line.releases)
    known = [release.driver for release in line.releases.values() if release.driver is not None]
    assert all(one.lowest <= two.lowest for one, two in pairwise(known))
    for release in line.releases.values():
        assert (release.driver is None) is (not release.source.startswith("https://")), release
        assert release.published is None or release.published <= date(2026, 11, 22)
    number = release_number(each, str(each.known_release))
    assert number is not None
    assert str(line.drivers(number)) == f"driver {each.driver_version}" == str(drivers_of(each))
    assert each.agent_version in {None, line.releases[number].agent_version}
    assert all(change.source.startswith("https://") for change in line.changes)


ALWAYS = ("", "")
# Of each family: the first release that certainly drives it (None: none does), the last that certainly does not.
ORACLE: dict[str, dict[str, tuple[str | None, str]]] = {
    "al2023-gpu": {
        **dict.fromkeys(["g4dn", "g5", "g6", "g6e", "gr6", "p4d", "p4de", "p5", "p5e", "p5en"], ALWAYS),
        "p2": (None, "20261113"),
        "g2": (None, "20261113"),
        "g6f": ("20260323", "20251015"),
        "gr6f": ("20260323", "20251015"),
        "g7e": ("20250916", ""),
        "p6-b200": ("20250916", ""),
        "p6-b300": ("20251015", "20250828"),
        "g7": (None, "20260307"),
    },
    "al2-gpu": {
        **dict.fromkeys(["g3", "g3s", "p3", "p3dn"], ALWAYS),
        "g4dn": ("20190321", "20190301"),
        **dict.fromkeys(["p4d", "p4de"], ("20201028", "20201013")),
        "g5": ("20211103", "20211020"),
        **dict.fromkeys(["g6", "g6e", "gr6", "p5"], ("20230912", "20230906")),
        **dict.fromkeys(["p5e", "p5en"], ("20250226", "20230906")),  # AWS asks for 550, and NVIDIA for 520
        "g6f": (None, "20260929"),
        "g7e": (None, "20260924"),
        "g7": (None, "20260924"),
        "p6-b200": (None, "20260924"),
        "p6-b300": (None, "20260924"),
    },
    "bottlerocket-ecs-2-nvidia-x86_64": {
        **dict.fromkeys(["p3", "p3dn", "g4dn", "g5", "g6", "g6e", "gr6", "p4d", "p4de", "p5"], ALWAYS),
        **dict.fromkeys(["p5e", "p5en"], ("1.40.0", "")),
        "p2": (None, "1.70.0"),
        "g7e": ("1.53.0", "1.52.0"),
        "p6-b200": (None, "1.36.0"),
        "p6-b300": (None, "1.52.0"),
        "g7": (None, "1.58.0"),
    },
    "bottlerocket-ecs-2-nvidia-fips-x86_64": {"g6": ALWAYS, "g7e": ("1.53.0", "1.52.0"), "p6-b300": (None, "1.52.0")},
    "bottlerocket-ecs-2-nvidia-arm64": {"g5g": ALWAYS, "p6e-gb200": (None, "1.70.0")},
    "bottlerocket-ecs-3-nvidia-x86_64": {
        **dict.fromkeys(["p3", "g4dn", "g5", "g6", "g6e", "p4d", "p5", "p5en"], ALWAYS),
        "g7e": ("1.52.0", ""),
        "p2": (None, "1.70.0"),
        "g7": (None, "1.56.0"),
    },
    "bottlerocket-ecs-4-nvidia-x86_64": {
        **dict.fromkeys(["p3", "g4dn", "g5", "g6", "g6e", "p4d", "p5", "p5en", "g7e"], ALWAYS),
        "p2": (None, "1.70.0"),
    },
}


@pytest.mark.parametrize("name", ORACLE)
def test_every_release_and_every_family_against_the_oracle(name: str) -> None:
    each, wrong = image(name), []
    line = the_line(each)
    last_known = max(number for number, release in line.releases.items() if release.driver is not None)
    for of_family, (first, last_not) in ORACLE[name].items():
        (host, *_) = family(of_family)
        for number, release in line.releases.items():
            is_date = release.name.isdigit()
            name_there = re.sub(r"20\d{6}", release.name, each.known_release or "") if is_date else release.name
            verdict = compatibility(each, host, name_there).verdict
            if first is not None and number >= recorded_number(first):
                expected = Verdict.DRIVES
            elif last_not and number <= recorded_number(last_not):
                expected = Verdict.CANNOT
            else:
                expected = Verdict.UNCONFIRMED
            # The driver of a release after the last one with notes may be of any later branch.
            if verdict is not expected and not (number > last_known and verdict is Verdict.UNCONFIRMED):
                wrong.append((of_family, release.name, verdict, expected))
    assert not wrong


@pytest.mark.parametrize("of_family", ["g3", "g3s", "p3", "p3dn"])
def test_gpus_before_turing_had_no_module_while_the_image_had_the_open_one_alone(of_family: str) -> None:
    (host, *_) = family(of_family)
    without = {
        release.name
        for release in the_line(image("al2023-gpu")).releases.values()
        if compatibility(image("al2023-gpu"), host, AL2023.format(release.name)).verdict is Verdict.CANNOT
    }
    assert without == {"20250916", "20250923", "20251002", "20251015"}


def test_p3dn_was_missing_among_the_types_of_the_proprietary_module() -> None:
    host, old = instance_type("p3dn.24xlarge"), AL2023.format("20260424")
    assert compatibility(image("al2023-gpu"), host, old).verdict is Verdict.UNCONFIRMED
    assert compatibility(image("al2023-gpu"), host, AL2023.format("20260504")).verdict is Verdict.DRIVES


def test_a_release_that_is_not_recorded_has_a_driver_between_those_of_its_neighbours() -> None:
    assert str(drivers_of(image("al2023-gpu"), AL2023.format("20260101"))) == "a driver from 580.95.05 to 580.126.09"
    assert str(drivers_of(image("al2023-gpu"), AL2023.format("20270101"))) == "driver 580.178.04 or later"
    assert str(drivers_of(image("bottlerocket-ecs-2-nvidia-arm64"), "1.64.0-0a1b2c3d")) == (
        "a driver from 580.159.03 to 580.178.04"
    )
    old_gpu = compatibility(image("al2023-gpu"), instance_type("p3.2xlarge"), AL2023.format("20270101"))
    assert old_gpu.verdict is Verdict.UNCONFIRMED


def test_the_first_release_of_a_type_is_a_whole_name() -> None:
    b300 = instance_type("p6-b300.48xlarge")
    assert first_release(image("al2023-gpu"), b300) == AL2023.format("20251015")
    assert first_release(image("bottlerocket-ecs-2-nvidia-x86_64"), instance_type("g7e.2xlarge")) == "1.53.0"
    assert first_release(image("al2-gpu"), instance_type("g6f.large")) is None
    assert first_release(image("al2023"), instance_type("c7i.large")) is None


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("al2023-gpu", AL2023.format("20250224")),
        ("al2023-gpu", AL2023.format("20270101").replace("6.1", "6.12")),
        ("al2023-gpu", "ami-0cbd1fa673bc2a7c0"),
        ("al2-gpu", AL2.format("20240227")),
        ("bottlerocket-ecs-2-nvidia-x86_64", "1.15.0"),
        ("bottlerocket-ecs-2-arm64", "1.66.0-0a1b2c3d"),
        ("bottlerocket-ecs-4-nvidia-x86_64", "2.0.0"),
    ],
)
def test_a_release_that_may_have_been_is_fine(name: str, release: str) -> None:
    assert release_problem(image(name), release) is None


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("al2023-gpu", AL2023.format("20250223")),
        ("al2023-gpu", AL2023.format("20261341")),
        ("al2023-gpu", AL2.format("20260924")),
        ("al2023-gpu", "1.66.0"),
        ("al2023", AL2023.format("20260922")),
        ("bottlerocket-ecs-4-nvidia-x86_64", "1.16.0"),
        ("bottlerocket-ecs-2-nvidia-x86_64", "1.14.3"),
        ("bottlerocket-ecs-2-nvidia-x86_64", "01.66.0"),
        ("bottlerocket-ecs-2-nvidia-x86_64", "recommended"),
        ("al2023-gpu", AL2023.format("20260922") + "\n"),
        ("al2023-gpu", AL2023.format("20260922") + "-x"),
    ],
)
def test_a_release_that_cannot_have_been_is_named(name: str, release: str) -> None:
    assert name in (release_problem(image(name), release) or "")
