"""What holds a task up at one place of a running cluster: at a provider, whose launches fail, or at all its hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from itertools import takewhile

from gpu_constructs.account.answers import Answers, Thing, aws, listed, number, text, thing
from gpu_constructs.account.live.as_template import group_of
from gpu_constructs.account.live.hosts import Cause, Layer, RegisteredHost, copies_on, refusal
from gpu_constructs.check.pool_answers import PoolAnswer, fix_of
from gpu_constructs.errors import QUOTE, brief
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.budget import MESSAGE
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import PlacementConstraint, Pool, Task
from gpu_constructs.rules.hosts.user_data import not_run

_MOST_HOSTS = 3
_ANSWERED = {"Failed", "Successful", "Cancelled", "PreInService", "MidLifecycleAction"}


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
    yield from _of_hosts(name, refusals)
    group = group_of(answers, provider)
    if group is not None and None not in refusals.values():
        has_busy = not refusals or any(each is not None and each.layer is Layer.BUSY for each in refusals.values())
        more = asked.hosts_for_them(here)
        yield from _of_group(answers, provider, group, place, hosts, asked=asked, more=more, more_help=has_busy)


def of_hosts_alone(name: str, asked: Asked, hosts: Sequence[RegisteredHost]) -> Iterator[Cause]:
    """What keeps it off the hosts of a capacity provider that was not described."""
    yield from _of_hosts(name, asked.refusals([each for each in hosts if each.provider == name]))


def _never(place: PoolAnswer) -> Cause:
    by_type = dict.fromkeys(reason for each in place.destination.by_type for reason in each.reasons)
    reasons = "; ".join(dict.fromkeys((*by_type, *place.reasons)))
    return Cause(
        layer=Layer.NEVER_FITS,
        where=place.destination.pool.name,
        text=f"it does not fit: {reasons}",
        fix=fix_of(place),
    )


def _of_hosts(where: str, refusals: dict[str, Cause | None]) -> Iterator[Cause]:
    """What keeps it off the hosts that are there, hosts with one reason together, as 3 of 4; or which takes it."""
    free = [name for name, each in refusals.items() if each is None]
    if free:
        yield Cause(
            layer=Layer.STARTING,
            where=where,
            text=f"{_some(free)} {'has' if len(free) == 1 else 'have'} room for it: ECS places it with its next "
            "attempt, or it waits for something that these answers do not show, such as a network interface or a "
            "deployment",
        )
        return
    together: dict[Cause, list[str]] = {}
    for host, each in refusals.items():
        if each is not None:
            together.setdefault(each, []).append(host)
    for each, names in together.items():
        yield Cause(
            layer=each.layer,
            where=where,
            text=f"{len(names)} of {len(refusals)} hosts: {'each of ' * (len(names) > 1)}{_some(names)} {each.text}",
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
            layer=Layer.STARTING,
            where=name,
            text=f"{_count(len(starting))} of {called} {'is' if len(starting) == 1 else 'are'} starting",
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
    yield from _of_hosts("the cluster", refusals)
    if answers.were_asked("containerInstances") and None not in refusals.values():
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


def _count(hosts: int) -> str:
    return f"{hosts} host{'' if hosts == 1 else 's'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedLaunch:
    """Why launches of a group failed, since the last one that did not.

    Attributes:
        layer: What they failed for.
        said: The words of Auto Scaling, those of the newest of them.
        times: How often it failed so, and when last; empty for one launch at a time that is not known.
        fix: What to do.
    """

    layer: Layer
    said: str
    times: str
    fix: str


_ZONES = (
    "subnets in zones that offer the type, which aws ec2 describe-instance-type-offerings --location-type "
    "availability-zone lists, or another instance type"
)
_AS_SAID = "what Auto Scaling says, then let it try again"
_MORE_CHANCES = (
    "more zones, further instance types with the same GPUs, or a Capacity Reservation or Capacity Block; Auto Scaling "
    "tries again by itself"
)
_WORDS = tuple(
    (re.compile("|".join(patterns), re.IGNORECASE), layer, fix)
    for patterns, layer, fix in (
        (
            ("VcpuLimitExceeded", "more vCPU capacity than your current vCPU limit", "InstanceLimitExceeded"),
            Layer.QUOTA,
            "{on_demand}",
        ),
        (("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded"), Layer.QUOTA, "{spot}"),
        (("is not supported in your requested Availability Zone",), Layer.NOT_OFFERED, _ZONES),
        (
            (
                "Insufficient(Reserved)?(Instance|Host)?Capacity",
                "do not have sufficient .{0,80}capacity",
                "no Spot capacity available",
                "ReservationCapacityExceeded",
                "UnfulfillableCapacity",
            ),
            Layer.CAPACITY,
            _MORE_CHANCES,
        ),
    )
)
"""Words of EC2, the layer that they are about, and what to do.

The codes are those of https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html; the messages are
those that Auto Scaling wraps around them.
"""

_LIMIT = re.compile(r"current vCPU limit of ([0-9]{1,9})\b")


def failed_launches(answers: Answers, group: Thing, types: tuple[InstanceType, ...]) -> tuple[FailedLaunch, ...]:
    """Why the launches of a group failed since the last one that did not, what failed last first.

    Auto Scaling tries zone after zone and type after type, so that the newest failure is one of several that hold the
    group up: a quota that is too low shows in one activity, and a zone without capacity in the next.

    Args:
        answers: What was described.
        group: The group.
        types: The instance types that it launches, for the quota that they count against.
    """
    failed = list(takewhile(lambda each: text(each, "StatusCode") == "Failed", _launches(answers, group)))
    together: dict[Layer, list[Thing]] = {}
    for each in failed:
        together.setdefault(_meaning(_said(each))[0], []).append(each)
    return tuple(_of_layer(layer, activities, group, types) for layer, activities in together.items())


def _launches(answers: Answers, group: Thing) -> list[Thing]:
    """The launches of a group that ended, the newest first."""
    name = text(group, "AutoScalingGroupName")
    of_group = [
        each
        for each in answers.of("Activities")
        if text(each, "AutoScalingGroupName") in {name, ""}
        and not text(each, "Description").startswith("Terminating")
        and text(each, "StatusCode") in _ANSWERED
    ]
    # The newest comes first, as the API documents; where times are written, they decide.
    return sorted(of_group, key=lambda each: str(each.get("StartTime", "")), reverse=True)


def _said(activity: Thing) -> str:
    return text(activity, "StatusMessage") or text(activity, "Description")


def _meaning(said: str) -> tuple[Layer, str]:
    return next(((layer, fix) for words, layer, fix in _WORDS if words.search(said)), (Layer.LAUNCH, _AS_SAID))


def _of_layer(layer: Layer, activities: Sequence[Thing], group: Thing, types: tuple[InstanceType, ...]) -> FailedLaunch:
    said = _said(activities[0])
    quotas = [each.quota for each in types if each.quota is not None]
    vcpus = _vcpus_needed(said, group, types)
    last = _minute(activities[0].get("StartTime"))
    often = f"{len(activities)} launches" if len(activities) > 1 else ""
    return FailedLaunch(
        layer=layer,
        said=said,
        times=", ".join(filter(None, (often, last and f"last at {last}"))),
        fix=_meaning(said)[1].format(
            on_demand=_more_quota(quotas[0].on_demand_code if quotas else None, vcpus),
            spot=_more_quota(quotas[0].spot_code if quotas else None, vcpus),
        ),
    )


def resumed(group: Thing, processes: Sequence[str]) -> str:
    """The command that resumes processes of a group."""
    name = text(group, "AutoScalingGroupName")
    return aws("autoscaling", "resume-processes", None, auto_scaling_group_name=name, scaling_processes=processes)


def _minute(when: object) -> str:
    """A time of boto3, or one that ``aws`` prints, to the minute in UTC; empty for anything else."""
    try:
        moment = when if isinstance(when, datetime) else datetime.fromisoformat(str(when).replace("Z", "+00:00"))
        return f"{moment.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, ValueError):
        return ""


def _vcpus_needed(said: str, group: Thing, types: tuple[InstanceType, ...]) -> int | None:
    """The quota with which the group can have its maximum, and the hosts that it lacks whoever uses the quota now."""
    largest = max((each.vcpus for each in types), default=0)
    most, desired = number(group, "MaxSize") or 0, number(group, "DesiredCapacity") or 0
    limit = _LIMIT.search(said)
    lacking = max(1, desired - len(listed(group, "Instances")))
    beyond = int(limit[1]) + lacking * largest if limit else 0
    return max(most * largest, beyond) if largest else None


def _more_quota(code: str | None, vcpus: int | None) -> str:
    if code is None or vcpus is None:
        return "ask for more with the code that aws service-quotas list-service-quotas --service-code ec2 shows"
    options = {"service_code": "ec2", "quota_code": brief(code, QUOTE), "desired_value": vcpus}
    return aws("service-quotas", "request-service-quota-increase", None, **options)
