"""Clients of boto3: whose credentials they use, and how often a call is tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import boto3
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ProfileNotFound

from gpu_constructs.budget import MESSAGE, brief
from gpu_constructs.errors import GpuConstructsError

Clients: TypeAlias = Callable[[str, str | None], BaseClient]
"""A client of boto3, by service and region; None is the region of the profile."""

CONFIG = Config(
    connect_timeout=5,
    read_timeout=20,
    retries={"mode": "standard", "total_max_attempts": 5},
    user_agent_extra="gpu-constructs",
)
"""Throttling and time-outs are tried again, five times in all."""


def session_of(profile: str | None) -> boto3.Session:
    """The session of a profile.

    Args:
        profile: Its name; None for the credentials that boto3 finds.

    Raises:
        GpuConstructsError: There is no such profile.
    """
    try:
        return boto3.Session(profile_name=profile)
    except (BotoCoreError, ValueError) as problem:
        fix = "aws configure list-profiles" if isinstance(problem, ProfileNotFound) else None
        raise GpuConstructsError(brief(str(problem), MESSAGE), argument="--profile", fix=fix) from problem


def clients_of(profile: str | None) -> Clients:
    """Clients with the credentials of a profile.

    Args:
        profile: Its name; None for the credentials that boto3 finds.

    Raises:
        GpuConstructsError: There is no such profile.
    """
    session = session_of(profile)
    return lambda service, region: session.client(service, region_name=region, config=CONFIG)
