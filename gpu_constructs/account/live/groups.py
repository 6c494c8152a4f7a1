"""What keeps the Auto Scaling group of a capacity provider from bringing another host: launches that fail, and more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from gpu_constructs.account.answers import Answers, Thing, aws, number, text, thing, things, when
from gpu_constructs.account.live.as_template import group_of
from gpu_constructs.account.live.hosts import Cause, Layer, RegisteredHost, some
from gpu_constructs.errors import QUOTE, brief, counted
from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.budget import MESSAGE
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import Pool
from gpu_constructs.rules.evidence.user_data import not_run


def of_group(
    answers: Answers,
    provider: Thing,
    pool: Pool,
    hosts: Sequence[RegisteredHost],
    *,
    missing: str,
    more: int | None,
) -> Iterator[Cause]:
    """What keeps the Auto Scaling group of a provider from bringing another host.

    More hosts help with what is `missing`, such as ``2 more tasks`` (empty if not); `more` is how many it takes.
    """
    group = group_of(answers, provider)
    if group is None:
        return
    called, instances = text(group, "AutoScalingGroupName"), things(group, "Instances")
    joined = {each.instance_id for each in hosts}
    up = [text(each, "InstanceId") for each in instances if text(each, "LifecycleState") == "InService"]
    out = [each for each in up if each not in joined]
    if out and answers.were_asked("containerInstances"):
        run, have = ("runs", "has") if len(out) == 1 else ("run", "have")
        yield Cause(
            layer=Layer.NOT_JOINED,
            where=pool.name,
            text=f"{some(out)} of {called} {run} and {have} not joined the cluster",
            fix=_joining(pool, answers),
        )
    failed = failed_launches(answers, group, pool.instance_types)
    if len(instances) < max(number(group, "DesiredCapacity") or 0, 1):
        yield from (replace(each, where=pool.name) for each in failed)
    found = _of_scaling(provider, group) or (
        _of_size(group, missing, more) if missing and not failed and not out else None
    )
    if found is not None:
        yield replace(found, where=pool.name)


def _of_scaling(provider: Thing, group: Thing) -> Cause | None:
    called, instances = text(group, "AutoScalingGroupName"), things(group, "Instances")
    desired = number(group, "DesiredCapacity") or 0
    scaling = thing(thing(provider, "autoScalingGroupProvider"), "managedScaling")
    starting = sum(text(each, "LifecycleState").startswith("Pending") for each in instances)
    if "Launch" in {text(each, "ProcessName") for each in things(group, "SuspendedProcesses")}:
        said = f"the process Launch of {called} is suspended"
        return Cause(layer=Layer.NOT_SCALED, text=said, fix=resumed(group, ["Launch"]))
    if text(scaling, "status") == "DISABLED" and desired <= len(instances):
        return Cause(
            layer=Layer.NOT_SCALED,
            text=f"managed scaling of the provider is off, and {called} has the {counted(desired, 'host')} that it is "
            "to have",
            fix="turn managed scaling on, or raise the desired capacity of the group",
        )
    if starting:
        said = f"{counted(starting, 'host')} of {called} {'is' if starting == 1 else 'are'} starting"
        return Cause(layer=Layer.STARTING, text=said)
    return None


def _of_size(group: Thing, missing: str, more: int | None) -> Cause:
    called, there = text(group, "AutoScalingGroupName"), len(things(group, "Instances"))
    most = number(group, "MaxSize")
    if most is None:
        said = f"{called} has {counted(there, 'host')}; how many it may have is not described"
        return Cause(layer=Layer.STARTING, text=said)
    if (number(group, "DesiredCapacity") or 0) < most:
        said = f"{called} has {there} of at most {counted(most, 'host')}: managed scaling may start more"
        return Cause(layer=Layer.STARTING, text=said)
    enough = "" if more is None else f", to {most + more} for {missing}"
    return Cause(
        layer=Layer.GROUP_MAXIMUM,
        text=f"{called} is at its maximum of {counted(most, 'host')}",
        fix=f"raise MaxSize of {called}, which is max_instances of the capacity{enough}, or stop a task",
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


def failed_launches(answers: Answers, group: Thing, types: tuple[InstanceType, ...]) -> tuple[Cause, ...]:
    """Why the launches of a group failed since the last one that did not, what failed last first.

    Auto Scaling tries zone after zone and type after type, so that the newest failure is one of several that hold the
    group up: a quota that is too low shows in one activity, and a zone without capacity in the next.
    """
    failed = takewhile(lambda each: text(each, "StatusCode") == "Failed", _launches(answers, group))
    together = grouped((_meaning(_said(each))[0], each) for each in failed)
    return tuple(_of_layer(layer, activities, group, types) for layer, activities in together.items())


def _launches(answers: Answers, group: Thing) -> list[Thing]:
    """The launches of a group that ended, the newest first."""
    name = text(group, "AutoScalingGroupName")
    of_group = [
        each
        for each in answers.of("Activities")
        if text(each, "AutoScalingGroupName") in {name, ""}
        and not text(each, "Description").startswith("Terminating")
        and text(each, "StatusCode") in {"Failed", "Successful", "Cancelled", "PreInService", "MidLifecycleAction"}
    ]
    # The newest comes first, as the API documents; where times are written, they decide.
    return sorted(of_group, key=lambda each: str(each.get("StartTime", "")), reverse=True)


def _said(activity: Thing) -> str:
    return text(activity, "StatusMessage") or text(activity, "Description")


def _meaning(said: str) -> tuple[Layer, str]:
    return next(((layer, fix) for words, layer, fix in _WORDS if words.search(said)), (Layer.LAUNCH, _AS_SAID))


def _of_layer(layer: Layer, activities: Sequence[Thing], group: Thing, types: tuple[InstanceType, ...]) -> Cause:
    said, last = _said(activities[0]), when(activities[0].get("StartTime"))
    often = [f"{len(activities)} launches"] if len(activities) > 1 else []
    times = ", ".join([*often, *([f"last at {last:%Y-%m-%d %H:%M} UTC"] if last else [])])
    quotas = [each.quota for each in types if each.quota is not None]
    vcpus = _vcpus_needed(said, group, types)
    return Cause(
        layer=layer,
        text=f"{text(group, 'AutoScalingGroupName')} cannot launch{times and f' ({times})'}: {brief(said, MESSAGE)}",
        fix=_meaning(said)[1].format(
            on_demand=_more_quota(quotas[0].on_demand_code if quotas else None, vcpus),
            spot=_more_quota(quotas[0].spot_code if quotas else None, vcpus),
        ),
    )


def resumed(group: Thing, processes: Sequence[str]) -> str:
    """The command that resumes processes of a group."""
    name = text(group, "AutoScalingGroupName")
    return aws("autoscaling", "resume-processes", None, auto_scaling_group_name=name, scaling_processes=processes)


def _vcpus_needed(said: str, group: Thing, types: tuple[InstanceType, ...]) -> int | None:
    """The quota with which the group can have its maximum, and the hosts that it lacks whoever uses the quota now."""
    largest = max((each.vcpus for each in types), default=0)
    most, desired = number(group, "MaxSize") or 0, number(group, "DesiredCapacity") or 0
    limit = _LIMIT.search(said)
    lacking = max(1, desired - len(things(group, "Instances")))
    beyond = int(limit[1]) + lacking * largest if limit else 0
    return max(most * largest, beyond) if largest else None


def _more_quota(code: str | None, vcpus: int | None) -> str:
    if code is None or vcpus is None:
        return "ask for more with the code that aws service-quotas list-service-quotas --service-code ec2 shows"
    options = {"service_code": "ec2", "quota_code": brief(code, QUOTE), "desired_value": vcpus}
    return aws("service-quotas", "request-service-quota-increase", None, **options)
