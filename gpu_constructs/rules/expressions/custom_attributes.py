"""Custom attributes of hosts, by which tasks are placed: does something give them to the hosts?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import INSTANCE_ATTRIBUTES, Pool, Task, Workload
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.expressions import readable, required_attributes
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, warning

_OF_ECS = ("ecs.", "com.amazonaws.ecs.")
"""Beginnings of attributes that ECS applies or its agent registers, such as ``ecs.capability.task-eni``.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html
"""


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
        pools = [each.pool for each in assignment.destinations]
        if not pools or not assignment.is_closed:
            continue
        for about in (assignment.task, assignment.workload):
            lacking = {name: [each for each in pools if _lacks(each, name)] for name in _custom_attributes(about)}
            # Where a strategy gives each of them copies of its own, those of one wait, whatever the others have.
            unset = [name for name, each in lacking.items() if each and (assignment.every or len(each) == len(pools))]
            if unset:
                without = dict.fromkeys(each.name for name in unset for each in lacking[name])
                yield Problem(
                    about=about,
                    message=f"{about.name} asks for hosts with the attribute {and_list(unset)}, and no user data of "
                    f"{and_list(without)} sets it ({INSTANCE_ATTRIBUTES})",
                    fix=f"{INSTANCE_ATTRIBUTES} in the user data of the hosts, or a constraint on "
                    "attribute:ecs.instance-type",
                )


def _lacks(pool: Pool, name: str) -> bool:
    """Whether no user data of its hosts sets an attribute; only a call of the API may then."""
    written = pool.user_data.get(INSTANCE_ATTRIBUTES) or ""
    return pool.user_data.complete and isinstance(written, str) and f'"{name}"' not in written


def _custom_attributes(about: Task | Workload) -> Iterator[str]:
    """Attributes of the user's own that every host has to have."""
    names = dict.fromkeys(each for text in readable(about.constraints) for each in required_attributes(text))
    return (each for each in names if not each.startswith(_OF_ECS))
