"""What Auto Scaling says of launches that failed, and which layer each of its words is about."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpu_constructs.budget import QUOTE, brief
from gpu_constructs.hardware import InstanceType
from gpu_constructs.live.described import Answers, Thing, text
from gpu_constructs.live.hosts import Layer

__all__ = ["FailedLaunch", "failed_launch"]

_ANSWERED = {"Failed", "Successful", "Cancelled", "PreInService", "MidLifecycleAction"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedLaunch:
    """The newest launch of a group, where it failed.

    Attributes:
        layer: What it failed for.
        said: The words of Auto Scaling.
        fix: What to do.
    """

    layer: Layer
    said: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    """Words of EC2 and what they mean.

    The codes are those of https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html; the messages are
    those that Auto Scaling wraps around them.
    """

    pattern: re.Pattern[str]
    layer: Layer
    fix: str


_ZONES = (
    "subnets in zones that offer the type, which aws ec2 describe-instance-type-offerings --location-type "
    "availability-zone lists, or another instance type"
)
_MORE_CHANCES = (
    "more zones, further instance types with the same GPUs, or a Capacity Reservation or Capacity Block; Auto Scaling "
    "tries again by itself"
)
_WORDS = tuple(
    _Word(pattern=re.compile("|".join(patterns), re.IGNORECASE), layer=layer, fix=fix)
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


def failed_launch(answers: Answers, group: Thing, types: tuple[InstanceType, ...]) -> FailedLaunch | None:
    """The newest launch of a group, if it failed; None if it did not, or its activities were not described.

    Args:
        answers: What was described.
        group: The group.
        types: The instance types that it launches, for the quota that they count against.
    """
    name = text(group, "AutoScalingGroupName")
    of_group = [
        each
        for each in answers.of("Activities")
        if text(each, "AutoScalingGroupName") in {name, ""}
        and not text(each, "Description").startswith("Terminating")
        and text(each, "StatusCode") in _ANSWERED
    ]
    # The newest comes first, as the API documents; where times are written, they decide.
    newest = max(enumerate(of_group), key=lambda each: (str(each[1].get("StartTime", "")), -each[0]), default=None)
    if newest is None or text(newest[1], "StatusCode") != "Failed":
        return None
    said = text(newest[1], "StatusMessage") or text(newest[1], "Description")
    quotas = [each.quota for each in types if each.quota is not None]
    word = next((each for each in _WORDS if each.pattern.search(said)), None)
    if word is None:
        return FailedLaunch(layer=Layer.LAUNCH, said=said, fix="what Auto Scaling says, then let it try again")
    return FailedLaunch(
        layer=word.layer,
        said=said,
        fix=word.fix.format(
            on_demand=_more_quota(quotas[0].on_demand_code if quotas else None),
            spot=_more_quota(quotas[0].spot_code if quotas else None),
        ),
    )


def _more_quota(code: str | None) -> str:
    which = brief(code, QUOTE) if code else "CODE"
    ask = f"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {which} --desired-value"
    where = "" if code else ", with the code that aws service-quotas list-service-quotas --service-code ec2 shows"
    return f"{ask} VCPUS{where}"
