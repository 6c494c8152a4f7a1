"""Releases of machine images: does the region of the hosts have the one that they are pinned to?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.budget import brief
from gpu_constructs.fleet import Pool, Unknown
from gpu_constructs.hardware import Image, is_published
from gpu_constructs.rules.rule import Problem, error, warning

_PAGE = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html"


@error(
    "GPU200",
    question="is the release of the machine image published in the region?",
    because="each region has its own public parameters, and a parameter that does not exist fails the deploy; the "
    "recorded parameters of this region stop before the release",
    source=_PAGE,
)
def release_in_region(pool: Pool) -> Iterator[Problem]:
    if (pinned := _pinned(pool)) and is_published(*pinned, pool.region) is False:
        image, release = pinned
        yield _problem(pool, image, f"release {brief(release)} of image {image.name} is not published in {pool.region}")


@warning(
    "GPU201",
    question="is it recorded whether the region has the release of the machine image?",
    because="a parameter that does not exist fails the deploy, and not every region publishes every release",
    source=_PAGE,
)
def release_in_records(pool: Pool) -> Iterator[Problem]:
    pinned = _pinned(pool)
    if pinned and pinned[0].stopped_in is not None and pool.region and is_published(*pinned, pool.region) is None:
        image, release = pinned
        text = f"whether {pool.region} has release {brief(release)} of image {image.name} is not recorded"
        yield _problem(pool, image, text)


def _pinned(pool: Pool) -> tuple[Image, str] | None:
    """The image of a pool and the release that it is pinned to."""
    if isinstance(pool.image, Unknown) or pool.image.release is None:
        return None
    return pool.image.image, pool.image.release


def _problem(pool: Pool, image: Image, message: str) -> Problem:
    newest = f"follow the newest with {image.ssm_parameter}"
    stopped = dict(image.stopped_in or ()).get(pool.region or "")
    fix = f"pin {stopped}, the newest that is recorded there, or {newest}" if stopped else newest
    return Problem(message=message, fix=fix, property_name="ImageId", value=image.name)
