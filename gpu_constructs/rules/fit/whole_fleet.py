"""Whether everything that is to run has room at once, and what idle and needless hosts cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_constructs.fleet import Unknown, known
from gpu_constructs.hardware.aws_limits import CPU_UNITS_PER_VCPU
from gpu_constructs.hardware.prices import dollars
from gpu_constructs.placement import Assumption, Counts, PoolProof, Proof, Stranded, demand_of, prove
from gpu_constructs.placement.assumptions import need_of, room_of
from gpu_constructs.placement.memo import by_identity
from gpu_constructs.placement.packing import UNITS, copies_per_host
from gpu_constructs.placement.prices import cost_of
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list
from gpu_constructs.rules.finding import Severity
from gpu_constructs.rules.rule import Problem, rule

_PLACEMENT = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement.html"
_SCALING = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html"

_WORTH_A_WORD_USD = 10.0
"""Price of a host an hour from which a second one that nobody needs is worth a word."""


def _at_desired(context: Context) -> Proof:
    return prove(context.fleet)


def _at_maximum(context: Context) -> Proof:
    return prove(context.fleet, counts=Counts.MAXIMUM)


@rule(
    "GPU080",
    Severity.WARNING,
    about=Context,
    question="do all workloads of a pool have room together, at their desired counts?",
    because="workloads on one capacity provider share its hosts, and what finds no room waits",
    source=_PLACEMENT,
)
def together(context: Context) -> Iterator[Problem]:
    if len(context.fleet.workloads) < 2:  # noqa: PLR2004 - fewer than two share nothing
        return
    proof = context.once(_at_desired)
    crowded = {each.workload.name for each in proof.workloads if each.unplaced}
    for each in proof.pools:
        names = _with_copies(proof)[each.pool.name]
        if len(names) > 1 and not crowded & set(names) and (short := _short(each)):
            yield Problem(
                about=each.pool,
                message=f"{and_list(names)} each have room on {each.pool.name} alone, but together at their desired "
                f"counts they {short}",
                fix="raise max_instances, or a pool of its own for one of them",
            )


@rule(
    "GPU081",
    Severity.WARNING,
    about=Context,
    question="do all workloads of a pool have room together, when scaling asks for the most copies?",
    because="service scaling counts copies up to its maximum whether or not there are hosts for them",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-auto-scaling.html",
)
def scaled(context: Context) -> Iterator[Problem]:
    if all(each.max_count is None for each in context.fleet.workloads):
        return
    at_desired = {each.pool.name: each for each in context.once(_at_desired).pools}
    proof = context.once(_at_maximum)
    growing = {each.name for each in context.fleet.workloads if each.max_count is not None}
    for each in proof.pools:
        names = _with_copies(proof)[each.pool.name]
        if growing & set(names) and not _short(at_desired[each.pool.name]) and (short := _short(each)):
            counts = and_list(f"{name} at {_most_copies(proof, name)}" for name in names)
            yield Problem(
                about=each.pool,
                message=f"at their maximum ({counts} copies) the workloads of {each.pool.name} {short}",
                fix="raise max_instances, or scale to fewer copies",
            )


@rule(
    "GPU082",
    Severity.WARNING,
    about=Context,
    question="do daemons leave the GPUs to the tasks?",
    because="a daemon runs on every host and comes before other tasks, and a GPU that it reserves is nobody else's",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_services.html",
)
def daemons(context: Context) -> Iterator[Problem]:
    for each in context.once(_at_desired).workloads if context.fleet.workloads else ():
        task = each.workload.task
        if each.workload.daemon is not True or task is None or not task.least_gpus:
            continue
        for pool in (place.pool for place in each.places if place.fits is not False):
            gpus = min((host.gpus for host in pool.instance_types), default=0)
            if gpus:
                taken = "every GPU" if task.takes_all_gpus else f"{task.least_gpus} of {gpus} GPUs"
                yield Problem(
                    about=each.workload,
                    message=f"the daemon {each.workload.name} reserves {taken} of every host of {pool.name}, and other "
                    "tasks get what is left",
                    fix="no GPU for it; a monitoring container sees the GPUs without one where nvidia is the default "
                    "Docker runtime of the hosts",
                )


@rule(
    "GPU085",
    Severity.INFO,
    about=Context,
    question="can the tasks use every GPU of the hosts they need?",
    because="a host without CPU, memory or network interfaces left takes no task, however many GPUs are free on it",
    source=_PLACEMENT,
)
def stranded(context: Context) -> Iterator[Problem]:
    proof = context.once(_at_desired)
    for each in proof.pools:
        for idle in each.stranded:
            yield Problem(
                about=each.pool,
                message=f"{idle.gpus} of {idle.gpus_per_host} GPUs of each {_hosts(each, idle)} stay idle, for "
                f"{and_list(idle.exhausted)} of the host are used up "
                f"first{_room_left(context, each)}{_wasted(each, idle)}",
                fix=f"less {and_list(idle.exhausted)} for each task, or hosts with fewer GPUs{_trunking(idle)}",
            )


@rule(
    "GPU087",
    Severity.INFO,
    about=Context,
    question="does the first host come without a second one that nobody needs?",
    because="from zero ECS always scales out to two instances, and takes the one that is not needed away later",
    source=_SCALING,
)
def two_from_zero(context: Context) -> Iterator[Problem]:
    for each in context.once(_at_desired).pools:
        pool = each.pool
        from_zero = pool.managed_scaling is True and pool.has_provider and pool.min_instances == 0
        if not from_zero or known(pool.max_instances, otherwise=0) < 2 or each.hosts_needed != 1:  # noqa: PLR2004
            continue
        cost = cost_of(pool, 1)
        if cost is not None and cost.usd_per_hour >= _WORTH_A_WORD_USD:
            yield Problem(
                about=pool,
                message=f"one host of {pool.name} is enough, and from zero ECS launches two: the second costs {cost} "
                "until it is scaled in",
                fix="max_instances=1, where one is all there will ever be",
            )


@by_identity(maxsize=4)
def _with_copies(proof: Proof) -> Mapping[str, tuple[str, ...]]:
    """Workloads of which a pool gets copies, by its name."""
    found: dict[str, list[str]] = {each.pool.name: [] for each in proof.pools}
    for each in proof.workloads:
        if each.workload.daemon is False and each.workload.task is not None:
            for place in each.places:
                if place.most != 0 and place.fits is not False:
                    found[place.pool.name].append(each.workload.name)
    return {pool: tuple(dict.fromkeys(names)) for pool, names in found.items()}


def _most_copies(proof: Proof, name: str) -> str:
    copies = next(each.copies for each in proof.workloads if each.workload.name == name)
    return "an unknown number of" if isinstance(copies, Unknown) else str(copies)


def _short(each: PoolProof) -> str:
    """Why what comes to a pool has no room, or may have none; empty if it has."""
    most = each.hosts_at_most
    if isinstance(most, Unknown) or each.hosts_at_least is None or each.answer is True:
        return ""
    if each.hosts_at_least > most:
        return f"need {each.hosts_at_least} hosts for {each.decided_by}, and max_instances is {most}"
    if not isinstance(each.hosts_needed, Unknown) and each.hosts_needed > most:
        return (
            f"may need {each.hosts_needed} hosts, the largest first, and max_instances is {most}; no fewer than "
            f"{each.hosts_at_least} could do"
        )
    return ""


def _trunking(idle: Stranded) -> str:
    by_interfaces = UNITS[-1] in idle.exhausted
    return ", unless awsvpcTrunking is on, which gives hosts more network interfaces" if by_interfaces else ""


def _hosts(each: PoolProof, idle: Stranded) -> str:
    names = and_list(each.pool.instance_types)
    return f"{names}" if idle.hosts == each.hosts_needed else f"of {idle.hosts} {names}"


def _room_left(context: Context, each: PoolProof) -> str:
    """What the only workload of a pool asks for, and how many copies a host takes then."""
    if len(each.workloads) != 1:
        return ""
    task = next(of.task for of in context.fleet.workloads if of.name == each.workloads[0])
    room = room_of(each.pool, Assumption.BEST)
    need = None if room is None or task is None else need_of(demand_of(task), room, Assumption.BEST)
    if room is None or need is None:
        return ""
    vcpus = need.units[2] / CPU_UNITS_PER_VCPU
    return f": {vcpus:g} vCPU and {need.units[3]} MiB a task leave room for {copies_per_host(need, room)}"


def _wasted(each: PoolProof, idle: Stranded) -> str:
    cost = cost_of(each.pool, idle.hosts)
    if cost is None:
        return ""
    share = cost.usd_per_hour * idle.gpus / idle.gpus_per_host
    return f"; their share of the price is {dollars(share)} of {cost}"
