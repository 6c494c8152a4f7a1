"""Whether a workload has room on its hosts, all copies of it and while it is deployed to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpu_constructs.fleet import Fleet, Pool, PoolKind, Task, Unknown, Workload, known, total
from gpu_constructs.placement import Rollout, can_go_on, demand_of, task_slots
from gpu_constructs.placement.readings import RESERVED_PORTS, Reading
from gpu_constructs.placement.strategy import split
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.parts import tasks
from gpu_constructs.rules.rule import Problem, Rule, rule
from gpu_constructs.rules.wording import both, either

__all__ = ["RULES"]

_SERVICES = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-definition-parameters.html"
_STRATEGY = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html"
_PORTS = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html"


@rule(
    "GPU009",
    Severity.WARNING,
    question="is there room for every copy at max_instances?",
    because="copies that fit on no host wait for ever, and so do those that the weights of the strategy give to a "
    "provider that is full while another has room",
    source=_STRATEGY,
)
def enough(fleet: Fleet) -> Iterator[Problem]:
    for workload, wanted, pools in _replicas(fleet):
        slots = _slots(workload, pools, Reading.POSSIBLE)
        if isinstance(slots, Unknown) or _host_for_each(workload, wanted, pools):
            continue
        if wanted > slots:
            yield Problem(
                about=workload,
                message=f"{wanted} tasks are wanted, and {both(pool.name for pool in pools)} hold {slots} at "
                "max_instances: the others wait for ever",
                fix="raise max_instances",
            )
        else:
            yield from _badly_split(workload, wanted)


def _badly_split(workload: Workload, wanted: int) -> Iterator[Problem]:
    for share in split(workload.strategy, wanted, wanted):
        pool = share.item.pool
        slots = None if pool is None else _slots(workload, (pool,), Reading.POSSIBLE)
        if pool is not None and isinstance(slots, int) and share.least > slots:
            yield Problem(
                about=workload,
                message=f"the strategy gives {share.least} of {wanted} tasks to {pool.name}, which holds {slots} at "
                "max_instances: the others wait for ever, for ECS moves none to a provider that has room",
                fix=f"weights in proportion to the room there is, or a higher max_instances of {pool.name}",
            )


@rule(
    "GPU010",
    Severity.WARNING,
    question="can a deployment take its first step on a full fleet?",
    because="a rolling deployment starts a copy above the desired count or stops one below it, within its percentages",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html",
)
def deployable(fleet: Fleet) -> Iterator[Problem]:
    for workload, wanted, pools in _replicas(fleet):
        slots, percent = _slots(workload, pools, Reading.CERTAIN), _percent(workload)
        if isinstance(slots, Unknown) or percent is None or wanted > slots or not _wants_gpu(workload):
            continue
        if not can_go_on(wanted, slots, percent):
            yield Problem(
                about=workload,
                message=f"a deployment could not take its first step: {wanted} tasks run, {slots} fit at "
                f"max_instances, at least {percent.min_healthy_percent} % must keep running and at most "
                f"{percent.max_healthy_percent} % may run{_in_gpus(workload, wanted, pools)}",
                fix="room for a second copy by max_instances, or min_healthy_percent=0, so that the only copy stops "
                "before the new one starts"
                if wanted == 1
                else "raise max_instances or lower min_healthy_percent",
            )


def _in_gpus(workload: Workload, wanted: int, pools: tuple[Pool, ...]) -> str:
    """The smallest step in numbers of GPUs, where they are known."""
    each = None if workload.task is None else workload.task.gpus
    hosts = total(pool.max_instances for pool in pools)
    if each is None or isinstance(each, Unknown) or not each or isinstance(hosts, Unknown):
        return ""
    gpus = sum(known(pool.max_instances) * min(each.gpus for each in pool.instance_types) for pool in pools)
    return f"; one more copy beside them makes {(wanted + 1) * each} GPUs, and the hosts have {gpus}"


@rule(
    "GPU012",
    Severity.WARNING,
    question="is it known whether there is room for every copy?",
    because="a number that only exists at deploy time, or memory near a host's nominal size, leaves it open",
    source=_SERVICES,
)
def known_room(fleet: Fleet) -> Iterator[Problem]:
    for workload in fleet.workloads:
        pools, task, wanted = _pools(fleet, workload), workload.task, workload.desired_count
        if task is None or not task.wants_gpu or workload.daemon is not False or not _are_counted(pools):
            continue
        least, most = (_slots(workload, pools, reading) for reading in (Reading.CERTAIN, Reading.POSSIBLE))
        if isinstance(wanted, Unknown):
            is_open = workload.max_count is None  # else its scaling decides, see GPU081
        elif isinstance(least, Unknown):
            # Else GPU014 says what of the task is not known, or GPU084 that its port is taken.
            is_open = not demand_of(task).unknown and wanted > 0 and not _ports(task) & RESERVED_PORTS
        else:
            is_open = wanted > least and (isinstance(most, Unknown) or wanted <= most)
        if is_open:
            counted = (
                ""
                if isinstance(least, Unknown) or isinstance(wanted, Unknown)
                else (f", so that they hold {least} to {most} copies of the {wanted} that are wanted")
            )
            yield Problem(
                about=workload,
                message="whether the hosts have room is not known: a number only exists at deploy time, or a host may "
                f"register too little memory{counted}",
            )


@rule(
    "GPU083",
    Severity.WARNING,
    question="are there as many hosts as copies that must be on hosts of their own?",
    because="distinctInstance places each task of a service on a different host, so more copies than hosts wait",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html",
)
def distinct(fleet: Fleet) -> Iterator[Problem]:
    for workload, wanted, pools in _replicas(fleet):
        hosts = total(pool.max_instances for pool in pools)
        if workload.distinct_instances and not isinstance(hosts, Unknown) and wanted > hosts:
            yield Problem(
                about=workload,
                message=f"{wanted} tasks must be on hosts of their own (distinctInstance), and "
                f"{both(pool.name for pool in pools)} have {hosts} at most: the others wait for ever",
                fix=f"max_instances for {wanted} hosts, or no distinctInstance",
            )


@rule(
    "GPU084",
    Severity.WARNING,
    question="is there a host with the port free for every copy?",
    because="a static host port is given once on each host, and the agent keeps some for itself",
    source=_PORTS,
)
def static_ports(fleet: Fleet) -> Iterator[Problem]:
    for task in tasks(fleet):
        kept = _ports(task) & RESERVED_PORTS
        if kept:
            yield Problem(
                about=task,
                message=f"{task.name} takes host port {_listed(kept)}, which the agent keeps on every host by default",
                fix="a dynamic host port (0), or another below 32768",
            )
    for workload, wanted, pools in _replicas(fleet):
        ports = frozenset[tuple[int, str]]() if workload.task is None else _ports(workload.task)
        hosts = total(pool.max_instances for pool in pools)
        if ports and not isinstance(hosts, Unknown) and wanted > hosts:
            yield Problem(
                about=workload,
                message=f"{wanted} tasks take host port {_listed(ports)}, which each host has once, and "
                f"{both(pool.name for pool in pools)} have {hosts} hosts at most: the others wait for ever",
                fix="a dynamic host port (0) behind a load balancer, or network mode awsvpc",
            )


@rule(
    "GPU086",
    Severity.ERROR,
    question="does each container of a task take host ports of its own?",
    because="a host port is reserved by the first container that takes it, so the second never starts",
    source=_PORTS,
)
def ports_once(fleet: Fleet) -> Iterator[Problem]:
    for task in tasks(fleet):
        if task.network_mode == "awsvpc" or isinstance(task.network_mode, Unknown):
            continue
        taken = Counter(port for container in task.containers for port in container.host_ports)
        for port in (port for port, times in taken.items() if times > 1):
            names = both(each.name for each in task.containers if port in each.host_ports)
            yield Problem(
                about=task,
                message=f"{names} of {task.name} take host port {_listed((port,))} more than once, and a host has it "
                "once",
                fix="another host port for one of them, or a dynamic one (0)",
            )


def _replicas(fleet: Fleet) -> Iterator[tuple[Workload, int, tuple[Pool, ...]]]:
    """Workloads with a number of copies, and the pools that all of them go to."""
    for workload in fleet.workloads:
        pools, wanted = _pools(fleet, workload), workload.desired_count
        is_known = workload.task is not None and workload.daemon is False and not isinstance(wanted, Unknown)
        if is_known and not isinstance(wanted, Unknown) and _are_counted(pools) and _knows_pools(workload):
            yield workload, wanted, pools


def _pools(fleet: Fleet, workload: Workload) -> tuple[Pool, ...]:
    """As `Fleet.pools_of`; names are told apart faster than pools."""
    if not workload.strategy:
        return fleet.pools_of(workload)
    return tuple({item.pool.name: item.pool for item in workload.strategy if item.pool is not None}.values())


def _are_counted(pools: tuple[Pool, ...]) -> bool:
    """Whether the pools have a number of hosts at most; ECS Managed Instances launches what waits."""
    return bool(pools) and all(pool.kind is not PoolKind.MANAGED_INSTANCES for pool in pools)


def _knows_pools(workload: Workload) -> bool:
    return all(item.pool is not None for item in workload.strategy)


def _host_for_each(workload: Workload, wanted: int, pools: tuple[Pool, ...]) -> bool:
    """Whether each copy needs a host of its own and there are too few, which has rules of its own."""
    hosts = total(pool.max_instances for pool in pools)
    alone = workload.distinct_instances or (workload.task is not None and bool(_ports(workload.task)))
    return alone and not isinstance(hosts, Unknown) and wanted > hosts


def _slots(workload: Workload, pools: tuple[Pool, ...], reading: Reading) -> int | Unknown:
    task = workload.task
    assert task is not None  # noqa: S101 - of `_replicas`
    return total(task_slots(task, pool, constraints=workload.constraints, reading=reading) for pool in pools)


def _wants_gpu(workload: Workload) -> bool:
    return workload.task is not None and workload.task.wants_gpu


def _percent(workload: Workload) -> Rollout | None:
    low = 100 if workload.min_healthy_percent is None else workload.min_healthy_percent
    high = 200 if workload.max_healthy_percent is None else workload.max_healthy_percent
    if isinstance(low, Unknown) or isinstance(high, Unknown):
        return None
    return Rollout(min_healthy_percent=low, max_healthy_percent=high)


def _ports(task: Task) -> frozenset[tuple[int, str]]:
    """Static host ports; in network mode awsvpc a task has all ports to itself."""
    is_host_port = task.network_mode != "awsvpc" and not isinstance(task.network_mode, Unknown)
    return task.host_ports if is_host_port else frozenset()


def _listed(ports: frozenset[tuple[int, str]] | tuple[tuple[int, str], ...]) -> str:
    return either(f"{number}/{protocol}" for number, protocol in sorted(ports))


RULES: tuple[Rule, ...] = (enough, deployable, known_room, distinct, static_ports, ports_once)
