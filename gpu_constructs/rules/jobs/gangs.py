"""Gangs on hosts of ECS, whose tasks wait for each other: can all of them run at once, and does waiting end?

ECS starts each task by itself, so what came first waits for the others on hosts that are paid for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from gpu_constructs.errors import brief
from gpu_constructs.facts.aws_limits import MAX_INLINE_ITERATIONS
from gpu_constructs.fleet import (
    UNKNOWN,
    Gang,
    GangMember,
    Pool,
    PoolKind,
    Unknown,
    Workload,
    known,
    total,
)
from gpu_constructs.placement import Assumption
from gpu_constructs.placement.route import Assignment, Destination
from gpu_constructs.rules.change import Ways
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.accelerated import is_accelerated
from gpu_constructs.rules.evidence.copies import limit_of, slots_on
from gpu_constructs.rules.evidence.fixes import larger
from gpu_constructs.rules.evidence.lists import with_verb
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_MANAGED: Final = PoolKind.MANAGED_INSTANCES
_Members: TypeAlias = tuple[tuple[GangMember, Workload], ...]


@error(
    "GPU344",
    question="can all tasks of a gang run at once?",
    because="each task waits for all others, as torch.distributed does for WORLD_SIZE processes: those that run keep "
    "their hosts, and those without a host never start",
    softer="where other hosts may join the cluster",
    source="https://docs.pytorch.org/docs/stable/distributed.html",
    unless=("GPU212",),
)
def runs_at_once(context: Context) -> Problems:
    for gang, members in _gangs(context):
        yield from _few_at_once(gang, members)
        for tasks, assignments in _by_hosts(context, members):
            there: dict[str, list[Destination]] = defaultdict(list)
            for one in (one for each in assignments for one in each.destinations):
                there[one.pool.name].append(one)
            pools = [first.pool for first, *_ in there.values()]
            slots = total(map(_slots, there.values()))
            if isinstance(tasks, int) and isinstance(slots, int) and slots < tasks:
                limit = limit_of(pools)
                yield Problem(
                    about=gang,
                    involves=(*(run for _, run in members), *pools),
                    property_name="MaxSize",
                    value=slots,
                    message=f"{brief(gang.name)} starts {tasks} tasks that wait for each other, and "
                    f"{with_verb(there, 'holds', 'hold')} {slots} at {limit}",
                    fix=f"raise {limit} to room for {tasks}, or fewer tasks",
                    ways=_more_hosts(pools[0], tasks, slots) if len(pools) == 1 else (),
                    is_shortage=True,
                    is_certain=all(each.is_closed for each in assignments),
                )


@warning(
    "GPU345",
    question="does a gang end when one of its tasks fails or gets no host?",
    because="the others wait for it on hosts that are paid for; Step Functions stops them only where their states wait "
    "for them with .sync, and one of these fails or is over its TimeoutSeconds",
    source="https://docs.aws.amazon.com/step-functions/latest/dg/connect-to-resource.html",
    unless=("GPU344",),
)
def ends_together(context: Context) -> Problems:
    for gang, members in _gangs(context):
        leaves = not all(each.waits for each, _ in members)
        if gang.can_stop or (not leaves and all(each.is_limited for each, _ in members)):
            continue
        runs = tuple(run for _, run in members)
        yield Problem(
            about=gang,
            involves=(*runs, *(run.task for run in runs if run.task is not None)),
            property_name="Resource" if leaves else "TimeoutSeconds",
            message=f"when a task of {brief(gang.name)} fails or gets no host, the others wait for it"
            + (", and no state waits for their end" if leaves else " without a time limit"),
            fix="a Resource with .sync, and TimeoutSeconds"
            if leaves
            else "TimeoutSeconds of each state, with the time that hosts need to start",
        )


def _gangs(context: Context) -> Iterator[tuple[Gang, _Members]]:
    """Gangs with GPUs, with what each member runs."""
    runs = {each.name: each for each in context.fleet.workloads} if context.fleet.gangs else {}
    for gang in context.fleet.gangs:
        members = tuple((each, runs[each.workload]) for each in gang.members)
        if any(run.task is not None and is_accelerated(run.task) for _, run in members):
            yield gang, members


def _few_at_once(gang: Gang, members: _Members) -> Problems:
    for member, run in members:
        if member.at_once is not None:
            yield Problem(
                about=gang,
                involves=(run,),
                property_name="MaxConcurrency",
                value=member.at_once,
                message=f"{brief(gang.name)} starts {member.count} tasks that wait for each other, and its map runs "
                f"{member.at_once} at once",
                fix="no MaxConcurrency"
                if known(member.count) <= MAX_INLINE_ITERATIONS
                else f"up to {MAX_INLINE_ITERATIONS} tasks, or a map in DISTRIBUTED mode",
            )


def _by_hosts(context: Context, members: _Members) -> Iterator[tuple[int | Unknown, tuple[Assignment, ...]]]:
    """How many tasks go to the same hosts, with their ways there; none where they may go to hosts of other files."""
    counts = {id(run): member.count for member, run in members}
    by_pools: dict[frozenset[str], list[Assignment]] = {}
    ways = context.once(_ways_of_runs)
    for each in (ways[id(run)] for _, run in members if id(run) in ways):
        pools = tuple(one.pool for one in each.destinations)
        is_known = all(item.pool is not None for item in each.workload.strategy) and not each.never
        if is_known and _MANAGED not in {one.kind for one in pools}:
            by_pools.setdefault(frozenset(one.name for one in pools), []).append(each)
    for found in by_pools.values():
        yield total(counts[id(each.workload)] for each in found), tuple(found)


def _ways_of_runs(context: Context) -> dict[int, Assignment]:
    return {id(each.workload): each for each in context.assignments}


def _slots(there: Iterable[Destination]) -> int | Unknown:
    """Tasks that a pool holds at most, as if all were like the one of which it holds most."""
    slots = [slots_on(each, Assumption.BEST) for each in there]
    return UNKNOWN if any(isinstance(each, Unknown) for each in slots) else max(map(known, slots))


def _more_hosts(pool: Pool, tasks: int, slots: int) -> Ways:
    if isinstance(pool.max_instances, Unknown) or not slots:
        return ()
    hosts = -(-tasks * pool.max_instances // slots)
    return (larger(pool, hosts, hosts + 1),)
