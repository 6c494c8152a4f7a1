"""Checks of what a `ModelServer` is made from."""

from __future__ import annotations

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.hardware.aws_limits import LARGEST_PORT


def require_text(argument: str, value: object, *, example: str) -> None:
    """Refuses what is not text without spaces.

    Raises:
        InvalidValueError: It is something else.
    """
    if not isinstance(value, str) or not value.strip() or " " in value or not value.isprintable():
        raise InvalidValueError(
            f"expects text without spaces, got {shown(value)}",
            argument=argument,
            value=value,
            fix=f"{argument}={example}",
        )


def require_port(argument: str, value: object) -> None:
    """Refuses what is not a port, or is a token; None is allowed.

    Raises:
        InvalidValueError: It is something else.
    """
    if value is None:
        return
    if is_token(value):
        raise InvalidValueError(
            "the command of the server needs a port that is known at synth",
            argument=argument,
            fix=f"{argument}=8000",
        )
    whole_number(argument, value, smallest=1, largest=LARGEST_PORT, fix=f"{argument}=8000")


def require_path(argument: str, value: object) -> None:
    """Refuses what is not an absolute path; None is allowed.

    Raises:
        InvalidValueError: It is something else.
    """
    if value is not None and (not isinstance(value, str) or not value.startswith("/")):
        raise InvalidValueError(
            f"expects a path that begins with /, got {shown(value)}",
            argument=argument,
            value=value,
            fix=f"{argument}='/health'",
        )
