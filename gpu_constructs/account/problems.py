"""Why AWS did not answer a call, in words: the errors of boto3, and the codes that all services share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import JSONDecodeError
from typing import NamedTuple

from botocore import exceptions
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    PaginationError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
)
from botocore.exceptions import ConnectionError as NotConnectedError
from botocore.parsers import ResponseParserError

from gpu_constructs.account.answers import UnansweredError
from gpu_constructs.account.deadline import REACH
from gpu_constructs.errors import brief
from gpu_constructs.facts.budget import MESSAGE

ERRORS = (
    BotoCoreError,
    ClientError,
    OSError,  # of a program that gives credentials
    EOFError,
    # Of a parser that the answer surprised.
    ResponseParserError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a call of boto3 raises."""


def _codes(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Error codes of AWS, of which some protocols write most with an `Exception` behind it.
_DENIED = _codes("AccessDenied AuthorizationError Forbidden NotAuthorized Unauthorized UnauthorizedOperation")
_NOT_SIGNED_IN = _codes(
    """
    AuthFailure IncompleteSignature InvalidAccessKeyId InvalidClientTokenId InvalidToken MissingAuthenticationToken
    NotSignedUp SignatureDoesNotMatch UnrecognizedClient
    """
)
_EXPIRED = _codes("ExpiredToken RequestExpired TokenRefreshRequired")
_BUSY = _codes(
    """
    EC2Throttled LimitExceeded RequestLimitExceeded RequestThrottled SlowDown Throttling Throttled TooManyRequests
    """
)
# botocore takes the status for the code where an answer has none.
_BROKEN = _codes(
    """
    500 502 503 504 InternalError InternalFailure InternalServerError Server Service ServiceFailure ServiceUnavailable
    Unavailable
    """
)
_LoginError: type[Exception] = getattr(exceptions, "LoginError", SSOError)
"""Of ``aws login``, which older releases of botocore do not know."""
_NO_CREDENTIALS = (
    CredentialRetrievalError,
    _LoginError,
    NoCredentialsError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
)
# Of an answer of AWS that is not JSON, botocore raises its own error.
_SIGNED_OUT = (_LoginError, SSOError, TokenRetrievalError)
"""Of what ``aws sso login`` and ``aws login`` keep: it is not there, or has expired."""
_UNREADABLE: Mapping[type[Exception], str] = {
    EOFError: "the profile asks for the code of a device, which takes a terminal",
    JSONDecodeError: "the program or the file that should give them does not give JSON",
}
_OF_CREDENTIALS = _codes(
    """
    AssumeRole AssumeRoleWithSAML AssumeRoleWithWebIdentity CreateToken GetRoleCredentials GetSessionToken
    """
)
"""Operations by which boto3 itself gets credentials, before the call."""
_OF_SIGNING_IN = {"CreateToken", "GetRoleCredentials"}
"""Those of them for which somebody has signed in."""
# The same token for the next page, again and again.
_ODD = (PaginationError, ResponseParserError)

_SIGN_IN = "--profile NAME names other credentials; aws sts get-caller-identity says whose are used"

_AGAIN = "sign in again, with aws sso login (and its --profile) or as you got them"

# Credentials are not valid in a region that the account has not enabled.
# https://docs.aws.amazon.com/accounts/latest/reference/manage-acct-regions.html
_NOT_ACCEPTED = f"{_SIGN_IN}; aws account list-regions has the regions that the account has enabled"


# What AWS writes of an error names who asked.
_OF_THE_ACCOUNT = (
    (re.compile(r"\barn:[\w-]{1,20}:[^\s'\"<>]+"), "(an ARN)"),
    (re.compile(r"\b[0-9]{12}\b"), "(an account)"),
    (re.compile(r"\b(?:AKIA|ASIA|AIDA|AROA)[A-Z0-9]{12,}\b"), "(a key)"),
)
_ANOTHER = "an endpoint of AWS, or an emulator that has it"


class _Kind(NamedTuple):
    """What a group of error codes means, with what to do about it."""

    codes: frozenset[str]
    means: str
    fix: str
    is_denied: bool = False


_KINDS = (
    _Kind(_DENIED, "the credentials may not call {call}", "{if_denied}", is_denied=True),
    _Kind(_EXPIRED, "the credentials have expired, AWS says for {call} ({code})", _AGAIN),
    _Kind(_NOT_SIGNED_IN, "AWS does not accept the credentials for {call}{region} ({code})", _NOT_ACCEPTED),
    _Kind(_codes("OptInRequired"), "the account has not enabled what {call} is about{region} ({code})", ""),
    _Kind(
        _codes("501 InvalidAction UnknownOperation"), "the endpoint{region} has no operation {call} ({code})", _ANOTHER
    ),
    _Kind(_BUSY, "AWS limits the rate of {call}, after several tries ({code})", "again in a few minutes"),
    _Kind(_BROKEN, "AWS could not answer {call}, after several tries ({code})", "again in a few minutes"),
)

SERVICES = {"servicequotas": "service-quotas", "states": "stepfunctions"}
"""Services that boto3 calls otherwise than the permissions of IAM."""


def unanswered(error: Exception, permission: str, region: str | None, *, if_denied: str = "") -> UnansweredError:
    """Why a call was not answered.

    `permission` is that of the call, such as ``ecs:DescribeTasks``; `error` is one of `ERRORS`. `if_denied` is what to
    do where the credentials may not make it; empty where that is not known.
    """
    where = "" if region is None else f" in {region}"
    if isinstance(error, ClientError):
        return _refused(error, permission, where, if_denied)
    why = brief(str(error), MESSAGE)
    if isinstance(error, _NO_CREDENTIALS) or type(error) in _UNREADABLE:
        fix = _AGAIN if isinstance(error, _SIGNED_OUT) else _SIGN_IN
        return UnansweredError(f"there are no credentials for AWS: {_UNREADABLE.get(type(error), why)}", fix=fix)
    if isinstance(error, NoRegionError):
        return UnansweredError(f"AWS was not asked {permission}: no region is set", fix="--region REGION")
    if isinstance(error, (HTTPClientError, NotConnectedError)):
        prefix = permission.partition(":")[0]
        text = f"{SERVICES.get(prefix, prefix)}{where} cannot be reached: {why}"
        return UnansweredError(text, fix=REACH, is_out_of_reach=True)
    is_odd = isinstance(error, _ODD) or not isinstance(error, (BotoCoreError, OSError))
    return UnansweredError(
        f"AWS answered {permission} in an unknown form" if is_odd else f"AWS was not asked {permission}: {why}"
    )


def _refused(error: ClientError, permission: str, where: str, if_denied: str) -> UnansweredError:
    said = error.response.get("Error") or {}
    code, message = str(said.get("Code", "")), str(said.get("Message", ""))
    kind = code.removesuffix("Exception")
    if error.operation_name in _OF_CREDENTIALS:
        text = f"there are no credentials for AWS: {brief(str(error), MESSAGE)}"
        is_old = kind in _EXPIRED or error.operation_name in _OF_SIGNING_IN
        return UnansweredError(text, code=code, fix=_AGAIN if is_old else _SIGN_IN)
    for each in _KINDS:
        if kind in each.codes:
            words = each.means.format(call=permission, region=where, code=code)
            fix = each.fix.format(if_denied=if_denied)
            return UnansweredError(words, code=code, fix=fix, is_denied=each.is_denied)
    words = ": ".join(each for each in (brief(code), _said(message)) if each)
    return UnansweredError(f"AWS did not answer {permission}" + (f": {words}" if words else ""), code=code)


def _said(message: str) -> str:
    """What AWS wrote of an error, on one line and without whose account it is; nothing of a page for a browser."""
    text = "" if re.match(r"\s*<", message) else " ".join(brief(message, MESSAGE).split())
    for found, word in _OF_THE_ACCOUNT:
        text = found.sub(word, text)
    return text
