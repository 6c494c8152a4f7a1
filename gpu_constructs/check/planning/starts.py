"""What one start of each job takes and costs, were no other tasks there.

Jobs are what events and state machines run, and jobs of AWS Batch: each that something in the files submits, else the
definition. Hosts are counted while the job may run, not while they boot or are idle.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpu_constructs.check.planning.host_price import Usd, host_price
from gpu_constructs.facts.values import dataclass, grouped
from gpu_constructs.fleet import UNKNOWN, Fleet, Origin, PoolKind, Scheduler, Step, Task, Unknown, Workload
from gpu_constructs.placement.assumptions import Assumption, need_of, rooms_of
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import assignments, by_hand
from gpu_constructs.placement.packing import Room, copies_per_host
from gpu_constructs.placement.reach import unjudged
from gpu_constructs.placement.route import Destination, Route

_Number = int | Unknown | None
_OF_OTHERS = Task(name="", cpu_limit=UNKNOWN, memory_limit_mib=UNKNOWN)  # a task that other files define


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStart:
    """What one start of a job takes; what is not known is None.

    Attributes:
        job: The stack, where it is known, and the name of what runs or submits it, or of its definition.
        pools: Names of the pools that it may run on, on one of them at a time.
        limit_seconds: The time limit of one attempt.
        usd_until_limit: What the hosts cost until then.
        usd_at_most: What they cost in all attempts together, at most.
    """

    job: str
    pools: tuple[str, ...]
    hosts: int | None
    usd_per_hour: Usd | None
    limit_seconds: int | None
    usd_until_limit: Usd | None
    usd_at_most: float | None


def starts_of(fleet: Fleet) -> tuple[JobStart, ...]:
    """What one start of each job takes whose hosts are in the files; none of tasks that are turned off."""
    steps = {each.name: each for each in fleet.steps}
    if any(each.task is None and not each.is_service for each in fleet.workloads):
        jobs = (each if each.task or each.is_service else replace(each, task=_OF_OTHERS) for each in fleet.workloads)
        fleet = replace(fleet, workloads=tuple(jobs))
    found = [
        _start(of.name, of.origin, route, of.desired_count, _seconds(steps.get(of.name), None, 1))
        for of, route in ((each.workload, each) for each in assignments(fleet))
        if not of.is_service and of.desired_count != 0
    ]
    return tuple([each for each in (*found, *_of_batch(fleet, steps)) if each.pools])


def _of_batch(fleet: Fleet, steps: Mapping[str, Step]) -> Iterator[JobStart]:
    jobs: dict[str, Task] = {}
    for task in fleet.tasks:
        # Ranges of nodes are one job, and one of them says what is true of all.
        if task.scheduler is Scheduler.BATCH and (_definition(task) not in jobs or task.node_types):
            jobs[_definition(task)] = task
    submitted = grouped((_definition(each.task), each) for each in fleet.submissions if each.task is not None)
    for name, task in jobs.items():
        runs = {run.name.removesuffix(task.name.removeprefix(name)): run for run in task.submissions}
        for by in submitted.get(name, (None,)):
            called, origin = (name, task.origin) if by is None else (by.name, by.origin)
            copies = 1 if by is None or by.copies is None else by.copies
            run = runs.get(called, task)
            limit = run.attempt_seconds if by is None or by.attempt_seconds is None else by.attempt_seconds
            attempts = run.attempts if by is None or by.attempts is None else by.attempts
            if id(run) not in unjudged(fleet) and "FARGATE" not in run.compatibilities:
                yield _start(called, origin, by_hand(fleet, run), copies, _seconds(steps.get(called), limit, attempts))


def _definition(task: Task) -> str:
    return task.name.partition("[")[0]


def _seconds(step: Step | None, limit: _Number, attempts: _Number) -> tuple[int | None, int | None]:
    """Seconds that one attempt has, and all of them together: a state that starts it has limits and retries as well."""
    if step is None:
        return _least(limit), _product(limit, attempts)
    of_run = _least(step.limit_seconds, _product(limit, attempts))
    one = _least(limit, step.limit_seconds, step.whole_seconds)
    return one, _least(step.whole_seconds, None if step.may_come_back else _product(of_run, step.attempts))


def _least(*seconds: _Number) -> int | None:
    return min([each for each in seconds if isinstance(each, int) and each > 0], default=None)


def _product(seconds: _Number, number: _Number) -> int | None:
    return seconds * number if isinstance(seconds, int) and isinstance(number, int) else None


def _folder(origin: Origin | None) -> str:
    return "" if origin is None or origin.file is None else os.path.dirname(origin.file)


def _start(
    name: str, origin: Origin | None, route: Route, copies: _Number, seconds: tuple[int | None, int | None]
) -> JobStart:
    places = [each for each in route.destinations if not each.is_spared and each.fit.answer is not False]
    # A stage of CDK has an assembly of its own: its jobs are not those of the queues of another stage.
    places = [each for each in places if _folder(each.pool.origin) == _folder(origin)] or places
    prices = [host_price(each.pool) for each in places]
    copies = copies if len(places) == 1 or copies == 1 else None
    hosts = _hosts(route, places[0], copies) if places else None
    amounts = [
        each.usd_per_hour
        for place, price in zip(places, prices, strict=True)
        for each in price.prices
        if any(each.instance_type == landing.name for landing in place.types)
    ]
    per_hour = None
    if hosts is not None and amounts and all(each.prices for each in prices):
        least = None if any(each.is_spot for each in prices) else min(amounts)
        per_hour = Usd(least, max(amounts)).times(hosts)
    one, every = (None if each is None or per_hour is None else per_hour.times(each / 3600) for each in seconds)
    stack = "" if origin is None or origin.stack is None else f"{origin.stack}/"
    return JobStart(
        job=f"{stack}{name.removeprefix(stack)}",
        pools=tuple([each.pool.name for each in places]),
        hosts=hosts,
        usd_per_hour=per_hour,
        limit_seconds=seconds[0],
        usd_until_limit=one,
        usd_at_most=None if every is None else every.most,
    )


def _hosts(route: Route, place: Destination, copies: _Number) -> int | None:
    """Hosts for all copies, of several types those of the smallest; one copy takes one wherever it fits."""
    if route.task.nodes is not None or copies == 1:
        return _least(1 if route.task.nodes is None else route.task.nodes)
    # ECS Managed Instances are made for the tasks that wait, and what AWS Batch chooses by itself may be larger.
    is_open = place.pool.kind is PoolKind.MANAGED_INSTANCES or place.pool.batch_words
    each = UNKNOWN if is_open else per_host(rooms_of(place.offer)[0], route.task, route.workload)
    return -(-copies // each) if isinstance(copies, int) and isinstance(each, int) and each else None


def per_host(room: Room | None, task: Task | None, by: Workload | None) -> int | Unknown:
    """Copies of a task that a host without other tasks takes; unknown where a size is."""
    if room is None or task is None:
        return UNKNOWN
    need = need_of(demand_of(task, () if by is None else by.constraints), room, Assumption.WORST)
    copies = UNKNOWN if need is None else copies_per_host(need, room)
    return copies if isinstance(copies, Unknown) or by is None or not by.distinct_instances else min(copies, 1)
