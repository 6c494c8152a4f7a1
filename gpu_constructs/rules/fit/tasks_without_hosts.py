"""Tasks without hosts: no instance type can run them, no host here does, or only hosts of other files may."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_constructs.facts import accelerated
from gpu_constructs.fleet import Pool, Scheduler, Task
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.destinations import by_hand, carries_gpus, unassigned
from gpu_constructs.placement.fit import runs_somewhere
from gpu_constructs.placement.pool_profile import cpu_units
from gpu_constructs.placement.reach import pools_by_hand
from gpu_constructs.placement.reasons import Fit, HostResource, Obstacle, ObstacleKind
from gpu_constructs.rules.evidence.accelerated import NEURON_ON_EC2
from gpu_constructs.rules.evidence.fixes import LESS, asked_at, hosts_for, ways_of, worst
from gpu_constructs.rules.finding import and_list, some
from gpu_constructs.rules.rule import Context, Problem, Problems, error

_SPECIFYING = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu-specifying.html"
_REPORTED_FOR_ANY_HOST = frozenset({ObstacleKind.LAUNCHER, ObstacleKind.OPERATING_SYSTEM})
_OF_A_SIZE = frozenset({HostResource.CPU, HostResource.MEMORY, HostResource.INTERFACES})
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
        where = some(f"{pool.name}: {'; '.join(each.reasons)}" for pool, each in seen)
        first = worst(seen[0][1].shortfalls)
        barring = None if first else next((each.kind for each in seen[0][1].obstacles if each.kind in _BARRED), None)
        # All that a job of AWS Batch asks for is a resource requirement.
        is_size = first and first.resource in _OF_A_SIZE and task.scheduler is not Scheduler.BATCH
        asking = asked_at(task, first.resource) if first and is_size else ""
        yield Problem(
            about=task,
            message=f"{task.name} fits on none of the {'GPU hosts' if task.wants_gpu else 'hosts'} here ({where})",
            fix=_BARRED[barring] if barring else LESS,
            ways=ways_of(task, *seen[0]),
            value=None if first is None else first.asked,
            changes="PlacementConstraints.Expression" if barring is ObstacleKind.CONSTRAINT else asking,
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
        if (
            not (pools and task.wants_gpu)
            or any(map(carries_gpus, pools))
            or not all(pool.types_are_known for pool in pools)
        ):
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
        if task.name not in placed and task.wants_gpu and not runs_somewhere(task):
            yield Problem(
                about=task,
                message=f"no instance type can run {task.name}: on one host it asks for {_asked(task)}; "
                f"{_largest(task)}",
                fix="ask for less, for example in several smaller tasks on different hosts",
                property_name=asked_at(task, _beyond_all(task)),
                is_shortage=True,
            )


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
        # One without RequiresCompatibilities may be for Fargate, which has the network mode awsvpc.
        modes = {"bridge", "host"} if not task.compatibilities else set()
        is_for_ec2 = set(task.compatibilities) == {"EC2"} or task.network_mode in modes
        if route.workload is not None or route.is_closed is not closed or not (task.wants_accelerator or is_for_ec2):
            continue
        seen = [(each.pool, each.fit) for each in route.destinations]
        if seen and all(pool.types_are_known and each.answer is False and not each.hosts for pool, each in seen):
            named = [one for one in seen if not task.wants_gpu or carries_gpus(one[0])]
            if named and "FARGATE" not in task.compatibilities:
                yield task, named


def _reasons(seen: Iterable[tuple[Pool, Fit]]) -> str:
    """Why it fits none of them, without what GPU027 and GPU028 report for every host there is."""
    named = []
    for pool, each in seen:
        obstacles: list[Obstacle] = [one for one in each.obstacles if one.kind not in _REPORTED_FOR_ANY_HOST]
        if reasons := [*each.shortfalls, *obstacles]:
            named.append(f"{pool.name}: {'; '.join(map(str, reasons))}")
    return some(named)
