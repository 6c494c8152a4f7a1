"""Tasks that fit no host here, or whose hosts other files define.

Of the first some are run by no service, and hosts of other files may run others; the second are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gpu_constructs.errors import brief
from gpu_constructs.facts import accelerated
from gpu_constructs.facts.aws_limits import FARGATE_PROVIDERS
from gpu_constructs.facts.catalogue import CONFIGURATION_FILES
from gpu_constructs.facts.names import name_problem
from gpu_constructs.fleet import Fleet, Pool, PoolKind, Scheduler, Task, Unknown, Workload
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import by_hand, carries_gpus, environments_by_hand, unassigned
from gpu_constructs.placement.pool_profile import cpu_units
from gpu_constructs.placement.reach import EC2_LAUNCH_TYPES, items_with_tasks, pools_by_hand, pools_of
from gpu_constructs.placement.reasons import DoubtKind, Fit, HostResource, Obstacle, ObstacleKind, Shortfall
from gpu_constructs.placement.route import Route
from gpu_constructs.rules.evidence.accelerated import NEURON_ON_EC2, is_managed
from gpu_constructs.rules.evidence.fixes import LESS, PROPERTIES, can_run, hosts_for, ways_of, worst
from gpu_constructs.rules.finding import and_list, or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, info

_SPECIFYING = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu-specifying.html"
_MOST_NAMED = 4
_REPORTED_FOR_ANY_HOST = frozenset({ObstacleKind.LAUNCHER, ObstacleKind.OPERATING_SYSTEM})
_CONSTRAINT = "PlacementConstraints.Expression"
_PLACES = {each: PROPERTIES[each] for each in (HostResource.CPU, HostResource.MEMORY, HostResource.INTERFACES)}
_BARRED = {
    ObstacleKind.LAUNCHER: f"ECS Managed Instances; {NEURON_ON_EC2}",
    ObstacleKind.CONSTRAINT: "a constraint that is true for hosts here, or hosts for which it is true",
}
_FIX = "check the files that define its hosts together with these"


@error(
    "GPU061",
    question="does a task without a capacity provider strategy, or that no service runs, fit a host?",
    because="ECS cannot place it on any of these hosts, whoever starts it",
    softer="where hosts of other files may run it: without a capacity provider strategy a task may go to any host of "
    "its cluster, and a task that no service runs may belong to another cluster",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html",
    stops_work=True,
    changes="ResourceRequirements.Value",
    unless=("GPU027", "GPU063", "GPU070", "GPU362"),
)
def fits_somewhere_here(context: Context) -> Problems:
    for task, seen in fitting_none(context, closed=True):
        where = "; ".join(f"{pool.name}: {'; '.join(each.reasons)}" for pool, each in seen[:_MOST_NAMED])
        first = worst(seen[0][1].shortfalls)
        barring = None if first else next((each.kind for each in seen[0][1].obstacles if each.kind in _BARRED), None)
        yield Problem(
            about=task,
            message=f"{task.name} fits on none of the {'GPU hosts' if task.wants_gpu else 'hosts'} here ({where})",
            fix=_BARRED[barring] if barring else LESS,
            ways=ways_of(task, *seen[0]),
            value=None if first is None else first.asked,
            changes=_CONSTRAINT if barring is ObstacleKind.CONSTRAINT else _place(task, first),
        )
    yield from _only_elsewhere(context)


@error(
    "GPU062",
    question="do the hosts for a GPU task have GPUs?",
    because="a task that asks for GPUs waits until a host with GPUs is in its cluster",
    softer="where other files may have such hosts",
    source=_SPECIFYING,
    stops_work=True,
    unless=("GPU054", "GPU063"),
)
def has_gpu_hosts(context: Context) -> Problems:
    for task in unassigned(context.fleet):
        pools = pools_by_hand(context.fleet, task)
        if not pools or any(map(carries_gpus, pools)) or not all(pool.types_are_known for pool in pools):
            continue
        yield Problem(
            about=task,
            message=f"{task.name} asks for GPUs, and the hosts here have no GPUs "
            f"({and_list(pool.name for pool in pools)})",
            fix="hosts with GPUs",
            ways=(hosts_for(task, pools[0], "hosts with GPUs,"),),
            is_certain=by_hand(context.fleet, task).is_closed,
        )


@error(
    "GPU063",
    question="can an instance type run the task?",
    because="all containers of a task run on the same host, and no instance type has as much",
    source=_SPECIFYING,
    unless=("GPU023",),
)
def some_type_can_run_it(context: Context) -> Problems:
    placed = {
        each.task.name for each in context.assignments if any(destination.types for destination in each.destinations)
    }
    for task in context.tasks:
        if task.name not in placed and not can_run(task):
            yield Problem(
                about=task,
                message=f"no instance type can run {task.name}: on one host it asks for {_asked(task)}; "
                f"{_largest(task)}",
                fix="ask for less, for example in several smaller tasks on different hosts",
                property_name=PROPERTIES[_beyond_all(task)],
                is_shortage=True,
            )


def _place(task: Task, first: Shortfall | None) -> str:
    """The property that asks for what is short, where it is not a resource requirement, as all are of AWS Batch."""
    return "" if first is None or task.scheduler is Scheduler.BATCH else _PLACES.get(first.resource, "")


def _only_elsewhere(context: Context) -> Problems:
    """Tasks that hosts of other files may run: without a strategy, any host of the cluster."""
    for assignment in context.assignments:
        never = () if assignment.is_closed else assignment.never
        task, workload = assignment.task, assignment.workload
        reasons = _reasons((each.pool, each.fit) for each in never)
        if reasons:
            yield Problem(
                about=workload,
                involves=(task,),
                is_certain=False,
                message=f"{task.name} fits on no host of its cluster here ({reasons}): it only starts if hosts of "
                "other files join the cluster",
                fix=_FIX,
            )
    for task, seen in fitting_none(context, closed=False):
        if reasons := _reasons(seen):
            yield Problem(
                about=task,
                is_certain=False,
                message=f"{task.name} fits on none of the GPU hosts here ({reasons}), and no service here runs it: it "
                "needs hosts of other files",
                fix=_FIX,
            )


def _asked(task: Task) -> str:
    demand = demand_of(task)
    gpus = "1 GPU" if demand.gpus == 1 else f"{demand.gpus} GPUs"
    asked = {
        "every GPU of the host" if demand.all_gpus else gpus: demand.gpus and demand.shared_memory_mib is None,
        f"{demand.part:g} of a GPU": demand.part,
        f"{demand.shared_memory_mib} MiB of one GPU through MPS": demand.shared_memory_mib,
        f"{demand.cpu} CPU units": demand.cpu,
        f"{demand.memory_mib} MiB of memory": demand.memory_mib,
    }
    built = f", built for {demand.architecture}" if demand.architecture else ""
    return f"{and_list(text for text, number in asked.items() if number)}{built}"


def _beyond_all(task: Task) -> HostResource:
    demand, hosts = demand_of(task), accelerated()
    if demand.memory_mib >= max(each.memory_mib for each in hosts):  # a host registers less
        return HostResource.MEMORY
    return HostResource.CPU if demand.cpu > max(map(cpu_units, hosts)) else HostResource.GPU


def _largest(task: Task) -> str:
    part = demand_of(task).part
    if part:
        parts = {each.accelerators.partition for each in accelerated() if each.accelerators}
        return (
            f"instance types have these parts of a GPU: {and_list(f'{each:g}' for each in sorted(parts) if each < 1)}"
        )
    offered = [each for each in accelerated() if each.gpus and each.is_offered_anywhere]
    by_gpus = max(offered, key=lambda each: (each.gpus, each.memory_mib))
    return (
        f"the largest type on offer, {by_gpus}, has {by_gpus.gpus} GPUs of {by_gpus.gpu_memory_mib} MiB, "
        f"{cpu_units(by_gpus)} CPU units and {by_gpus.memory_mib} MiB"
    )


def fitting_none(context: Context, *, closed: bool) -> Iterator[tuple[Task, list[tuple[Pool, Fit]]]]:
    """Tasks that no workload runs and that fit no pool here, with the pools and why they do not fit.

    Of pools only those with GPUs are named to a GPU task; without any, another rule says so.
    `closed` says whether they can run nowhere else.
    """
    for route in context.routes:
        task = route.task
        if route.workload is not None or route.is_closed is not closed or not (task.wants_gpu or _is_for_ec2(task)):
            continue
        seen = [(each.pool, each.fit) for each in route.destinations]
        if seen and all(pool.types_are_known and each.answer is False and not each.hosts for pool, each in seen):
            named = [one for one in seen if not task.wants_gpu or carries_gpus(one[0])]
            if named and "FARGATE" not in task.compatibilities:
                yield task, named


def _is_for_ec2(task: Task) -> bool:
    """Whether a task certainly runs on hosts of EC2; one without RequiresCompatibilities may be for Fargate."""
    return set(task.compatibilities) == {"EC2"} or (
        not task.compatibilities and task.network_mode in {"bridge", "host"}
    )


def _reasons(seen: Iterable[tuple[Pool, Fit]]) -> str:
    """Why it fits none of them, without what GPU027 and GPU028 report for every host there is."""
    named = []
    for pool, each in seen:
        obstacles: list[Obstacle] = [one for one in each.obstacles if one.kind not in _REPORTED_FOR_ANY_HOST]
        if reasons := [*each.shortfalls, *obstacles]:
            named.append(f"{pool.name}: {'; '.join(map(str, reasons))}")
    return "; ".join(named[:_MOST_NAMED])


_ASKED, _FACTS = "what placement constraints ask of", "what is in a host of the type"
_INSIDE = "what is in the machine image"
# What is missing, by how its words begin, and what makes that known.
_FIXES: Mapping[str, str] = {
    _ASKED: "constraints on what the files say of the hosts, such as attribute:ecs.instance-type",
    _INSIDE: "declare it: Metadata: {gpu-constructs: {MachineImage: {DriverVersion: 580.95.05}}} of what names it",
    _FACTS: f"declare the type: instance_types in {CONFIGURATION_FILES[0]}, or declare_instance_types in the app",
}
_AMI = re.compile(r"ami-[0-9a-f]{8,17}")

UNCHECKED: Final = "GPU229"
"""The rule whose findings say that something was not judged: its tasks are counted, and are shown without asking."""


@info(
    "GPU229",
    question="do the files define each task for Amazon EC2 and the hosts that it runs on?",
    because="whether a task fits depends on its hosts; what other files define, or only the deploy knows, is not "
    "checked, unless these files are given in the same call or the hosts are described with --hosts",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html",
    unless=("GPU040", "GPU042", "GPU063", "GPU070", "GPU098", "GPU130", "GPU309"),
)
def on_hosts_of_these_files(context: Context) -> Problems:
    missing: dict[str, dict[str, None]] = {}
    routes = {each.task.name: each.task for each in context.routes}
    senders: dict[str, list[Workload | Pool]] = {}
    for route in context.routes:
        named = {*route.task.compatibilities}
        is_sent = "EC2" in named and named.isdisjoint({"FARGATE", "EXTERNAL"})
        is_sent = is_sent or (route.workload is not None and _runs_on_ec2(route.task))
        if is_sent or demand_of(route.task).wants_accelerator:
            asked = dict.fromkeys(_asked_of_hosts(route))
            if asked and route.workload is not None:
                senders.setdefault(route.task.name, []).append(route.workload)
            images = {f"{_INSIDE} {what}": pool for what, pool in _images(context, route)}
            senders.setdefault(route.task.name, []).extend(images.values())
            others = dict.fromkeys((*_missing(context, route), *images))
            missing.setdefault(route.task.name, {}).update({**others, **asked})
    for name, hosts in missing.items():
        if hosts:
            yield Problem(
                about=routes[name],
                involves=tuple(senders.get(name, ())),
                message=f"these files do not define {or_list(hosts)}, so it is not known whether {name} fits its hosts",
                fix=_fix(hosts),
            )
    placed = {each.task.name for each in context.assignments}
    for task in context.tasks:
        if task.name not in placed and not missing.get(task.name) and _may_ask_for_anything(task):
            yield Problem(
                about=task,
                message=f"what the containers of {task.name} ask for is only known at deploy time, so it is not known "
                "whether it fits its hosts",
                property_name="ContainerDefinitions",
                fix="write it, or take it from context",
            )
    yield from _of_unknown_tasks(context.fleet)


def _of_unknown_tasks(fleet: Fleet) -> Problems:
    for hidden in (each for each in fleet.remarks if each.hides_work):
        text, _, fix = hidden.text.partition(": ")
        yield Problem(about=hidden.origin.resource, message=text, fix=fix, origin=hidden.origin)
    for workload in fleet.workloads:
        if workload.task is None and _is_sent_to_hosts(workload):
            yield Problem(
                about=workload,
                message=f"these files do not define the task definition of {workload.name}, so it is not known whether "
                "its tasks fit their hosts",
                property_name="TaskDefinition",
                fix="check these files together with the one that does",
            )


def _fix(missing: Iterable[str]) -> str:
    """What makes known all that is missing, where that is of one kind; else the files, or the hosts."""
    fixes = (fix for kind, fix in _FIXES.items() if all(each.startswith(kind) for each in missing))
    return next(fixes, "check these files with those that do, or describe the hosts, such as --hosts g6.xlarge=4")


def _is_sent_to_hosts(workload: Workload) -> bool:
    """Whether tasks go to Amazon EC2, as far as what is written tells, not to Fargate or to other machines."""
    if workload.strategy:
        named = (each.provider for each in workload.strategy if each.pool is not None or isinstance(each.provider, str))
        return any(each not in FARGATE_PROVIDERS for each in named)
    return workload.launch_type in EC2_LAUNCH_TYPES


def _may_ask_for_anything(task: Task) -> bool:
    """Whether the files say of no container whether it asks for GPUs."""
    asked = [one.type for each in task.containers for one in each.requirements]
    return bool(asked) and all(isinstance(each, Unknown) for each in asked) and _runs_on_ec2(task)


def _runs_on_ec2(task: Task) -> bool:
    return "FARGATE" not in task.compatibilities or "EC2" in task.compatibilities


def _of_environments(fleet: Fleet, task: Task) -> Iterator[str]:
    """What is missing of a task that has no pool: of AWS Batch, a GPU job is held against environments with GPUs."""
    there = environments_by_hand(fleet, task) if task.scheduler is Scheduler.BATCH else ()
    if not there or (not fleet.is_whole and task.wants_gpu):
        yield "its hosts"
    elif task.wants_gpu:
        yield from (f"the hosts of {brief(each.name)}" for each in there if not each.lacks_gpus)


def _asked_of_hosts(route: Route) -> Iterator[str]:
    """What placement constraints ask for and the files do not say of the hosts, or only the deploy says."""
    open_ = {DoubtKind.CONSTRAINT, *(() if demand_of(route.task).unknown else (DoubtKind.DEPLOY_TIME,))}
    for each in route.in_doubt:
        unscaled = set() if each.pool.is_scaled_by_ecs and route.every else {DoubtKind.CONSTRAINED_PLACES}
        if any(doubt.kind in open_ | unscaled for doubt in each.fit.doubts):
            yield f"{_ASKED} {brief(each.pool.name)}"


def _images(context: Context, route: Route) -> Iterator[tuple[str, Pool]]:
    """Machine images of which only their owner, or the deploy, knows whether they have a driver and the agent.

    Those of ECS Managed Instances are of AWS.
    """
    for each in route.destinations if route.task.wants_gpu else ():
        pool = each.pool
        of_aws = pool.kind is PoolKind.MANAGED_INSTANCES or is_managed(context, pool)
        is_open = isinstance(pool.image, Unknown) and not of_aws
        if is_open and pool.types_are_known and each.fit.answer is not False:
            is_id = _AMI.fullmatch(pool.image_written or "")
            yield str(pool.image_written) if is_id else f"of {pool.name}", pool


def _missing(context: Context, route: Route) -> Iterator[str]:
    """What of the hosts of a task the files do not define."""
    for each in route.destinations:
        if not each.pool.types_are_known and isinstance(each.fit.answer, Unknown):
            names = () if each.pool.has_unknown_types else each.pool.unknown_type_names
            new = () if any(map(name_problem, names)) else names
            yield from map(f"{_FACTS} {{}}".format, new)
            if not new:
                yield f"the instance types of {each.pool.name}"
    workload = route.workload
    if workload is None:
        if not route.destinations and not route.elsewhere and "EXTERNAL" not in route.task.compatibilities:
            yield from _of_environments(context.fleet, route.task)
    elif workload.strategy:
        for item in items_with_tasks(workload.strategy):
            if item.pool is None and item.provider not in FARGATE_PROVIDERS:
                named = isinstance(item.provider, str)
                yield (
                    f"capacity provider {brief(str(item.provider))}"
                    if named
                    else f"the capacity provider of {workload.name}"
                )
    elif workload.launch_type in EC2_LAUNCH_TYPES and not pools_of(context.fleet, workload):
        of = workload.cluster
        which = (
            "the default cluster" if of is None else f"cluster {brief(of)}" if isinstance(of, str) else "its cluster"
        )
        yield f"hosts of {which}"
