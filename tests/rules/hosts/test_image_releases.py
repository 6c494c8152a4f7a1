"""Releases of machine images against what each region is recorded to have."""

from __future__ import annotations

import pytest

from gpu_constructs.fleet import UNKNOWN, HostImage, Pool
from gpu_constructs.hardware import image
from gpu_constructs.rules import Severity
from gpu_constructs.rules.hosts import image_parameters
from tests.rules.given import a_pool, only, running_on, said

RULES = (image_parameters.release_in_region, image_parameters.release_in_records)


def al2023(day: str) -> HostImage:
    release = f"al2023-ami-ecs-gpu-hvm-2023.0.{day}-kernel-6.1-x86_64-ebs"
    return HostImage(image=image("al2023-gpu"), release=release)


def in_region(region: str | None, host_image: HostImage) -> Pool:
    return a_pool("g6.xlarge", image=host_image, region=region)


@pytest.mark.parametrize("day", ["20260307", "20260922"])
@pytest.mark.parametrize("region", ["me-central-1", "me-south-1"])
def test_a_release_that_came_after_a_region_had_stopped_is_an_error(region: str, day: str) -> None:
    finding = only(RULES, running_on(in_region(region, al2023(day))))
    assert (finding.rule, finding.severity) == ("GPU200", Severity.ERROR)
    assert finding.message == f"release {al2023(day).release} of image al2023-gpu is not published in {region}"
    assert str(al2023("20260226").release) in finding.fix


@pytest.mark.parametrize(
    ("region", "day"), [("me-central-1", "20261113"), ("mx-central-1", "20260922"), ("us-gov-west-1", "20250224")]
)
def test_what_is_not_recorded_is_a_warning(region: str, day: str) -> None:
    finding = only(RULES, running_on(in_region(region, al2023(day))))
    assert (finding.rule, finding.severity) == ("GPU201", Severity.WARNING)
    assert "is not recorded" in finding.message


@pytest.mark.parametrize(
    "pool",
    [
        in_region("me-central-1", al2023("20260226")),
        in_region("me-central-1", al2023("20250224")),
        in_region("me-central-1", HostImage(image=image("al2023-gpu"))),
        in_region("me-central-1", HostImage(image=image("bottlerocket-ecs-2-nvidia-x86_64"), release="1.66.0")),
        in_region("us-east-1", al2023("20260922")),
        in_region("us-east-1", al2023("20261113")),
        in_region(None, al2023("20260922")),
        a_pool("g6.xlarge", image=UNKNOWN, region="me-central-1"),
    ],
    ids=str,
)
def test_what_a_region_may_well_have_is_fine(pool: Pool) -> None:
    assert said(RULES, running_on(pool)) == []
