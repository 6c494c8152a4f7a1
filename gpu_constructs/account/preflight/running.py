"""Hosts that run now, those of the pools themselves and all others, and what several pools have to share.

Hosts are those that the credentials may see. Things such as subnets are counted once for all pools that use them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpu_constructs.account.preflight.check import Ask, Call, Row
from gpu_constructs.facts import known_type
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Pool, PoolKind, Unknown
from gpu_constructs.placement.reasons import listed

INSTANCES = Call(service="ec2", operation="DescribeInstances")
ON_DEMAND, SPOT = "on-demand", "spot"

_RUNNING = {"Name": "instance-state-name", "Values": ["pending", "running"]}
_PAGE = 1000
# An instance without a lifecycle is on demand. One in a Capacity Block counts against no quota of running instances.
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Instance.html
_WAYS = {"": ON_DEMAND, "spot": SPOT}
# CloudFormation tags what it makes, and a group passes its tags on to its instances.
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
_STACK, _LOGICAL_ID = "aws:cloudformation:stack-name", "aws:cloudformation:logical-id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """An instance that runs, or is about to.

    Attributes:
        type: Its instance type.
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


def running(ask: Ask) -> tuple[tuple[Host, ...], bool]:
    """All hosts of the region that run, and whether these are all that there are.

    Raises:
        UnansweredError: AWS did not answer.
    """
    answer = ask(INSTANCES, {"Filters": [_RUNNING], "MaxResults": _PAGE})
    rows = (each for reservation in answer.rows("Reservations", whole=False) for each in reservation.rows("Instances"))
    return tuple(_host(each) for each in rows), not answer.has_more


def own(hosts: Sequence[Host], pool: Pool) -> tuple[Host, ...]:
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


def _host(row: Row) -> Host:
    tags = {each.text("Key"): each.text("Value") for each in row.rows("Tags")}
    name = row.text("InstanceType")
    known = known_type(name)
    return Host(
        type=name,
        vcpus=_vcpus(row) if known is None else known.vcpus,
        way=_WAYS.get(row.text("InstanceLifecycle")),
        stack=tags.get(_STACK, ""),
        logical_id=tags.get(_LOGICAL_ID, ""),
        reservation=row.text("CapacityReservationId"),
    )


def _vcpus(row: Row) -> int:
    options = row.row("CpuOptions")
    return int(options.number("CoreCount") * options.number("ThreadsPerCore"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Things, and the pools that have no others.

    Attributes:
        ids: The ids of the things; they have to be enough for all of these pools.
        pools: The pools.
    """

    ids: frozenset[str]
    pools: tuple[Pool, ...]

    @property
    def unknown(self) -> tuple[str, ...]:
        """The pools of which it is not known how many hosts they can have."""
        return tuple(each.name for each in self.pools if isinstance(each.max_instances, Unknown))

    @property
    def hosts(self) -> int:
        """Hosts at MaxSize of all pools of which that is known."""
        return sum(0 if isinstance(each.max_instances, Unknown) else each.max_instances for each in self.pools)

    @property
    def names(self) -> str:
        """Whose they are, such as `` of A and B``; empty for one pool."""
        return "" if len(self.pools) == 1 else f" of {listed([each.name for each in self.pools])}"


def shares(own: Iterable[str], used: Sequence[tuple[Pool, frozenset[str]]]) -> Iterator[Share]:
    """What a pool has for itself, then with all pools that share something with it, or with one that does.

    Args:
        own: What it can use.
        used: All pools with what they can use, this one among them.
    """
    ids, before = frozenset(own), frozenset[str]()
    found = ids
    while found != before:
        before = found
        found = found.union(*(each for _, each in used if each & found))
    for of in dict.fromkeys((ids, found)):
        yield Share(ids=of, pools=tuple(pool for pool, each in used if each and each <= of))
