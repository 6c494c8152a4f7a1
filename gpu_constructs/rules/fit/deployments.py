"""Room for a deployment: for one copy more or one less, for both versions, and beside other services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_constructs.fleet import Unknown, known, total
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.proof import Proof
from gpu_constructs.placement.rollout import Rollout, can_go_on, may_stop, percent_for_one_less, percentages_of
from gpu_constructs.rules.evidence.copies import (
    ON_TRUNK,
    Copies,
    at_maximum,
    is_full_beside_others,
    is_short_of_interfaces,
    most_copies,
    others_beside,
    room_beside_others,
    wanted_copies,
)
from gpu_constructs.rules.finding import Text, Word, and_list, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, warning

_NO_STEP = "a deployment cannot take its first step: "
_FOR_TWICE = " to room for twice as many"


@warning(
    "GPU010",
    question="can a deployment take its first step on a full fleet, at the desired count and at the most that scaling "
    "asks for?",
    because="a rolling deployment starts a copy above the desired count or stops one below it, as far as "
    "MinimumHealthyPercent and MaximumPercent allow; one that waits for room also keeps the service from scaling in",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html",
    unless=("GPU203",),
    changes="MinimumHealthyPercent",
)
def room_to_deploy(context: Context) -> Problems:
    found = tuple(_at_desired_counts(context))
    yield from found
    stuck = frozenset().union(*(each.subjects for each in found))
    yield from (each for each in _at_most_copies(context) if each.subjects.isdisjoint(stuck))


def _at_desired_counts(context: Context) -> Problems:
    for each, wanted, slots, percent in _running(context.once(wanted_copies)):
        if not each.workload.runs_twice_to_deploy and not can_go_on(wanted, slots, percent):
            trunk = slots == wanted and is_short_of_interfaces(each, slots)
            fit = f"{_running_now(wanted)}, {slots} {'fits' if slots == 1 else 'fit'} at "
            within = f"{_must_run(percent)} and at most {percent.max_healthy_percent} % may run"
            why = _why_full(each, wanted) if slots == wanted else ""
            yield Problem(
                about=each.workload,
                message=Text(_NO_STEP, fit, each.limit, f"{f' ({ON_TRUNK})' if trunk else ''}, {within}{why}"),
                fix=_step(each, wanted, slots, percent),
            )
    yield from _filled_together(context, context.once(wanted_copies), context.proof, when="")


@warning(
    "GPU203",
    question="is there room for both versions of a blue/green deployment?",
    because="a blue/green, linear or canary deployment starts every copy again before it stops the old ones",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-blue-green.html",
)
def room_for_both_versions(context: Context) -> Problems:
    for each, wanted in context.once(wanted_copies):
        slots = total(each.possible)
        if not each.workload.runs_twice_to_deploy or isinstance(slots, Unknown) or wanted > slots:
            continue
        held = Text(f"{with_verb(each.pool_names, 'holds', 'hold')} {slots} at ", each.limit)
        if slots >= 2 * wanted:
            room = room_beside_others(each, context.proof)
            if known(room, otherwise=wanted) >= wanted:
                continue
            others = others_beside(each, context.proof)
            if _are_scaled(context, others):
                continue
            held = Text(held, f", {room} more beside {and_list(others)}")
        certain, percent = total(each.certain), percentages_of(each.workload)
        rolls = percent is not None and not isinstance(certain, Unknown) and can_go_on(wanted, certain, percent)
        yield Problem(
            about=each.workload,
            property_name="Strategy",
            value=each.workload.deployment_strategy,
            message=Text(
                f"a deployment never ends: it runs {wanted} {'task' if wanted == 1 else 'tasks'} twice, and ", held
            ),
            fix=Text(
                "raise ",
                each.limit,
                _FOR_TWICE,
                ", or replace tasks one after the other with ROLLING" if rolls else "",
            ),
            is_shortage=True,
        )


def _at_most_copies(context: Context) -> Problems:
    """The same while the service has its maximum number of copies.

    A deployment that waits for room stops scaling in as well, so that a fleet that is full stays full: Application Auto
    Scaling does not scale in while ECS deploys
    (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-autoscaling-targettracking.html).
    """
    for each, most, slots, percent in _running(context.once(most_copies)):
        room = known(total(each.possible), otherwise=2 * most)
        once = f"once scaling has asked for {most} tasks, "
        there = Text(f"{with_verb(each.pool_names, 'holds', 'hold')} {slots} at ", each.limit)
        if each.workload.runs_twice_to_deploy and room < 2 * most:
            yield Problem(
                about=each.workload,
                property_name="MaxCapacity",
                message=Text(f"{once}a deployment never ends: it runs them twice, and ", there),
                fix=Text("a ", Word("MaxCapacity"), f" of {room // 2}, or raise ", each.limit, _FOR_TWICE),
            )
        elif not each.workload.runs_twice_to_deploy and not can_go_on(most, slots, percent):
            yield Problem(
                about=each.workload,
                property_name="MinimumHealthyPercent",
                message=Text(once, _NO_STEP, there, f", and {_must_run(percent)}"),
                fix=_step(each, most, slots, percent),
            )
    if context.once(_scaled):
        fixed = ((each, wanted) for each, wanted in context.once(wanted_copies) if each.workload.scaling is None)
        when = "once scaling has asked for the most tasks, "
        yield from _filled_together(context, (*context.once(most_copies), *fixed), context.once(at_maximum), when=when)


def _running(copies: Iterable[tuple[Copies, int]]) -> Iterator[tuple[Copies, int, int, Rollout]]:
    """Tasks with accelerators that all have room, with how many do at most, and what a deployment may do to them."""
    for each, wanted in copies:
        slots, percent = total(each.certain), percentages_of(each.workload)
        if (
            demand_of(each.task).gets_accelerator
            and percent is not None
            and not isinstance(slots, Unknown)
            and wanted <= slots
        ):
            yield each, wanted, slots, percent


def _filled_together(context: Context, copies: Iterable[tuple[Copies, int]], proof: Proof, *, when: str) -> Problems:
    """Services that would have room for one more copy if others did not fill their pools with them."""
    for each, wanted, slots, percent in _running(copies):
        workload = each.workload
        starts_first = wanted and can_go_on(wanted, slots, percent) and not may_stop(wanted, percent)
        if workload.runs_twice_to_deploy or not starts_first:
            continue
        if not is_full_beside_others(each, proof):
            continue
        others = others_beside(each, proof)
        if _are_scaled(context, (workload.name, *others)) is bool(when):
            yield Problem(
                about=workload,
                property_name="MinimumHealthyPercent",
                message=Text(
                    f"{when}{_NO_STEP}{_running_now(wanted)}, {with_verb(others, 'runs', 'run')} on "
                    f"{and_list(each.pool_names)} as well, ",
                    each.limit,
                    f" leaves no room for one more, and {_must_run(percent)}",
                ),
                fix=_step(each, wanted, slots, percent),
            )


def _running_now(copies: int) -> str:
    return f"{copies} {'task runs' if copies == 1 else 'tasks run'}"


def _must_run(percent: Rollout) -> str:
    return f"at least {percent.min_healthy_percent} % must keep running"


def _are_scaled(context: Context, names: Iterable[str]) -> bool:
    scaled = context.once(_scaled)
    return bool(scaled) and not scaled.isdisjoint(names)


def _scaled(context: Context) -> frozenset[str]:
    return frozenset([each.name for each in context.fleet.workloads if each.scaling is not None])


def _step(copies: Copies, wanted: int, slots: int, percent: Rollout) -> Text:
    """What lets a deployment go on: one copy more where percentages and hosts allow it, or one copy less."""
    least, who = percent_for_one_less(wanted), "the only copy" if wanted == 1 else "one copy"
    first = Text("a ", Word("MinimumHealthyPercent"), f" of {least}, so that {who} stops before the new one starts")
    if wanted * percent.max_healthy_percent // 100 > wanted:
        return Text("raise ", copies.limit, " to room for one more copy, or ", first)
    if slots <= wanted:
        return first
    return Text("a ", Word("MaximumPercent"), f" of {-(-100 * (wanted + 1) // wanted)}, or ", first)


def _why_full(copies: Copies, wanted: int) -> str:
    """What leaves no room for one copy more: GPUs, where they are too few, or what each copy needs a host for."""
    gpus, hosts = copies.task.gpus, [pool for pool, slots in zip(copies.pools, copies.certain, strict=True) if slots]
    if copies.workload.distinct_instances:
        return "; each copy needs a host of its own"
    there = sum(known(pool.hosts_at_most) * min(each.gpus for each in pool.instance_types) for pool in hosts)
    if not isinstance(gpus, Unknown) and (wanted + 1) * gpus > there:
        of = " of " + and_list(each.name for each in hosts) if len(hosts) < len(copies.pools) else ""
        return f"; with one more copy they need {(wanted + 1) * gpus} GPUs, and the hosts{of} have {there}"
    ports = [f"{number}/{protocol}" for number, protocol in sorted(copies.ports)]
    return f"; each copy takes host port {and_list(ports)} of its host" if ports else ""
