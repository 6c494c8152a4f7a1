"""The value of a quota of EC2, and the command that asks for more."""

from __future__ import annotations

from gpu_constructs.account.preflight.answer import UnansweredError
from gpu_constructs.account.preflight.check import Ask, Call, aws

_APPLIED = Call(service="service-quotas", operation="GetServiceQuota")
_DEFAULT = Call(service="service-quotas", operation="GetAWSDefaultServiceQuota")
_NONE_APPLIED = "NoSuchResourceException"

QUOTA_CALLS = (_APPLIED, _DEFAULT)


def quota(ask: Ask, code: str) -> float:
    """The quota of the account; the default where the account has none of its own.

    Raises:
        UnansweredError: AWS did not answer.
    """
    arguments = {"ServiceCode": "ec2", "QuotaCode": code}
    try:
        answer = ask(_APPLIED, arguments)
    except UnansweredError as problem:
        if problem.code != _NONE_APPLIED:
            raise
        answer = ask(_DEFAULT, arguments)
    return answer.first.row("Quota").number("Value")


def raised(code: str, to: int, region: str) -> str:
    """The command that asks for a higher quota."""
    options = [("service-code", "ec2"), ("quota-code", code), ("desired-value", to)]
    return aws("service-quotas", "request-service-quota-increase", region, options)
