"""What holds a task up at one place of a running cluster: at a capacity provider, or at all hosts of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_constructs.budget import MESSAGE, brief
from gpu_constructs.checking.pool_answers import PoolAnswer, fix_of
from gpu_constructs.fleet import PlacementConstraint, Pool, Task
from gpu_constructs.live.as_template import group_of
from gpu_constructs.live.described import Answers, Thing, listed, number, text, thing
from gpu_constructs.live.hosts import Cause, Layer, RegisteredHost, copies_on, refusal
from gpu_constructs.live.launches import failed_launches, resumed
from gpu_constructs.rules.evidence.scripts import not_run
from gpu_constructs.values import dataclass

_MOST_HOSTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be placed.

    Attributes:
        task: The task.
        constraints: Placement constraints of its service.
        needed: Attributes that ECS wants of its host.
        copies: How many of it are missing.
    """

    task: Task
    constraints: tuple[PlacementConstraint, ...]
    needed: tuple[str, ...]
    copies: int

    @property
    def are_missing(self) -> str:
        """The copies in words."""
        return f"{self.copies} more task{'' if self.copies == 1 else 's'}"

    def hosts_for_them(self, like: Sequence[RegisteredHost]) -> int | None:
        """How many more hosts the copies take, if they are as the smallest there; None where that is not known."""
        on_one = min(filter(None, (copies_on(self.task, each) for each in like)), default=None)
        return None if on_one is None else -(-self.copies // on_one)

    def refusals(self, hosts: Sequence[RegisteredHost]) -> dict[str, Cause | None]:
        """Why each host takes no copy, by the name of the host."""
        return {str(each): refusal(self.task, each, constraints=self.constraints, needed=self.needed) for each in hosts}


def of_provider(
    answers: Answers, provider: Thing, place: PoolAnswer, asked: Asked, hosts: Sequence[RegisteredHost]
) -> Iterator[Cause]:
    """What holds a task up at a capacity provider.

    Args:
        answers: What was described.
        provider: The provider.
        place: Whether the task fits there, as `explain` says it.
        asked: What is to be placed.
        hosts: The hosts of the cluster.
    """
    name, destination = place.destination.pool.name, place.destination
    here = [each for each in hosts if each.provider == name]
    if destination.answer is False:
        yield _never(place)
        return
    refusals = asked.refusals(here)
    if any(each is None for each in refusals.values()):
        yield _takes_it(name, refusals)
        return
    yield from _of_hosts(name, refusals)
    group = group_of(answers, provider)
    if group is not None:
        has_busy = not refusals or any(each is not None and each.layer is Layer.BUSY for each in refusals.values())
        more = asked.hosts_for_them(here)
        yield from _of_group(answers, provider, group, place, hosts, asked=asked, more=more, more_help=has_busy)


def of_hosts_alone(name: str, asked: Asked, hosts: Sequence[RegisteredHost]) -> Iterator[Cause]:
    """What keeps it off the hosts of a capacity provider that was not described."""
    refusals = asked.refusals([each for each in hosts if each.provider == name])
    if any(each is None for each in refusals.values()):
        yield _takes_it(name, refusals)
    else:
        yield from _of_hosts(name, refusals)


def _never(place: PoolAnswer) -> Cause:
    by_type = dict.fromkeys(reason for each in place.destination.by_type for reason in each.reasons)
    reasons = "; ".join(dict.fromkeys((*by_type, *place.reasons)))
    return Cause(
        layer=Layer.NEVER_FITS,
        where=place.destination.pool.name,
        text=f"it does not fit: {reasons}",
        fix=fix_of(place),
    )


def _takes_it(where: str, refusals: dict[str, Cause | None]) -> Cause:
    free = [name for name, each in refusals.items() if each is None]
    return Cause(
        layer=Layer.STARTING,
        where=where,
        text=f"{_some(free)} {'has' if len(free) == 1 else 'have'} room for it: ECS places it with its next attempt, "
        "or it waits for something that these answers do not show, such as a network interface or a deployment",
    )


def _of_hosts(where: str, refusals: dict[str, Cause | None]) -> Iterator[Cause]:
    """What keeps it off the hosts that are there, hosts with one reason together, as 3 of 4."""
    together: dict[Cause, list[str]] = {}
    for host, each in refusals.items():
        if each is not None:
            together.setdefault(each, []).append(host)
    for each, names in together.items():
        yield Cause(
            layer=each.layer,
            where=where,
            text=f"{len(names)} of {len(refusals)} hosts: {_each(names)} {each.text}",
            fix=each.fix,
        )


def _of_group(
    answers: Answers,
    provider: Thing,
    group: Thing,
    place: PoolAnswer,
    hosts: Sequence[RegisteredHost],
    *,
    asked: Asked,
    more: int | None,
    more_help: bool,
) -> Iterator[Cause]:
    """What keeps the Auto Scaling group of a provider from bringing another host, where more of them help."""
    pool = place.destination.pool
    name, called = pool.name, text(group, "AutoScalingGroupName")
    instances = listed(group, "Instances")
    joined = {each.instance_id for each in hosts}
    out = [
        text(each, "InstanceId")
        for each in instances
        if text(each, "LifecycleState") == "InService" and text(each, "InstanceId") not in joined
    ]
    desired, most = number(group, "DesiredCapacity") or 0, number(group, "MaxSize")
    if out and answers.were_asked("containerInstances"):
        yield Cause(
            layer=Layer.NOT_JOINED,
            where=name,
            text=f"{_some(out)} of {called} {'runs' if len(out) == 1 else 'run'} and "
            f"{'has' if len(out) == 1 else 'have'} not joined the cluster",
            fix=_joining(pool, answers),
        )
    failed = failed_launches(answers, group, pool.instance_types)
    if len(instances) < max(desired, 1):
        for each in failed:
            yield Cause(
                layer=each.layer,
                where=name,
                text=f"{called} cannot launch{each.times and f' ({each.times})'}: {brief(each.said, MESSAGE)}",
                fix=each.fix,
            )
    suspended = {text(each, "ProcessName") for each in listed(group, "SuspendedProcesses")}
    scaling = thing(thing(provider, "autoScalingGroupProvider"), "managedScaling")
    starting = [each for each in instances if text(each, "LifecycleState").startswith("Pending")]
    if "Launch" in suspended:
        yield Cause(
            layer=Layer.NOT_SCALED,
            where=name,
            text=f"the process Launch of {called} is suspended",
            fix=resumed(group, ["Launch"]),
        )
    elif text(scaling, "status") == "DISABLED" and desired <= len(instances):
        yield Cause(
            layer=Layer.NOT_SCALED,
            where=name,
            text=f"managed scaling of the provider is off, and {called} has the {_count(desired)} that it is to have",
            fix="turn managed scaling on, or raise the desired capacity of the group",
        )
    elif starting:
        yield Cause(
            layer=Layer.STARTING, where=name, text=f"{_count(len(starting))} of {called} {_verb(starting)} starting"
        )
    elif failed or out or not more_help:
        return
    elif most is None:
        yield Cause(
            layer=Layer.STARTING,
            where=name,
            text=f"{called} has {_count(len(instances))}; how many it may have is not described",
        )
    elif desired >= most:
        enough = "" if more is None else f", to {most + more} for {asked.are_missing}"
        yield Cause(
            layer=Layer.GROUP_MAXIMUM,
            where=name,
            text=f"{called} is at its maximum of {_count(most)}",
            fix=f"raise MaxSize of {called}, which is max_instances of the capacity{enough}, or stop a task",
        )
    else:
        yield Cause(
            layer=Layer.STARTING,
            where=name,
            text=f"{called} has {len(instances)} of at most {_count(most)}: managed scaling may start more",
        )


def _joining(pool: Pool, answers: Answers) -> str:
    """What to look at on a host that runs and has not joined."""
    named = pool.user_data.get("ECS_CLUSTER")
    names = {text(each, "clusterName") for each in answers.of("clusters")}
    if why := not_run(pool.user_data):
        return f"cloud-init runs no script of their user data, which {why}; begin it with #!/bin/bash"
    if isinstance(named, str) and names and named not in names:
        return f"their user data names the cluster {brief(named)}; write ECS_CLUSTER={min(names)}"
    if named is None and pool.user_data.complete and names and "default" not in names:
        return f"their user data names no cluster, so that they join default; write ECS_CLUSTER={min(names)}"
    return (
        "a host that has just started needs some minutes; after that, its instance profile, its way to the endpoints "
        "of ECS, and /var/log/ecs/ecs-agent.log on the host"
    )


def of_cluster(
    answers: Answers, places: Sequence[PoolAnswer], asked: Asked, hosts: Sequence[RegisteredHost]
) -> Iterator[Cause]:
    """Without a strategy it goes to any host of the cluster, and nothing starts one for it."""
    if not hosts and places and all(each.destination.answer is False for each in places):
        yield from map(_never, places)
        return
    refusals = asked.refusals(hosts)
    if any(each is None for each in refusals.values()):
        yield _takes_it("the cluster", refusals)
        return
    yield from _of_hosts("the cluster", refusals)
    if answers.were_asked("containerInstances"):
        number_of = asked.hosts_for_them(hosts)
        more = "hosts" if number_of is None else f"{number_of} more host{'' if number_of == 1 else 's'}"
        yield Cause(
            layer=Layer.NOT_SCALED,
            where="the cluster",
            text="it has launch type EC2 and no capacity provider strategy, so that nothing starts hosts for it"
            + ("" if hosts else "; the cluster has no hosts"),
            fix=f"a capacity provider strategy with managed scaling, or {more} for {asked.are_missing}",
        )


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_HOSTS
    return f"{', '.join(names[:_MOST_HOSTS])}{f' and {rest} more' if rest > 0 else ''}"


def _each(names: Sequence[str]) -> str:
    return f"each of {_some(names)}" if len(names) > 1 else _some(names)


def _count(hosts: int) -> str:
    return f"{hosts} host{'' if hosts == 1 else 's'}"


def _verb(things: Sequence[object]) -> str:
    return "is" if len(things) == 1 else "are"
