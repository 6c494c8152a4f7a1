"""The machine image behind an ``ImageId``: known by the SSM parameter of an ECS image, or because it is declared.

An AMI of the user's own is declared in the metadata of what names it::

    Metadata:
      gpu-constructs:
        MachineImage: {DriverVersion: 580.95.05, AgentVersion: 1.107.0, HasMpsService: true}

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/retrieve-ecs-optimized_AMI.html,
https://bottlerocket.dev/en/os/latest/install/quickstart/aws/ecs/
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpu_constructs.errors import GpuConstructsError
from gpu_constructs.fleet import DECLARED_IMAGE, METADATA_KEY, UNKNOWN, HostImage, Unknown
from gpu_constructs.hardware import images_by_folder
from gpu_constructs.hardware.own_image import own_image_of
from gpu_constructs.template.model import DynamicReference, Resource, Value
from gpu_constructs.template.resources.purchases import own_metadata
from gpu_constructs.template.resources.section import Notes, Section

# A dynamic reference, or the form that only the ImageId of a launch template takes; either may name a version of the
# parameter, which says nothing about a public one.
_RESOLVE = re.compile(r"(?:\{\{)?resolve:ssm(?:-secure)?:(/?[A-Za-z0-9_./-]{1,1024})(?::[0-9]{1,9})?(?:\}\})?")
_LEAF = "/image_id"


def image_of(resource: Resource, image_id: Value, notes: Notes) -> HostImage | Unknown:
    """What is known about the image that a resource names, in its properties or its metadata."""
    found = host_image(image_id)
    written = own_metadata(resource).get(DECLARED_IMAGE)
    if image_id is None or written is None or not isinstance(found, Unknown):
        return found
    section = Section({}, resource.origin, ("Metadata", METADATA_KEY, DECLARED_IMAGE), notes)
    if not isinstance(written, Mapping):
        section.note("expects facts by name", written)
        return UNKNOWN
    facts = {str(key): value for key, value in written.items()}
    try:
        return HostImage.own(own_image_of(facts))
    except GpuConstructsError as error:
        section.note(str(error), written, *(key for key in facts if key == error.argument))
        return UNKNOWN


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
