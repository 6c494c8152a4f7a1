"""Clients of boto3, and calls in one region, with errors in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import boto3
from botocore import xform_name
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound

from gpu_constructs.account.problems import ERRORS, Call, code_of, problem_of
from gpu_constructs.errors import GpuConstructsError, brief
from gpu_constructs.facts.budget import MESSAGE


@dataclass(slots=True)
class Calls:
    """Calls in one region.

    Args:
        clients: Clients of boto3.
        region: Where; None for the region of the profile.
        if_denied: What helps where the credentials may not.
    """

    clients: Clients
    region: str | None
    if_denied: str
    _made: dict[str, BaseClient] = field(default_factory=dict)

    def ask(self, permission: str, **arguments: object) -> Mapping[str, Any]:
        """Calls AWS.

        Raises:
            GpuConstructsError: AWS did not answer.
        """
        return self.ask_unless("", permission, **arguments) or {}

    def ask_unless(self, code: str, permission: str, **arguments: object) -> Mapping[str, Any] | None:
        """Calls AWS.

        Args:
            code: The code of an error that is an answer as well: None.
            permission: As of `ask`.
            arguments: As of `ask`.

        Raises:
            GpuConstructsError: AWS did not answer.
        """
        service, _, operation = permission.partition(":")
        try:
            client = self._client(service)
            answer: Mapping[str, Any] = getattr(client, xform_name(operation))(**arguments)
        except ERRORS as error:
            if code and isinstance(error, ClientError) and code_of(error) == code:
                return None
            about = Call(service=service, permission=permission, region=self.region, if_denied=self.if_denied)
            problem = problem_of(error, about)
            raise GpuConstructsError(problem.text, fix=problem.fix or None) from error
        if not isinstance(answer, Mapping):
            raise GpuConstructsError(f"AWS answered {permission} in an unknown form")
        return answer

    def region_name(self) -> str:
        """The region in which the calls are made.

        Raises:
            GpuConstructsError: The profile has none.
        """
        try:
            return str(self._client("ecs").meta.region_name)
        except ERRORS as error:
            problem = problem_of(error, Call(service="ecs", permission="ecs:RunTask", region=self.region))
            raise GpuConstructsError(problem.text, fix=problem.fix or None) from error

    def _client(self, service: str) -> BaseClient:
        if service not in self._made:
            self._made[service] = self.clients(service, self.region)
        return self._made[service]


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
