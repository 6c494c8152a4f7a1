"""Quotas: are they as high as the hosts at MaxSize need, next to what runs now?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from gpu_constructs.account.preflight.check import (
    Ask,
    Call,
    Check,
    Found,
    Question,
    Row,
    Scope,
    UnansweredError,
    aws,
    ok,
    short,
    unchecked,
)
from gpu_constructs.account.preflight.reservations import RESERVATION_CALLS, is_written, named_in, reserved
from gpu_constructs.account.preflight.running import INSTANCES, ON_DEMAND, Host, Share, own, running
from gpu_constructs.check.planning.fleet_plan import QuotaNeed
from gpu_constructs.facts import accelerated, general, known_type
from gpu_constructs.fleet import Pool, PurchaseOption, Unknown
from gpu_constructs.placement.costs import Counted
from gpu_constructs.placement.reasons import listed

_ALL = Call(service="service-quotas", operation="ListServiceQuotas")
BLOCK_QUOTA_CALLS = (_ALL, *RESERVATION_CALLS)

_CODES: Mapping[str, str] = {
    "p4d": "L-2C8F52B3",
    "p4de": "L-CFF3E941",
    "p5": "L-DA6814F2",
    "p5e": "L-C45F30BC",
    "p5en": "L-4F9BB70B",
    "p6-b200": "L-8B23CEF3",
    "trn1": "L-2E30FD7D",
    "trn2": "L-64569A79",
}
"""Codes of the quotas by family; the code of another family is that of the quota with its name.

They limit the vCPUs of Capacity Blocks that are active at the same time, and are 0 by default: section "Capacity Blocks
quotas" of https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html, read 2026-11-22. The codes of
p4de and p6-b200 are from two public repositories that list those of Service Quotas, read on the same day. There are
quotas of an organization as well, which the credentials of one account cannot ask about.
"""

_NAME = "Concurrent {} Capacity Blocks per account"
_BLOCK = "capacity-block"
_GONE = {"cancelled", "cancelling", "expired", "failed", "payment-failed", "unavailable", "unsupported"}


def block_questions(scope: Scope) -> Iterator[Question]:
    """A question for each family of which pools want Capacity Blocks."""
    families: dict[str, list[Pool]] = {}
    for pool in scope.pools:
        if pool.bought.option is PurchaseOption.CAPACITY_BLOCK and pool.instance_types:
            families.setdefault(_family(pool.instance_types[0].name), []).append(pool)
    for family, pools in families.items():
        yield Question(
            subject=f"Capacity Blocks of {family}", read=partial(_block_quota_found, family, pools, scope.region)
        )


def _block_quota_found(family: str, pools: Sequence[Pool], region: str, ask: Ask) -> Found:
    code = _CODES.get(family) or _code_by_name(family, ask)
    if not code:
        return unchecked(f"Service Quotas lists no quota {_NAME.format(family)}")
    of = Share(ids=frozenset(), pools=tuple(pools))
    value, wanted = quota(ask, code), sum(map(_vcpus, pools))
    text, after = f"quota {code} is {value:,g} vCPUs", ""
    if of.unknown:
        after = f"; how many hosts {listed(of.unknown)} can have is not known"
    blocks = {each.text("CapacityReservationId"): each for each in reserved(ask) if _is_block(each, family)}
    mine = sum(_vcpus_of(each) for name, each in blocks.items() if name in _named(pools, ask))
    others = sum(map(_vcpus_of, blocks.values())) - mine
    text += f", {others:,} in other Capacity Blocks, the hosts at MaxSize take {wanted:,}"
    text += f", {mine:,} in theirs" if mine else ""
    # What is bought has passed the quota.
    if wanted > mine and others + wanted > value:
        return short(f"{text}: {others + wanted - value:,g} short{after}", raised(code, others + wanted, region))
    return unchecked(text + after) if after else ok(text)


def _family(name: str) -> str:
    return name.partition(".")[0]


def _code_by_name(family: str, ask: Ask) -> str:
    """The code of a quota that has the name of its family; empty where there is none."""
    name = _NAME.format(family).casefold()
    rows = ask(_ALL, {"ServiceCode": "ec2"}).rows("Quotas")
    return next((each.text("QuotaCode") for each in rows if each.text("QuotaName").casefold() == name), "")


def _vcpus(pool: Pool) -> int:
    """VCPUs of its hosts at MaxSize, as far as that is known."""
    hosts = pool.max_instances
    return 0 if isinstance(hosts, Unknown) else hosts * pool.instance_types[0].vcpus


def _is_block(row: Row, family: str) -> bool:
    """Whether it is a Capacity Block of a family that counts, now or when it begins."""
    is_of_family = row.text("ReservationType") == _BLOCK and _family(row.text("InstanceType")) == family
    return is_of_family and row.text("State") not in _GONE


def _vcpus_of(row: Row) -> int:
    known = known_type(row.text("InstanceType"))
    return 0 if known is None else int(row.number("TotalInstanceCount")) * known.vcpus


def _named(pools: Sequence[Pool], ask: Ask) -> set[str]:
    """The ids of the blocks that the pools themselves name."""
    named = [each.bought.reservation for each in pools]
    rows = reserved(ask)
    found = (named_in(rows, each, ask) for each in named if each is not None and is_written(each))
    return {row.text("CapacityReservationId") for of_pool in found for row in of_pool}


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


_LETTERS = re.compile(r"[a-z]+")
_NOT_COUNTED = "the hosts that run now are not counted"


def _quota_questions(scope: Scope) -> Iterator[Question]:
    names = {each.name for each in scope.pools}
    for need in scope.plan.quotas:
        if need.quota.place.region == scope.region and names.issuperset(need.pools):
            pools = [each for each in scope.pools if each.name in need.pools]
            read = partial(_quota_found, need, pools, scope.region)
            yield Question(subject=f"{need.quota.group} {need.quota.way}", read=read)
    yield from block_questions(scope)


def _quota_found(need: QuotaNeed, pools: Sequence[Pool], region: str, ask: Ask) -> Found:
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
    questions=_quota_questions,
    without="no hosts count against one",
)
"""https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html"""
