"""Quotas: are they as high as the hosts at MaxSize need?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from gpu_constructs.account.preflight.answer import UnansweredError
from gpu_constructs.account.preflight.check import Ask, Call, Check, Found, Question, Scope, aws, ok, short, unchecked
from gpu_constructs.fleet import Unknown
from gpu_constructs.planning.fleet_plan import QuotaNeed

__all__ = ["QUOTAS"]

_APPLIED = Call(service="service-quotas", operation="GetServiceQuota")
_DEFAULT = Call(service="service-quotas", operation="GetAWSDefaultServiceQuota")
_NONE_APPLIED = "NoSuchResourceException"


def _questions(scope: Scope) -> Iterator[Question]:
    names = {each.name for each in scope.pools}
    for need in scope.plan.quotas:
        if need.quota.place.region == scope.region and names.issuperset(need.pools):
            subject = f"{need.quota.group} {need.quota.way}"
            yield Question(subject=subject, read=partial(_read, need, scope.region))


def _read(need: QuotaNeed, region: str, ask: Ask) -> Found:
    code = need.quota.code
    arguments = {"ServiceCode": "ec2", "QuotaCode": code}
    value = _value(ask, arguments)
    if isinstance(need.maximum, Unknown):
        pools = ", ".join(need.pools)
        return unchecked(f"quota {code} is {value:,g} vCPUs; how many hosts {pools} can have is not known")
    doubt = f" ({need.quota.doubt})" if need.quota.doubt else ""
    if need.maximum <= value:
        return ok(
            f"quota {code} is {value:,g} vCPUs{doubt}, the hosts at MaxSize take {need.maximum:,}; "
            "what else runs in the account counts too"
        )
    fix = aws(
        "service-quotas",
        "request-service-quota-increase",
        region,
        [("service-code", "ec2"), ("quota-code", code), ("desired-value", need.maximum)],
    )
    return short(
        f"quota {code} is {value:,g} vCPUs{doubt}, the hosts at MaxSize take {need.maximum:,}: "
        f"{need.maximum - value:,g} short",
        fix,
    )


def _value(ask: Ask, arguments: Mapping[str, object]) -> float:
    """The quota of the account; the default where the account has none of its own."""
    try:
        answer = ask(_APPLIED, arguments)
    except UnansweredError as problem:
        if problem.code != _NONE_APPLIED:
            raise
        answer = ask(_DEFAULT, arguments)
    return answer.first.row("Quota").number("Value")


QUOTAS = Check(
    id="quotas",
    question="are the quotas of vCPUs, on demand and spot, as high as the hosts at MaxSize need?",
    reads="the value that the account has, else the default of AWS, against the vCPUs of the plan",
    calls=(_APPLIED, _DEFAULT),
    questions=_questions,
)
"""https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html"""
