"""Room of a workload on its hosts for all copies, with a host port for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial

from gpu_constructs.facts.aws_limits import RESERVED_PORTS
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import RESERVED_TCP, UNKNOWN, Task, Unknown, known, total
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.pool_profile import profile_of
from gpu_constructs.placement.reach import Share, readings
from gpu_constructs.placement.reasons import DoubtKind, ObstacleKind
from gpu_constructs.rules.evidence.copies import (
    ON_TRUNK,
    Copies,
    counted,
    is_short_of_interfaces,
    may_find_host,
    wanted_copies,
)
from gpu_constructs.rules.evidence.fixes import larger
from gpu_constructs.rules.evidence.server_commands import port_of
from gpu_constructs.rules.finding import Text, Way, Ways, Word, and_list, one_way, or_list, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning


@error(
    "GPU009",
    question="do the hosts have room for every copy at MaxSize?",
    because="a copy that fits on no host waits until one is free, so that the service never becomes stable and its "
    "deployment fails; ECS does not move a copy that the strategy gave to a full capacity provider to one that has "
    "room",
    softer="where other hosts may join the cluster, something else may set MaxSize, or awsvpcTrunking gives "
    "hosts more network interfaces; for runs, which start later",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CapacityProviderStrategyItem.html",
    stops_work=True,
    changes="MaxSize",
    unless=("GPU083", "GPU084"),
)
def room_for_all_copies(context: Context) -> Problems:
    for each, wanted in context.once(wanted_copies):
        slots = total(each.possible)
        if isinstance(slots, Unknown):
            continue
        if wanted > slots:
            held = Text(f"{with_verb(each.pool_names, 'holds', 'hold')} {slots} at ", each.limit)
            all_of_them = "the only task has no room" if wanted == 1 else f"none of the {wanted} tasks have room"
            trunk = is_short_of_interfaces(each, slots)
            on_trunk = f" ({ON_TRUNK})" if trunk else ""
            may_rise = any(one.group.max_may_rise for one in each.pools)
            may_find = not each.assignment.every and may_find_host(context, each.assignment.destinations)
            yield Problem(
                about=each.workload,
                message=(
                    Text(f"{wanted} tasks are wanted, and ", held, f"{on_trunk}: the others never start")
                    if slots
                    else Text(f"{all_of_them}: ", held)
                ),
                fix=Text("awsvpcTrunking, or raise " if trunk else "raise ", each.limit),
                ways=() if trunk else _more_hosts(each, wanted, slots),
                is_certain=each.assignment.is_closed and not (trunk or may_find or may_rise),
            )
        elif wanted > min(map(known, each.possible)):
            yield from _badly_split(each, wanted)
    for run in context.assignments:
        pools = [each.pool for each in run.destinations]
        # Paused: no host starts in it, and nothing sets another MaxSize.
        paused = (each.is_scaled_by_ecs and each.max_instances == 0 and not each.group.max_may_rise for each in pools)
        if pools and not run.workload.is_service and all(paused):
            names = and_list(each.name for each in pools)
            yield Problem(
                about=run.workload,
                message=Text(f"no task of {run.workload.name} starts while ", Word("MaxSize"), f" of {names} is 0"),
                fix=Text("raise ", Word("MaxSize")),
                is_certain=False,
            )


def _more_hosts(copies: Copies, wanted: int, slots: int) -> Ways:
    pool = copies.pools[0]
    if len(copies.pools) > 1 or isinstance(pool.max_instances, Unknown) or not slots:
        return ()
    hosts = -(-wanted * pool.max_instances // slots)
    return (larger(pool, hosts, hosts + 1),)


def _badly_split(copies: Copies, wanted: int) -> Problems:
    read = [list(_overfull(copies, wanted, shares)) for shares in readings(copies.workload.strategy, wanted)]
    if all(read):
        is_certain = all(any(each.is_certain for each in problems) for problems in read)
        yield from (replace(each, is_certain=each.is_certain and is_certain) for each in read[0])
        return
    for problems, counts in zip(read, ("counts", "does not count"), strict=False):
        # The documentation says both; see `readings`.
        doubt = f", if ECS {counts} the base of a capacity provider with a weight of 0"
        yield from (replace(each, message=Text(each.message, doubt), is_certain=False) for each in problems)


def _overfull(copies: Copies, wanted: int, shares: tuple[Share, ...]) -> Problems:
    slots_of = {pool.name: known(slots) for pool, slots in zip(copies.pools, copies.possible, strict=True)}
    trunk = is_short_of_interfaces(copies, known(total(copies.possible)))
    for share in shares:
        pool = share.item.pool
        if pool is None:
            continue
        slots, most = slots_of.get(pool.name, wanted), share.most or 0
        is_rounded = share.least <= slots < most and share.may_be_rounded_up
        if share.least > slots or is_rounded:
            given = f"may give {most}" if is_rounded else f"gives {share.least}"
            rounded = ", because how ECS rounds what the weights do not divide is not documented" if is_rounded else ""
            certain = wanted if len(shares) == 1 else min(wanted, known(share.item.base))
            held = f"the strategy {given} of {wanted} tasks to {pool.name}{rounded}, which holds {slots} at "
            why = "the others never start, because ECS does not move them to a capacity provider that has room"
            weights = f"weights in proportion to the room of each capacity provider, or for {pool.name} raise "
            yield Problem(
                about=copies.workload,
                message=Text(held, Word(pool.limit), f": {why}"),
                fix=Text(weights, Word(pool.limit)),
                is_certain=certain > slots and not (trunk or pool.group.max_may_rise),
            )


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
        # Where not even one copy certainly fits, a rule about one copy reports why.
        doubts = {doubt.kind for there in each.assignment.in_question for doubt in there.fit.doubts}
        if not each.task.wants_gpu or doubts - {DoubtKind.CONSTRAINT}:
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
                fix=Text("ask for less in each copy, or raise ", each.limit),
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
    for each, wanted in context.once(wanted_copies):
        if each.workload.distinct_instances and not isinstance(each.hosts, Unknown) and wanted > each.hosts > 0:
            shared = tuple(one for one in each.workload.constraints if one.type != "distinctInstance")
            yield Problem(
                about=each.workload,
                message=f"{wanted} task{'s' * (wanted > 1)} must run on different hosts (distinctInstance), and "
                f"{with_verb(each.pool_names, 'has', 'have')} {each.hosts} at most: the others never start",
                fix=Text("raise ", each.limit, ", or remove distinctInstance"),
                ways=(
                    *((larger(each.pools[0], wanted),) if len(each.pools) == 1 else ()),
                    *one_way("remove distinctInstance", replace(each.workload, constraints=shared)),
                ),
                is_certain=each.assignment.is_closed,
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


def _of_copies(context: Context) -> Problems:
    yield from {each.message: each for each in _of_agents(context)}.values()
    yield from _of_servers(context)
    for each, wanted in context.once(wanted_copies):
        ports = each.ports
        if ports and not isinstance(each.hosts, Unknown) and wanted > each.hosts > 0:
            yield Problem(
                about=each.workload,
                message=f"{wanted} tasks take host port {_port_list(ports)}, which each host has once, and "
                f"{with_verb(each.pool_names, 'has', 'have')} {'1 host' if each.hosts == 1 else f'{each.hosts} hosts'} "
                "at most: the others never start",
                fix="more hosts" if each.task.network_mode == "host" else "more hosts, or no host port",
                ways=(
                    *_dynamic(each.task, ports, " behind a load balancer"),
                    *one_way("network mode awsvpc", replace(each.task, network_mode="awsvpc")),
                ),
                is_certain=each.assignment.is_closed,
            )


_ENDED = frozenset({"COMPLETE", "SUCCESS", UNKNOWN})  # conditions of a container that may wait for another to end


@error(
    "GPU084",
    question="is the port free for every copy and every container, on its host or the interface of its task?",
    because="each host has a host port once, and the ECS agent keeps some from tasks: the first container reserves the "
    "port, and the second never starts",
    softer="for ports that the agent keeps by default, where an image of your own or user data may set "
    "ECS_RESERVED_PORTS, where other hosts may join the cluster, and for servers at one port of an interface that the "
    "containers of a task share, where one vLLM server may answer requests of another",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html",
    changes="PortMappings.HostPort",
    in_fleet=_of_copies,
)
def ports_once(task: Task) -> Problems:
    # In network mode host nothing is mapped, so that two mappings of one container mean the same port.
    once = frozenset if task.network_mode == "host" else tuple
    taken = Counter(port for container in task.containers for port in once(container.host_ports))
    for port in (port for port, times in taken.items() if times > 1):
        names = [each.name for each in task.containers if port in each.host_ports]
        yield Problem(
            message=f"{and_list(names)} of {task.name} {'take' if len(names) > 1 else 'takes'} host port "
            f"{_port_list((port,))} more than once, and a host has it once",
            fix="another host port for one of them",
            ways=((Way(text="another host port for one of them"),), *_dynamic(task, {port})),
            property_name="PortMappings",
            value=port[0],
        )


def _of_agents(context: Context) -> Problems:
    """Tasks that take a port which the agents of all their hosts keep, as user data says or by default."""
    for route in context.routed(lambda task: bool(demand_of(task).certain_ports)):
        barred = [each.pool for each in route.stuck if each.barred_by(ObstacleKind.PORT)]
        pools = barred or [each.pool for each in route.destinations]
        reserved = frozenset[tuple[int, str]]().union(*(profile_of(each).may_reserve_ports for each in pools))
        kept = demand_of(route.task).certain_ports & (reserved if barred else reserved & RESERVED_PORTS)
        if kept:
            which = (
                f"agents of {and_list(each.name for each in barred)} keep from tasks ({RESERVED_TCP}, or by default)"
            )
            yield Problem(
                about=route.task,
                message=f"{route.task.name} takes host port {_port_list(kept)}, which the "
                f"{which if barred else 'ECS agent reserves on every host by default'}",
                fix="another host port",
                ways=(*_dynamic(route.task, kept), (Way(text="another host port"),)),
                is_certain=bool(barred),
            )


def _of_servers(context: Context) -> Problems:
    """Servers that share a network interface and a port: of their task, or of its host.

    Of two of vLLM, requests go to any: https://github.com/vllm-project/vllm/issues/39762
    """
    for task in (each for each, _ in context.tasks_as_run if each.network_mode in {"awsvpc", "host"}):
        ended = {to.container for each in task.containers for to in each.relations.depends_on if to.condition in _ENDED}
        running = (each for each in task.containers if each.name not in ended)
        certain = (each for each in running if not context.has_unknown_variables(task, each))
        for port, there in grouped((port_of(each), each) for each in certain).items():
            if port and len(there) > 1:
                yield Problem(
                    about=task,
                    container=there[1],
                    message=f"{and_list(each.name for each in there)} of {task.name} listen at port {port}, and in "
                    f"network mode {task.network_mode} they share a network interface: one of them ends, or answers "
                    "requests of the other",
                    fix="another port for one of them",
                    property_name="Command",
                    changes="Command",
                    is_certain=False,
                )


def _dynamic(task: Task, ports: Collection[tuple[int, str]], where: str = "") -> Ways:
    """Host ports that Docker chooses, which it does not in network mode host."""
    if task.network_mode == "host":
        return ()
    return one_way(f"a dynamic host port (0){where}", partial(_without_ports, task, ports))


def _without_ports(task: Task, ports: Collection[tuple[int, str]]) -> Task:
    containers = (
        replace(container, host_ports=tuple(each for each in container.host_ports if each not in ports))
        for container in task.containers
    )
    return replace(task, containers=tuple(containers))


def _port_list(ports: Iterable[tuple[int, str]]) -> str:
    return or_list(f"{number}/{protocol}" for number, protocol in sorted(ports))
