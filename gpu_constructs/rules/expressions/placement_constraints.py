"""Placement constraints and launch types against the pools of a workload."""

from __future__ import annotations

from gpu_constructs.fleet import Pool, PoolKind, Unknown
from gpu_constructs.placement import DoubtKind, ObstacleKind
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.fixes import provider_for
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_CONSTRAINTS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html"
_SCALING = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html"
_MOST_NAMED = 4


@error(
    "GPU070",
    question="can a host of the pool satisfy the placement constraints?",
    because="if no host matches the constraints, the task remains in a pending state",
    source=_CONSTRAINTS,
    unless=("GPU041", "GPU045"),
)
def satisfied_by_hosts(context: Context) -> Problems:
    for assignment in context.assignments:
        barred = [(each, why) for each in assignment.stuck if (why := each.barred_by(ObstacleKind.CONSTRAINT))]
        enough_left = not assignment.every and len(barred) < len(assignment.destinations)
        if not barred or enough_left:
            continue
        first = barred[0]
        yield Problem(
            about=assignment.workload,
            involves=(assignment.task,),
            message=f"no host of {and_list(each.pool.name for each, _ in barred)} satisfies the placement constraints "
            f"of {assignment.workload.name}: {'; '.join(map(str, first[1][:_MOST_NAMED]))}",
            fix=f"an expression that is true for {and_list(first[0].pool.instance_types)}, or no constraint",
        )


@warning(
    "GPU071",
    question="does every instance type of a pool with managed scaling satisfy the placement constraints?",
    because="managed scaling samples the instance types of the Auto Scaling group, and may not scale out if one does "
    "not satisfy the constraints",
    source=_SCALING,
)
def satisfied_by_all_types(context: Context) -> Problems:
    for assignment in context.assignments:
        for each in assignment.in_question if assignment.every else ():
            for doubt in each.fit.doubts:
                if doubt.kind is DoubtKind.CONSTRAINED_TYPES:
                    yield Problem(
                        about=assignment.workload,
                        message=f"{assignment.task.name} may never start on {each.pool.name}: {doubt}",
                        fix=provider_for(each.fit),
                    )


@warning(
    "GPU072",
    question="do tasks on pools with managed scaling have a capacity provider strategy?",
    because="a task without a capacity provider strategy does not make a capacity provider scale out while it waits",
    source=_SCALING,
)
def makes_hosts_scale_out(context: Context) -> Problems:
    for assignment in context.assignments:
        workload = assignment.workload
        if workload.strategy or workload.daemon is not False:
            continue
        idle = [each.pool for each in assignment.destinations if each.fit.answer is not False and _waits(each.pool)]
        other = f" but launch type {workload.launch_type}" if isinstance(workload.launch_type, str) else ""
        if idle:
            yield Problem(
                about=workload,
                message=f"{workload.name} has no capacity provider strategy{other}, so "
                f"its tasks never make {and_list(each.name for each in idle)} scale out",
                fix=f"a capacity provider strategy with {and_list(_provider(each) for each in idle)}, and no launch "
                "type",
            )


def _waits(pool: Pool) -> bool:
    """Whether managed scaling could launch more hosts than there are."""
    scaled = pool.kind is PoolKind.AUTO_SCALING_GROUP and pool.has_provider and pool.managed_scaling is True
    return scaled and (isinstance(pool.min_instances, Unknown) or pool.min_instances != pool.max_instances)


def _provider(pool: Pool) -> str:
    return pool.provider if isinstance(pool.provider, str) else pool.name
