"""The machine image behind an ``ImageId``: known where the public SSM parameter of an ECS image is behind it.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html,
https://bottlerocket.dev/en/os/latest/install/quickstart/aws/ecs/
"""

from __future__ import annotations

import re

from gpu_constructs.fleet import UNKNOWN, HostImage, Unknown
from gpu_constructs.hardware import images_by_folder
from gpu_constructs.template.model import DynamicReference, Value

# A dynamic reference, or the form that only the ImageId of a launch template takes; either may name a version of the
# parameter, which says nothing about a public one.
_RESOLVE = re.compile(r"(?:\{\{)?resolve:ssm(?:-secure)?:(/?[A-Za-z0-9_./-]{1,1024})(?::[0-9]{1,9})?(?:\}\})?")
_LEAF = "/image_id"


def host_image(image_id: Value) -> HostImage | Unknown:
    """What is known about the image."""
    text = _text(image_id)
    found = _RESOLVE.fullmatch(text.strip()) if text is not None and len(text) < 1200 else None  # noqa: PLR2004 - see the pattern
    return _of_parameter(found[1]) if found else UNKNOWN


def image_written(image_id: Value) -> str | None:
    """An image that is written out and of which nothing is known; None where it is known, or a value of the deploy."""
    return _text(image_id) if isinstance(host_image(image_id), Unknown) else None


def _text(image_id: Value) -> str | None:
    """The text of an ``ImageId``; a dynamic reference, unknown elsewhere, says here which image it stands for."""
    return image_id.text if isinstance(image_id, DynamicReference) else image_id if isinstance(image_id, str) else None


def _of_parameter(name: str) -> HostImage | Unknown:
    """What is known about the image whose AMI id is in an SSM parameter.

    Such as ``/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id``; what ``.../recommended``
    holds is a JSON document, and no AMI id.
    """
    folder, _, release = name.removesuffix(_LEAF).rpartition("/")
    image = images_by_folder().get(folder)
    if image is None or not release or not name.endswith(_LEAF):
        return UNKNOWN
    return HostImage(image=image, release=None if name == image.ssm_parameter else release)
