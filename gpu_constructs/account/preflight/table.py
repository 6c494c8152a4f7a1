"""All checks, and the least policy that lets them ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_constructs.account.preflight.blocks import BLOCK_OFFERINGS
from gpu_constructs.account.preflight.check import Check
from gpu_constructs.account.preflight.identity import ACCOUNT
from gpu_constructs.account.preflight.image_ids import IMAGES
from gpu_constructs.account.preflight.networks import SUBNETS
from gpu_constructs.account.preflight.quotas import QUOTAS
from gpu_constructs.account.preflight.reservations import RESERVATIONS
from gpu_constructs.account.preflight.roles import ROLES
from gpu_constructs.account.preflight.settings import SETTINGS
from gpu_constructs.account.preflight.spot_scores import SPOT_SCORES
from gpu_constructs.account.preflight.zones import TYPES

CHECKS: tuple[Check, ...] = (
    ACCOUNT,
    QUOTAS,
    TYPES,
    SUBNETS,
    IMAGES,
    RESERVATIONS,
    ROLES,
    SETTINGS,
    SPOT_SCORES,
    BLOCK_OFFERINGS,
)
"""In the order in which they are shown."""


# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}


def policy(checks: Sequence[Check] = CHECKS, region: str | None = None) -> Mapping[str, object]:
    """The least policy of IAM that lets checks ask.

    Args:
        checks: The checks.
        region: A region of the partition that it is for; None for those outside of China and GovCloud.
    """
    partition = next((name for start, name in _PARTITIONS.items() if (region or "").startswith(start)), "aws")
    actions: dict[str, set[str]] = {}
    for call in (call for check in checks for call in check.calls):
        actions.setdefault(call.resource.replace("arn:aws:", f"arn:{partition}:"), set()).add(call.permission)
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": sorted(allowed),
                "Resource": resource,
            }
            for resource, allowed in sorted(actions.items())
        ],
    }
