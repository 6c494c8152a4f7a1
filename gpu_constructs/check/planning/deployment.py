"""What a rolling deployment needs of the hosts: old and new copies run at once.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import UNKNOWN, Fleet, Unknown, Workload, known
from gpu_constructs.placement import PoolProof, can_go_on, copies_beside, may_stop, percentages_of, task_slots

_BOTH_VERSIONS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What a deployment of all services of a pool at once takes.

    Attributes:
        hosts: Hosts while as many old and new copies run as may; unknown where a number is.
        extra: Those of them that are not there at the desired counts.
        beyond: Those of them that are more than there can be: than MaxSize, or than the hosts of a group that nothing
            scales.
        stuck: Services that cannot take the first step of a deployment.
        too_large: Services whose versions run side by side, and have no room for that even with the pool to themselves.
        interrupted: Services whose only copy stops before the new one starts.
        stops_first: Whether old copies of some service may stop before new ones start, where there are too few hosts.
        is_scaled: Whether there can be as many hosts as MaxSize.
    """

    hosts: int | Unknown
    extra: int | Unknown
    beyond: int | Unknown
    stuck: tuple[str, ...] = ()
    too_large: tuple[str, ...] = ()
    interrupted: tuple[str, ...] = ()
    stops_first: bool = True
    is_scaled: bool = True


def with_least_copies(fleet: Fleet) -> Fleet:
    """The fleet with the copies that services certainly keep: the desired count, and no fewer than scaling allows."""
    return _with_copies(fleet, _least_copies)


def while_deploying(fleet: Fleet) -> Fleet:
    """The fleet with as many copies as run at once while all services are deployed, if there is room."""
    return _with_copies(fleet, _copies_to_deploy)


def deployment_of(
    at_rest: PoolProof,
    during: PoolProof,
    hosts: int | Unknown,
    most: int | Unknown,
    services: Sequence[Workload],
    *,
    is_scaled: bool,
) -> Deployment:
    """What a deployment takes.

    Args:
        at_rest: The pool with everything that runs there.
        during: The same with `while_deploying`.
        hosts: Its hosts at the desired counts.
        most: Its hosts at MaxSize.
        services: Services with copies on it.
        is_scaled: Whether anything starts hosts for them.
    """
    most = most if is_scaled else hosts
    needed, full = during.hosts_needed, replace(during, pool=replace(during.pool, max_instances=most))
    twice = tuple(each for each in services if each.runs_twice_to_deploy)
    stuck = tuple(each.name for each in services if _is_stuck(each, full) or _is_hemmed_in(each, at_rest, most))
    is_open = any(each not in twice and percentages_of(each) is None for each in services)
    is_known = not is_open and not isinstance(needed, Unknown) and not isinstance(hosts, Unknown)
    return Deployment(
        hosts=needed if is_known else UNKNOWN,
        extra=max(0, known(needed) - known(hosts)) if is_known else UNKNOWN,
        beyond=max(0, known(needed) - most) if is_known and not isinstance(most, Unknown) else UNKNOWN,
        stuck=stuck,
        too_large=tuple(each.name for each in twice if _is_too_large(each, full)),
        interrupted=tuple(each.name for each in services if each not in twice and _is_interrupted(each)),
        stops_first=any(each not in twice and _may_stop(each) for each in services),
        is_scaled=is_scaled,
    )


def _with_copies(fleet: Fleet, copies: Callable[[Workload], int | Unknown]) -> Fleet:
    """The fleet with other desired counts; the same object where all stay as they are."""
    workloads = tuple([_with_count(each, copies(each)) if each.is_service else each for each in fleet.workloads])
    same = all(new is old for new, old in zip(workloads, fleet.workloads, strict=True))
    return fleet if same else replace(fleet, workloads=workloads)


def _with_count(workload: Workload, count: int | Unknown) -> Workload:
    return workload if count == workload.desired_count else replace(workload, desired_count=count)


def _least_copies(workload: Workload) -> int | Unknown:
    desired, least = workload.desired_count, workload.min_count
    if least is None or isinstance(least, Unknown):
        return desired
    return least if isinstance(desired, Unknown) else max(desired, least)


def _copies_to_deploy(workload: Workload) -> int | Unknown:
    wanted, percent = workload.desired_count, percentages_of(workload)
    if workload.daemon is not False or isinstance(wanted, Unknown):
        return wanted
    if workload.runs_twice_to_deploy:
        return _BOTH_VERSIONS * wanted
    return UNKNOWN if percent is None else max(wanted, wanted * percent.max_healthy_percent // 100)


def _is_stuck(workload: Workload, there: PoolProof) -> bool:
    """Whether a service could not start or stop a copy even if it had its pool to itself."""
    wanted, percent = workload.desired_count, percentages_of(workload)
    if workload.runs_twice_to_deploy or isinstance(wanted, Unknown) or percent is None:
        return False
    slots = _slots(workload, there)
    may_start = wanted * percent.max_healthy_percent // 100  # with room for as many as there may be
    return not can_go_on(wanted, may_start if isinstance(slots, Unknown) else slots, percent)


def _is_hemmed_in(workload: Workload, at_rest: PoolProof, most: int | Unknown) -> bool:
    """Whether a service may stop no copy, and has no room for one more beside the others of its only pool."""
    is_alone = len(at_rest.workloads) <= 1 or len(workload.strategy) != 1
    if is_alone or workload.runs_twice_to_deploy or _may_stop(workload) or not workload.desired_count:
        return False
    return copies_beside(workload, at_rest, most) == 0


def _may_stop(workload: Workload) -> bool:
    wanted, percent = workload.desired_count, percentages_of(workload)
    return isinstance(wanted, Unknown) or percent is None or may_stop(wanted, percent)


def _is_interrupted(workload: Workload) -> bool:
    """Whether a deployment has no copy of it running for a while."""
    percent = percentages_of(workload)
    alone = workload.desired_count == 1 and percent is not None and may_stop(1, percent)
    return alone and percent is not None and percent.max_healthy_percent < _BOTH_VERSIONS * MAX_PERCENT


def _is_too_large(workload: Workload, there: PoolProof) -> bool:
    """Whether both versions of a service have no room together even if it had its pool to itself."""
    wanted, slots = workload.desired_count, _slots(workload, there)
    return not isinstance(wanted, Unknown) and not isinstance(slots, Unknown) and slots < _BOTH_VERSIONS * wanted


def _slots(workload: Workload, there: PoolProof) -> int | Unknown:
    """Copies that have room where all of them go to one pool."""
    if workload.task is None or len(workload.strategy) != 1:
        return UNKNOWN
    return task_slots(workload.task, there.pool, constraints=workload.constraints, offer=there.offer)
