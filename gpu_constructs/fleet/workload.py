"""A workload: so many tasks kept running on a strategy, and the fleet that holds all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from difflib import SequenceMatcher
from typing import TypeVar

from gpu_constructs.errors import InvalidValueError, UnknownNameError, shown
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.budget import LABEL
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet.calls import JobQueue, Starter, Step, Submission
from gpu_constructs.fleet.origin import Origin, Subnet, WayOut
from gpu_constructs.fleet.pool import Pool
from gpu_constructs.fleet.task import Container, PlacementConstraint, Task
from gpu_constructs.fleet.unknown import UNKNOWN, Unknown

_SIDE_BY_SIDE = frozenset({"BLUE_GREEN", "LINEAR", "CANARY"})

STEPS_IN_PERCENT = "StepScaling in percent"
"""A step scaling policy whose steps are percents of the copies that run, with no least number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyItem:
    """One item of a capacity provider strategy.

    Attributes:
        provider: The provider as written: its name, ``FARGATE``, or unknown where it is an import.
        pool: The pool behind it; None where the files that were read do not define it.
        weight: Relative share of the tasks above every base; ECS's own default is 0.
        base: Tasks that go here first.
    """

    provider: str | Unknown
    pool: Pool | None = None
    weight: int | Unknown = 0
    base: int | Unknown = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceScaling:
    """What service auto scaling does with the copies of a service.

    Attributes:
        most: Copies that it may ask for at most.
        least: Copies that it keeps at least; None if that is not written.
        by: What it follows, sorted: a predefined metric, such as ``ALBRequestCountPerTarget``, or the type of any other
            policy, such as ``StepScaling``, or `STEPS_IN_PERCENT`.
    """

    most: int | Unknown
    least: int | Unknown | None = None
    by: tuple[str | Unknown, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Copies of one task on a strategy: a service, or what runs the task now and then, such as a schedule.

    Attributes:
        task: What it runs, with what it overrides; None where the files that were read do not define it.
        cluster: The cluster it runs in, as `Pool.cluster` names it; None if it is the default one.
        strategy: Where its tasks go, as written, also with a launch type, which ECS refuses. That of the cluster where
            the service has neither a strategy nor a launch type.
        follows_cluster: Whether its strategy is that of the cluster; only templates say so.
        launch_type: ``EC2``, ``FARGATE``, ``EXTERNAL`` as written; None if nothing was.
        desired_count: Copies it keeps running, or runs at once; unknown where whatever scales the service decides. 0
            where it is turned off.
        daemon: Whether a copy runs on every host of the cluster instead.
        min_healthy_percent: Copies that keep running during a deployment, in percent; None is ECS's default of 100, or
            0 for daemons.
        max_healthy_percent: Copies that may run at once during a deployment, in percent; None is ECS's default of 200.
        deployment_strategy: ``ROLLING``, ``BLUE_GREEN``, ``LINEAR``, ``CANARY`` as written; None is ECS's default, the
            first.
        deployment_controller: ``ECS``, ``CODE_DEPLOY``, ``EXTERNAL`` as written; None is ECS's default, the first. Only
            templates say so.
        service_connect: Whether it is in Service Connect, for which ECS adds a proxy to each task.
        constraints: Where its tasks may be placed, besides those of the task.
        network_configuration: Whether ``NetworkConfiguration.AwsvpcConfiguration`` is written; only templates say so.
        subnets: Where its network configuration has network interfaces of tasks, empty where that is not known; only
            templates say so.
        way_out: Where these lead without a public address; only templates say so.
        assigns_public_ip: Whether its network configuration gives tasks a public address; only templates say so.
        overrides_others: Names in its overrides that certainly no container of its task has, with where each was
            written; only templates say so.
        variables: What its overrides set: the container, the variable and its value, which is the part that is known
            where a state of Step Functions adds to it; only templates say so.
        commands: Containers whose command it overrides, or may; only templates say so.
        defined: The task definition that it runs with overrides, also where `task` is not known; only templates say so.
    """

    name: str
    task: Task | None
    starter: Starter = Starter.SERVICE
    cluster: str | Unknown | None = None
    strategy: tuple[StrategyItem, ...] = ()
    launch_type: str | Unknown | None = None
    desired_count: int | Unknown = 1
    scaling: ServiceScaling | None = None
    daemon: bool | Unknown = False
    min_healthy_percent: int | Unknown | None = None
    max_healthy_percent: int | Unknown | None = None
    deployment_strategy: str | Unknown | None = None
    deployment_controller: str | Unknown | None = None
    service_connect: bool | Unknown = False
    constraints: tuple[PlacementConstraint, ...] = ()
    network_configuration: bool | Unknown = field(default=UNKNOWN, compare=False)
    subnets: tuple[Subnet, ...] = field(default=(), compare=False)
    way_out: WayOut = field(default=WayOut(), compare=False)
    assigns_public_ip: bool = False
    follows_cluster: bool = False
    overrides_others: tuple[tuple[str, Origin], ...] = ()
    variables: tuple[tuple[str, str, str], ...] = field(default=(), compare=False)
    commands: frozenset[str] = field(default=frozenset(), compare=False)
    defined: Task | None = field(default=None, compare=False, repr=False)
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def is_service(self) -> bool:
        """Whether it keeps its copies running; else they end, and others find the room that they leave."""
        return self.starter is Starter.SERVICE

    @property
    def max_count(self) -> int | Unknown | None:
        """Copies that its scaling may ask for at most; None if nothing scales it."""
        return None if self.scaling is None else self.scaling.most

    @property
    def min_count(self) -> int | Unknown | None:
        """Copies that its scaling keeps at least; None if nothing scales it, or that is not written."""
        return None if self.scaling is None else self.scaling.least

    @property
    def has_copies(self) -> bool:
        """Whether it has copies, or its scaling may ask for some."""
        return self.desired_count != 0 or self.max_count not in {None, 0}

    @property
    def runs_twice_to_deploy(self) -> bool:
        """Whether a deployment starts all of its copies again before it stops the old ones."""
        return self.deployment_strategy in _SIDE_BY_SIDE or self.deployment_controller == "CODE_DEPLOY"

    @property
    def distinct_instances(self) -> bool:
        """Whether no two of its tasks may be on one host."""
        return any(each.type == "distinctInstance" for each in self.constraints)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderList:
    """A list of capacity providers and a default strategy, which a deploy writes over those that a cluster has.

    Attributes:
        cluster: The cluster, as `Pool.cluster` names it; None if it is the default one.
        is_certain: Whether it is certainly deployed; False if that depends on a condition.
        providers: A name for each provider, the same in every list; unknown where one is only known at deploy time.
        keeps_providers: Whether it is said to name every provider that the cluster has.
        keeps_strategy: Whether it is said to have the default strategy that the cluster should have.
    """

    cluster: str | Unknown | None
    cluster_is_defined: bool
    is_certain: bool = True
    providers: frozenset[str] | Unknown = UNKNOWN
    keeps_providers: bool = False
    keeps_strategy: bool = False
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def keeps(self, other: ProviderList) -> bool:
        """Whether it is said to name every provider that the cluster has, and names every one of another list."""
        if isinstance(self.providers, Unknown) or isinstance(other.providers, Unknown):
            return False
        return self.keeps_providers and self.providers >= other.providers


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeEnvironment:
    """A compute environment of AWS Batch that is not among the pools: it has no hosts of its own, or none with GPUs.

    Attributes:
        lacks_accelerators: Why it certainly has no accelerators, in words; empty where that is not known.
        has_hosts: Whether its jobs run on hosts of EC2, of which the template does not say the types.
        origin: Where its compute resources were written.
    """

    name: str
    lacks_accelerators: str = ""
    has_hosts: bool = True
    origin: Origin | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A part of a file that could not be understood.

    Attributes:
        fix: What makes it known; empty where the text says all.
        hides_work: Whether it may define tasks, or what runs them, of which nothing is known then.
    """

    text: str
    origin: Origin
    fix: str = ""
    hides_work: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Everything that was asked for: hosts, tasks, and which tasks run where.

    Attributes:
        pools: What may launch hosts; each name once.
        tasks: Task definitions, those that no workload names among them; each name once.
        workloads: Services, and what else runs tasks; each name once.
        provider_lists: What writes which capacity providers a cluster has; only templates say so.
        remarks: What was odd about the files that it was read from.
        environments: Compute environments of AWS Batch that are not among the pools; only templates say so.
        strays: Hosts that the files mention or hint at, and of which they do not say what they are or which cluster
            they join: those of an imported cluster, of a capacity provider by name, of an image with a cluster of its
            own. They may take what no pool takes.
        queues: Queues of AWS Batch; only templates say so, as `steps` and `submissions`.
        declared: Instance types that the files declare, those of no host among them.
        is_whole: Whether everything that was given could be read and is meant to be everything, so that tasks run on
            `pools` and `strays` or on nothing.
    """

    pools: tuple[Pool, ...] = ()
    tasks: tuple[Task, ...] = ()
    workloads: tuple[Workload, ...] = ()
    provider_lists: tuple[ProviderList, ...] = field(default=(), compare=False)
    remarks: tuple[Remark, ...] = field(default=(), compare=False)
    environments: tuple[ComputeEnvironment, ...] = field(default=(), compare=False)
    strays: tuple[Pool, ...] = field(default=(), compare=False)
    queues: tuple[JobQueue, ...] = field(default=(), compare=False)
    steps: tuple[Step, ...] = field(default=(), compare=False)
    submissions: tuple[Submission, ...] = field(default=(), compare=False)
    declared: tuple[InstanceType, ...] = field(default=(), compare=False)
    is_whole: bool = False

    def __post_init__(self) -> None:
        for kind, things in (("pools", self.pools), ("tasks", self.tasks), ("workloads", self.workloads)):
            names = [each.name for each in things]
            if len(set(names)) < len(names):
                name, _ = Counter(names).most_common(1)[0]
                raise InvalidValueError(f"two are called {name!r}", argument=kind, value=name, fix="a name for each")


_Thing = TypeVar("_Thing", Pool, Task)

# The hash of the construct's path that CDK appends to a logical id, and what constructs call their own parts.
_SUFFIX = r"(?:(?:Provider|Group|ASG|TaskDef|Resource)*[0-9A-F]{8})?$"
_MOST_NAMED = 5


def find_task(tasks: Sequence[Task], name: str, *, argument: str = "task") -> Task:
    """The one task that a name means; refuses a name of none, with the nearest, and one of several."""
    found = all_called(tasks, name)
    if not found:
        raise UnknownNameError(f"no task {shown(name)} among {len(tasks)}", value=name, nearest=most_alike(tasks, name))
    if len(found) > 1:
        more = f" or {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        raise InvalidValueError(
            f"{len(found)} tasks are called {shown(name)}",
            argument=argument,
            value=name,
            allowed=" or ".join(each.name for each in found[:_MOST_NAMED]) + more,
        )
    return found[0]


def all_called(things: Sequence[_Thing], name: str) -> tuple[_Thing, ...]:
    """The pools or tasks of a name: those with exactly this name, else those that may be called so.

    The name in the fleet, which is unique; its logical id, family or provider, or the path of its construct; the end of
    such a path. CDK writes ids of constructs one after the other: ``ClusterL4GroupASG0C9E5504`` is ``ClusterL4``, and
    ``L4`` too.
    """
    return (
        tuple(each for each in things if each.name == name)
        or tuple(each for each in things if name in _names(each))
        or tuple(each for each in things if _ends_with(each, name))
    )


def most_alike(things: Sequence[_Thing], name: str) -> tuple[str, ...]:
    """Names in the fleet of those whose names are most like another, the nearest first."""
    wanted = name.lower()[:LABEL]

    def likeness(thing: Pool | Task) -> float:
        held: Sequence[Container] = () if isinstance(thing, Pool) else thing.containers
        known = (*_names(thing), *(each.name for each in held))
        return max(SequenceMatcher(None, wanted, each.lower()[:LABEL]).ratio() for each in known)

    return tuple(each.name for each in sorted(things, key=likeness, reverse=True)[:3])


def _ends_with(thing: Pool | Task, name: str) -> bool:
    stems = [(known, re.sub(_SUFFIX, "", known, count=1)) for known in _names(thing) if name]
    return any(
        known.endswith(f"/{name}") or stem == name or (name[:1].isupper() and stem.endswith(name))
        for known, stem in stems
    )


def _names(thing: Pool | Task) -> Iterator[str]:
    yield thing.name
    other = thing.provider if isinstance(thing, Pool) else thing.family
    if isinstance(other, str):
        yield other
    if thing.origin is not None:
        yield thing.origin.resource
        path = thing.origin.construct_path
        if path is not None:
            yield path
            # The path of the L2 construct, as the user knows it; a job of AWS Batch has its definition inside.
            yield path.removesuffix("/Resource").removesuffix("/Definition")
