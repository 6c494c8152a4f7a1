"""The hosts that registered with a cluster, and what keeps a task off each of them at this moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain

from gpu_constructs.account.answers import Answers, Thing, number, text, texts, things
from gpu_constructs.errors import counted
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.catalogue import known_type
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import PlacementConstraint, Task
from gpu_constructs.placement.demand import Demand, demand_of
from gpu_constructs.placement.query.ast import INSTANCE_TYPE
from gpu_constructs.placement.query.evaluate import Host, evaluate
from gpu_constructs.placement.query.parser import QuerySyntaxError, parse
from gpu_constructs.placement.reasons import HostResource, listed

_MOST_HOSTS = 3
_SET = "stringSetValue"


class Layer(Enum):
    """Where it is that a task is held up; those that no waiting mends come first."""

    NEVER_FITS = "never fits"
    GPU_NOT_REGISTERED = "GPU not registered"
    ATTRIBUTE = "attribute missing"
    DRIVER = "driver too old"
    IMAGE = "image not pulled"
    QUOTA = "quota"
    NOT_OFFERED = "not offered in the zone"
    CAPACITY = "capacity"
    LAUNCH = "launch refused"
    NOT_JOINED = "not joined"
    GROUP_MAXIMUM = "maximum of the group"
    NOT_SCALED = "nothing starts hosts"
    BUSY = "fits, but busy"
    STARTING = "starting"
    STOPPED = "stopped"
    DEPLOYMENT = "deployment failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Resources of a host, those that it registered or those that remain: with the ids of GPUs, and ports taken."""

    cpu: int
    memory_mib: int
    gpus: tuple[str, ...]
    ports: frozenset[tuple[int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredHost:
    """One container instance.

    Attributes:
        provider: Its capacity provider; empty where it has none.
        type_name: Its instance type; empty where it does not say.
        instance_type: The same in the catalogue; None where it is not known.
        status: ``ACTIVE`` or why it takes no tasks.
        is_connected: Whether its agent is.
        registered: What it brought into the cluster.
        remaining: What of it no task has.
        attributes: Its attributes by name, None where one has no value.
    """

    arn: str
    instance_id: str
    provider: str
    type_name: str
    instance_type: InstanceType | None
    status: str
    is_connected: bool
    registered: Amounts
    remaining: Amounts
    attributes: Mapping[str, str | None]

    def __str__(self) -> str:
        return f"{self.instance_id} ({self.type_name})" if self.type_name else self.instance_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that holds a task up.

    Attributes:
        where: The capacity provider or the hosts that it is about; empty where it is about the task or one host.
        text: Why; of one host: ``has 0 of 1 GPUs free, and 1 is asked``.
        fix: What to do; empty where waiting does it.
    """

    layer: Layer
    where: str = ""
    text: str
    fix: str = ""


def registered_hosts(answers: Answers) -> tuple[RegisteredHost, ...]:
    """The hosts of the cluster, in the order in which they were described."""
    return tuple(map(_host, answers.of("containerInstances")))


def refusal(
    task: Task, host: RegisteredHost, *, constraints: tuple[PlacementConstraint, ...], needed: tuple[str, ...] = ()
) -> Cause | None:
    """The first thing that keeps a task of a service with these constraints off a host; None where it takes the task.

    `needed` are attributes that ECS wants of its host: ``requiresAttributes`` of the task definition.
    """
    demand = demand_of(task, constraints)
    looks = (_of_gpus(demand, host), _of_attributes(demand, host, needed), _of_amounts(demand, host))
    return state_of(host) or next(chain.from_iterable(looks), None)


def copies_on(task: Task, host: RegisteredHost) -> int | None:
    """How many copies of a task a host takes while it is empty; None where that is not a matter of numbers alone."""
    demand, whole = demand_of(task), host.registered
    if not demand.has_numbers_only:
        return None
    pairs = ((len(whole.gpus), demand.gpus), (whole.cpu, demand.cpu), (whole.memory_mib, demand.memory_mib))
    return min((has // wanted for has, wanted in pairs if wanted), default=None) or None


def state_of(host: RegisteredHost) -> Cause | None:
    """Why a host takes no task at all; None where it takes tasks."""
    if host.status != "ACTIVE":
        return Cause(
            layer=Layer.NOT_JOINED,
            text=f"is {host.status or 'of no status'}",
            fix="if it is not to leave, set it ACTIVE with aws ecs update-container-instances-state",
        )
    if not host.is_connected:
        return Cause(
            layer=Layer.NOT_JOINED,
            text="has an ECS agent that is not connected",
            fix="restart the agent: systemctl restart ecs on the host, or replace the host",
        )
    return None


def _of_gpus(demand: Demand, host: RegisteredHost) -> Iterator[Cause]:
    kind = host.instance_type
    if not (demand.gpus or demand.part) or kind is None or kind.gpus <= len(host.registered.gpus):
        return
    found = len(host.registered.gpus)
    if found < max(demand.gpus, 1):
        yield Cause(
            layer=Layer.GPU_NOT_REGISTERED,
            text=f"registered {found} of its {counted(kind.gpus, 'GPU')}",
            fix="launch the hosts from the GPU image of ECS, without ECS_ENABLE_GPU_SUPPORT=false, and replace those "
            "that are there; nvidia-smi on the host shows whether the driver sees its GPUs",
        )


def _of_attributes(demand: Demand, host: RegisteredHost, needed: tuple[str, ...]) -> Iterator[Cause]:
    missing = [each for each in needed if each not in host.attributes]
    if missing:
        yield Cause(
            layer=Layer.ATTRIBUTE,
            text=f"lacks {listed(missing)}, which the task definition requires",
            fix="a newer ECS agent or the configuration that brings the attribute, see "
            "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-placement-constraints.html",
        )
    seen = Host(
        attributes=dict(host.attributes),
        agent_connected=host.is_connected,
        ec2_instance_id=host.instance_id,
    )
    for expression in demand.expressions:
        try:
            holds = evaluate(parse(expression), seen)
        except QuerySyntaxError:
            continue
        if holds is False:
            yield Cause(
                layer=Layer.ATTRIBUTE,
                text=f"does not satisfy the placement constraint {expression}",
                fix="allow the host in the constraint, or launch hosts that satisfy it",
            )


def _of_amounts(demand: Demand, host: RegisteredHost) -> Iterator[Cause]:
    whole, free = host.registered, host.remaining
    asked = {
        HostResource.GPU: (demand.gpus, len(whole.gpus), len(free.gpus)),
        HostResource.CPU: (demand.cpu, whole.cpu, free.cpu),
        HostResource.MEMORY: (demand.memory_mib, whole.memory_mib, free.memory_mib),
    }
    if demand.all_gpus:
        asked[HostResource.GPU] = (max(demand.gpus, len(whole.gpus)), len(whole.gpus), len(free.gpus))
    for resource, (wanted, has, _) in asked.items():
        if wanted > has:
            yield Cause(
                layer=Layer.NEVER_FITS,
                text=f"registered {_amount(resource, has)}, and {resource.amount(wanted)} "
                f"{'is' if wanted == 1 else 'are'} asked",
                fix=f"ask for at most {_amount(resource, has)}, or launch larger hosts",
            )
    # A GPU that containers share is taken by the first of them and has room for more of them.
    shared = demand.shared_memory_mib is not None
    short = [
        f"{_amount(resource, wanted)} asked, {resource.amount(left)} free"
        for resource, (wanted, _, left) in asked.items()
        if wanted > left and not (shared and resource is HostResource.GPU)
    ]
    short += [f"port {port}/{protocol} taken" for port, protocol in sorted(demand.certain_ports & free.ports)]
    if short:
        yield Cause(layer=Layer.BUSY, text=f"is busy: {', '.join(short)}")


def _amount(resource: HostResource, number_of: int) -> str:
    if resource is HostResource.GPU:
        return counted(number_of, "GPU")
    return f"{resource.amount(number_of)}{' of memory' if resource is HostResource.MEMORY else ' CPU units'}"


def _host(described: Thing) -> RegisteredHost:
    attributes = {
        text(each, "name"): text(each, "value") or None
        for each in things(described, "attributes")
        if text(each, "name")
    }
    type_name = attributes.get(INSTANCE_TYPE.name) or ""
    return RegisteredHost(
        arn=text(described, "containerInstanceArn"),
        instance_id=text(described, "ec2InstanceId"),
        provider=text(described, "capacityProviderName"),
        type_name=type_name,
        instance_type=known_type(type_name),
        status=text(described, "status"),
        is_connected=described.get("agentConnected") is True,
        registered=_amounts(things(described, "registeredResources")),
        remaining=_amounts(things(described, "remainingResources")),
        attributes=attributes,
    )


def _amounts(resources: tuple[Thing, ...]) -> Amounts:
    by_name = {text(each, "name"): each for each in resources}
    return Amounts(
        cpu=number(by_name.get("CPU", {}), "integerValue") or 0,
        memory_mib=number(by_name.get("MEMORY", {}), "integerValue") or 0,
        gpus=texts(by_name.get("GPU", {}), _SET),
        ports=frozenset(
            (int(port), protocol)
            for name, protocol in (("PORTS", "tcp"), ("PORTS_UDP", "udp"))
            for port in texts(by_name.get(name, {}), _SET)
            if port.isascii() and port.isdecimal() and len(port) <= len("65535")
        ),
    )


def some(names: Sequence[str]) -> str:
    """The first of several hosts by name, and how many more there are."""
    rest = len(names) - _MOST_HOSTS
    return f"{', '.join(names[:_MOST_HOSTS])}{f' and {rest} more' if rest > 0 else ''}"
