"""SSM parameters that stand for a machine image: do they hold the AMI id of a system that ECS hosts run?

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches

from gpu_constructs.budget import LABEL, MESSAGE, brief
from gpu_constructs.errors import IncompatibleError, shown
from gpu_constructs.fleet import HostAction, Pool
from gpu_constructs.hardware import (
    IMAGES,
    RECORDED,
    Image,
    Vendor,
    default_image,
    images_by_folder,
    is_supported,
    may_run,
)
from gpu_constructs.rules.change import Way, one_way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.fixes import with_image
from gpu_constructs.rules.evidence.lists import with_verb
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_PAGE = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html"
_PARAMETER = re.compile(r"(?:\{\{)?resolve:ssm(?:-secure)?:(/[A-Za-z0-9_./-]{1,1024})(?::[0-9]{1,9})?(?:\}\})?")
# An AMI id, a parameter, or what CDK and the evaluation of templates write for a value that they do not know yet.
_MAY_BE_RESOLVED = re.compile(r"ami-|(?:\{\{)?resolve:|dummy-value-|.*\$\{", re.DOTALL)
_PATH = re.compile(r"/aws/service/[A-Za-z0-9_./-]{1,1024}")
_LEAF = "/image_id"
_AMAZON_LINUX = "/aws/service/ecs/optimized-ami/"
_BOTTLEROCKET = "/aws/service/bottlerocket/aws-ecs-"
_NEAR = 0.6
_MOST_NAMES = 5
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


@error(
    "GPU130",
    question="does the SSM parameter of the machine image hold an AMI id?",
    because="the parameter of an ECS-optimized image without /image_id at its end holds a JSON document instead of an "
    "AMI id, so no host is launched",
    source=_PAGE,
)
def holds_an_id(pool: Pool) -> Problems:
    name = _parameter(pool)
    if name.startswith(_AMAZON_LINUX) and not name.endswith(_LEAF) and name.rpartition("/")[0] in images_by_folder():
        yield Problem(
            message=f"the parameter {shown(brief(name))} holds a JSON document, and ImageId takes an AMI id",
            fix=f"the parameter of the AMI id, which ends with {_LEAF}",
            ways=one_way(f"{name}{_LEAF}", with_image(pool, images_by_folder()[name.rpartition("/")[0]])),
            property_name="ImageId",
            value=name,
        )


@error(
    "GPU360",
    question="is the machine image an AMI id, or an SSM parameter that is resolved?",
    because="EC2 takes an AMI id, or resolve:ssm: before the name of a parameter, and refuses any other text",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RequestLaunchTemplateData.html",
)
def is_an_image(pool: Pool) -> Problems:
    written = pool.image_written or ""
    if written and not _MAY_BE_RESOLVED.match(written):
        yield Problem(
            message=f"ImageId is {shown(brief(written))}, which is not an AMI id and is not resolved to one",
            allowed="an AMI id, or resolve:ssm: and the name of a parameter",
            fix="the parameter of an image for ECS",
            ways=(tuple(_with(pool, each, f"resolve:ssm:{each.ssm_parameter}") for each in _meant(pool, written)),),
            property_name="ImageId",
            value=written,
        )


@warning(
    "GPU141",
    question="does AWS publish the SSM parameter of the machine image?",
    because="a parameter that does not exist fails the deploy, or every launch",
    source=_PAGE,
)
def published(pool: Pool) -> Problems:
    name = _parameter(pool)
    of_ecs = name.startswith((_AMAZON_LINUX, _BOTTLEROCKET)) and not _what_it_is(name, _NOT_OF_ECS)
    folder = name.removesuffix(_LEAF).rpartition("/")[0]
    if of_ecs and folder not in images_by_folder() and name.rpartition("/")[0] not in images_by_folder():
        yield Problem(
            message=f"the catalogue of {RECORDED} does not have an image with the parameter {shown(brief(name))}",
            fix="the parameter of an image in the catalogue",
            ways=(_near(pool, folder),),
            property_name="ImageId",
            value=name,
        )


@error(
    "GPU309",
    question="do the hosts of GPU tasks have the ECS agent?",
    because="the ECS agent registers its host with a cluster; AWS installs it on images that are made for ECS, and on "
    "any other image you install it",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-agent-install.html",
)
def has_the_agent(context: Context) -> Problems:
    for pool, _ in context.awaited(_has_no_agent):
        name = _parameter(pool)
        yield Problem(
            about=pool,
            message=f"no host of {pool.name} joins a cluster: {shown(brief(name))} is "
            f"{_what_it_is(name, _WITHOUT_AGENT)}, and the user data does not install the agent",
            fix="an image that AWS makes for ECS",
            ways=(tuple(_with(pool, each, f"the image of {each.ssm_parameter}") for each in _made_for_types(pool)),),
            property_name="ImageId",
            value=name,
        )


@warning(
    "GPU142",
    question="is the machine image of GPU tasks made for ECS on Linux?",
    because="a host without the ECS agent does not join a cluster, and a host without an NVIDIA driver does not "
    "register its GPUs, unless the user data installs them",
    source=_PAGE,
    unless=("GPU309",),
)
def made_for_ecs(context: Context) -> Problems:
    for pool, waiting in context.awaited(lambda pool: bool(_what_it_is(_parameter(pool), _NOT_OF_ECS))):
        name = _parameter(pool)
        yield Problem(
            about=pool,
            message=f"{with_verb((each.name for each in waiting), 'asks', 'ask')} for GPUs, and "
            f"{shown(brief(name))} is {_what_it_is(name, _NOT_OF_ECS)}",
            fix="the parameter of an image for ECS with an NVIDIA driver",
            ways=(
                tuple(
                    _with(pool, each, f"{{{{resolve:ssm:{each.ssm_parameter}}}}}")
                    for each in IMAGES
                    if each.accelerator is Vendor.NVIDIA and is_supported(each)
                ),
            ),
            property_name="ImageId",
            value=name,
        )


def _parameter(pool: Pool) -> str:
    """The SSM parameter that stands for the image of a pool; empty if none does, or its image is known."""
    found = _PARAMETER.fullmatch((pool.image_written or "").strip()[:MESSAGE])
    return found[1] if found else ""


def _what_it_is(name: str, images: Mapping[str, str]) -> str:
    return next((what for start, what in images.items() if name.startswith(start)), "")


def _has_no_agent(pool: Pool) -> bool:
    return HostAction.INSTALLS in pool.user_data.actions_never_taken and bool(
        _what_it_is(_parameter(pool), _WITHOUT_AGENT)
    )


def _near(pool: Pool, folder: str) -> tuple[Way, ...]:
    """The images whose parameters have nearly this name, and that drive the types of the pool."""
    names = get_close_matches(folder[:LABEL], images_by_folder(), n=_MOST_NAMES, cutoff=_NEAR)
    images = [*(images_by_folder()[each] for each in names), *_made_for_types(pool), *filter(is_supported, IMAGES)]
    # The user data of Bottlerocket is TOML, which Amazon Linux does not read.
    system = _BOTTLEROCKET if folder.startswith(_BOTTLEROCKET) else ""
    driven = [
        each
        for each in dict.fromkeys(images)
        if each.ssm_parameter.startswith(system) and all(may_run(each, one) for one in pool.instance_types)
    ]
    return tuple(_with(pool, each, each.ssm_parameter) for each in driven)


def _meant(pool: Pool, written: str) -> tuple[Image, ...]:
    """The image whose parameter is somewhere in a text, or the one that AWS makes for the types of a pool."""
    path = _PATH.search(written[:MESSAGE])
    image = images_by_folder().get(path[0].removesuffix(_LEAF).rpartition("/")[0]) if path else None
    return _made_for_types(pool) if image is None else (image,)


def _made_for_types(pool: Pool) -> tuple[Image, ...]:
    """The image that AWS makes for the first type of a pool; none without one."""
    with suppress(IncompatibleError):
        return tuple(map(default_image, pool.instance_types[:1]))
    return ()


def _with(pool: Pool, image: Image, text: str) -> Way:
    return Way(text=text, things=(with_image(pool, image),))
