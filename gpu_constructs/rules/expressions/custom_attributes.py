"""Custom attributes of hosts, by which tasks are placed: does something give them to the hosts?"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import INSTANCE_ATTRIBUTES, Task, Workload
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.expressions import readable, required_attributes
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.rule import Problem, Problems, warning


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
        known = [each.user_data.get(INSTANCE_ATTRIBUTES) or "" for each in pools]
        for about in (task, workload):
            unset = [
                name
                for name in _custom_attributes(about)
                if all(isinstance(each, str) and f'"{name}"' not in each for each in known)
            ]
            if unset:
                yield Problem(
                    about=about,
                    message=f"{about.name} asks for hosts with the attribute {and_list(unset)}, and no user data of "
                    f"{and_list(each.name for each in pools)} sets it "
                    f"({INSTANCE_ATTRIBUTES})",
                    fix=f"{INSTANCE_ATTRIBUTES} in the user data of the hosts, or a constraint on "
                    "attribute:ecs.instance-type",
                )


def _custom_attributes(about: Task | Workload) -> Iterator[str]:
    """Attributes of the user's own that every host has to have."""
    names = dict.fromkeys(each for text in readable(about.constraints) for each in required_attributes(text))
    return (each for each in names if not each.startswith("ecs."))
