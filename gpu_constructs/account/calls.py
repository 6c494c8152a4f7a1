"""Calls in one region, with errors in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore import xform_name
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from gpu_constructs.account.clients import Clients
from gpu_constructs.account.problems import ERRORS, Call, code_of, problem_of
from gpu_constructs.errors import GpuConstructsError


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
