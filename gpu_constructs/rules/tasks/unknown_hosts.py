"""GPU tasks on instance types of which nothing is known."""

from __future__ import annotations

from gpu_constructs.fleet import Pool, PoolKind
from gpu_constructs.hardware import RECORDED
from gpu_constructs.hardware.catalogue import how_to_declare
from gpu_constructs.hardware.names import name_problem
from gpu_constructs.placement.route import Route
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list, or_list, with_verb
from gpu_constructs.rules.rule import Problem, Problems, error


@error(
    "GPU305",
    question="are the instance types of hosts for GPU tasks known?",
    because="nothing says whether a type that is newer than the catalogue, or misspelt, has a GPU, so nothing about "
    "the task can be proved",
    softer="where hosts of other files may take the task",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html",
    unless=("GPU050",),
)
def on_known_hosts(context: Context) -> Problems:
    waiting: dict[str, tuple[Pool, list[Route]]] = {}
    for route in context.routed(lambda task: task.wants_gpu):
        unknown = [each.pool for each in route.destinations if _is_unknown(each.pool)]
        if route.every or len(unknown) == len(route.destinations):
            for pool in unknown:
                waiting.setdefault(pool.name, (pool, []))[1].append(route)
    for pool, routes in waiting.values():
        names = pool.unknown_type_names
        tasks = dict.fromkeys(each.task.name for each in routes)
        yield Problem(
            about=pool,
            message=f"{with_verb(tasks, 'asks', 'ask')} for GPUs on hosts of {pool.name}, and the catalogue of "
            f"{RECORDED} does not have {or_list(names)}",
            fix=f"a type of the catalogue, or, {how_to_declare(names[0])}",
            property_name="InstanceType",
            value=and_list(names),
            is_certain=any(each.every or each.is_closed for each in routes),
            involves=tuple(each.sender for each in routes),
        )


def _is_unknown(pool: Pool) -> bool:
    """Whether all its types have names that a type can have, and nothing else is known of them."""
    names = pool.unknown_type_names
    return (
        bool(names)
        and not pool.instance_types
        and not pool.has_unknown_types
        and pool.kind is not PoolKind.BATCH  # names of families, and words for whatever AWS Batch prefers
        and not any(map(name_problem, names))
    )
