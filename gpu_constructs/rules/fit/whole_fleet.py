"""Whether all workloads have room at once, what idle GPUs cost, and whether tasks without GPUs stay off GPU hosts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from gpu_constructs.facts.aws_limits import CPU_UNITS_PER_VCPU, may_have_trunk
from gpu_constructs.facts.prices import dollars
from gpu_constructs.facts.values import by_identity
from gpu_constructs.fleet import Pool, Unknown, Workload, known
from gpu_constructs.placement.assumptions import Assumption, need_of, rooms_of
from gpu_constructs.placement.costs import cost_of
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.packing import UNITS, copies_per_host
from gpu_constructs.placement.proof import PoolProof, Proof, Stranded
from gpu_constructs.placement.reach import split
from gpu_constructs.rules.evidence.accelerated import asks_for_accelerator
from gpu_constructs.rules.evidence.copies import at_maximum
from gpu_constructs.rules.evidence.fixes import larger
from gpu_constructs.rules.finding import Text, Way, Ways, Word, and_list, or_list
from gpu_constructs.rules.rule import Context, Problem, Problems, error, info, warning

_ELSEWHERE = "move one of them to a separate capacity provider"
_LOWER = Text("lower the ", Word("MaxCapacity"), " of service auto scaling")
_PLACEMENT = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html"

_WATCHERS = r"dcgm|cloudwatch-agent|nvidia_gpu_exporter|node-exporter|datadog/agent"
"""Images that measure GPUs and use none."""

_WORTH_REPORTING_USD = 10.0
"""Price of a host per hour from which an unneeded second host is reported."""


@error(
    "GPU080",
    question="do all workloads of a pool have room together, at desired counts and at the most that scaling asks for?",
    because="workloads on one capacity provider share its hosts, and a task that finds no room waits, so that its "
    "service never becomes stable",
    softer="where another order of placement or awsvpcTrunking may make room, and at the most copies that service auto "
    "scaling asks for",
    source=_PLACEMENT,
    stops_work=True,
    changes="MaxSize",
)
def room_together(context: Context) -> Problems:
    yield from _at_desired_counts(context)
    yield from _at_most_copies(context)


def _at_desired_counts(context: Context) -> Problems:
    if len(context.fleet.workloads) < 2:  # noqa: PLR2004 - fewer than two share nothing
        return
    proof = context.proof
    # Where scaling decides on a number, the largest is asked about.
    spared = {each.workload.name for each in proof.workloads if each.unplaced or _is_open(each.workload)}
    for each in proof.pools:
        names = _with_copies(proof)[each.pool.name]
        if len(names) > 1 and not spared & set(names) and (short := _short(proof, each)):
            yield Problem(
                about=each.pool,
                message=Text(
                    f"{and_list(names)} would each have room on {each.pool.name} alone, but together at their desired "
                    "counts they ",
                    short,
                ),
                fix=Text("raise ", Word(each.pool.limit), f", or {_ELSEWHERE}"),
                ways=_more_hosts(each, _ELSEWHERE),
                is_certain=each.answer is False and each.decided_by != UNITS[-1],
            )
    beyond = [each.pool for each in proof.pools if not each.is_packed and each.answer is not False]
    if beyond:
        yield Problem(
            about=beyond[0],
            message=f"whether the workloads of {and_list(each.name for each in beyond)} have room together was not "
            "worked out: too many of them ask for different things",
            fix="check fewer files at once",
            is_certain=False,
        )


def _at_most_copies(context: Context) -> Problems:
    """The same with as many copies as service auto scaling may ask for, whether or not there are hosts for them.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-auto-scaling.html
    """
    if all(each.scaling is None for each in context.fleet.workloads):
        return
    at_desired = {each.pool.name: each for each in context.proof.pools}
    proof = context.once(at_maximum)
    most_copies = {
        each.workload.name: "an unknown number of" if isinstance(each.copies, Unknown) else each.copies
        for each in proof.workloads
    }
    growing = {each.name for each in context.fleet.workloads if each.scaling is not None}
    is_open = {each.name for each in context.fleet.workloads if _is_open(each)}
    for each in proof.pools:
        names = _with_copies(proof)[each.pool.name]
        is_new = is_open & set(names) or not _short(context.proof, at_desired[each.pool.name])
        if growing & set(names) and is_new and (short := _short(proof, each)):
            counts = and_list(f"{name} at {most_copies[name]}" for name in names)
            yield Problem(
                about=each.pool,
                message=Text(f"at their maximum ({counts} copies) the workloads of {each.pool.name} ", short),
                fix=Text("raise ", Word(each.pool.limit), ", or ", _LOWER),
                ways=_more_hosts(each, _LOWER),
                is_certain=False,
            )


@warning(
    "GPU082",
    question="do daemons leave the GPUs to other tasks?",
    because="a daemon runs on every host and is placed before other tasks, which cannot use a GPU that it reserves",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_services.html",
    changes="ResourceRequirements",
)
def daemons(context: Context) -> Problems:
    for each in context.proof.workloads if context.fleet.workloads else ():
        task = each.workload.task
        if each.workload.daemon is not True or task is None or not task.least_gpus:
            continue
        images = [one.image for one in task.containers if one.requirements]
        only_watches = all(isinstance(image, str) and re.search(_WATCHERS, image) for image in images)
        for pool in (there.pool for there in each.tenants if there.fits is not False):
            gpus = min((host.gpus for host in pool.instance_types), default=0)
            if gpus:
                rest = "none" if task.takes_all_gpus or task.least_gpus >= gpus else "the rest"
                taken = "every GPU" if task.takes_all_gpus else f"{task.least_gpus} of {gpus} GPUs"
                yield Problem(
                    about=each.workload,
                    message=f"the daemon {each.workload.name} reserves {taken} on every host of {pool.name}, and other "
                    f"tasks get {rest}",
                    fix=f"{'' if only_watches else 'if it only watches the GPUs, '}remove its request for them, "
                    "and make its container Privileged with the driver of the host mounted: without a request it gets "
                    "neither, unless nvidia is the default Docker runtime of the hosts",
                )


@warning(
    "GPU085",
    question="can the tasks use every GPU of the hosts that they need?",
    because="a host that has no CPU, memory or network interface left takes no more tasks, however many GPUs are free "
    "on it, and neither do GPUs that are fewer than any task asks for; the price of the host is for all of them",
    source=_PLACEMENT,
    changes="InstanceType",
)
def stranded(context: Context) -> Problems:
    proof = context.proof
    for each in proof.pools:
        if (left := _left_by_count(context, each)) is not None:
            sizes = context.once(_gpus_asked)[each.pool.name]
            even = [size for size in range(1, left.gpus_per_host + 1) if left.gpus_per_host % size == 0]
            yield Problem(
                about=each.pool,
                message=f"tasks here ask for {or_list(map(str, sorted(sizes)))} GPUs, so that {left.gpus} of "
                f"{left.gpus_per_host} GPUs of each {and_list(each.pool.instance_types)} can never be "
                f"used{_wasted(each, left)}",
                fix=f"{or_list(map(str, even))} GPUs for each task, or hosts with fewer GPUs",
            )
            continue
        for idle in each.stranded:
            by_interfaces = UNITS[-1] in idle.exhausted
            if by_interfaces and any(one.network.max_interfaces is None for one in each.pool.instance_types):
                continue  # it may take more of them
            trunk = by_interfaces and any(map(may_have_trunk, each.pool.instance_types))
            names = and_list(each.pool.instance_types)
            of = names if idle.hosts == each.hosts_needed else f"of {idle.hosts} {names}"
            yield Problem(
                about=each.pool,
                message=f"{idle.gpus} of {idle.gpus_per_host} GPUs of each {of} stay idle, because tasks use up "
                f"the {and_list(idle.exhausted)} of the host first{_room_left(context, each)}{_wasted(each, idle)}",
                fix=f"ask for less {and_list(idle.exhausted)} in each task, or hosts with fewer GPUs"
                f"{', or awsvpcTrunking, which gives hosts more network interfaces' if trunk else ''}",
            )


@info(
    "GPU087",
    question="does a pool that needs one host launch only one?",
    because="when ECS scales out from zero it always launches two instances, and removes the one that is not needed "
    "later",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html",
    changes="MaxSize",
)
def two_from_zero(context: Context) -> Problems:
    for each in context.proof.pools:
        pool = each.pool
        from_zero = pool.is_scaled_by_ecs and pool.min_instances == 0
        if not from_zero or known(pool.max_instances, otherwise=0) < 2 or each.hosts_needed != 1:  # noqa: PLR2004
            continue
        cost = cost_of(pool, 1)
        if cost is not None and cost.usd_per_hour >= _WORTH_REPORTING_USD:
            yield Problem(
                about=pool,
                message=f"one host of {pool.name} is enough, but ECS launches two when it scales out from zero: the "
                f"second costs {cost.text} until it is scaled in",
                fix=Text("a ", Word("MaxSize"), " of 1, if one host is always enough"),
            )


def _is_open(workload: Workload) -> bool:
    """Whether nothing but its scaling says how many copies there are."""
    return workload.scaling is not None and isinstance(workload.desired_count, Unknown)


@by_identity(maxsize=4)
def _with_copies(proof: Proof) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {each.pool.name: [] for each in proof.pools}
    for each in proof.workloads:
        if each.workload.daemon is False and each.workload.task is not None:
            for there in each.tenants:
                if there.most != 0 and there.fits is not False:
                    found[there.pool.name].append(each.workload.name)
    return {pool: tuple(dict.fromkeys(names)) for pool, names in found.items()}


def _short(proof: Proof, each: PoolProof) -> Text:
    """Why a pool has no room for its workloads, or may have none; empty if it has room."""
    most, limit = each.pool.hosts_at_most, Word(each.pool.limit)
    if isinstance(most, Unknown) or each.hosts_at_least is None or each.answer is True:
        return Text()
    if each.hosts_at_least > most:
        return Text(f"need {each.hosts_at_least} hosts for {each.decided_by}, and ", limit, f" is {most}")
    if not isinstance(each.hosts_needed, Unknown) and each.hosts_needed - _rounded(proof)[each.pool.name] > most:
        return Text(
            f"may need {each.hosts_needed} hosts, if the largest tasks are placed first, and ",
            limit,
            f" is {most}; at least {each.hosts_at_least} are needed",
        )
    return Text()


@by_identity(maxsize=4)
def _rounded(proof: Proof) -> Mapping[str, int]:
    """Copies that only an unlikely rounding of weights brings to each pool; each takes one host at most."""
    found: Counter[str] = Counter()
    for each in proof.workloads:
        copies = each.copies
        for share in split(each.workload.strategy, copies, copies) if isinstance(copies, int) else ():
            if share.item.pool is not None and not share.may_be_rounded_up:
                found[share.item.pool.name] += (share.most or 0) - share.least
    return found


def _left_by_count(context: Context, each: PoolProof) -> Stranded | None:
    """GPUs of each host of a pool that are left however many tasks it has; None where tasks may use all."""
    sizes, hosts = context.once(_gpus_asked).get(each.pool.name, ()), {host.gpus for host in each.pool.instance_types}
    if not sizes or len(hosts) != 1:
        return None
    gpus = hosts.pop()
    sums = {0}
    for total in range(1, gpus + 1):
        if any(total - size in sums for size in sizes):
            sums.add(total)
    idle = gpus - max(sums)
    return Stranded(hosts=1, gpus=idle, gpus_per_host=gpus, exhausted=()) if 0 < idle < gpus else None


def _gpus_asked(context: Context) -> Mapping[str, frozenset[int]]:
    """Numbers of GPUs that tasks ask for, by the pool that they may go to; none where one takes whatever there is."""
    found: dict[str, set[int]] = {}
    for route in context.routes:
        demand = demand_of(route.task)
        is_open = demand.all_gpus or demand.part or demand.shared_memory_mib is not None or demand.unknown
        for each in route.destinations:
            if each.fit.answer is not False and (is_open or demand.gpus):
                found.setdefault(each.pool.name, set()).add(1 if is_open or route.task.submissions else demand.gpus)
    return {name: frozenset(sizes) for name, sizes in found.items()}


def _room_left(context: Context, each: PoolProof) -> str:
    """What the only workload of a pool asks for, and how many copies a host has room for."""
    if len(each.workloads) != 1:
        return ""
    task = next(of.task for of in context.fleet.workloads if of.name == each.workloads[0])
    _, room = rooms_of(each.offer)
    need = None if task is None else need_of(demand_of(task), room, Assumption.BEST)
    if need is None:
        return ""
    vcpus = need.units[2] / CPU_UNITS_PER_VCPU
    return f": {vcpus:g} vCPU and {need.units[3]} MiB for each task leave room for {copies_per_host(need, room)}"


def _wasted(each: PoolProof, idle: Stranded) -> str:
    cost = cost_of(each.pool, idle.hosts)
    if cost is None:
        return ""
    share = cost.usd_per_hour * idle.gpus / idle.gpus_per_host
    return f"; their share of the price is {dollars(share)} of {cost.text}"


def _more_hosts(proof: PoolProof, otherwise: str) -> Ways:
    pool, most = proof.pool, proof.pool.max_instances
    if isinstance(most, Unknown):
        return ()
    needed = (known(each, otherwise=0) for each in (proof.hosts_at_least or 0, proof.hosts_needed))
    tried = sorted({most + 1, most + 2, most + 3, 2 * most + 2, 4 * most, *(each for each in needed if each > most)})
    return larger(pool, *tried), (Way(text=otherwise),)


@warning(
    "GPU260",
    question="do tasks without GPUs stay off the hosts of GPU tasks?",
    because="a task without a capacity provider strategy is placed on any host of its cluster that has room, and takes "
    "the CPU and the memory that a GPU task waits for",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html",
)
def kept_off(context: Context) -> Problems:
    for assignment in context.assignments:
        workload, task = assignment.workload, assignment.task
        if workload.strategy or workload.daemon is not False or demand_of(task).gets_accelerator:
            continue
        fitting = [each.pool for each in assignment.destinations if each.types]
        taken = [each for each in fitting if _has_accelerators(each) and context.gpu_workloads.get(each.name)]
        others = [each for each in fitting if not _has_accelerators(each)]
        if taken and others:
            yield Problem(
                about=workload,
                involves=tuple(taken),
                message=f"{task.name} asks for no GPU and may be placed on hosts of "
                f"{and_list(each.name for each in taken)}, for which GPU tasks wait",
                fix=f"a CapacityProviderStrategy with {others[0].name}"
                if others[0].has_provider
                else "a placement constraint that leaves the GPU hosts out",
                property_name="CapacityProviderStrategy",
            )


@warning(
    "GPU304",
    question="does a service without GPUs start hosts without GPUs?",
    because="ECS starts a host of the capacity provider for each task that finds no room, whatever the task asks for, "
    "and keeps it while the task runs: a task without GPUs pays for GPUs that it cannot use",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html",
)
def starts_its_own_kind(context: Context) -> Problems:
    for workload in context.fleet.workloads:
        task, pools = workload.task, [each.pool for each in workload.strategy if each.pool is not None]
        if task is None or workload.daemon is not False or asks_for_accelerator(task):
            continue
        # ECS starts hosts of each of them, and every one has accelerators.
        started = [each for each in pools if each.is_scaled_by_ecs and each.types_are_known]
        has_some = all(one.accelerators for each in pools for one in each.instance_types)
        is_all = 0 < len(pools) == len(workload.strategy) == len(started) and has_some
        if is_all and workload.has_copies and not context.gpu_workloads.keys().isdisjoint(each.name for each in pools):
            named = and_list(f"{each.name} ({each.instance_types[0]})" for each in pools)
            yield Problem(
                about=workload,
                involves=tuple(pools),
                property_name="CapacityProviderStrategy",
                message=f"{workload.name} runs {task.name}, which asks for no GPU, on {named}: it starts such "
                "hosts, and takes their CPU and memory from GPU tasks",
                fix="a capacity provider of hosts without GPUs, or Fargate",
            )


def _has_accelerators(pool: Pool) -> bool:
    return any(each.accelerators for each in pool.instance_types)
