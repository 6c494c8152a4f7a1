"""The errors that AWS may answer a call with, by the models of botocore."""

from __future__ import annotations

import botocore.session

MODELS = botocore.session.get_session()

_COMMON = (
    "AccessDeniedException",
    "AuthFailure",
    "Blocked",
    "DryRunOperation",
    "ExpiredToken",
    "InternalError",
    "InvalidClientTokenId",
    "InvalidParameterValue",
    "OptInRequired",
    "PendingVerification",
    "RequestLimitExceeded",
    "ThrottlingException",
    "UnauthorizedOperation",
    "Unavailable",
    "UnrecognizedClientException",
    "ValidationError",
)
"""What no model lists, because every call of a service may have it.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html and
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/CommonErrors.html
"""


def error_codes(service: str, operation: str, *, turn: int | None = None) -> tuple[str, ...]:
    """The codes of the errors of an operation.

    Args:
        service: The service, as boto3 calls it.
        operation: The operation, such as ``DescribeTasks``.
        turn: Leaves out two of three of those that every call may have, by turns: where all calls together meet each.
    """
    common = _COMMON if turn is None else _COMMON[turn % 3 :: 3]
    shapes = MODELS.get_service_model(service).operation_model(operation).error_shapes
    modelled = (each.metadata.get("error", {}).get("code", each.name) for each in shapes)
    return tuple(dict.fromkeys((*modelled, *common)))
