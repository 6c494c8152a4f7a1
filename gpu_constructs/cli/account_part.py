"""The part of the package that asks an account: it needs boto3, which is loaded only where it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gpu_constructs.errors import GpuConstructsError

if TYPE_CHECKING:
    from types import ModuleType


def account_part(name: str, *, otherwise: str = "") -> ModuleType:
    """A module of `gpu_constructs.account`.

    Args:
        name: Its name behind that of the room.
        otherwise: What helps without boto3, for the fix.

    Raises:
        GpuConstructsError: boto3 is not installed.
    """
    try:
        return import_module(f"gpu_constructs.account.{name}")
    except ImportError as problem:
        if problem.name not in {"boto3", "botocore"}:
            raise
        fix = f"pip install 'gpu-constructs[account]'{otherwise}"
        raise GpuConstructsError("boto3 is not installed", fix=fix) from problem
