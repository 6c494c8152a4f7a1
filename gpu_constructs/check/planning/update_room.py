"""Whether what is new has room beside what goes: CloudFormation deletes last, once all that is new is stable.

So while a stack is updated, all copies of a service that goes or is replaced run until the others have all theirs.
Only what is certain by the files: the least copies of one stack, and the most hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from gpu_constructs.fleet import Fleet, Origin, Pool, Workload, known
from gpu_constructs.placement.proof import PoolProof
from gpu_constructs.placement.prover import prove

Id: TypeAlias = tuple[str, str]
"""A resource: the name of its stack on the new side, and its logical id."""
_Ids: TypeAlias = Callable[[Origin | None], Id | None]

_WAITS_FOR_COPIES = frozenset({None, "ECS", "CODE_DEPLOY"})


def crowds(
    old: Fleet, new: Fleet, *, was: _Ids, now: _Ids, stays: Callable[[Id], bool]
) -> Iterator[tuple[PoolProof, list[str], list[Workload]]]:
    """Pools that certainly have no room for what comes beside what goes, stack by stack, with the names of what goes.

    `was` and `now` are the ids of what old and new files have at a place, and `stays` says what is the same on both.
    """
    before = {at: each for each in old.workloads if _is_awaited(each) and (at := was(each.origin)) is not None}
    earlier = {at: each for at, each in before.items() if stays(at)}
    left = {at: each for at, each in before.items() if at not in earlier and each.strategy}
    kept = {at: each for each in new.pools if (at := now(each.origin)) is not None and stays(at)}
    pools = {each.name: kept.get(at) for each in old.pools if (at := was(each.origin)) is not None}
    limits = {was(each.origin): each.hosts_at_most for each in old.pools}
    for stack in dict.fromkeys(stack for stack, _ in left):
        goes = {f"{each.name} (old)": each for at, each in left.items() if at[0] == stack}
        here = [(earlier.get(at), each) for each in new.workloads if (at := now(each.origin)) and at[0] == stack]
        come = [each for of, each in here if _is_awaited(each) and not _is_same(of, each)]
        # What others deploy counts for nothing: a stack of its own may be deployed before or after.
        there = [each if of is None else _least(each) for of, each in here if each.daemon or _is_awaited(each)]
        for proof in _crowded(new, there, [_moved(each, name, pools) for name, each in goes.items()]):
            at = now(proof.pool.origin)
            awaited = [each for each in come if each.name in proof.workloads]
            if awaited and at is not None and (at[0] == stack or limits.get(at) == proof.pool.hosts_at_most):
                yield proof, [each.name for name, each in goes.items() if name in proof.workloads], awaited


def _crowded(new: Fleet, there: Sequence[Workload], goes: Sequence[Workload]) -> Iterator[PoolProof]:
    """Pools with room for what is there after the update, and certainly none for what goes beside it."""
    alone = prove(replace(new, workloads=tuple(there)))
    for without, each in zip(alone.pools, prove(replace(new, workloads=(*there, *goes))).pools, strict=True):
        if each.hosts_at_least and each.answer is False and without.answer is not False:
            yield each


def _is_same(before: Workload | None, after: Workload) -> bool:
    """Whether a service that stays has the copies and the task that it had, so that nothing of it is awaited."""
    return before is not None and (before.desired_count, before.task) == (after.desired_count, after.task)


def _is_awaited(workload: Workload) -> bool:
    """Whether CloudFormation waits for its copies."""
    return workload.is_service and workload.daemon is False and workload.deployment_controller in _WAITS_FOR_COPIES


def _least(workload: Workload) -> Workload:
    """A workload with the copies that certainly run: scaling may have left a service at its minimum."""
    least = workload.desired_count if workload.scaling is None else workload.scaling.least or 0
    return replace(workload, desired_count=known(least))


def _moved(workload: Workload, name: str, pools: Mapping[str, Pool | None]) -> Workload:
    """A workload that goes, on the pools as they will be."""
    items = (replace(each, pool=each.pool and pools.get(each.pool.name)) for each in workload.strategy)
    return replace(_least(workload), name=name, strategy=tuple(items))
