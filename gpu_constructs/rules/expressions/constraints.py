"""Placement constraints: whether ECS can read them, and whether a host can satisfy them."""

from __future__ import annotations

from gpu_constructs.errors import shown
from gpu_constructs.fleet import INSTANCE_ATTRIBUTES, PlacementConstraint, Task, Workload
from gpu_constructs.placement.demand import MEMBER_OF
from gpu_constructs.placement.reasons import DoubtKind, ObstacleKind
from gpu_constructs.rules.evidence.copies import WHILE_SPARED
from gpu_constructs.rules.evidence.expressions import (
    constrained,
    contradiction,
    inherited,
    readable,
    required_attributes,
    syntax_problem,
)
from gpu_constructs.rules.evidence.fixes import hosts_asked, own_strategies, provider_for
from gpu_constructs.rules.finding import Way, and_list, some
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

_DISTINCT = "distinctInstance"
_OF_ECS = ("ecs.", "com.amazonaws.ecs.")
"""Beginnings of attributes that ECS applies or its agent registers, such as ``ecs.capability.task-eni``.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html
"""


@error(
    "GPU040",
    question="can ECS read every placement constraint?",
    because="ECS refuses an expression that is not in the cluster query language, and a type that it does not know",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html",
    changes="PlacementConstraints.Expression",
)
def readable_by_ecs(context: Context) -> Problems:
    for about in constrained(context):
        for each in about.constraints:
            yield from _wrong_type(about, each)
            if each.type == _DISTINCT or not isinstance(each.expression, str) or not each.expression.strip():
                continue
            found = syntax_problem(each.expression)
            if found is not None:
                problem, piece, fix = found
                yield Problem(
                    about=about,
                    message=f"the placement expression of {about.name} cannot be read, {problem}: {piece}",
                    fix=fix,
                    value=each.expression,
                )


@error(
    "GPU070",
    question="can a host satisfy the placement constraints?",
    because="ECS places a task on a host that satisfies all its constraints; if none does, the task remains in a "
    "pending state",
    softer=f"{WHILE_SPARED}, and for a daemon, of which ECS then wants no copy",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html",
    changes="PlacementConstraints.Expression",
)
def satisfied_by_hosts(context: Context) -> Problems:
    on_no_host = {id(each): found for each in constrained(context) if (found := _contradiction(each)) is not None}
    for about in constrained(context):
        if id(about) in on_no_host:
            yield Problem(
                about=about,
                message=f"no host can satisfy the placement constraints of {about.name}: {on_no_host[id(about)]}",
                fix="a list of what is allowed, as in attribute:ecs.instance-type in [...], with conditions that are "
                "true for all of it",
            )
    for assignment in context.assignments:
        if not on_no_host.keys().isdisjoint({id(assignment.task), id(assignment.workload)}):
            continue
        barred = [(each, why) for each in assignment.stuck if (why := each.barred_by(ObstacleKind.CONSTRAINT))]
        enough_left = not assignment.every and len(barred) < len(assignment.destinations)
        if not barred or enough_left or own_strategies(context.fleet, assignment.workload):
            continue  # GPU060 names the strategy that is missing
        first = barred[0]
        task, constraints = assignment.task, (*assignment.task.constraints, *assignment.workload.constraints)
        fix = (
            f"an expression that is true for hosts of {first[0].pool.name} "
            f"({and_list(first[0].pool.instance_types)}), or no constraint"
        )
        yield Problem(
            about=assignment.workload,
            involves=(assignment.task,),
            message=f"no host of {and_list(each.pool.name for each, _ in barred)} satisfies the placement constraints "
            f"of {assignment.workload.name}: {some(first[1])}",
            fix=fix,
            ways=(hosts_asked(task, first[0].pool, constraints), (Way(text=fix),)),
            # A daemon has "exactly one task on each active container instance that meets all of the task placement
            # constraints": without such a host it wants none, and is stable.
            # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service-options.html
            is_certain=assignment.workload.daemon is False and not all(each.is_spared for each, _ in barred),
        )


@warning(
    "GPU071",
    question="does every instance type and subnet of an Auto Scaling group satisfy the placement constraints?",
    because="managed scaling samples the instance types of the Auto Scaling group, and may not scale out if one does "
    "not satisfy the constraints; Auto Scaling chooses the subnet, and an idle host in another one keeps managed "
    "scaling from starting more; without managed scaling Auto Scaling chooses the type as well",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html",
    changes="PlacementConstraints.Expression",
)
def satisfied_by_all_types(context: Context) -> Problems:
    for assignment in context.assignments:
        for each in assignment.in_doubt:
            if each.pool.is_scaled_by_ecs and not assignment.every:
                continue  # for a task without a strategy it starts no host of any type
            for doubt in each.fit.doubts:
                is_of_place = doubt.kind is DoubtKind.CONSTRAINED_PLACES and each.pool.is_scaled_by_ecs
                if is_of_place or doubt.kind is DoubtKind.CONSTRAINED_TYPES:
                    yield Problem(
                        about=assignment.workload,
                        message=f"{assignment.task.name} may never start on {each.pool.name}: {doubt}",
                        fix="a separate capacity provider in these subnets" if is_of_place else provider_for(each.fit),
                    )


def unset_attributes(context: Context) -> Problems:
    """Custom attributes that hosts lack: ECS_INSTANCE_ATTRIBUTES sets them, or a call of PutAttributes."""
    for assignment in context.assignments:
        pools = [each.pool for each in assignment.destinations]
        if not pools or not assignment.is_closed:
            continue
        for about in (assignment.task, assignment.workload):
            named = dict.fromkeys(each for text in readable(about.constraints) for each in required_attributes(text))
            own = (each for each in named if not each.startswith(_OF_ECS))
            lacking = {name: [each for each in pools if each.user_data.lacks_attribute(name)] for name in own}
            # Where a strategy gives each of them copies of its own, those of one wait, whatever the others have.
            unset = [name for name, each in lacking.items() if each and (assignment.every or len(each) == len(pools))]
            if unset:
                without = dict.fromkeys(each.name for name in unset for each in lacking[name])
                yield Problem(
                    about=about,
                    is_certain=False,
                    message=f"{about.name} asks for hosts with the attribute {and_list(unset)}, and no user data of "
                    f"{and_list(without)} sets it ({INSTANCE_ATTRIBUTES})",
                    fix=f"{INSTANCE_ATTRIBUTES} in the user data of the hosts, or a constraint on "
                    "attribute:ecs.instance-type",
                )


def _wrong_type(about: Task | Workload, constraint: PlacementConstraint) -> Problems:
    name, kind = about.name, constraint.type
    if kind == "":
        message, fix = f"a placement constraint of {name} has no type", MEMBER_OF
    elif isinstance(kind, str) and kind not in {MEMBER_OF, _DISTINCT}:
        near = [each for each in (MEMBER_OF, _DISTINCT) if each.lower() == kind.lower().replace("_", "")]
        types, fix = "memberOf and, for services and RunTask, distinctInstance", near[0] if near else MEMBER_OF
        message = f"{name} has a placement constraint of type {shown(kind)}; the types are {types}"
    elif kind == _DISTINCT and isinstance(about, Task):
        what = f"the task definition {name} has the constraint distinctInstance, which only services and RunTask take"
        message, fix = f"{what}; a task definition only takes memberOf", "move it to the service"
    else:
        return
    yield Problem(about=about, message=message, fix=fix)


def _contradiction(about: Task | Workload) -> str | None:
    """A contradiction that is written here: in its own expressions, or between them and the task's."""
    for each in readable(about.constraints):
        found = contradiction((each,))
        if found is not None:
            return found
    of_task = inherited(about)
    if of_task and contradiction(readable(of_task)) is not None:
        return None
    return contradiction(readable((*of_task, *about.constraints)))
