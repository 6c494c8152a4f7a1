"""What Auto Scaling says of launches that failed, and which layer each of its words is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import takewhile

from gpu_constructs.budget import QUOTE, brief
from gpu_constructs.hardware import InstanceType
from gpu_constructs.live.described import Answers, Thing, aws, listed, number, text
from gpu_constructs.live.hosts import Layer
from gpu_constructs.values import dataclass

_ANSWERED = {"Failed", "Successful", "Cancelled", "PreInService", "MidLifecycleAction"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedLaunch:
    """Why launches of a group failed, since the last one that did not.

    Attributes:
        layer: What they failed for.
        said: The words of Auto Scaling, those of the newest of them.
        count: How many failed for it.
        last: When the newest of them began; empty where that is not said.
        fix: What to do.
    """

    layer: Layer
    said: str
    count: int
    last: str
    fix: str

    @property
    def times(self) -> str:
        """How often it failed so, and when last; empty for one launch at a time that is not known."""
        often = [f"{self.count} launches"] if self.count > 1 else []
        return ", ".join((*often, *([f"last at {self.last}"] if self.last else [])))


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
    return FailedLaunch(
        layer=layer,
        said=said,
        count=len(activities),
        last=_minute(activities[0].get("StartTime")),
        fix=_meaning(said)[1].format(
            on_demand=_more_quota(quotas[0].on_demand_code if quotas else None, vcpus),
            spot=_more_quota(quotas[0].spot_code if quotas else None, vcpus),
        ),
    )


def resumed(group: Thing, processes: Sequence[str]) -> str:
    """The command that resumes processes of a group."""
    options = ("--auto-scaling-group-name", text(group, "AutoScalingGroupName"), "--scaling-processes", *processes)
    return aws("autoscaling", "resume-processes", *options)


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
    options = ("--service-code", "ec2", "--quota-code", brief(code, QUOTE), "--desired-value", str(vcpus))
    return aws("service-quotas", "request-service-quota-increase", *options)
