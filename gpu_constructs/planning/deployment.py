"""What a rolling deployment needs of the hosts: old and new copies run at once.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpu_constructs.fleet import UNKNOWN, Fleet, Unknown, Workload
from gpu_constructs.placement import PoolProof, can_go_on, percentages_of, task_slots
from gpu_constructs.values import dataclass

__all__ = ["Deployment", "deployment_of", "while_deploying", "with_least_copies"]

_BOTH_VERSIONS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What a deployment of all services of a pool at once takes.

    Attributes:
        hosts: Hosts while as many old and new copies run as may; unknown where a number is.
        extra: Those of them that are not there at the desired counts.
        beyond: Those of them that are more than MaxSize, so that old copies stop before new ones start.
        stuck: Services that cannot take the first step of a deployment at MaxSize, as GPU010 says.
    """

    hosts: int | Unknown
    extra: int | Unknown
    beyond: int | Unknown
    stuck: tuple[str, ...] = ()


def with_least_copies(fleet: Fleet) -> Fleet:
    """The fleet with the copies that services certainly keep: the desired count, and no fewer than scaling allows."""
    return _with_copies(fleet, _least_copies)


def while_deploying(fleet: Fleet) -> Fleet:
    """The fleet with as many copies as run at once while all services are deployed, if there is room."""
    return _with_copies(fleet, _copies_to_deploy)


def deployment_of(during: PoolProof, hosts: int | Unknown, services: Sequence[Workload]) -> Deployment:
    """What a deployment takes.

    Args:
        during: The pool with `while_deploying`.
        hosts: Its hosts at the desired counts.
        services: Services with copies on it.
    """
    needed, most = during.hosts_needed, during.pool.max_instances
    is_open = any(not each.runs_twice_to_deploy and percentages_of(each) is None for each in services)
    if is_open or isinstance(needed, Unknown) or isinstance(hosts, Unknown):
        return Deployment(hosts=UNKNOWN, extra=UNKNOWN, beyond=UNKNOWN)
    beyond = UNKNOWN if isinstance(most, Unknown) else max(0, needed - most)
    return Deployment(
        hosts=needed,
        extra=max(0, needed - hosts),
        beyond=beyond,
        stuck=tuple(each.name for each in services if beyond and _is_stuck(each, during)),
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


def _is_stuck(workload: Workload, proof: PoolProof) -> bool:
    """Whether a service could not start or stop a copy even if it had its pool to itself."""
    wanted, percent = workload.desired_count, percentages_of(workload)
    if workload.runs_twice_to_deploy or len(workload.strategy) != 1:
        return False
    if workload.task is None or isinstance(wanted, Unknown) or percent is None:
        return False
    slots = task_slots(workload.task, proof.pool, constraints=workload.constraints)
    return not isinstance(slots, Unknown) and not can_go_on(wanted, slots, percent)
