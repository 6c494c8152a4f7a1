"""Whether a workload has room on its hosts: for all copies of it, and for one more while it is deployed to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu_constructs.fleet import Unknown, Workload, known, total
from gpu_constructs.hardware.aws_limits import DEFAULT_MAX_HEALTHY_PERCENT
from gpu_constructs.placement import Assumption, DoubtKind, Rollout, can_go_on, task_slots
from gpu_constructs.placement.rollout import percent_for_one_less
from gpu_constructs.placement.strategy import split
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.copies import Copies, counted, wanted_copies
from gpu_constructs.rules.evidence.lists import and_list, with_verb
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_SERVICES = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-definition-parameters.html"
_TRUNK = "each takes a network interface, of which hosts have more where awsvpcTrunking is on"
_STRATEGY = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html"


@rule(
    "GPU009",
    Severity.WARNING,
    about=Context,
    question="is there room for every copy at max_instances?",
    because="copies that fit on no host wait for ever, and so do those that the weights of the strategy give to a "
    "provider that is full while another has room",
    source=_STRATEGY,
    unless=("GPU083", "GPU084"),
)
def enough(context: Context) -> Iterator[Problem]:
    for each, wanted in wanted_copies(context):
        slots = total(each.possible)
        if isinstance(slots, Unknown):
            continue
        if wanted > slots:
            held = f"{with_verb(each.pool_names, 'holds', 'hold')} {slots} at max_instances"
            all_of_them = "the only task has no room" if wanted == 1 else f"none of the {wanted} tasks has room"
            trunk = _is_short_of_interfaces(each, slots)
            yield Problem(
                about=each.workload,
                message=(
                    f"{wanted} tasks are wanted, and {held}{f' ({_TRUNK})' if trunk else ''}: the others wait for ever"
                    if slots
                    else f"{all_of_them}: {held}"
                ),
                fix=f"{'awsvpcTrunking, or ' if trunk else ''}raise max_instances",
            )
        elif wanted > min(map(known, each.possible)):
            yield from _badly_split(each, wanted)


def _badly_split(copies: Copies, wanted: int) -> Iterator[Problem]:
    slots_of = {pool.name: known(slots) for pool, slots in zip(copies.pools, copies.possible, strict=True)}
    for share in split(copies.workload.strategy, wanted, wanted):
        name = "" if share.item.pool is None else share.item.pool.name
        if share.least > slots_of.get(name, share.least):
            yield Problem(
                about=copies.workload,
                message=f"the strategy gives {share.least} of {wanted} tasks to {name}, which holds {slots_of[name]} "
                "at max_instances: the others wait for ever, for ECS moves none to a provider that has room",
                fix=f"weights in proportion to the room there is, or a higher max_instances of {name}",
            )


@rule(
    "GPU010",
    Severity.WARNING,
    about=Context,
    question="can a deployment take its first step on a full fleet?",
    because="a rolling deployment starts a copy above the desired count or stops one below it, within its percentages",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html",
)
def deployable(context: Context) -> Iterator[Problem]:
    for each, wanted in wanted_copies(context):
        slots, percent = total(each.certain), _percent(each.workload)
        if isinstance(slots, Unknown) or percent is None or wanted > slots or not each.task.wants_gpu:
            continue
        if not can_go_on(wanted, slots, percent):
            trunk = slots == wanted and _is_short_of_interfaces(each, slots)
            yield Problem(
                about=each.workload,
                message=f"a deployment could not take its first step: {wanted} tasks run, {slots} fit at "
                f"max_instances{f' ({_TRUNK})' if trunk else ''}, at least {percent.min_healthy_percent} % must keep "
                f"running and at most {percent.max_healthy_percent} % may run"
                f"{_in_gpus(each, wanted) if slots == wanted else ''}",
                fix=_step(wanted, slots, percent),
            )


def _step(wanted: int, slots: int, percent: Rollout) -> str:
    """What lets a deployment go on: a copy more where percentages and hosts allow one, or a copy less."""
    fewer = f"min_healthy_percent={percent_for_one_less(wanted)}"
    first = f"{fewer}, so that {'the only copy' if wanted == 1 else 'one copy'} stops before the new one starts"
    if wanted * percent.max_healthy_percent // 100 > wanted:
        return f"room for one more copy by max_instances, or {first}"
    return f"max_healthy_percent={-(-100 * (wanted + 1) // wanted)}, or {first}" if slots > wanted else first


def _is_short_of_interfaces(copies: Copies, slots: int) -> bool:
    """Whether more copies would fit, had the hosts the network interfaces that ENI trunking gives them."""
    if not copies.task.interfaces:
        return False
    bridged = replace(copies.task, network_mode="bridge")
    constraints = copies.workload.constraints
    trunked = [task_slots(bridged, each, constraints=constraints, assumption=Assumption.BEST) for each in copies.pools]
    return sum(map(known, trunked)) > slots


def _in_gpus(copies: Copies, wanted: int) -> str:
    """The smallest step in numbers of GPUs, where they are known."""
    gpus = copies.task.gpus
    if isinstance(gpus, Unknown) or not gpus:
        return ""
    there = sum(known(pool.max_instances) * min(each.gpus for each in pool.instance_types) for pool in copies.pools)
    return f"; one more copy beside them makes {(wanted + 1) * gpus} GPUs, and the hosts have {there}"


@rule(
    "GPU012",
    Severity.WARNING,
    about=Context,
    question="is it known whether there is room for every copy?",
    because="a number of copies that only exists at deploy time, or memory near a host's nominal size, leaves it open",
    source=_SERVICES,
    unless=("GPU084",),
)
def known_room(context: Context) -> Iterator[Problem]:
    for each in context.once(counted):
        workload = each.workload
        if not each.task.wants_gpu or _is_one_copy_in_question(each):
            continue
        wanted, least, most = workload.desired_count, total(each.certain), total(each.possible)
        if isinstance(wanted, Unknown):
            if workload.max_count is None:  # else its scaling decides
                yield Problem(
                    about=workload,
                    message=f"whether the hosts have room is not known: the number of copies of {workload.name} only "
                    "exists at deploy time",
                    fix="a desired count that is a number, or scaling with a maximum",
                )
        elif not isinstance(least, Unknown) and not isinstance(most, Unknown) and least < wanted <= most:
            yield Problem(
                about=workload,
                message=f"whether the hosts have room is not known: {and_list(_open(each))}, so that they hold "
                f"{least} to "
                f"{most} copies of the {wanted} that are wanted",
                fix="less for each copy, or a higher max_instances",
            )


@rule(
    "GPU083",
    Severity.WARNING,
    about=Context,
    question="are there as many hosts as copies that must be on hosts of their own?",
    because="distinctInstance places each task of a service on a different host, so more copies than hosts wait",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html",
)
def distinct(context: Context) -> Iterator[Problem]:
    for each, wanted in wanted_copies(context):
        if each.workload.distinct_instances and not isinstance(each.hosts, Unknown) and wanted > each.hosts:
            yield Problem(
                about=each.workload,
                message=f"{wanted} tasks must be on hosts of their own (distinctInstance), and "
                f"{with_verb(each.pool_names, 'has', 'have')} {each.hosts} at most: the others wait for ever",
                fix=f"max_instances for {wanted} hosts, or no distinctInstance",
            )


def _is_one_copy_in_question(copies: Copies) -> bool:
    """Whether not even one certainly fits for a reason that a rule about one copy tells."""
    return any(
        doubt.kind is not DoubtKind.CONSTRAINT for each in copies.assignment.in_question for doubt in each.fit.doubts
    )


def _open(copies: Copies) -> list[str]:
    """What nobody knows before the deploy, on which the number of copies depends."""
    task = copies.task
    found = ["the network mode only exists at deploy time"] if isinstance(task.network_mode, Unknown) else []
    found += [
        f"{pool.name} may launch types of different sizes"
        for pool in copies.pools
        if len({(each.gpus, each.vcpus, each.memory_mib) for each in pool.instance_types}) > 1
    ]
    if found:
        return found
    return ["a GPU may have less memory to share" if task.shares_gpu else "a host may register too little memory"]


def _percent(workload: Workload) -> Rollout | None:
    low = 100 if workload.min_healthy_percent is None else workload.min_healthy_percent
    high = DEFAULT_MAX_HEALTHY_PERCENT if workload.max_healthy_percent is None else workload.max_healthy_percent
    if isinstance(low, Unknown) or isinstance(high, Unknown):
        return None
    return Rollout(min_healthy_percent=low, max_healthy_percent=high)
