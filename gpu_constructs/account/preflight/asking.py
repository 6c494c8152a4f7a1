"""Asks AWS through boto3: throttling and time-outs are tried again, and every error becomes words."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from itertools import islice
from threading import Lock

from botocore import xform_name
from botocore.client import BaseClient

from gpu_constructs.account.calls import CONFIG, session_of
from gpu_constructs.account.deadline import Deadline
from gpu_constructs.account.preflight.check import Answer, Ask, Call, UnansweredError
from gpu_constructs.account.problems import ERRORS, problem_of
from gpu_constructs.account.problems import Call as Unanswered

READ_ONLY = ("Describe", "Get", "List")
"""What the names of operations begin with that change nothing."""

_PAGES = 30
"""Pages that are read of one answer: 30,000 hosts, which leaves the other calls of the command some time."""

# Of a page that is not of AWS, such as that of a hotel, botocore makes an answer of EC2 without rows, and no rows is
# a fact. AWS gives each answer the id of its request
# (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSubnets.html).
_NUMBERED = "ec2"

_IF_DENIED = "gpu-constructs preflight --policy prints the policy"


def asker(profile: str | None, deadline: Deadline | None = None) -> Callable[[str], Ask]:
    """What asks AWS, by region, with the credentials of a profile.

    Args:
        profile: Its name; None for those that boto3 finds.
        deadline: That of all calls together; the usual one if left out.

    Raises:
        GpuConstructsError: There is no such profile.
    """
    session = session_of(profile)
    lock = Lock()
    whole = deadline or Deadline()

    def client(service: str, region: str) -> BaseClient:
        with lock:  # clients may be shared between threads, and sessions may not
            return session.client(service, region_name=region, config=CONFIG)

    return lambda region: _Asker(client, region, whole).ask


def region_of(profile: str | None) -> tuple[str, str] | None:
    """The region that the AWS CLI would take, and what names it; None where nothing does.

    https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-envvars.html: boto3 does not read ``AWS_REGION``.

    Args:
        profile: The name of the profile; None for the one that boto3 finds.

    Raises:
        GpuConstructsError: There is no such profile.
    """
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        if found := os.environ.get(name):
            return found, name
    found = session_of(profile).region_name
    return (found, "--profile") if found else None


class _Asker:
    """Asks in one region; what was asked before is answered as before."""

    def __init__(self, client: Callable[[str, str], BaseClient], region: str, deadline: Deadline) -> None:
        self._client = client
        self._region = region
        self._deadline = deadline
        self._clients: dict[str, BaseClient] = {}
        self._known: dict[str, Answer | UnansweredError] = {}
        self._out_of_reach: dict[str, UnansweredError] = {}

    def ask(self, call: Call, arguments: Mapping[str, object]) -> Answer:
        """The answer to a call.

        Raises:
            UnansweredError: There is none.
        """
        if not call.operation.startswith(READ_ONLY):
            raise UnansweredError(f"{call.permission} may change something and is never called")
        key = json.dumps([call.service, call.operation, arguments], sort_keys=True, default=str)
        if key not in self._known:
            self._known[key] = self._out_of_reach.get(call.service) or self._asked(call, arguments)
        found = self._known[key]
        if isinstance(found, UnansweredError):
            raise found
        return found

    def _asked(self, call: Call, arguments: Mapping[str, object]) -> Answer | UnansweredError:
        try:
            pages = self._deadline.call(call.permission, lambda: self._pages(call, arguments))
        except ERRORS as error:
            about = Unanswered(
                service=call.service, permission=call.permission, region=self._region, if_denied=_IF_DENIED
            )
            problem = problem_of(error, about)
            found = UnansweredError(problem.text, code=problem.code, fix=problem.fix)
            if problem.is_out_of_reach:
                self._out_of_reach[call.service] = found
            return found
        if call.service == _NUMBERED and not all(map(_has_number, pages)):
            return UnansweredError(f"AWS answered {call.permission} in an unknown form")
        return Answer(call.permission, pages)

    def _pages(self, call: Call, arguments: Mapping[str, object]) -> tuple[object, ...]:
        if call.service not in self._clients:
            self._clients[call.service] = self._client(call.service, self._region)
        client, name = self._clients[call.service], xform_name(call.operation)
        if client.can_paginate(name):
            return tuple(islice(client.get_paginator(name).paginate(**arguments), _PAGES))
        return (getattr(client, name)(**arguments),)


def _has_number(page: object) -> bool:
    """Whether an answer has the id of its request."""
    metadata = page.get("ResponseMetadata") if isinstance(page, Mapping) else None
    return isinstance(metadata, Mapping) and bool(metadata.get("RequestId"))
