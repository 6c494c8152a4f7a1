"""SSM parameters that stand for a machine image: do they hold the AMI id of a system that ECS hosts run?

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches

from gpu_constructs.errors import IncompatibleError, brief, shown
from gpu_constructs.facts import (
    IMAGES,
    RECORDED,
    Image,
    Vendor,
    default_image,
    drivers_of,
    images_by_folder,
    is_published,
    is_supported,
    may_run,
    newest_release,
    release_line,
    release_number,
    release_problem,
)
from gpu_constructs.facts.budget import LABEL, MESSAGE
from gpu_constructs.facts.names import parameter_resolved
from gpu_constructs.fleet import HostAction, Pool, PoolKind, Unknown
from gpu_constructs.rules.evidence.fixes import with_image
from gpu_constructs.rules.finding import Text, Way, Word, either, one_way, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, error

_PAGE = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html"
_UNRESOLVED = (
    r"(?:resolve:ssm:|arn:[a-z-]{3,20}:ssm:[a-z0-9-]{0,40}:[0-9]{0,12}:parameter|(?=/))(/?[A-Za-z0-9_./-]{1,1024})"
    r"(?::[0-9]{1,9})?"
)
_LEAF = "/image_id"
_AMAZON_LINUX = "/aws/service/ecs/optimized-ami/"
_BOTTLEROCKET = "/aws/service/bottlerocket/aws-ecs-"
_PLAIN_BOTTLEROCKET = rf"{_BOTTLEROCKET}\d+(?:-fips)?/"
_OF_EKS = "an image for EKS, which joins a Kubernetes cluster"
_WINDOWS = "a Windows image, and the ECS agent hands out GPUs on Linux only"
# By how their names begin, the public parameters of images that have neither the ECS agent nor what GPU tasks need.
_WITHOUT_AGENT_OR_DRIVER: Mapping[str, str] = {
    "/aws/service/eks/": _OF_EKS,
    "/aws/service/bottlerocket/aws-k8s-": _OF_EKS,
    "/aws/service/ami-amazon-linux-latest/": "plain Amazon Linux, which has neither the ECS agent nor an NVIDIA driver",
}
# Likewise, those of images that are not made for ECS on Linux.
_NOT_OF_ECS: Mapping[str, str] = {
    **_WITHOUT_AGENT_OR_DRIVER,
    "/aws/service/ami-windows-latest/": _WINDOWS,
    f"{_AMAZON_LINUX}windows": _WINDOWS,
}
# Likewise, those of images without the ECS agent. What is in a Deep Learning AMI:
# https://docs.aws.amazon.com/dlami/latest/devguide/appendix-ami-release-notes.html.
_WITHOUT_AGENT: Mapping[str, str] = {
    **_WITHOUT_AGENT_OR_DRIVER,
    "/aws/service/canonical/ubuntu/": "plain Ubuntu, which has neither the ECS agent nor an NVIDIA driver",
    "/aws/service/deeplearning/ami/": "a Deep Learning AMI, which has an NVIDIA driver and not the ECS agent",
}
_NOT_ON_ECS: Mapping[str, str] = {**_NOT_OF_ECS, **_WITHOUT_AGENT}


def _given_to_batch(context: Context) -> Problems:
    """Parameters where AWS Batch takes AMI ids alone (https://github.com/aws/containers-roadmap/issues/2295).

    A dynamic reference of CloudFormation is an AMI id by the time that Batch sees it, and so is no text here.
    """
    for pool in context.fleet.pools:
        properties = context.section(pool) if pool.kind is PoolKind.BATCH else None
        if properties is None:
            continue
        resources = properties.section("ComputeResources")
        places = [("Ec2Configuration.ImageIdOverride", each) for each in resources.sections("Ec2Configuration")]
        for name, section in (*places, ("ComputeResources.ImageId", resources)):
            written = section.get(name.rpartition(".")[2])
            found = re.fullmatch(_UNRESOLVED, written.strip()[:MESSAGE]) if isinstance(written, str) else None
            if found is not None:
                yield Problem(
                    about=pool,
                    message=f"{name} names the parameter {shown(brief(found[1]))}, and AWS Batch takes an AMI id there",
                    fix=f"the AMI id, for which {{{{resolve:ssm:{found[1]}}}}} stands in CloudFormation",
                    property_name=name,
                    value=written,
                )


@error(
    "GPU130",
    question="does the SSM parameter of the machine image hold an AMI id?",
    because="the parameter of an ECS-optimized image without /image_id at its end holds a JSON document instead of an "
    "AMI id, one that does not exist holds nothing, and a compute environment of AWS Batch takes AMI ids and looks no "
    "parameter up, so no host is launched",
    softer="where the parameter may be newer than the catalogue",
    source=_PAGE,
    unless=("GPU309",),
    in_fleet=_given_to_batch,
)
def holds_an_id(pool: Pool) -> Problems:
    name = _parameter(pool)
    folder = name.rpartition("/")[0]
    if name.startswith(_AMAZON_LINUX) and not name.endswith(_LEAF) and folder in images_by_folder():
        yield Problem(
            message=f"the parameter {shown(brief(name))} holds a JSON document, and ImageId takes an AMI id",
            fix=f"the parameter of the AMI id, which ends with {_LEAF}",
            ways=one_way(f"{name}{_LEAF}", with_image(pool, images_by_folder()[folder])),
            property_name="ImageId",
        )
    of_ecs = name.startswith((_AMAZON_LINUX, _BOTTLEROCKET)) and not _what_it_is(name, _NOT_OF_ECS)
    of_release = name.removesuffix(_LEAF).rpartition("/")[0]
    if of_ecs and images_by_folder().keys().isdisjoint({folder, of_release}):
        yield Problem(
            message=f"the catalogue of {RECORDED} does not have an image with the parameter {shown(brief(name))}",
            fix="the parameter of an image in the catalogue",
            ways=(_near(pool, of_release),),
            property_name="ImageId",
            is_certain=False,
        )


@error(
    "GPU309",
    question="is the machine image of GPU tasks made for ECS on Linux?",
    because="a host without the ECS agent does not join a cluster, and a host without an NVIDIA driver does not "
    "register its GPUs; AWS installs them on images that are made for ECS with GPUs, and on any other image but "
    "Bottlerocket you install them",
    softer="where the user data may install them",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-install.html",
)
def made_for_ecs(context: Context) -> Problems:
    for pool, waiting in context.awaited(_is_not_for_gpus):
        name = _parameter(pool)
        asks, written = with_verb((each.name for each in waiting), "asks", "ask"), shown(brief(name))
        is_without_driver = re.match(_PLAIN_BOTTLEROCKET, name) is not None
        installs = HostAction.INSTALLS not in pool.user_data.actions_never_taken
        without_agent = "" if installs else _what_it_is(name, _WITHOUT_AGENT)
        if is_without_driver:
            what = f"{asks} for GPUs, and {written} is Bottlerocket without an NVIDIA driver"
            message = f"{what}: the names of its variants with one end with -nvidia, and no script can install one"
            fix = "a variant that ends with -nvidia"
            ways = _near(pool, name.removesuffix(_LEAF).rpartition("/")[0])
        elif without_agent:
            what = f"no host of {pool.name} joins a cluster: {written} is {without_agent}"
            message = f"{what}, and the user data does not install the agent"
            fix = "an image that AWS makes for ECS"
            ways = tuple(_with(pool, each, f"the image of {each.ssm_parameter}") for each in _made_for_types(pool))
        elif other := _what_it_is(name, _NOT_OF_ECS):
            message = f"{asks} for GPUs, and {written} is {other}"
            fix = "the parameter of an image for ECS with an NVIDIA driver"
            fitting = (each for each in IMAGES if each.accelerator is Vendor.NVIDIA and is_supported(each))
            ways = tuple(_with(pool, each, f"{{{{resolve:ssm:{each.ssm_parameter}}}}}") for each in fitting)
        else:
            continue
        yield Problem(
            about=pool,
            message=message,
            fix=fix,
            ways=(ways,),
            property_name="ImageId",
            is_certain=is_without_driver or bool(without_agent),
        )


def _parameter(pool: Pool) -> str:
    """The SSM parameter that stands for the image of a pool; empty if none does, or its image is known."""
    name = parameter_resolved(pool.image_written) or ""
    return name if name.startswith("/") else ""


def _is_not_for_gpus(pool: Pool) -> bool:
    name = _parameter(pool)
    return bool(_what_it_is(name, _NOT_ON_ECS)) or re.match(_PLAIN_BOTTLEROCKET, name) is not None


def _what_it_is(name: str, images: Mapping[str, str]) -> str:
    return next((what for start, what in images.items() if name.startswith(start)), "")


def _near(pool: Pool, folder: str) -> tuple[Way, ...]:
    """The images whose parameters have nearly this name, and that drive the types of the pool."""
    names = get_close_matches(folder[:LABEL], images_by_folder(), n=5)
    images = [*(images_by_folder()[each] for each in names), *_made_for_types(pool), *filter(is_supported, IMAGES)]
    # The user data of Bottlerocket is TOML, which Amazon Linux does not read.
    system = _BOTTLEROCKET if folder.startswith(_BOTTLEROCKET) else ""
    driven = [
        each
        for each in dict.fromkeys(images)
        if each.ssm_parameter.startswith(system) and all(may_run(each, one) for one in pool.instance_types)
    ]
    return tuple(_with(pool, each, each.ssm_parameter) for each in driven)


def _made_for_types(pool: Pool) -> tuple[Image, ...]:
    with suppress(IncompatibleError):
        return tuple(map(default_image, pool.instance_types[:1]))
    return ()


def _with(pool: Pool, image: Image, text: str) -> Way:
    return Way(text=text, things=(with_image(pool, image),))


@error(
    "GPU200",
    question="is the release of the machine image published in the region?",
    because="each release is a parameter, each region has its own, and one that does not exist fails the deploy; the "
    "driver of a release that is not recorded is judged by those of its neighbours",
    softer="where it is not recorded",
    source=_PAGE,
)
def release_in_region(pool: Pool) -> Problems:
    image = pool.image
    if isinstance(image, Unknown) or image.release is None or image.is_own:
        return
    found, release = image.image, image.release
    if reason := release_problem(found, release):
        yield _released(pool, found, f"{shown(brief(release))} {reason}")
    elif is_published(found, release, pool.region) is False:
        text = f"release {brief(release)} of image {found.name} is not published in {pool.region}"
        yield _released(pool, found, text)
    elif text := _not_recorded(found, release, pool.region):
        yield replace(_released(pool, found, text), is_certain=False)


def _not_recorded(image: Image, release: str, region: str | None) -> str:
    """What is not recorded of a release that may well be there; empty where everything is."""
    if image.stopped_in is not None and region and is_published(image, release, region) is None:
        return f"whether {region} has release {brief(release)} of image {image.name} is not recorded"
    line, number = release_line(image), release_number(image, release)
    named = f"release {shown(brief(release))} of image {image.name}"
    if line is not None and number not in line.releases:
        return f"{named} is not recorded; judged by the releases around it, it has {drivers_of(image, release)}"
    if line is not None and number is not None and line.is_after_the_known(number):
        driver = drivers_of(image, release)
        return f"the driver of {named} is not recorded; judged by the releases before it, it has {driver}"
    return ""


def _released(pool: Pool, image: Image, message: str) -> Problem:
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
