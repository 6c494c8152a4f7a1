"""A subnet that hosts are launched in."""

from __future__ import annotations

import re
from dataclasses import field

from gpu_constructs.values import dataclass

_ID = re.compile(r"subnet-[0-9a-f]{8,17}")
# What CDK writes until its command line has looked the zones up: ``dummy1a`` and so on (aws-cdk-lib/core/lib/stack.ts).
_NOT_LOOKED_UP = "dummy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subnet:
    """A subnet that hosts are launched in, as far as the files say which.

    Attributes:
        id: Its id, such as ``subnet-0a1b2c3d``, of one that exists; None where that is not written.
        zone: Its Availability Zone, such as ``eu-west-1a``; None where that is not written.
        zone_index: Which zone of those that ``Fn::GetAZs`` gives it takes, from 0; None where it takes none of them.
            Only templates say so.
        is_new: Whether the files define it, so that the deploy makes it; only templates say so.
    """

    id: str | None = None
    zone: str | None = None
    zone_index: int | None = field(default=None, compare=False)
    is_new: bool = field(default=False, compare=False)

    def is_apart(self, other: Subnet) -> bool:
        """Whether both certainly are in different zones."""
        pairs = (self.zone, other.zone), (self.zone_index, other.zone_index)
        return any(one is not None and two is not None and one != two for one, two in pairs)


def written_subnet_id(text: object) -> str | None:
    """The id of a subnet as written; None for anything else, such as what stands for one until it is looked up."""
    return text if isinstance(text, str) and _ID.fullmatch(text) else None


def written_zone(text: object) -> str | None:
    """An Availability Zone as written; None where that is only known at deploy time or once it was looked up."""
    return text if isinstance(text, str) and not text.startswith(_NOT_LOOKED_UP) else None
