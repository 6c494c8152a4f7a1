"""Placement constraints: whether ECS can read them, and whether a host can satisfy them."""

from __future__ import annotations

from gpu_constructs.errors import shown
from gpu_constructs.fleet import PlacementConstraint, Task
from gpu_constructs.hardware.aws_limits import MAX_EXPRESSION_LENGTH, MAX_PLACEMENT_CONSTRAINTS
from gpu_constructs.placement import DoubtKind, ObstacleKind
from gpu_constructs.placement.demand import MEMBER_OF
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.copies import WHILE_SPARED
from gpu_constructs.rules.evidence.expressions import (
    ConstrainedThing,
    constrained,
    contradiction,
    readable,
    syntax_problem,
    unsatisfiable,
)
from gpu_constructs.rules.evidence.fixes import own_strategies, provider_for
from gpu_constructs.rules.evidence.lists import and_list, or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_PAGE = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html"
_DISTINCT = "distinctInstance"
_SCALING = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html"
_MOST_NAMED = 4


@error(
    "GPU040",
    question="can ECS read every placement expression?",
    because="ECS refuses an expression that is not in the cluster query language",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-query-language.html",
    changes="PlacementConstraints.Expression",
)
def readable_by_ecs(context: Context) -> Problems:
    for place in constrained(context):
        for each in place.own:
            if each.type == _DISTINCT or not isinstance(each.expression, str) or not each.expression.strip():
                continue
            found = syntax_problem(each.expression)
            if found is not None:
                problem, piece, fix = found
                yield Problem(
                    about=place.about,
                    message=f"the placement expression of {place.about.name} cannot be read, {problem}: {piece}",
                    fix=fix,
                    value=each.expression,
                )


@error(
    "GPU041",
    question="can the placement expressions be true together?",
    because="ECS places a task on a host that satisfies all its constraints; none satisfies these, so the task never "
    "starts",
    source=_PAGE,
    changes="PlacementConstraints.Expression",
)
def consistent(context: Context) -> Problems:
    for place in constrained(context):
        found = _contradiction(place)
        if found is not None:
            yield Problem(
                about=place.about,
                message=f"no host can satisfy the placement constraints of {place.about.name}: {found}",
                fix="a list of what is allowed, as in attribute:ecs.instance-type in [...]",
            )


@error(
    "GPU044",
    question="does ECS take the number, the types and the length of the placement constraints?",
    because=f"a task has at most {MAX_PLACEMENT_CONSTRAINTS} constraints, and an expression at most "
    f"{MAX_EXPRESSION_LENGTH} characters; memberOf needs an expression; distinctInstance takes none and cannot be in a "
    "task definition",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PlacementConstraint.html",
    changes="PlacementConstraints",
)
def within_limits(context: Context) -> Problems:
    for place in constrained(context):
        inherited = len(place.all) - len(place.own)
        if len(place.all) > MAX_PLACEMENT_CONSTRAINTS >= inherited:
            yield Problem(
                about=place.about,
                message=f"tasks of {place.about.name} have {len(place.all)} placement constraints, including those of "
                f"the task definition; ECS takes {MAX_PLACEMENT_CONSTRAINTS}",
                fix="join several expressions with `and` into one",
            )
        for each in place.own:
            yield from _wrong_type(place, each)
            yield from _wrong_expression(place, each)


@error(
    "GPU045",
    question="can one of the instance types that placement expressions name satisfy all of them?",
    because="ECS places a task on a host that satisfies all its constraints; none of the instance types that they name "
    "does, so the task never starts",
    source=_PAGE,
    changes="PlacementConstraints.Expression",
)
def satisfied_by_a_named_type(context: Context) -> Problems:
    for place in constrained(context):
        if _contradiction(place) is not None:
            continue
        types = unsatisfiable(readable(place.own))
        if types is None and len(place.all) > len(place.own) and unsatisfiable(_inherited(place)) is None:
            types = unsatisfiable(readable(place.all))
        if types is not None:
            yield Problem(
                about=place.about,
                message=f"the placement constraints of {place.about.name} only allow {or_list(types)}, and no such "
                "host satisfies the rest of them",
                fix="conditions that are true for the instance types in the list, or other types",
            )


@error(
    "GPU070",
    question="can a host of the pool satisfy the placement constraints?",
    because="if no host matches the constraints, the task remains in a pending state",
    softer=f"{WHILE_SPARED}, and for a daemon, of which ECS then wants no copy",
    source=_PAGE,
    changes="PlacementConstraints.Expression",
    unless=("GPU041", "GPU045"),
)
def satisfied_by_hosts(context: Context) -> Problems:
    for assignment in context.assignments:
        barred = [(each, why) for each in assignment.stuck if (why := each.barred_by(ObstacleKind.CONSTRAINT))]
        enough_left = not assignment.every and len(barred) < len(assignment.destinations)
        if not barred or enough_left or own_strategies(context.fleet, assignment.workload):
            continue  # GPU060 names the strategy that is missing
        first = barred[0]
        yield Problem(
            about=assignment.workload,
            involves=(assignment.task,),
            message=f"no host of {and_list(each.pool.name for each, _ in barred)} satisfies the placement constraints "
            f"of {assignment.workload.name}: {'; '.join(map(str, first[1][:_MOST_NAMED]))}",
            fix=f"an expression that is true for hosts of {first[0].pool.name} "
            f"({and_list(first[0].pool.instance_types)}), or no constraint",
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
    source=_SCALING,
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


def _contradiction(place: ConstrainedThing) -> str | None:
    """A contradiction that is written here: in its own expressions, or between them and the task's."""
    expressions = readable(place.own)
    for each in expressions:
        found = contradiction((each,))
        if found is not None:
            return found
    if len(place.all) > len(place.own) and contradiction(_inherited(place)) is not None:
        return None
    return contradiction(readable(place.all))


def _inherited(place: ConstrainedThing) -> tuple[str, ...]:
    return readable(place.all[: len(place.all) - len(place.own)])


def _wrong_type(place: ConstrainedThing, constraint: PlacementConstraint) -> Problems:
    name, kind = place.about.name, constraint.type
    if kind == "":
        yield Problem(about=place.about, message=f"a placement constraint of {name} has no type", fix=MEMBER_OF)
    elif isinstance(kind, str) and kind not in {MEMBER_OF, _DISTINCT}:
        near = [each for each in (MEMBER_OF, _DISTINCT) if each.lower() == kind.lower().replace("_", "")]
        yield Problem(
            about=place.about,
            message=f"{name} has a placement constraint of type {shown(kind)}; the types are memberOf and, for "
            "services and RunTask, distinctInstance",
            fix=near[0] if near else MEMBER_OF,
        )
    elif kind == _DISTINCT and isinstance(place.about, Task):
        yield Problem(
            about=place.about,
            message=f"the task definition {name} has the constraint distinctInstance, which only services and RunTask "
            "take; a task definition only takes memberOf",
            fix="move it to the service",
        )


def _wrong_expression(place: ConstrainedThing, constraint: PlacementConstraint) -> Problems:
    name, kind, expression = place.about.name, constraint.type, constraint.expression
    if kind == _DISTINCT and expression is not None and expression != "":
        yield Problem(
            about=place.about,
            message=f"{name} gives distinctInstance an expression, which it does not take",
            fix="a separate memberOf constraint for the expression",
        )
    if kind == MEMBER_OF and (expression is None or (isinstance(expression, str) and not expression.strip())):
        yield Problem(
            about=place.about,
            message=f"{name} has a memberOf constraint without an expression",
            fix="an expression, such as attribute:ecs.instance-type in [...], or no constraint",
        )
    if isinstance(expression, str) and len(expression) > MAX_EXPRESSION_LENGTH:
        yield Problem(
            about=place.about,
            message=f"a placement expression of {name} has {len(expression)} characters; ECS takes "
            f"{MAX_EXPRESSION_LENGTH}",
            fix=f"separate constraints for the parts that `and` joins, at most {MAX_PLACEMENT_CONSTRAINTS}",
            value=expression,
        )
