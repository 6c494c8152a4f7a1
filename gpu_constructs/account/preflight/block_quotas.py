"""Quotas of Capacity Blocks: vCPUs of the blocks of a family that an account may have at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from gpu_constructs.account.preflight.answer import Row
from gpu_constructs.account.preflight.check import Ask, Call, Found, Question, Scope, ok, short, unchecked
from gpu_constructs.account.preflight.quota_values import quota, raised
from gpu_constructs.account.preflight.reserved import RESERVATION_CALLS, is_written, named_in, reserved
from gpu_constructs.account.preflight.shares import Share
from gpu_constructs.fleet import Pool, PurchaseOption, Unknown
from gpu_constructs.hardware import known_type
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
        yield Question(subject=f"Capacity Blocks of {family}", read=partial(_read, family, pools, scope.region))


def _read(family: str, pools: Sequence[Pool], region: str, ask: Ask) -> Found:
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
