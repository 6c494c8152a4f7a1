"""Which capacity reservations hosts run in, checked before EC2 is asked for the first host."""

from __future__ import annotations

import re

from gpu_constructs.cdk.tokens import is_text_token
from gpu_constructs.errors import InvalidValueError, shown

# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html
_ID = re.compile(r"cr-(?:[0-9a-f]{8}|[0-9a-f]{17})")

# The pattern of the Resource Groups API (botocore 1.44.5, GroupStringV2).
_GROUP = re.compile(
    r"arn:aws(?:-[a-z]+)*:resource-groups:[a-z]{2}(?:-[a-z]+)+-\d:[0-9]{12}:group/"
    r"(?:[a-zA-Z0-9_.-]{1,300}|[a-zA-Z0-9_.-]{1,150}/[a-z0-9]{26})"
)


def require_reservation_id(value: str) -> None:
    """Refuses text that cannot be the id of a capacity reservation; a token passes.

    Raises:
        InvalidValueError: It is not the id of a capacity reservation.
    """
    if isinstance(value, str) and (is_text_token(value) or _ID.fullmatch(value)):
        return
    raise InvalidValueError(
        f"{shown(value)} is not the id of a capacity reservation",
        argument="reservation_id",
        value=value,
        allowed="cr- and 17 hexadecimal digits",
        fix="the id behind the last slash of the ARN, or resource_group_arn=… for a group of reservations"
        if isinstance(value, str) and value.startswith("arn:")
        else "the id that aws ec2 describe-capacity-reservations prints",
    )


def require_group_arn(value: str) -> None:
    """Refuses text that is not a resource group; a token passes.

    Raises:
        InvalidValueError: It is not the ARN of a resource group.
    """
    if isinstance(value, str) and (is_text_token(value) or _GROUP.fullmatch(value)):
        return
    raise InvalidValueError(
        f"{shown(value)} is not the ARN of a resource group",
        argument="resource_group_arn",
        value=value,
        allowed="arn:<partition>:resource-groups:<region>:<account>:group/<name>",
        fix="the ARN that aws resource-groups list-groups prints, of the group that the reservations were added to",
    )
