"""Calls of AWS through boto3: throttling and time-outs are tried again, and every error becomes words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from threading import Lock
from typing import Any, TypeAlias, TypeVar

import boto3
from botocore import xform_name
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ProfileNotFound

from gpu_constructs.account.answers import Thing, UnansweredError, things
from gpu_constructs.account.deadline import Deadline
from gpu_constructs.account.problems import ERRORS, SERVICES, unanswered
from gpu_constructs.errors import GpuConstructsError, brief
from gpu_constructs.facts.budget import MESSAGE

_T = TypeVar("_T")

Clients: TypeAlias = Callable[[str, str | None], BaseClient]
"""A client of boto3, by service and region; None is the region that the AWS CLI takes."""

CONFIG = Config(
    connect_timeout=5,
    read_timeout=8,
    retries={"mode": "standard", "total_max_attempts": 4},
    user_agent_extra="gpu-constructs",
)
"""Throttling and time-outs are tried again, four times in all: of a server that never answers it is said after 32 s."""

_TASKS = 100
"""Tasks that one call describes, as ECS limits it."""

REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
"""Variables that name a region, before the profile does, as for the AWS CLI; boto3 reads the second one alone.

https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-envvars.html
"""


class Calls:
    """Calls in one region, by default the one that the AWS CLI takes.

    `if_denied` is what helps where the credentials may not. Without a deadline the time-outs of boto3 count alone.
    """

    def __init__(
        self, clients: Clients, region: str | None, *, if_denied: str = "", deadline: Deadline | None = None
    ) -> None:
        self._clients = cache(clients)
        self._region = region
        self._if_denied = if_denied
        self._deadline = deadline

    def ask(self, permission: str, **arguments: object) -> Mapping[str, Any]:
        """The answer of a call, by its permission, such as ``ecs:DescribeTasks``.

        Raises:
            UnansweredError: There is none.
        """
        service, _, operation = permission.partition(":")
        answer = self._done(permission, lambda: getattr(self._client(service), xform_name(operation))(**arguments))
        if not isinstance(answer, Mapping):
            raise UnansweredError(f"AWS answered {permission} in an unknown form")
        return answer

    def pages(self, permission: str, most: int, **arguments: object) -> tuple[tuple[Thing, ...], bool]:
        """The pages of an answer, and whether there are more than are read.

        Raises:
            UnansweredError: There is none.
        """
        service, _, operation = permission.partition(":")

        def read() -> tuple[tuple[Thing, ...], bool]:
            client, name = self._client(service), xform_name(operation)
            if not client.can_paginate(name):
                return (getattr(client, name)(**arguments),), False
            found = iter(client.get_paginator(name).paginate(**arguments))
            return tuple(islice(found, most)), next(found, None) is not None

        return self._done(permission, read)

    def tasks(self, cluster: str, arns: Sequence[str]) -> Iterator[Thing]:
        """What DescribeTasks says of tasks, as many at a time as ECS takes."""
        for first in range(0, len(arns), _TASKS):
            part = list(arns[first : first + _TASKS])
            yield from things(self.ask("ecs:DescribeTasks", cluster=cluster, tasks=part), "tasks")

    def problem(self, permission: str, **arguments: object) -> str:
        """Why a call failed; empty where it did not."""
        try:
            self.ask(permission, **arguments)
        except UnansweredError as problem:
            return str(problem)
        return ""

    def region_name(self) -> str:
        """The region in which the calls are made.

        Raises:
            UnansweredError: The profile has none.
        """
        return str(self._done("ecs:RunTask", lambda: self._client("ecs").meta.region_name))

    def _done(self, permission: str, make: Callable[[], _T]) -> _T:
        try:
            return make() if self._deadline is None else self._deadline.call(permission, make)
        except UnansweredError:
            raise
        except ERRORS as error:
            raise unanswered(error, permission, self._region, if_denied=self._if_denied) from error

    def _client(self, service: str) -> BaseClient:
        return self._clients(SERVICES.get(service, service), self._region)


def session_of(profile: str | None) -> boto3.Session:
    """The session of a profile, in the region that the AWS CLI takes; None for the credentials that boto3 finds.

    Raises:
        GpuConstructsError: There is no such profile.
    """
    region = next(filter(None, map(os.environ.get, REGIONS)), None)
    try:
        return boto3.Session(profile_name=profile, region_name=region)
    except (BotoCoreError, ValueError) as problem:
        fix = "aws configure list-profiles" if isinstance(problem, ProfileNotFound) else None
        raise GpuConstructsError(brief(str(problem), MESSAGE), argument="--profile", fix=fix) from problem


def region_of(profile: str | None) -> tuple[str, str] | None:
    """The region that the AWS CLI would take, and what names it; None where nothing does."""
    found = session_of(profile).region_name
    source = next((each for each in REGIONS if os.environ.get(each)), "--profile")
    return (found, source) if found else None


def clients_of(profile: str | None) -> Clients:
    """Clients with the credentials of a profile; None for those that boto3 finds."""
    session, lock = session_of(profile), Lock()

    def client(service: str, region: str | None) -> BaseClient:
        with lock:  # clients may be shared between threads, and sessions may not
            return session.client(service, region_name=region, config=CONFIG)

    return client
