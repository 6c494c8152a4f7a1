"""How far a rolling deployment can go with the GPUs there are.

Arithmetic of minimumHealthyPercent and maximumPercent:
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_constructs.fleet import UNKNOWN, PlacementConstraint, Pool, Task, Unknown, Workload, known
from gpu_constructs.hardware.aws_limits import DEFAULT_MAX_HEALTHY_PERCENT
from gpu_constructs.placement.assumptions import Assumption, need_of, rooms_of
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.fit import beside
from gpu_constructs.placement.packing import copies_per_host
from gpu_constructs.placement.pool_profile import Daemon, profile_of
from gpu_constructs.values import dataclass

_DEFAULT_MIN_HEALTHY_PERCENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """The two percentages of a rolling deployment.

    Attributes:
        min_healthy_percent: Tasks that keep running, as a percentage of the desired count, rounded up by ECS.
        max_healthy_percent: Tasks that may run at once, rounded down by ECS.
    """

    min_healthy_percent: int
    max_healthy_percent: int


def task_slots(
    task: Task,
    pool: Pool,
    *,
    constraints: Sequence[PlacementConstraint] = (),
    assumption: Assumption = Assumption.WORST,
    daemons: Sequence[Daemon] = (),
) -> int | Unknown:
    """How many copies of a task a pool holds when it is at its maximum and runs nothing else.

    Args:
        task: What is to run.
        pool: Where.
        constraints: Placement constraints besides the task's own, such as those of its service.
        assumption: Whether what hosts are certain to have counts, or all that they may have.
        daemons: What runs on each host besides.

    Returns:
        Unknown where it is not known, or may be none.
    """
    worst, best = rooms_of(beside(profile_of(pool), daemons))
    room = worst if assumption is Assumption.WORST else best
    if room is None or not pool.types_are_known or isinstance(pool.hosts_at_most, Unknown):
        return UNKNOWN
    need = need_of(demand_of(task, constraints), room, assumption)
    each = 0 if need is None else copies_per_host(need, room)
    if any(constraint.type == "distinctInstance" for constraint in constraints):
        each = min(each, 1)
    # None by what a host is expected to register: it may register more.
    return max(0, pool.hosts_at_most) * each if each else UNKNOWN


def percentages_of(workload: Workload) -> Rollout | None:
    """The percentages of a service, those of ECS where none are written; None where one is not known."""
    low, high = workload.min_healthy_percent, workload.max_healthy_percent
    if isinstance(low, Unknown) or isinstance(high, Unknown):
        return None
    return Rollout(
        min_healthy_percent=_DEFAULT_MIN_HEALTHY_PERCENT if low is None else low,
        max_healthy_percent=DEFAULT_MAX_HEALTHY_PERCENT if high is None else high,
    )


def can_go_on(desired_count: int, slots: int, percent: Rollout) -> bool:
    """Whether a rolling deployment on a fleet of this size ever takes its first step."""
    may_start = min(desired_count * percent.max_healthy_percent // 100, slots) > desired_count
    may_stop = -(-desired_count * percent.min_healthy_percent // 100) < desired_count
    return may_start or may_stop or desired_count == 0


def rollout(desired_count: int | Unknown, slots: int | Unknown) -> Rollout:
    """The percentages that let a deployment go on.

    With a free slot, new tasks start before old ones stop. Without one that would wait forever, so one task stops
    first: on a fleet that is full, a deployment of one task is a short outage, and no setting changes that.
    """
    if isinstance(desired_count, Unknown):
        # Half of two or more tasks can stop; one task alone must be able to where there is room for one only.
        return Rollout(min_healthy_percent=0 if slots == 1 else 50, max_healthy_percent=200)
    if desired_count == 0:
        return Rollout(min_healthy_percent=0, max_healthy_percent=200)
    one_less = percent_for_one_less(desired_count)
    if isinstance(slots, Unknown):
        return Rollout(min_healthy_percent=one_less, max_healthy_percent=200)
    if slots <= desired_count:
        return Rollout(min_healthy_percent=one_less, max_healthy_percent=100)
    # Rounded up, because ECS rounds the number of tasks down.
    return Rollout(min_healthy_percent=100, max_healthy_percent=min(200, -(-100 * slots // desired_count)))


def rollout_percentages(
    desired_count: int | Unknown, slots: int | Unknown, low: int | Unknown | None, high: int | Unknown | None
) -> tuple[int, int]:
    """The percentages where a user gave one or none: what was given stays, and the other goes with it.

    Args:
        desired_count: Tasks of the service.
        slots: Tasks that fit on all hosts at most.
        low: The minimum that was given; None if it was not.
        high: The maximum that was given; None if it was not.

    Returns:
        Minimum and maximum; of one that is unknown any number, since what was given is used.
    """
    default = rollout(desired_count, slots)
    most = default.max_healthy_percent if high is None else known(high, otherwise=DEFAULT_MAX_HEALTHY_PERCENT)
    least = default.min_healthy_percent if low is None else known(low)
    if low is None and high is not None:
        # Where the maximum leaves no whole task more, one has to stop first.
        whole = isinstance(desired_count, Unknown) or desired_count * most // 100 > desired_count
        fewer = 0 if isinstance(desired_count, Unknown) else percent_for_one_less(desired_count)
        least = least if whole and least < most else min(fewer, most - 1)
    if high is None and least >= most:
        most = DEFAULT_MAX_HEALTHY_PERCENT
    return least, most


def percent_for_one_less(desired_count: int) -> int:
    """The percentage of a desired count that lets one task stop, and no more than one; 0 for none."""
    return 100 * (desired_count - 1) // desired_count if desired_count else 0
