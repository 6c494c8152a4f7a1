"""Where a task may go, certainly or possibly, and whether it fits there.

`routes_of` answers for one task, `assignments` for all workloads with pools.

ECS gives a task to one provider of its strategy, by base and weight, and never moves it to another
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-capacity-providers.html). Without a strategy a
task goes to any host of the cluster. What was given is the world: where no pool takes a task, a stray host of the fleet
does or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpu_constructs.facts import Vendor
from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS
from gpu_constructs.facts.values import by_identity
from gpu_constructs.fleet import (
    UNKNOWN,
    ComputeEnvironment,
    Fleet,
    Pool,
    StrategyItem,
    Task,
    Unknown,
    Workload,
    all_of,
    known,
)
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.fit import fit_demand
from gpu_constructs.placement.pool_profile import PoolProfile, profile_of
from gpu_constructs.placement.reach import (
    EC2_LAUNCH_TYPES,
    by_cluster,
    by_scheduler,
    items_with_tasks,
    offer_of,
    pools_by_hand,
    pools_of,
    run_by_none,
    spared_by,
    unjudged,
)
from gpu_constructs.placement.reasons import Fit
from gpu_constructs.placement.route import Answer, Assignment, Destination, Elsewhere, Route

_EXTERNAL = "EXTERNAL"
_ELSEWHERE = frozenset({"FARGATE", _EXTERNAL})


@by_identity(maxsize=4)
def assignments(fleet: Fleet) -> tuple[Assignment, ...]:
    """The workloads of a fleet that have pools, in its order."""
    return tuple([each for each in _of_workloads(fleet) if each.destinations])


def routes_of(fleet: Fleet, task: Task) -> tuple[Route, ...]:
    """How a task gets to its hosts: a route for each workload, or one to all pools where none runs it."""
    found = tuple(each for each in _of_workloads(fleet) if each.task.name == task.name)
    return found or tuple([by_hand(fleet, each) for each in task.submissions or (task,)])


@by_identity(maxsize=4)
def all_routes(fleet: Fleet) -> tuple[Route, ...]:
    """The routes of all workloads, and of tasks that none runs as if somebody ran them by hand."""
    beyond = unjudged(fleet)
    return (*_of_workloads(fleet), *(by_hand(fleet, each) for each in run_by_none(fleet) if id(each) not in beyond))


def by_hand(fleet: Fleet, task: Task) -> Route:
    """Where a task may be placed if somebody runs it by hand: on any pool of its scheduler."""
    pools = pools_by_hand(fleet, task)
    demand = demand_of(task)
    destinations = tuple(_destinations(fleet, task, None, tuple([(each, False) for each in pools])))
    strays = by_scheduler(fleet.strays)[task.scheduler] if task.environments is None else ()
    others = tuple(_others(fleet, demand, strays))
    is_closed = bool(pools) and not others and not _ELSEWHERE.intersection(task.compatibilities)
    if is_closed and len(destinations) == 1:
        destinations = (replace(destinations[0], is_certain=True),)
    elsewhere = [_fargate("Fargate", task)] if "FARGATE" in task.compatibilities else []
    return Route(
        task=task,
        destinations=destinations,
        every=False,
        is_closed=is_closed,
        elsewhere=(*elsewhere, *(others if _are_full(destinations) else ())),
    )


def answer_of(routes: Iterable[Route]) -> Answer:
    """Whether a task runs wherever it is sent."""
    return all_of([each.answer for each in routes])


@by_identity(maxsize=4)
def gpu_workloads(fleet: Fleet) -> Mapping[str, tuple[Workload | Task, ...]]:
    """Workloads with a GPU task of which copies certainly go to a pool, by the name of the pool.

    Neither a daemon, which runs wherever it can, nor a workload that may find its hosts elsewhere is among them. GPU
    tasks are that no workload runs, where there is only one pool.
    """
    found: dict[str, list[Workload | Task]] = {}
    for route in all_routes(fleet):
        workload = route.workload
        runs = workload is None or (workload.daemon is False and workload.has_copies)
        if runs and route.task.wants_gpu:
            for each in route.destinations:
                if each.is_certain:
                    found.setdefault(each.pool.name, []).append(workload or route.task)
    return {name: tuple(workloads) for name, workloads in found.items()}


def is_complete(fleet: Fleet, cluster: str | Unknown | None) -> bool:
    """Whether all hosts of a cluster are pools of the fleet."""
    return fleet.is_whole and not _strays_in(fleet, cluster)


@by_identity(maxsize=4)
def started_by_strategies(fleet: Fleet) -> frozenset[str]:
    """Names of pools in which tasks with a strategy start hosts, on which others may find room."""
    return frozenset(
        item.pool.name
        for each in fleet.workloads
        if each.has_copies
        for item in items_with_tasks(each.strategy)
        if item.pool is not None
    )


def unassigned(fleet: Fleet) -> Iterator[Task]:
    """Tasks with accelerators that no workload runs; where one with hosts elsewhere does, nothing says if they fit.

    Those that are `unjudged` are left out.
    """
    beyond = unjudged(fleet)
    return (
        each
        for each in run_by_none(fleet)
        if each.wants_accelerator and "FARGATE" not in each.compatibilities and id(each) not in beyond
    )


def runs_on_fargate(workload: Workload) -> str | None:
    """The words that send tasks of a workload to Fargate; None if none do."""
    if workload.launch_type == "FARGATE":
        return "launch type FARGATE"
    named = [item.provider for item in items_with_tasks(workload.strategy) if item.provider in FARGATE_PROVIDERS]
    return f"capacity provider {named[0]}" if named else None


def environments_by_hand(fleet: Fleet, task: Task) -> tuple[ComputeEnvironment, ...]:
    """Compute environments besides the pools that a job may be placed on."""
    names = task.environments
    return tuple([each for each in fleet.environments if names is None or each.name in names])


def carries_gpus(pool: Pool) -> bool:
    """Whether a pool has hosts with NVIDIA GPUs, or a part of one."""
    return any(each.vendor is Vendor.NVIDIA for each in pool.instance_types)


@by_identity(maxsize=4)
def _of_workloads(fleet: Fleet) -> tuple[Assignment, ...]:
    return tuple([_assignment(fleet, each, each.task) for each in fleet.workloads if each.task is not None])


def _assignment(fleet: Fleet, workload: Workload, task: Task) -> Assignment:
    pools = _pools(fleet, workload)
    by_strategy = bool(workload.strategy)
    others: tuple[Elsewhere, ...] = ()
    if pools and not by_strategy:
        others = tuple(_others(fleet, demand_of(task, workload.constraints), _strays_in(fleet, workload.cluster)))
        pools = tuple([(each, len(pools) == 1 and not others) for each, _ in pools])
    destinations = tuple(_destinations(fleet, task, workload, pools))
    return Assignment(
        workload=workload,
        task=task,
        destinations=destinations,
        every=by_strategy and workload.daemon is not True,
        is_closed=by_strategy or not others,
        elsewhere=(*_elsewhere(fleet, workload, task), *(others if _are_full(destinations) else ())),
    )


def _are_full(destinations: Sequence[Destination]) -> bool:
    """Whether no pool takes a task, so that what other hosts there are decides."""
    return bool(destinations) and all(each.fit.answer is False for each in destinations)


def _others(fleet: Fleet, demand: Demand, strays: Iterable[Pool]) -> Iterator[Elsewhere]:
    """Hosts that may take a task besides the pools that it may come to."""
    if not fleet.is_whole:
        yield Elsewhere(text="a host of other files")
    for each in strays:
        if not each.types_are_known or fit_demand(demand, profile_of(each)).answer is not False:
            yield Elsewhere(text=each.name)


def _strays_in(fleet: Fleet, cluster: str | Unknown | None) -> tuple[Pool, ...]:
    """Hosts that may be in a cluster though no pool says so."""
    strays = by_cluster(fleet.strays)
    named = () if isinstance(cluster, Unknown) else strays.get(cluster, ())
    return (*named, *strays.get(UNKNOWN, ()), *by_cluster(fleet.pools).get(UNKNOWN, ()))


def _elsewhere(fleet: Fleet, workload: Workload, task: Task) -> Iterator[Elsewhere]:
    if id(workload) in unjudged(fleet):
        yield Elsewhere(text="hosts that were not looked at, because there are too many")
        return
    of_fargate, of_other_files = _without_pool(workload.strategy)
    yield from (_fargate(f"capacity provider {each}", task) for each in of_fargate)
    yield from of_other_files
    if workload.launch_type == "FARGATE" or (demand_of(task).gets_accelerator and "FARGATE" in task.compatibilities):
        yield _fargate("Fargate", task)
    elif not workload.strategy and workload.launch_type not in EC2_LAUNCH_TYPES:
        name = workload.launch_type if isinstance(workload.launch_type, str) else "of the deploy"
        shares = task.shares_gpu and name == _EXTERNAL
        why = f"hosts of launch type {_EXTERNAL} cannot share GPUs" if shares else ""
        yield Elsewhere(text=f"a host of launch type {name}", answer=False if shares else UNKNOWN, why=why)
    elif not workload.strategy and not pools_of(fleet, workload):
        yield Elsewhere(text="a host of its cluster")


@by_identity(maxsize=1 << 12)
def _without_pool(strategy: Sequence[StrategyItem]) -> tuple[tuple[str | Unknown, ...], tuple[Elsewhere, ...]]:
    """Providers of Fargate, and those of other files. Once for all services that share the strategy of a cluster."""
    names = dict.fromkeys(item.provider for item in items_with_tasks(strategy) if item.pool is None)
    return tuple(each for each in names if each in FARGATE_PROVIDERS), tuple(
        Elsewhere(text="a capacity provider" if isinstance(each, Unknown) else f"capacity provider {each}")
        for each in names
        if each not in FARGATE_PROVIDERS
    )


def _fargate(text: str, task: Task) -> Elsewhere:
    # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html
    runs = not demand_of(task).gets_accelerator
    return Elsewhere(text=text, answer=runs, why="" if runs else "Fargate has no GPUs")


def _pools(fleet: Fleet, workload: Workload) -> tuple[tuple[Pool, bool], ...]:
    """The pools that may get tasks of a workload, each with whether it certainly does."""
    if id(workload) in unjudged(fleet):
        return ()
    if not workload.strategy:
        return tuple([(each, False) for each in pools_of(fleet, workload)])
    alone = len(workload.strategy) == 1
    found: dict[str, tuple[Pool, bool]] = {}
    for item in items_with_tasks(workload.strategy):
        if item.pool is not None:
            _, before = found.get(item.pool.name, (item.pool, alone))
            found[item.pool.name] = item.pool, before or known(item.weight) > 0 or known(item.base) > 0
    return tuple(found.values())


def _destinations(
    fleet: Fleet, task: Task, workload: Workload | None, pools: tuple[tuple[Pool, bool], ...]
) -> Iterator[Destination]:
    constraints = () if workload is None else workload.constraints
    demand, spared = demand_of(task, constraints), frozenset() if workload is None else spared_by(workload)
    fits: dict[PoolProfile, Fit] = {}
    for pool, is_certain in pools:
        offer = offer_of(fleet, pool, workload)
        fit = fits.get(offer)
        if fit is None:
            fit = fits[offer] = fit_demand(demand, offer)
        yield Destination(
            task=task,
            pool=pool,
            offer=offer,
            constraints=constraints,
            is_certain=is_certain,
            is_spared=pool.name in spared,
            fit=fit,
        )
