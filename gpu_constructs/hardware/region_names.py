"""Names of regions: those that AWS has, and whether another one may be newer than this library.

The regions of Amazon ECS in all partitions, as botocore 1.44.5 has them (``data/endpoints.json`` and
``data/partitions.json``).
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from gpu_constructs.budget import NAME
from gpu_constructs.errors import InvalidValueError, shown

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

_NEWER = re.compile(
    "({})-({})-[1-9]".format(*("|".join(sorted({each.rsplit("-", 2)[part] for each in REGIONS})) for part in (0, 1)))
)
"""Another number, or another direction, of a part of the world in which AWS is."""


def may_be_region(text: object) -> bool:
    """Whether it is the name of a region, or may be that of a newer one."""
    return isinstance(text, str) and (text in REGIONS or _NEWER.fullmatch(text) is not None)


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
