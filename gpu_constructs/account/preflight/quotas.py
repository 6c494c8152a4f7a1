"""Quotas: are they as high as the hosts at MaxSize need, next to what runs now?

Hosts are those that the credentials may see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from gpu_constructs.account.answers import Thing, UnansweredError, aws, number, text, thing, things
from gpu_constructs.account.preflight.check import Ask, Check, Question, Result, Scope, odd, ok, short, unchecked
from gpu_constructs.check.planning.fleet_plan import QuotaNeed
from gpu_constructs.facts import accelerated, general, known_type
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Pool, PoolKind, Unknown
from gpu_constructs.placement.costs import Counted
from gpu_constructs.placement.reasons import listed

INSTANCES = "ec2:DescribeInstances"
_APPLIED = "servicequotas:GetServiceQuota"
_DEFAULT = "servicequotas:GetAWSDefaultServiceQuota"

_ON_DEMAND = "on-demand"
_RUNNING = {"Name": "instance-state-name", "Values": ["pending", "running"]}
_PAGE = 1000
# An instance without a lifecycle is on demand. One in a Capacity Block counts against no quota of running instances.
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Instance.html
_WAYS = {"": _ON_DEMAND, "spot": "spot"}
# CloudFormation tags what it makes, and a group passes its tags on to its instances.
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
_STACK, _LOGICAL_ID = "aws:cloudformation:stack-name", "aws:cloudformation:logical-id"
_NOT_COUNTED = "the hosts that run now are not counted"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningHost:
    """An instance that runs, or is about to.

    Attributes:
        vcpus: Its vCPUs: those of its type, else those that it has.
        way: How it was bought, as quotas tell it apart; None where it counts against none.
        stack: The stack that made it or its group; empty where none did.
        logical_id: The logical id of itself or of its group there.
        reservation: The Capacity Reservation that it runs in; empty for none.
    """

    type: str
    vcpus: int
    way: str | None
    stack: str
    logical_id: str
    reservation: str


def running(ask: Ask) -> tuple[tuple[RunningHost, ...], bool]:
    """All hosts of the region that run, and whether these are all that there are."""
    answer = ask(INSTANCES, {"Filters": [_RUNNING], "MaxResults": _PAGE})
    rows = (
        each for reservation in answer.rows("Reservations", whole=False) for each in things(reservation, "Instances")
    )
    return tuple(_host(each) for each in rows), not answer.has_more


def own(hosts: Sequence[RunningHost], pool: Pool) -> tuple[RunningHost, ...]:
    """The hosts of a pool among those that run.

    They are known by the tags of CloudFormation: hosts of AWS Batch and of ECS Managed Instances have none. Where the
    files do not say how the stack is called, hosts with the same logical id are its own if all are of one stack.
    """
    stack = None if pool.origin is None else pool.origin.stack
    found = [each for each in hosts if each.logical_id and each.logical_id == logical_id(pool)]
    if stack is None:
        return tuple(found) if len({each.stack for each in found}) == 1 else ()
    return tuple(each for each in found if each.stack == stack)


def logical_id(pool: Pool) -> str | None:
    """The logical id of what launches the hosts of a pool; None where its hosts have no tag with it."""
    if pool.kind is PoolKind.AUTO_SCALING_GROUP and pool.group.name:
        return pool.group.name.rpartition("/")[2]
    return pool.origin.resource if pool.kind is PoolKind.INSTANCE and pool.origin is not None else None


def _host(row: Thing) -> RunningHost:
    tags = {text(each, "Key"): text(each, "Value") for each in things(row, "Tags")}
    name = text(row, "InstanceType")
    known = known_type(name)
    return RunningHost(
        type=name,
        vcpus=_vcpus(row) if known is None else known.vcpus,
        way=_WAYS.get(text(row, "InstanceLifecycle")),
        stack=tags.get(_STACK, ""),
        logical_id=tags.get(_LOGICAL_ID, ""),
        reservation=text(row, "CapacityReservationId"),
    )


def _vcpus(row: Thing) -> int:
    cores, threads = (number(thing(row, "CpuOptions"), each) for each in ("CoreCount", "ThreadsPerCore"))
    if cores is None or threads is None:
        raise odd(INSTANCES)
    return cores * threads


def _questions(scope: Scope) -> Iterator[Question]:
    names = {each.name for each in scope.pools}
    for need in scope.plan.quotas:
        if need.quota.place.region == scope.region and names.issuperset(need.pools):
            pools = [each for each in scope.pools if each.name in need.pools]
            yield f"{need.quota.group} {need.quota.way}", partial(_quota_found, need, pools, scope.region)


def _quota_found(need: QuotaNeed, pools: Sequence[Pool], region: str, ask: Ask) -> Result:
    code, value = need.quota.code, _quota(ask, need.quota.code)
    has = f"quota {code} is {value:,.0f} vCPUs{f' ({need.quota.doubt})' if need.quota.doubt else ''}"
    is_open = isinstance(need.maximum, Unknown)
    not_known = f"how many hosts {listed(need.unknown_pools)} can have is not known"
    if is_open and not need.known_maximum:
        return unchecked(f"{has}; {not_known}")
    try:
        used, others = _in_use(need.quota, pools, ask)
    except UnansweredError as problem:
        said, after, wanted = has, f"; {_NOT_COUNTED}: {problem.problem}", need.known_maximum
    else:
        said, after, wanted = f"{has}, {others}", "", need.known_maximum + used
    more = f" without those of {listed(need.unknown_pools)}" if is_open else ""
    said += f", the hosts at MaxSize take {need.known_maximum:,}{more}"
    # What is short without some pools is short with them.
    if wanted > value:
        options = {"service_code": "ec2", "quota_code": code, "desired_value": wanted}
        raised = aws("service-quotas", "request-service-quota-increase", region, **options)
        return short(f"{said}: {wanted - value:,.0f} short{after}", raised)
    return unchecked(f"{said}; {not_known}{after}") if is_open else ok(said + after)


def _quota(ask: Ask, code: str) -> float:
    """The quota of the account; the default where the account has none of its own."""
    arguments = {"ServiceCode": "ec2", "QuotaCode": code}
    try:
        answer = ask(_APPLIED, arguments)
    except UnansweredError as problem:
        if problem.code != "NoSuchResourceException":
            raise
        answer = ask(_DEFAULT, arguments)
    value = thing(answer.first, "Quota").get("Value")
    if not isinstance(value, (int, float)):
        raise odd(answer.call)
    return value


def _in_use(counted: Counted, pools: Sequence[Pool], ask: Ask) -> tuple[int, str]:
    """How many vCPUs other hosts than those of the pools take of a quota now, and how to say so."""
    hosts, is_whole = running(ask)
    same = [each for each in hosts if _counts(each, counted)]
    mine = list(chain.from_iterable(own(same, each) for each in pools))
    used, here = (sum(each.vcpus for each in found) for found in (same, mine))
    said = f"{'' if is_whole else 'at least '}{used - here:,} in use by others"
    return used - here, f"{said} and {here:,} by these hosts" if here else said


def _counts(host: RunningHost, counted: Counted) -> bool:
    """Whether a host counts against a quota; one of an unknown type by the letters of its family."""
    if host.way != counted.way:
        return False
    if known_type(host.type) is None:
        known_types = (*accelerated(), *general())
        return _letters(host.type) in {_letters(each.name) for each in known_types if _of(each.name, counted)}
    return _of(host.type, counted)


def _of(name: str, counted: Counted) -> bool:
    known = known_type(name)
    if known is None or known.quota is None:
        return False
    return counted.code == (known.quota.on_demand_code if counted.way == _ON_DEMAND else known.quota.spot_code)


def _letters(name: str) -> str:
    found = re.match(r"[a-z]+", name)
    return found[0] if found else ""


QUOTAS = Check(
    id="quotas",
    question="are the quotas, on demand and spot, as high as the hosts at MaxSize need?",
    calls=(_APPLIED, _DEFAULT, INSTANCES),
    questions=_questions,
    without="no hosts count against one",
)
"""https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html"""
