"""Custom attributes of hosts, by which tasks are placed: does something give them to the hosts?"""

from __future__ import annotations

from functools import lru_cache

from gpu_constructs.placement.query import And, Attribute, Comparison, In, Matches
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.expressions import excludes, joined, readable
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, warning

_CUSTOM = "ECS_INSTANCE_ATTRIBUTES"


@warning(
    "GPU303",
    question="does something give hosts the custom attributes that tasks are placed by?",
    because="a host has a custom attribute by ECS_INSTANCE_ATTRIBUTES, or by a call of PutAttributes once it runs; "
    "without it a task that asks for it is never placed",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html",
    changes="PlacementConstraints.Expression",
    unless=("GPU042",),
)
def attributes_are_set(context: Context) -> Problems:
    for assignment in context.assignments:
        task, workload = assignment.task, assignment.workload
        pools = [each.pool for each in assignment.destinations]
        if not pools or not assignment.is_closed or not all(each.user_data.complete for each in pools):
            continue
        known = [each.user_data.get(_CUSTOM) or "" for each in pools]
        for about in (task, workload):
            names = dict.fromkeys(each for text in readable(about.constraints) for each in _custom(text))
            unset = [name for name in names if all(isinstance(each, str) and f'"{name}"' not in each for each in known)]
            if unset:
                yield Problem(
                    about=about,
                    message=f"{about.name} asks for hosts with the attribute {and_list(unset)}, and no user data of "
                    f"{and_list(each.name for each in pools)} sets it ({_CUSTOM})",
                    fix=f"{_CUSTOM} in the user data of the hosts, or a constraint on attribute:ecs.instance-type",
                )


@lru_cache(maxsize=4096)
def _custom(expression: str) -> tuple[str, ...]:
    """Attributes of the user's own that every host has to have."""
    query = joined((expression,))
    terms = query.terms if isinstance(query, And) else (query,)
    wanted = [each.subject for each in terms if isinstance(each, (Comparison, In, Matches)) and not excludes(each)]
    return tuple([each.name for each in wanted if isinstance(each, Attribute) and not each.name.startswith("ecs.")])
