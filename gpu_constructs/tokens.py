"""Is this value only known at deploy time? Asked of every argument before anything is compared with it.

An unresolved number is a huge negative float and an unresolved string is text with a marker in it, so comparing them
gives answers that mean nothing.
"""

from __future__ import annotations

import aws_cdk as cdk

__all__ = ["is_token"]

# How aws-cdk-lib encodes tokens (core/lib/private/encoding.ts): strings hold "${Token[...]}", numbers lie far below
# any number a user writes. Looking here first spares a call into Node for every ordinary value; CDK has the last word.
_STRING_MARKER = "${Token["
_LARGEST_NUMBER_TOKEN = -1e288


def is_token(value: object) -> bool:
    """Whether CDK only resolves this value at deploy time.

    Args:
        value: Any argument a user gave.
    """
    suspicious = (isinstance(value, str) and _STRING_MARKER in value) or (
        isinstance(value, (int, float)) and not isinstance(value, bool) and value < _LARGEST_NUMBER_TOKEN
    )
    return suspicious and cdk.Token.is_unresolved(value)
