"""Every recorded release of an image with NVIDIA drivers, against each GPU family and the drivers that list its GPU.

The table is written by hand from NVIDIA's lists, and the arithmetic is a second one, so that no mistake of
`gpu_constructs.facts.drivers` or `releases` is in both.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import product

import pytest

from gpu_constructs.facts import (
    IMAGES,
    Architecture,
    Image,
    InstanceType,
    Vendor,
    Verdict,
    accelerated,
    compatibility,
)
from gpu_constructs.facts.records import DATA

from .dumps import Json

OLDEST, NEWEST = "0", "9999.9999"
# Drivers that list each GPU, from the first to the last of it in each run of versions. From 570 on: the tables in the
# README of github.com/NVIDIA/open-gpu-kernel-modules at each tag; the last ones: NVIDIA's list of legacy GPUs; before
# 570: the minimum of the EC2 User Guide, or the driver of the first CUDA Toolkit for the architecture.
LISTED_BY: dict[str, tuple[tuple[str, str], ...]] = {
    "K520": ((OLDEST, "470.9999"),),  # whether from 368 on is in doubt
    "K80": ((OLDEST, "470.9999"),),
    "M60": ((OLDEST, "580.9999"),),
    "V100": ((OLDEST, "580.9999"),),
    "T4": (("410", NEWEST),),
    "T4g": (("470.82.01", NEWEST),),
    "A100": (("450", NEWEST),),
    "A10G": (("470", NEWEST),),
    **dict.fromkeys(("L4", "L40S", "H100", "H200"), (("520", NEWEST),)),  # where AWS asks for more, it is in doubt
    "B200": (("570.86.15", NEWEST),),
    "GB200": (("570.133.20", NEWEST),),
    "RTX PRO Server 6000": (("575.57.08", NEWEST),),
    "B300": (("580.82.07", NEWEST),),
    "RTX PRO 4500": (("580.142", "589"), ("595.58.03", NEWEST)),
}
# The day of the first of them, where images of Amazon Linux are older: developer.download.nvidia.com, redistrib_*.json.
FIRST_DAYS = {"B200": 20250127, "B300": 20250902}
# What keeps an image with a driver that lists the GPU from it: kernel modules, which other tests hold.
OF_MODULES = {
    ("al2023-gpu", family) for family in ("g3", "g3s", "p3", "p3dn", "g6f", "gr6f")
} | {("al2-gpu", family) for family in ("g6f", "gr6f")}  # fmt: skip
# There is no arm64 image for GB200, whatever its driver.
WITHOUT_AN_IMAGE = "p6e-gb200"

GPUS = {each.family: each for each in reversed(accelerated()) if each.accelerators and each.accelerators.model}
FAMILIES = {
    name: each for name, each in GPUS.items() if each.accelerators and each.accelerators.vendor is Vendor.NVIDIA
}
WITH_DRIVER = tuple(each for each in IMAGES if each.accelerator is Vendor.NVIDIA)
LINES: dict[str, dict[str, dict[str, Json]]] = json.loads((DATA / "image_releases.json").read_text(encoding="utf-8"))[
    "lines"
]


@cache
def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def named(image: Image, release: str) -> str:
    before, hvm, after = (image.known_release or "").partition("-hvm-2")
    return (
        release if "." in release else f"{before}{hvm}{after.partition('.20')[0]}.{release}-{after.partition('-')[2]}"
    )


@cache
def drivers_of(line: str, release: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The oldest and the newest driver that a release can have: its own, or those of the releases around it."""
    rows = LINES[line]["releases"]
    known = [
        (numbers(name), str(row["driver"])) for name, row in rows.items() if isinstance(row, dict) and "driver" in row
    ]
    least = LINES[line].get("least", {"driver": OLDEST})
    before = [numbers(driver) for number, driver in known if number <= numbers(release)]
    # A branch alone may be any version of it.
    after = [
        numbers(driver if "." in driver else f"{driver}.9999") for number, driver in known if number >= numbers(release)
    ]
    return max(before, default=numbers(str(least["driver"]))), min(after, default=numbers(NEWEST))


@cache
def expected(model: str, line: str, release: str) -> Verdict:
    if release.isdigit() and int(release) < FIRST_DAYS.get(model, 0):
        return Verdict.CANNOT
    low, high = drivers_of(line, release)
    runs = [(numbers(first), numbers(last)) for first, last in LISTED_BY[model]]
    if any(first <= low and high <= last for first, last in runs):
        return Verdict.DRIVES
    return Verdict.CANNOT if all(high < first or low > last for first, last in runs) else Verdict.UNCONFIRMED


def test_the_table_has_every_gpu() -> None:
    assert {each.accelerators.model for each in FAMILIES.values() if each.accelerators} == LISTED_BY.keys()
    assert {"p6-b200", "p6-b300", "p6e-gb200", "g7", "g7e"} <= FAMILIES.keys()


def the_image_fits(image: Image, host: InstanceType) -> bool:
    return image.architecture is host.architecture and host.family != WITHOUT_AN_IMAGE


@pytest.mark.parametrize("image", WITH_DRIVER, ids=str)
def test_no_release_drives_a_gpu_that_its_driver_does_not_list(image: Image) -> None:
    wrong = []
    for release, (family, host) in product(LINES[image.line]["releases"], FAMILIES.items()):
        verdict = compatibility(image, host, named(image, release)).verdict
        model = host.accelerators.model if host.accelerators else ""
        if not the_image_fits(image, host):
            right = verdict is Verdict.CANNOT
        elif (of_table := expected(model, image.line, release)) is Verdict.DRIVES:
            # Whatever else is in doubt of a family, no driver is the reason to refuse it.
            right = verdict is not Verdict.CANNOT or (image.line, family) in OF_MODULES
        else:
            right = verdict in {of_table, Verdict.CANNOT if (image.line, family) in OF_MODULES else of_table}
        if not right:
            wrong.append((release, family, verdict, drivers_of(image.line, release)))
    assert not wrong


def test_the_table_is_asked_about_every_release() -> None:
    asked = sum(len(LINES[each.line]["releases"]) * len(FAMILIES) for each in WITH_DRIVER)
    assert {each.architecture for each in WITH_DRIVER} == set(Architecture)
    assert asked > 10_000
    assert {each.line for each in WITH_DRIVER} == LINES.keys()
