"""Releases that machine images are pinned to: does AWS publish them, in the region of the hosts?

Each release is an SSM parameter, and each region has its own.
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html
"""

from __future__ import annotations

from gpu_constructs.budget import brief
from gpu_constructs.errors import shown
from gpu_constructs.fleet import Pool, Unknown
from gpu_constructs.hardware import (
    Image,
    drivers_of,
    is_published,
    newest_release,
    release_line,
    release_number,
    release_problem,
)
from gpu_constructs.rules.change import either
from gpu_constructs.rules.evidence.fixes import with_image
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Text, Word

_PAGE = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html"


@error(
    "GPU286",
    question="can the machine image have the release that it is pinned to?",
    because="the parameter of a release that was never published does not exist, which fails the deploy",
    source=_PAGE,
)
def release_can_be(pool: Pool) -> Problems:
    if (pinned := _pinned(pool)) and (reason := release_problem(*pinned)):
        image, release = pinned
        yield _of_release(pool, image, f"{shown(brief(release))} {reason}")


@warning(
    "GPU287",
    question="are the release of the machine image and its driver known?",
    because="the driver of a release that is not recorded is judged by those of its neighbours, and where no such "
    "release was published the deploy fails",
    source="https://github.com/aws/amazon-ecs-ami/releases",
    unless=("GPU200", "GPU201", "GPU286"),
)
def release_is_known(pool: Pool) -> Problems:
    pinned = _pinned(pool)
    line = release_line(pinned[0]) if pinned else None
    if pinned is None or line is None or release_problem(*pinned):
        return
    image, release = pinned
    number, driver = release_number(image, release), drivers_of(image, release)
    named = f"release {shown(brief(release))} of image {image.name}"
    if number not in line.releases:
        text = f"{named} is not recorded; judged by the releases around it, it has {driver}"
        yield _of_release(pool, image, text)
    elif number is not None and line.is_after_the_known(number):
        text = f"the driver of {named} is not recorded; judged by the releases before it, it has {driver}"
        yield _of_release(pool, image, text)


@error(
    "GPU200",
    question="is the release of the machine image published in the region?",
    because="each region has its own public parameters, and a parameter that does not exist fails the deploy; the "
    "recorded parameters of this region stop before the release",
    source=_PAGE,
)
def release_in_region(pool: Pool) -> Problems:
    if (pinned := _pinned(pool)) and is_published(*pinned, pool.region) is False:
        image, release = pinned
        yield _of_release(
            pool, image, f"release {brief(release)} of image {image.name} is not published in {pool.region}"
        )


@warning(
    "GPU201",
    question="is it recorded whether the region has the release of the machine image?",
    because="a parameter that does not exist fails the deploy, and not every region publishes every release",
    source=_PAGE,
)
def release_in_records(pool: Pool) -> Problems:
    pinned = _pinned(pool)
    if pinned and pinned[0].stopped_in is not None and pool.region and is_published(*pinned, pool.region) is None:
        image, release = pinned
        text = f"whether {pool.region} has release {brief(release)} of image {image.name} is not recorded"
        yield _of_release(pool, image, text)


def _pinned(pool: Pool) -> tuple[Image, str] | None:
    """The image of a pool and the release that it is pinned to."""
    image = pool.image
    if isinstance(image, Unknown) or image.release is None or image.release == "custom":
        return None
    return image.image, image.release


def _of_release(pool: Pool, image: Image, message: str) -> Problem:
    known, is_last = newest_release(image, pool.region), pool.region in dict(image.stopped_in or ())
    there = ", the newest that is recorded there" if is_last else ""
    return Problem(
        message=message,
        fix="a release that the region has",
        ways=either(
            *([(f"pin {known}{there}", with_image(pool, image, known))] if known else []),
            (Text(Word("follow the newest with"), f" {image.ssm_parameter}"), with_image(pool, image)),
        ),
        property_name="ImageId",
        value=image.name,
    )
