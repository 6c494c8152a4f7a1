"""Room of a workload on its hosts: for all copies, for their host ports, and for one more while it is deployed to."""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.fleet import PlacementConstraint, Unknown, Workload, known, total
from gpu_constructs.hardware.network_devices import may_have_trunk
from gpu_constructs.placement import (
    Assumption,
    DoubtKind,
    Rollout,
    can_go_on,
    percentages_of,
    task_slots,
)
from gpu_constructs.placement.rollout import percent_for_one_less
from gpu_constructs.placement.strategy import split
from gpu_constructs.rules.change import Ways, one_way
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.copies import Copies, counted, may_find_host, most_copies, wanted_copies
from gpu_constructs.rules.evidence.fixes import larger
from gpu_constructs.rules.evidence.lists import and_list, with_verb
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_TRUNK = "each takes a network interface, of which hosts have more where awsvpcTrunking is on"
_ROUNDED_UP = 0.1
"""Part of a copy from which on rounding may make it one; a fallback order of ours has a weight of 1 beside 1,000."""


@error(
    "GPU009",
    question="do the hosts have room for every copy at MaxSize?",
    because="a copy that fits on no host waits until one is free, so that the service never becomes stable and its "
    "deployment fails; ECS does not move a copy that the strategy gave to a full capacity provider to one that has "
    "room",
    softer="where other hosts may join the cluster, or awsvpcTrunking gives hosts more network interfaces",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html",
    stops_work=True,
    changes="MaxSize",
    unless=("GPU083", "GPU084", "GPU212"),
)
def room_for_all_copies(context: Context) -> Problems:
    for each, wanted in wanted_copies(context):
        slots = total(each.possible)
        if isinstance(slots, Unknown):
            continue
        if wanted > slots:
            held = f"{with_verb(each.pool_names, 'holds', 'hold')} {slots} at {each.limit}"
            all_of_them = "the only task has no room" if wanted == 1 else f"none of the {wanted} tasks have room"
            trunk = _is_short_of_interfaces(each, slots)
            yield Problem(
                about=each.workload,
                message=(
                    f"{wanted} tasks are wanted, and {held}{f' ({_TRUNK})' if trunk else ''}: the others never start"
                    if slots
                    else f"{all_of_them}: {held}"
                ),
                fix=f"{'awsvpcTrunking, or ' if trunk else ''}raise {each.limit}",
                ways=() if trunk else _more_hosts(each, wanted, slots),
                is_certain=each.assignment.is_closed and not trunk and not _may_find_host(context, each),
            )
        elif wanted > min(map(known, each.possible)):
            yield from _badly_split(each, wanted)


def _may_find_host(context: Context, copies: Copies) -> bool:
    return not copies.assignment.every and may_find_host(context, copies.assignment.destinations)


def _more_hosts(copies: Copies, wanted: int, slots: int) -> Ways:
    """As many hosts as the copies need, where all of them go to one pool."""
    pool = copies.pools[0]
    if len(copies.pools) > 1 or isinstance(pool.max_instances, Unknown) or not slots:
        return ()
    hosts = -(-wanted * pool.max_instances // slots)
    return (larger(pool, hosts, hosts + 1),)


def _badly_split(copies: Copies, wanted: int) -> Problems:
    slots_of = {pool.name: known(slots) for pool, slots in zip(copies.pools, copies.possible, strict=True)}
    for share in split(copies.workload.strategy, wanted, wanted):
        name = "" if share.item.pool is None else share.item.pool.name
        slots, most = slots_of.get(name, wanted), share.most or 0
        is_rounded = share.least <= slots < most and share.rest >= _ROUNDED_UP
        if share.least > slots or is_rounded:
            given = f"may give {most}" if is_rounded else f"gives {share.least}"
            rounded = ", because how ECS rounds what the weights do not divide is not documented" if is_rounded else ""
            yield Problem(
                about=copies.workload,
                message=f"the strategy {given} of {wanted} tasks to {name}{rounded}, which holds {slots} at MaxSize: "
                "the others never start, because ECS does not move them to a capacity provider that has room",
                fix=f"weights in proportion to the room of each capacity provider, or a higher MaxSize of {name}",
                is_certain=False,
            )


@warning(
    "GPU010",
    question="can a deployment take its first step on a full fleet?",
    because="a rolling deployment starts a copy above the desired count or stops one below it, as far as "
    "MinimumHealthyPercent and MaximumPercent allow",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-ecs.html",
    unless=("GPU283",),
    changes="MinimumHealthyPercent",
)
def room_to_deploy(context: Context) -> Problems:
    for each, wanted in wanted_copies(context):
        slots, percent = total(each.certain), percentages_of(each.workload)
        if isinstance(slots, Unknown) or percent is None or wanted > slots or not each.task.wants_gpu:
            continue
        if not each.workload.runs_twice_to_deploy and not can_go_on(wanted, slots, percent):
            trunk = slots == wanted and _is_short_of_interfaces(each, slots)
            yield Problem(
                about=each.workload,
                message=f"a deployment cannot take its first step: {wanted} "
                f"{'task runs' if wanted == 1 else 'tasks run'}, {slots} {'fits' if slots == 1 else 'fit'} at "
                f"MaxSize{f' ({_TRUNK})' if trunk else ''}, at least {percent.min_healthy_percent} % must keep running "
                f"and at most {percent.max_healthy_percent} % may "
                f"run{_in_gpus(each, wanted) if slots == wanted else ''}",
                fix=_step(wanted, slots, percent),
            )


@warning(
    "GPU203",
    question="is there room for both versions of a blue/green deployment?",
    because="a blue/green, linear or canary deployment starts every copy again before it stops the old ones",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/deployment-type-blue-green.html",
)
def room_for_both_versions(context: Context) -> Problems:
    for each, wanted in wanted_copies(context):
        slots = total(each.possible)
        if not each.workload.runs_twice_to_deploy or isinstance(slots, Unknown) or not wanted <= slots < 2 * wanted:
            continue
        certain, percent = total(each.certain), percentages_of(each.workload)
        rolls = percent is not None and not isinstance(certain, Unknown) and can_go_on(wanted, certain, percent)
        yield Problem(
            about=each.workload,
            property_name="Strategy",
            value=each.workload.deployment_strategy,
            message=f"a deployment never ends: it runs {wanted} {'task' if wanted == 1 else 'tasks'} twice, and "
            f"{with_verb(each.pool_names, 'holds', 'hold')} {slots} at MaxSize",
            fix="raise MaxSize to room for twice as many"
            + (", or replace tasks one after the other with ROLLING" if rolls else ""),
            is_shortage=True,
        )


@warning(
    "GPU214",
    question="is there room for a deployment while the service has its maximum number of copies?",
    because="a deployment that waits for room stops scaling in as well, so that a fleet that is full stays full: "
    "Application Auto Scaling does not scale in while ECS deploys",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-autoscaling-targettracking.html",
    unless=("GPU010", "GPU203", "GPU283"),
)
def room_to_deploy_at_most(context: Context) -> Problems:
    for each, most in most_copies(context):
        slots, percent = total(each.certain), percentages_of(each.workload)
        if isinstance(slots, Unknown) or percent is None or most > slots or not each.task.wants_gpu:
            continue
        room = known(total(each.possible), otherwise=2 * most)
        there = f"{with_verb(each.pool_names, 'holds', 'hold')} {slots} at MaxSize"
        if each.workload.runs_twice_to_deploy and room < 2 * most:
            yield Problem(
                about=each.workload,
                property_name="MaxCapacity",
                value=most,
                message=f"once scaling has asked for {most} tasks, a deployment never ends: it runs them twice, and "
                f"{there}",
                allowed=f"{room // 2} or less",
                fix=f"a MaxCapacity of {room // 2}, or a MaxSize with room for twice as many",
            )
        elif not each.workload.runs_twice_to_deploy and not can_go_on(most, slots, percent):
            yield Problem(
                about=each.workload,
                property_name="MinimumHealthyPercent",
                value=percent.min_healthy_percent,
                message=f"once scaling has asked for {most} tasks, a deployment cannot take its first step: {there}, "
                f"and at least {percent.min_healthy_percent} % must keep running",
                fix=_step(most, slots, percent),
            )


def _step(wanted: int, slots: int, percent: Rollout) -> str:
    """What lets a deployment go on: one copy more where percentages and hosts allow it, or one copy less."""
    fewer = f"a MinimumHealthyPercent of {percent_for_one_less(wanted)}"
    first = f"{fewer}, so that {'the only copy' if wanted == 1 else 'one copy'} stops before the new one starts"
    if wanted * percent.max_healthy_percent // 100 > wanted:
        return f"a higher MaxSize with room for one more copy, or {first}"
    return f"a MaximumPercent of {-(-100 * (wanted + 1) // wanted)}, or {first}" if slots > wanted else first


def _is_short_of_interfaces(copies: Copies, slots: int) -> bool:
    """Whether more copies would fit if the hosts had the network interfaces that ENI trunking gives them."""
    types = [each for pool in copies.pools for each in pool.instance_types]
    if not copies.task.interfaces or not any(map(may_have_trunk, types)):
        return False
    bridged = replace(copies.task, network_mode="bridge")
    constraints = copies.workload.constraints
    trunked = [
        task_slots(bridged, each.pool, constraints=constraints, assumption=Assumption.BEST, daemons=each.offer.daemons)
        for each in copies.assignment.destinations
    ]
    return sum(map(known, trunked)) > slots


def _in_gpus(copies: Copies, wanted: int) -> str:
    """The smallest step in numbers of GPUs, where they are known."""
    gpus = copies.task.gpus
    if isinstance(gpus, Unknown) or not gpus:
        return ""
    there = sum(known(pool.max_instances) * min(each.gpus for each in pool.instance_types) for pool in copies.pools)
    return f"; with one more copy they need {(wanted + 1) * gpus} GPUs, and the hosts have {there}"


@warning(
    "GPU012",
    question="is it known whether there is room for every copy?",
    because="it cannot be known if the number of copies is only known at deploy time, or if the memory of the copies "
    "is near the nominal memory of a host",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-definition-parameters.html",
    changes="DesiredCount",
    unless=("GPU084",),
)
def known_room(context: Context) -> Problems:
    for each in context.once(counted):
        workload = each.workload
        if not each.task.wants_gpu or _is_one_copy_in_question(each):
            continue
        wanted, least, most = workload.desired_count, total(each.certain), total(each.possible)
        if isinstance(wanted, Unknown):
            if workload.scaling is None:  # else its scaling decides
                yield Problem(
                    about=workload,
                    message=f"it is not known whether the hosts have room: the number of copies of {workload.name} is "
                    "only known at deploy time",
                    fix="a number as DesiredCount, or service auto scaling with a MaxCapacity",
                )
        elif not isinstance(least, Unknown) and not isinstance(most, Unknown) and least < wanted <= most:
            yield Problem(
                about=workload,
                message=f"it is not known whether the hosts have room: {and_list(_open(each))}, so that they hold "
                f"{least} to {most} of the {wanted} copies that are wanted",
                fix="ask for less in each copy, or raise MaxSize",
            )


@error(
    "GPU083",
    question="are there as many hosts as copies that must run on different hosts?",
    because="distinctInstance places each task of a service on a different host, so if there are more copies than "
    "hosts, the rest wait and the service never becomes stable",
    softer="where other hosts may join the cluster",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html",
    changes="MaxSize",
)
def a_host_for_each_copy(context: Context) -> Problems:
    for each, wanted in wanted_copies(context):
        if each.workload.distinct_instances and not isinstance(each.hosts, Unknown) and wanted > each.hosts:
            yield Problem(
                about=each.workload,
                message=f"{wanted} tasks must run on different hosts (distinctInstance), and "
                f"{with_verb(each.pool_names, 'has', 'have')} {each.hosts} at most: the others never start",
                fix="raise MaxSize, or remove distinctInstance",
                ways=(
                    *_room_for(each, wanted),
                    *one_way("remove distinctInstance", replace(each.workload, constraints=_shared(each.workload))),
                ),
                is_certain=each.assignment.is_closed,
            )


def _room_for(copies: Copies, hosts: int) -> Ways:
    """As many hosts, where they are of one pool."""
    if len(copies.pools) != 1:
        return ()
    return one_way(f"raise MaxSize to {hosts} hosts", replace(copies.pools[0], max_instances=hosts))


def _shared(workload: Workload) -> tuple[PlacementConstraint, ...]:
    return tuple(each for each in workload.constraints if each.type != "distinctInstance")


def _is_one_copy_in_question(copies: Copies) -> bool:
    """Whether not even one certainly fits, for a reason that a rule about one copy reports."""
    return any(
        doubt.kind is not DoubtKind.CONSTRAINT for each in copies.assignment.in_question for doubt in each.fit.doubts
    )


def _open(copies: Copies) -> list[str]:
    """What the number of copies depends on and is only known at deploy time."""
    task = copies.task
    found = ["the network mode is only known at deploy time"] if isinstance(task.network_mode, Unknown) else []
    found += [
        f"{pool.name} may launch types of different sizes"
        for pool in copies.pools
        if len({(each.gpus, each.vcpus, each.memory_mib) for each in pool.instance_types}) > 1
    ]
    if found:
        return found
    return ["a GPU may have less memory to share" if task.shares_gpu else "a host may register too little memory"]
