"""Which pools a workload reaches, how a strategy splits its copies over them, and what they have beside their daemons.

The base goes to its provider first, the rest by weight; the split does not look at where there is room, and a task that
was meant for a full provider waits for it
(https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html). How a number that
the weights do not divide is rounded is written nowhere, so each provider has a least and a most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from gpu_constructs.facts.budget import work
from gpu_constructs.facts.values import by_identity, dataclass, grouped
from gpu_constructs.fleet import (
    Fleet,
    Pool,
    PoolKind,
    Scheduler,
    StrategyItem,
    Task,
    Unknown,
    Workload,
    known,
)
from gpu_constructs.placement.demand import Demand, demand_of, node_type_of
from gpu_constructs.placement.one_host import on_host
from gpu_constructs.placement.pool_profile import Daemon, PoolProfile, profile_of
from gpu_constructs.placement.reasons import listed

_ROUNDED_UP = 0.1
"""Part of a copy from which on rounding may make it one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Copies that go to one provider.

    Attributes:
        most: Copies at most; None if that is not known.
        rest: The part of a copy that its weight gives it besides `least`.
    """

    item: StrategyItem
    least: int
    most: int | None
    rest: float = 0.0

    @property
    def may_be_rounded_up(self) -> bool:
        """Whether rounding may make its rest a copy; the weights of our fallback orders, 1 beside 1,000, leave less."""
        return self.rest >= _ROUNDED_UP


def readings(strategy: Sequence[StrategyItem], copies: int) -> tuple[tuple[Share, ...], ...]:
    """How copies are split, once with the base of providers with a weight of 0 and once without these providers."""
    weighted = tuple(each for each in strategy if each.weight != 0)
    honoured = split(strategy, copies, copies, counts_every_base=True)
    is_one = not weighted or all(each.weight != 0 or each.base == 0 for each in strategy)
    return (honoured,) if is_one else (honoured, split(weighted, copies, copies))


def split(
    strategy: Sequence[StrategyItem], least: int, most: int | None, *, counts_every_base: bool = False
) -> tuple[Share, ...]:
    """Copies of a service that go to each provider of its strategy."""
    if len(strategy) == 1:  # a single provider takes all of them, its weight of 0 among them
        return (Share(item=strategy[0], least=least, most=most),)
    weights = [item.weight for item in strategy]
    bases = [item.base for item in strategy]
    known_weights = [each for each in weights if not isinstance(each, Unknown)]
    known_bases = [each for each in bases if not isinstance(each, Unknown)]
    total = sum(known_weights)
    is_known = len(known_weights) + len(known_bases) == 2 * len(strategy)
    if not is_known or total <= 0 or min(*known_weights, *known_bases) < 0:
        return tuple(Share(item=item, least=0, most=most) for item in strategy)
    # "Capacity providers with a weight of 0 can't be used to place tasks" and "the base is satisfied first": of a base
    # on such a provider the page says both, so it may come or go.
    of_none = sum(base for base, weight in zip(known_bases, known_weights, strict=True) if not weight)
    doubtful = 0 if counts_every_base else of_none
    base = sum(known_bases)
    return tuple(
        Share(
            item=item,
            least=0 if doubtful and not weight else min(own, least) + max(0, least - base) * weight // total,
            most=None if most is None else min(most, own + -(-max(0, most - base + doubtful) * weight // total)),
            rest=max(0, least - base) * weight % total / total,
        )
        for item, weight, own in zip(strategy, known_weights, known_bases, strict=True)
    )


def spared_by(workload: Workload) -> frozenset[str]:
    """Names of pools that get no copy while there are as many as are wanted, because the base of another comes first.

    Where none is wanted one counts; where the number is only known at deploy time no pool is spared.
    """
    wanted = workload.desired_count
    if isinstance(wanted, Unknown) or not any(each.base for each in workload.strategy):
        return frozenset()
    copies = max(1, wanted, known(workload.min_count or 0))
    shares = [(each.item.pool, each.most) for each in split(workload.strategy, copies, copies)]
    used = {pool.name for pool, most in shares if pool is not None and most != 0}
    return frozenset([pool.name for pool, _ in shares if pool is not None]) - used


@by_identity(maxsize=1 << 12)
def items_with_tasks(strategy: Sequence[StrategyItem]) -> tuple[StrategyItem, ...]:
    """Items of a strategy that may get tasks: without those that have neither weight nor base while others have one."""
    weighted = any(item.weight != 0 for item in strategy)
    return tuple(item for item in strategy if not weighted or item.weight != 0 or item.base != 0)


STEPS_OF_PAIR = 25
"""To hold a workload against a pool, as measured."""

EC2_LAUNCH_TYPES = frozenset({None, "EC2"})
"""Launch types, as written, with which a task goes to hosts of its cluster; EC2 is what stands for none."""


@by_identity(maxsize=4)
def tasks_of(fleet: Fleet) -> tuple[Task, ...]:
    """Every task once, those that only a workload names among them."""
    found = {each.name: each for each in fleet.tasks}
    for workload in fleet.workloads:
        if workload.task is not None:
            found.setdefault(workload.task.name, workload.task)
    return tuple(found.values())


@by_identity(maxsize=4)
def run_by_none(fleet: Fleet) -> tuple[Task, ...]:
    """Tasks that no workload runs, of a job that is submitted with other sizes each of these."""
    run = {each.task.name for each in fleet.workloads if each.task is not None}
    left = [each for each in tasks_of(fleet) if each.name not in run]
    return tuple([each for task in left for each in task.submissions or (task,)])


@by_identity(maxsize=4)
def unjudged(fleet: Fleet) -> Mapping[int, Workload | Task]:
    """Workloads, and tasks that none runs, that are not compared with pools, by their id: there is no work left.

    Whether they fit is unknown. Of what is left each takes as much as it has pools.
    """
    found: dict[int, Workload | Task] = {}
    left = work()
    things: tuple[Workload | Task, ...] = (*fleet.workloads, *run_by_none(fleet))
    for each in things:
        pools = pools_by_hand(fleet, each) if isinstance(each, Task) else each.strategy or pools_of(fleet, each)
        if not left.takes(STEPS_OF_PAIR * len(pools)):
            found[id(each)] = each
    return found


def pools_of(fleet: Fleet, workload: Workload) -> tuple[Pool, ...]:
    """Pools on which a workload's tasks may be placed: those of its strategy, or with a launch type its cluster's."""
    if workload.strategy:
        items = items_with_tasks(workload.strategy)
        return tuple({item.pool.name: item.pool for item in items if item.pool is not None}.values())
    if workload.launch_type not in EC2_LAUNCH_TYPES or isinstance(workload.cluster, Unknown):
        return ()
    found = by_cluster(fleet.pools).get(workload.cluster, ())
    # Every region of an account has a default cluster.
    there = workload.origin
    if workload.cluster is not None or there is None:
        return found
    return tuple([each for each in found if each.origin is None or each.origin.place.may_be(there.place)])


def pools_by_hand(fleet: Fleet, task: Task) -> tuple[Pool, ...]:
    """Pools on which the scheduler of a task that no workload runs may place it.

    AWS Batch places jobs on its compute environments, where it is known on those of their queue, ECS its tasks on all
    other hosts. The nodes of a job go where their type is, if it is anywhere.
    """
    pools = by_scheduler(fleet.pools)[task.scheduler]
    if task.environments is not None:
        pools = tuple([each for each in pools if each.name in task.environments])
    name = node_type_of(task)
    if name is None:
        return pools
    having = [each for each in pools if not each.types_are_known or name in {one.name for one in each.instance_types}]
    return tuple(having) or pools


@by_identity(maxsize=8)
def by_scheduler(pools: tuple[Pool, ...]) -> Mapping[Scheduler, tuple[Pool, ...]]:
    """Those of some pools that each scheduler places tasks on."""
    of_batch = tuple([each for each in pools if each.kind is PoolKind.BATCH])
    others = tuple([each for each in pools if each.kind is not PoolKind.BATCH])
    return {Scheduler.BATCH: of_batch, Scheduler.ECS: others}


@by_identity(maxsize=8)
def by_cluster(pools: tuple[Pool, ...]) -> Mapping[str | Unknown | None, tuple[Pool, ...]]:
    """Those of some pools whose hosts take tasks without a strategy, by the cluster that they join."""
    found = grouped((each.cluster, each) for each in pools if each.runs_launch_type_ec2)
    return {cluster: tuple(those) for cluster, those in found.items()}


_MOST_DAEMONS = 50
"""Daemons of one cluster that are told apart; with more it is not known what they leave."""


def offer_of(fleet: Fleet, pool: Pool, workload: Workload | None = None) -> PoolProfile:
    """What a pool offers to tasks of a workload beside the daemons of the fleet; to daemons what there is without."""
    found = None if workload is not None and workload.daemon is True else _with_daemons(fleet).get(pool.name)
    offer = profile_of(pool) if found is None else found
    apart = "" if workload is None else _apart(workload, pool)
    return _with_interfaces_apart(offer, apart) if apart else offer


@lru_cache(maxsize=1024)
def _with_interfaces_apart(offer: PoolProfile, apart: str) -> PoolProfile:
    return replace(offer, apart=apart)


def _apart(workload: Workload, pool: Pool) -> str:
    """Why no host can attach a network interface of its tasks, which must be in its zone; empty where one may.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-eni.html
    """
    pairs = [(one, other) for one in workload.subnets for other in pool.subnets]
    if not pairs or not all(one.is_apart(other) for one, other in pairs):
        return ""
    zones = tuple(dict.fromkeys(each.zone for each in workload.subnets if each.zone))
    return f"is in no zone of the subnets of its tasks{f' ({listed(zones)})' if zones else ''}"


@by_identity(maxsize=4)
def _with_daemons(fleet: Fleet) -> Mapping[str, PoolProfile]:
    """The offers of pools with daemons, by their names."""
    daemons = [each for each in fleet.workloads if each.daemon is True and id(each) not in unjudged(fleet)]
    if not daemons:
        return {}
    sent = _sent_to(fleet)
    somewhere = {each.name: each for each in fleet.pools if isinstance(each.cluster, Unknown)}
    told = {name for pool in fleet.pools for name, _ in profile_of(pool).attributes}
    found: dict[str, tuple[Pool, list[Daemon]]] = {}
    met = Counter[str | Unknown | None]()
    for each in daemons:
        met[each.cluster] += 1
        if met[each.cluster] > _MOST_DAEMONS:
            continue
        is_known = each.task is not None and met[each.cluster] < _MOST_DAEMONS
        demand = demand_of(each.task, each.constraints) if each.task is not None and is_known else None
        certain, possible = {pool.name: pool for pool in pools_of(fleet, each)}, dict[str, Pool]()
        if isinstance(each.cluster, Unknown):
            possible = {} if each.strategy else somewhere  # what has no cluster that is known may be together
        elif each.cluster is not None and not each.strategy:
            certain |= sent.get(each.cluster, {})
        for name, pool in (possible | certain).items():
            asked = told if demand is not None and demand.expressions else ()
            absent = frozenset(filter(pool.user_data.lacks_attribute, asked))
            daemon = Daemon(name=each.name, demand=demand, is_certain=name in certain, absent=absent)
            found.setdefault(name, (pool, []))[1].append(daemon)
    return {name: beside(profile_of(pool), there) for name, (pool, there) in found.items()}


def _sent_to(fleet: Fleet) -> Mapping[str, Mapping[str, Pool]]:
    """Pools by cluster and name: hosts that a strategy names are in the cluster of the service."""
    found: dict[str, dict[str, Pool]] = {}
    for each in fleet.workloads:
        if isinstance(each.cluster, str):
            found.setdefault(each.cluster, {}).update({pool.name: pool for pool in pools_of(fleet, each)})
    return found


def beside(offer: PoolProfile, daemons: Sequence[Daemon]) -> PoolProfile:
    """An offer without daemons as it is with them; hosts of Managed Instances are made for the tasks that wait."""
    return offer if not daemons or offer.kind is PoolKind.MANAGED_INSTANCES else _with(offer, tuple(daemons))


@lru_cache(maxsize=1024)
def _with(offer: PoolProfile, daemons: tuple[Daemon, ...]) -> PoolProfile:
    return replace(offer, daemons=tuple([_on(offer, each) for each in daemons]))


def _on(offer: PoolProfile, daemon: Daemon) -> Daemon:
    answers = _answers(daemon.demand, offer)
    # Only a call of PutAttributes could still give them, so they keep it off, and nothing certain follows from that.
    expected = _answers(daemon.demand, replace(offer, absent=daemon.absent)) if daemon.absent else answers
    return replace(
        daemon,
        runs_on=frozenset([name for name, answer in answers.items() if answer is True and daemon.is_certain]),
        hardly_on=frozenset([name for name, answer in expected.items() if answer is False]),
        never_on=frozenset([name for name, answer in answers.items() if answer is False]),
    )


def _answers(demand: Demand | None, offer: PoolProfile) -> dict[str, bool | Unknown]:
    if demand is None:
        return {}
    return {each.name: on_host(demand, each, offer).answer for each in offer.instance_types}
