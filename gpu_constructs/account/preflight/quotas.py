"""Quotas: are they as high as the hosts at MaxSize need, next to what runs now?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from gpu_constructs.account.preflight.answer import UnansweredError
from gpu_constructs.account.preflight.block_quotas import BLOCK_QUOTA_CALLS, block_questions
from gpu_constructs.account.preflight.check import Ask, Check, Found, Question, Scope, ok, short, unchecked
from gpu_constructs.account.preflight.quota_values import QUOTA_CALLS, quota, raised
from gpu_constructs.account.preflight.running import INSTANCES, ON_DEMAND, Host, own, running
from gpu_constructs.fleet import Pool, Unknown
from gpu_constructs.hardware import accelerated, general, known_type
from gpu_constructs.placement.costs import Counted
from gpu_constructs.placement.reasons import listed
from gpu_constructs.planning.fleet_plan import QuotaNeed

_LETTERS = re.compile(r"[a-z]+")
_NOT_COUNTED = "the hosts that run now are not counted"


def _questions(scope: Scope) -> Iterator[Question]:
    names = {each.name for each in scope.pools}
    for need in scope.plan.quotas:
        if need.quota.place.region == scope.region and names.issuperset(need.pools):
            pools = [each for each in scope.pools if each.name in need.pools]
            read = partial(_read, need, pools, scope.region)
            yield Question(subject=f"{need.quota.group} {need.quota.way}", read=read)
    yield from block_questions(scope)


def _read(need: QuotaNeed, pools: Sequence[Pool], region: str, ask: Ask) -> Found:
    code, value = need.quota.code, quota(ask, need.quota.code)
    has = f"quota {code} is {value:,g} vCPUs{f' ({need.quota.doubt})' if need.quota.doubt else ''}"
    is_open = isinstance(need.maximum, Unknown)
    if is_open and not need.known_maximum:
        return unchecked(f"{has}; {_not_known(need)}")
    try:
        used, others = _in_use(need.quota, pools, ask)
    except UnansweredError as problem:
        text, after, wanted = has, f"; {_NOT_COUNTED}: {problem.why}", need.known_maximum
    else:
        text, after, wanted = f"{has}, {others}", "", need.known_maximum + used
    more = f" without those of {listed(need.unknown_pools)}" if is_open else ""
    text += f", the hosts at MaxSize take {need.known_maximum:,}{more}"
    # What is short without some pools is short with them.
    if wanted > value:
        return short(f"{text}: {wanted - value:,g} short{after}", raised(code, wanted, region))
    return unchecked(f"{text}; {_not_known(need)}{after}") if is_open else ok(text + after)


def _not_known(need: QuotaNeed) -> str:
    return f"how many hosts {listed(need.unknown_pools)} can have is not known"


def _in_use(counted: Counted, pools: Sequence[Pool], ask: Ask) -> tuple[int, str]:
    """How many vCPUs other hosts than those of the pools take of a quota now, and how to say so."""
    hosts, is_whole = running(ask)
    same = [each for each in hosts if _counts(each, counted)]
    mine = list(chain.from_iterable(own(same, each) for each in pools))
    used, here = (sum(each.vcpus for each in found) for found in (same, mine))
    text = f"{'' if is_whole else 'at least '}{used - here:,} in use by others"
    return used - here, f"{text} and {here:,} by these hosts" if here else text


def _counts(host: Host, counted: Counted) -> bool:
    """Whether a host counts against a quota; one of an unknown type by the letters of its family."""
    if host.way != counted.way:
        return False
    known = known_type(host.type)
    if known is None:
        known_types = (*accelerated(), *general())
        return _letters(host.type) in {_letters(each.name) for each in known_types if _of(each.name, counted)}
    return _of(host.type, counted)


def _of(name: str, counted: Counted) -> bool:
    known = known_type(name)
    if known is None or known.quota is None:
        return False
    return counted.code == (known.quota.on_demand_code if counted.way == ON_DEMAND else known.quota.spot_code)


def _letters(name: str) -> str:
    found = _LETTERS.match(name)
    return found[0] if found else ""


QUOTAS = Check(
    id="quotas",
    question="are the quotas, on demand, spot and of Capacity Blocks, as high as the hosts at MaxSize need?",
    reads=(
        "the value that the account has, else the default of AWS, against the vCPUs of the plan and of what runs now"
    ),
    calls=(*QUOTA_CALLS, INSTANCES, *BLOCK_QUOTA_CALLS),
    questions=_questions,
    without="no hosts count against one",
)
"""https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html"""
