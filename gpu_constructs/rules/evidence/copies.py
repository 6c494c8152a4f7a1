"""How many copies of a workload its pools hold, worked out once for all rules that ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from gpu_constructs.facts.aws_limits import may_have_trunk
from gpu_constructs.facts.values import by_identity, dataclass
from gpu_constructs.fleet import UNKNOWN, Pool, PoolKind, Task, Unknown, Workload, known, total
from gpu_constructs.placement.assumptions import Assumption
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import started_by_strategies
from gpu_constructs.placement.proof import Counts, PoolProof, Proof
from gpu_constructs.placement.prover import prove
from gpu_constructs.placement.rollout import copies_beside, copies_beside_all, task_slots
from gpu_constructs.placement.route import Assignment, Destination
from gpu_constructs.rules.finding import Text, Word, joined
from gpu_constructs.rules.rule import Context

WHILE_SPARED = "for a capacity provider that gets no copy while the base of another one takes all"
"""When an error about the hosts of one capacity provider is a warning; see `Destination.is_spared`."""

ON_TRUNK = "each takes a network interface, of which hosts have more where awsvpcTrunking is on"
"""Why there may be room for more copies than there are slots."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Copies:
    """A workload, and how many of its copies its pools hold at their maximum if only daemons run there besides.

    Attributes:
        certain: Copies that each pool certainly holds, in the order of its destinations.
        possible: Copies that each pool holds at most.
    """

    assignment: Assignment
    certain: tuple[int | Unknown, ...]
    possible: tuple[int | Unknown, ...]

    @property
    def workload(self) -> Workload:
        """What keeps the copies running."""
        return self.assignment.workload

    @property
    def task(self) -> Task:
        """What each of them runs."""
        return self.assignment.task

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Where they go."""
        return tuple([each.pool for each in self.assignment.destinations])

    @property
    def pool_names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple([each.name for each in self.pools])

    @property
    def limit(self) -> Text:
        """What limits their hosts, in words."""
        return joined(" and ", map(Word, dict.fromkeys(each.limit for each in self.pools)))

    @property
    def hosts(self) -> int | Unknown:
        """Hosts of all pools at most."""
        return total(each.pool.hosts_at_most for each in self.assignment.destinations)

    @property
    def ports(self) -> frozenset[tuple[int, str]]:
        """Ports that each copy takes of its host."""
        return demand_of(self.task).certain_ports


def counted(context: Context) -> tuple[Copies, ...]:
    """Services that keep a number of copies on pools that have a number of hosts at most.

    ECS Managed Instances launch hosts for all copies. Where not even one copy can run, other rules report it.
    """
    return tuple(
        Copies(
            assignment=each,
            certain=tuple(_slots_of(there, Assumption.WORST) for there in each.destinations),
            possible=tuple(_slots_of(there, Assumption.BEST) for there in each.destinations),
        )
        for each in context.assignments
        if each.workload.is_service
        and each.workload.daemon is False
        and all(one.is_spared for one in each.never)
        and not any(one.pool.kind is PoolKind.MANAGED_INSTANCES for one in each.destinations)
    )


def _on_known_pools(context: Context) -> Sequence[Copies]:
    return [each for each in context.once(counted) if all(one.pool is not None for one in each.workload.strategy)]


def wanted_copies(context: Context) -> Sequence[tuple[Copies, int]]:
    """Those whose pools are all known, with the copies that they certainly keep: a known desired count or more.

    Application Auto Scaling scales a service out to its MinCapacity if it has fewer copies
    (https://docs.aws.amazon.com/autoscaling/application/APIReference/API_RegisterScalableTarget.html).
    """
    found = []
    for each in context.once(_on_known_pools):
        desired, least = each.workload.desired_count, each.workload.min_count
        wanted = max((known(each, otherwise=-1) for each in (desired, least) if each is not None), default=-1)
        if wanted >= 0:
            found.append((each, wanted))
    return found


def most_copies(context: Context) -> Sequence[tuple[Copies, int]]:
    """Those that are scaled above their desired count, with the most copies that scaling asks for."""
    found = []
    for each in context.once(_on_known_pools):
        most = each.workload.max_count
        if not isinstance(most, Unknown) and most is not None and most > known(each.workload.desired_count):
            found.append((each, most))
    return found


def at_maximum(context: Context) -> Proof:
    """Whether all workloads have room together with the most copies that scaling asks for."""
    return prove(context.fleet, counts=Counts.MAXIMUM)


def room_beside_others(copies: Copies, proof: Proof) -> int | Unknown:
    """How many more copies have room besides everything that a proof placed on the same pools.

    Unknown where nothing else is there.
    """
    shared, own = _shared(copies, proof), copies.workload
    if all(name == own.name for each in shared for name in each.workloads):
        return UNKNOWN
    return copies_beside_all(own, shared, proof)


def is_full_beside_others(copies: Copies, proof: Proof) -> bool:
    """Whether no more copies have room besides everything that a proof placed on the same pools."""
    shared = _shared(copies, proof)
    # A pool that has room though each copy is counted wherever it may come has room: nothing has to be packed again.
    if any(known(copies_beside(copies.workload, each), otherwise=0) > 0 for each in shared):
        return False
    return room_beside_others(copies, proof) == 0


def others_beside(copies: Copies, proof: Proof) -> tuple[str, ...]:
    """The names of what else a proof placed on the same pools: thousands where a pool has thousands of services."""
    names = dict.fromkeys(chain.from_iterable([each.workloads for each in _shared(copies, proof)]))
    names.pop(copies.workload.name, None)
    return tuple(names)


def _shared(copies: Copies, proof: Proof) -> list[PoolProof]:
    return [each for each in map(_by_pool(proof).get, copies.pool_names) if each is not None]


@by_identity(maxsize=4)
def _by_pool(proof: Proof) -> dict[str, PoolProof]:
    return {each.pool.name: each for each in proof.pools}


def is_short_of_interfaces(copies: Copies, slots: int) -> bool:
    """Whether more copies would fit if the hosts had the network interfaces that ENI trunking gives them."""
    types = [each for pool in copies.pools for each in pool.instance_types]
    if not copies.task.interfaces or not any(map(may_have_trunk, types)):
        return False
    bridged = replace(copies.task, network_mode="bridge")
    trunked = (replace(each, task=bridged) for each in copies.assignment.destinations)
    return sum(known(slots_on(each, Assumption.BEST)) for each in trunked) > slots


def may_find_host(context: Context, destinations: Iterable[Destination]) -> bool:
    """Whether a task without a strategy may find a host that is larger than the smallest type.

    Managed scaling never starts one for it, but may for tasks with a strategy.
    """
    larger = {each.pool.name for each in destinations if each.fit.answer is False and each.fit.hosts}
    return bool(larger) and not larger.isdisjoint(started_by_strategies(context.fleet))


def _slots_of(there: Destination, assumption: Assumption) -> int | Unknown:
    if there.fit.answer is False:
        return 0
    return UNKNOWN if known(there.pool.max_instances) < 0 else slots_on(there, assumption)


def slots_on(there: Destination, assumption: Assumption) -> int | Unknown:
    """Copies that a pool holds at its maximum if only daemons run there besides."""
    return task_slots(there.task, there.pool, constraints=there.constraints, assumption=assumption, offer=there.offer)
