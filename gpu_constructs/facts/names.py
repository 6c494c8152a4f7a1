"""Names of instance types, accelerators, regions and images: their forms, and the known name that a wrong one may mean.

https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html. How the APIs of EC2 and ECS call
accelerators: the enumerations ``AcceleratorManufacturer``, ``AcceleratorType`` and ``AcceleratorName`` of both as of
botocore 1.44.5. The regions of Amazon ECS in all partitions, as ``data/endpoints.json`` and ``data/partitions.json`` of
botocore 1.44.5 have them; another one may be newer than this library.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import NamedTuple

from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.model import Vendor

# `p6-b200`, `u7in-16tb`, `mac-m4`; every family in use has a generation.
_FAMILY = r"[a-z]+-?[a-z]*[0-9][a-z0-9-]*"
# Every size that EC2 has used; a new number before `xlarge` or `xl` is not a surprise, another word would be.
_SIZE = r"nano|micro|small|medium|large|([1-9][0-9]{0,3})?xlarge|metal(-[1-9][0-9]{0,2}xl)?"
AMI_ID = re.compile(r"ami-[0-9a-f]{8,17}")
"""The id of a machine image, as a whole text."""
_RESOLVE = re.compile(r"(?:\{\{)?resolve:ssm(?:-secure)?:(/?[A-Za-z0-9_./-]{1,1024})(?::[0-9]{1,9})?(?:\}\})?")
SELF_TEST = "gpu-constructs-self-test"
"""The task definition of the self-test, and the log group that hosts may write to for it."""
HOST_LOG = "gpu-constructs-hosts"
"""The log group where a host of this library writes why it ends itself; it outlives the stack of the host."""

IN_BOTTLEROCKET: Mapping[str, str] = {
    "ECS_AWSVPC_BLOCK_IMDS": "awsvpc-block-imds",
    "ECS_CLUSTER": "cluster",
    "ECS_CONTAINER_STOP_TIMEOUT": "container-stop-timeout",
    "ECS_ENABLE_CONTAINER_METADATA": "enable-container-metadata",
    "ECS_ENABLE_SPOT_INSTANCE_DRAINING": "enable-spot-instance-draining",
    "ECS_ENGINE_TASK_CLEANUP_WAIT_DURATION": "task-cleanup-wait",
    "ECS_IMAGE_CLEANUP_INTERVAL": "image-cleanup-wait",
    "ECS_IMAGE_MINIMUM_CLEANUP_AGE": "image-cleanup-age",
    "ECS_IMAGE_PULL_BEHAVIOR": "image-pull-behavior",
    "ECS_LOGLEVEL": "loglevel",
    "ECS_NUM_IMAGES_DELETE_PER_CYCLE": "image-cleanup-delete-per-cycle",
    "ECS_RESERVED_MEMORY": "reserved-memory",
}
"""What Bottlerocket calls settings of the ECS agent in ``[settings.ecs]``, by the agent's variable.

https://bottlerocket.dev/en/os/latest/api/settings/ecs/
"""

_DOCKER_HUB = r"(?:index\.|registry-1\.)?docker\.io/"
_LETTERS_AND_GENERATION = r"([a-z]{1,20})([0-9]{0,3})"
_MOST = 3


class ImageName(NamedTuple):
    """A container image without the name of Docker Hub, which is the default; the tag is empty without one."""

    repository: str
    tag: str


def image_name(image: str) -> ImageName:
    """The name of a container image, without its digest."""
    name = re.sub(_DOCKER_HUB, "", image, count=1).partition("@")[0]
    head, colon, tag = name.rpartition(":")
    return ImageName(head, tag) if colon and "/" not in tag else ImageName(name, "")


def is_family_name(name: str) -> bool:
    """Whether a family can have this name."""
    return len(name) <= NAME and re.fullmatch(_FAMILY, name) is not None


def name_problem(name: str) -> str:
    """Why no instance type can have this name; empty if one can."""
    family, dot, size = name[:NAME].partition(".")
    if len(name) > NAME or not dot or not re.fullmatch(_FAMILY, family):
        return "a name is a family, a dot and a size, in lower case"
    return "" if re.fullmatch(_SIZE, size) else f"EC2 has never had a size {shown(size)}"


def matches(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern of the EC2 API; its one wildcard is ``*``, and each piece is looked for once."""
    first, *pieces = pattern.split("*")
    if not pieces:
        return pattern == name
    *middle, last = pieces
    if not name.startswith(first):
        return False
    position = len(first)
    for piece in middle:
        found = name.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return len(name) - len(last) >= position and name.endswith(last)


def letters_of(family: str) -> str:
    """What stands before the generation: ``p`` of ``p6-b200``, ``trn`` of ``trn2``; empty without a generation."""
    found = re.match(_LETTERS_AND_GENERATION, family)
    return found[1] if found and found[2] else ""


def nearest_families(wanted: str, families: Collection[str]) -> tuple[str, ...]:
    """Families that a name may stand for: of the same letters, or one letter too many, too few or swapped."""
    wanted = wanted[:NAME]
    letters = letters_of(wanted)
    alike = [each for each in families if letters and letters_of(each) == letters] or [
        each for each in families if _is_slip(wanted, each)
    ]
    return tuple(sorted(alike, key=lambda each: _distance(wanted, each))[:_MOST])


def nearest_types(wanted: str, families: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Types that a name in lower case may stand for: another size of its family, or its size of a family like that."""
    wanted = wanted[:NAME]
    before, dot, size = wanted.partition(".")
    if dot and before in families:
        return tuple(get_close_matches(wanted, families[before], n=_MOST)) or tuple(families[before][:_MOST])
    if dot and is_family_name(before):
        families_near = nearest_families(before, families)
        near = {each: get_close_matches(f"{each}.{size}", families[each], n=1) for each in families_near}
        return tuple((found or families[each])[0] for each, found in near.items())
    return tuple(get_close_matches(wanted, [each for names in families.values() for each in names], cutoff=0.8))


def _distance(wanted: str, family: str) -> tuple[float, int, str]:
    generations = (re.match(_LETTERS_AND_GENERATION, each) for each in (wanted, family))
    asked, has = (int(found[2]) if found and found[2] else 0 for found in generations)
    return -SequenceMatcher(None, wanted, family).ratio(), abs(asked - has), family


def _is_slip(written: str, meant: str) -> bool:
    """Whether one character is too many or too few, or two neighbours are swapped."""
    longer, shorter = sorted((written, meant), key=len, reverse=True)
    if len(longer) - len(shorter) == 1:
        return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))
    swapped = (f"{written[:at]}{written[at : at + 2][::-1]}{written[at + 2 :]}" for at in range(len(written)))
    return len(longer) == len(shorter) and meant in swapped


MANUFACTURERS: Mapping[Vendor, str] = {
    Vendor.NVIDIA: "nvidia",
    Vendor.AMD: "amd",
    Vendor.NEURON: "amazon-web-services",
    Vendor.GAUDI: "habana",
    Vendor.XILINX: "xilinx",
}
"""``AcceleratorManufacturers`` of each vendor that has one."""

TYPES: Mapping[Vendor, str] = {
    Vendor.NVIDIA: "gpu",
    Vendor.AMD: "gpu",
    Vendor.NEURON: "inference",
    Vendor.GAUDI: "inference",
    Vendor.XILINX: "fpga",
}
"""``AcceleratorTypes`` of each vendor.

Qualcomm AI 100 and the U30 media card are left out: no page says what they count as, so a requirement by type never
rules them in.
"""

EC2_VALUES: Mapping[str, frozenset[str]] = {
    "accelerator_names": frozenset(
        """
        a100 a10g gaudi-hl-205 h100 inferentia inferentia2 k520 k80 l4 l40s m60 radeon-pro-v520 t4 t4g trainium
        trainium2 u30 v100 vu9p
        """.split()  # noqa: SIM905 - as the regions
    ),
    "accelerator_manufacturers": frozenset({"amazon-web-services", "amd", "habana", "nvidia", "xilinx"}),
    "accelerator_types": frozenset({"fpga", "gpu", "inference", "media"}),
}
"""Values that the EC2 API has for the fields of `gpu_constructs.fleet.InstanceRequirements`."""


def parameter_resolved(image_id: str | None) -> str | None:
    """The SSM parameter in a dynamic reference, or in the form that only an ImageId takes; None where it is no such.

    Either may name a version of the parameter, which says nothing about a public one.
    """
    found = _RESOLVE.fullmatch((image_id or "").strip())
    return found[1] if found else None


REGIONS = frozenset(
    """
    af-south-1 ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2 ap-southeast-1
    ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7 ca-central-1 ca-west-1
    cn-north-1 cn-northwest-1 eu-central-1 eu-central-2 eu-isoe-west-1 eu-north-1 eu-south-1 eu-south-2 eu-west-1
    eu-west-2 eu-west-3 eusc-de-east-1 il-central-1 me-central-1 me-south-1 mx-central-1 sa-east-1 us-east-1 us-east-2
    us-gov-east-1 us-gov-west-1 us-iso-east-1 us-iso-west-1 us-isob-east-1 us-isob-west-1 us-isof-east-1
    us-isof-south-1 us-west-1 us-west-2
    """.split()  # noqa: SIM905 - a list of strings would have 46 lines
)
"""The regions of all partitions."""

_NEWER = "({})-({})-[1-9]".format(
    *("|".join(sorted({each.rsplit("-", 2)[part] for each in REGIONS})) for part in (0, 1))
)
"""Another number, or another direction, of a part of the world in which AWS is."""


def may_be_region(text: object) -> bool:
    """Whether it is the name of a region, or may be that of a newer one."""
    return isinstance(text, str) and (text in REGIONS or re.fullmatch(_NEWER, text) is not None)


def nearest_regions(text: str) -> list[str]:
    """The regions whose names are most like a text, the nearest first."""
    return get_close_matches(text.strip().lower()[:NAME], sorted(REGIONS), n=3)


def require_region(region: object) -> None:
    """Refuses what is not a region, with the nearest names; what may be a newer one passes.

    Raises:
        InvalidValueError: AWS has no such region.
    """
    if may_be_region(region):
        return
    nearest = nearest_regions(region) if isinstance(region, str) else []
    raise InvalidValueError(
        f"{shown(region)} is not a region",
        argument="region",
        value=region,
        allowed="a name such as eu-west-1",
        fix=f"did you mean {' or '.join(nearest)}?" if nearest else None,
    )
