"""Asks AWS through boto3: throttling and time-outs are tried again, and every error becomes words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from threading import Lock

import boto3
from botocore import xform_name
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)
from botocore.exceptions import (
    ConnectionError as NotConnectedError,
)
from botocore.parsers import ResponseParserError

from gpu_constructs.account.preflight.answer import Answer, UnansweredError
from gpu_constructs.account.preflight.check import Ask, Call
from gpu_constructs.budget import MESSAGE, brief
from gpu_constructs.errors import GpuConstructsError

__all__ = ["READ_ONLY", "asker"]

READ_ONLY = ("Describe", "Get", "List")
"""What the names of operations begin with that change nothing."""

_PAGES = 100
"""Pages that are read of one answer."""

_CONFIG = Config(
    connect_timeout=5,
    read_timeout=20,
    retries={"mode": "standard", "total_max_attempts": 5},
    user_agent_extra="gpu-constructs",
)

_DENIED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "AuthorizationErrorException",
        "Forbidden",
        "ForbiddenException",
        "NotAuthorized",
        "UnauthorizedException",
        "UnauthorizedOperation",
    }
)
_NOT_SIGNED_IN = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidToken",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "NotSignedUp",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_BUSY = frozenset(
    {
        "EC2ThrottledException",
        "LimitExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottledException",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_BROKEN = frozenset(
    {
        "InternalError",
        "InternalFailure",
        "InternalServerError",
        "InternalServerErrorException",
        "ServerException",
        "ServiceException",
        "ServiceFailure",
        "ServiceUnavailable",
        "Unavailable",
    }
)
_NO_CREDENTIALS = (
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
)
_SIGN_IN = "aws sts get-caller-identity says whose credentials are used; --profile NAME names others"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a group of error codes means, with what to do about it."""

    codes: frozenset[str]
    words: str
    fix: str


_KINDS = (
    _Kind(_DENIED, "the credentials may not call {call}", "gpu-constructs preflight --policy prints the policy"),
    _Kind(_NOT_SIGNED_IN, "AWS does not accept the credentials for {call} in {region} ({code})", _SIGN_IN),
    _Kind(frozenset({"OptInRequired"}), "the account has not enabled what {call} is about in {region}", ""),
    _Kind(_BUSY, "AWS limits the rate of {call}, after several tries ({code})", "again in a few minutes"),
    _Kind(_BROKEN, "AWS could not answer {call}, after several tries ({code})", "again in a few minutes"),
)


def asker(profile: str | None) -> Callable[[str], Ask]:
    """What asks AWS, by region, with the credentials of a profile.

    Args:
        profile: Its name; None for those that boto3 finds.

    Raises:
        GpuConstructsError: There is no such profile.
    """
    try:
        session = boto3.Session(profile_name=profile)
    except (BotoCoreError, ValueError) as problem:
        fix = "aws configure list-profiles" if isinstance(problem, ProfileNotFound) else None
        raise GpuConstructsError(brief(str(problem), MESSAGE), argument="--profile", fix=fix) from problem
    lock = Lock()

    def client(service: str, region: str) -> BaseClient:
        with lock:  # clients may be shared between threads, and sessions may not
            return session.client(service, region_name=region, config=_CONFIG)

    return lambda region: _Asker(client, region).ask


class _Asker:
    """Asks in one region; what was asked before is answered as before."""

    def __init__(self, client: Callable[[str, str], BaseClient], region: str) -> None:
        self._client = client
        self._region = region
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
            if call.service not in self._clients:
                self._clients[call.service] = self._client(call.service, self._region)
            client, name = self._clients[call.service], xform_name(call.operation)
            if client.can_paginate(name):
                pages = tuple(islice(client.get_paginator(name).paginate(**arguments), _PAGES))
            else:
                pages = (getattr(client, name)(**arguments),)
            return Answer(call.permission, pages)
        except ClientError as problem:
            return self._refused(call, problem)
        except _NO_CREDENTIALS as problem:
            return UnansweredError(f"there are no credentials for AWS: {brief(str(problem))}", fix=_SIGN_IN)
        except (HTTPClientError, NotConnectedError) as problem:
            found = UnansweredError(
                f"{call.service} in {self._region} cannot be reached: {brief(str(problem))}",
                fix="check the network, the proxy, and whether AWS has the service there",
            )
            self._out_of_reach[call.service] = found
            return found
        except (BotoCoreError, OSError) as problem:  # OSError: of a program that gives credentials
            return UnansweredError(f"AWS was not asked {call.permission}: {brief(str(problem))}")
        # Of a parser that the answer surprised.
        except (ResponseParserError, AttributeError, LookupError, TypeError, ValueError):
            return UnansweredError(f"AWS answered {call.permission} in an unknown form")

    def _refused(self, call: Call, problem: ClientError) -> UnansweredError:
        error = problem.response.get("Error") or {}
        code, message = str(error.get("Code", "")), str(error.get("Message", ""))
        for kind in _KINDS:
            if code in kind.codes:
                words = kind.words.format(call=call.permission, region=self._region, code=code)
                return UnansweredError(words, code=code, fix=kind.fix)
        return UnansweredError(f"AWS did not answer {call.permission}: {brief(f'{code}: {message}')}", code=code)
