"""What is scheduled for an Auto Scaling group: when it grows, and when it shrinks to none.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-autoscaling-scheduledaction.html

Amazon EventBridge can do the same, by a call of the API or by a function of the user's own. When it runs and what it
does is not read, only whether it may be what empties the group.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from gpu_constructs.fleet import UNKNOWN, Block, Unknown
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.references import references_to
from gpu_constructs.template.resources.section import Notes, Section

__all__ = ["Schedules"]

_ACTION = "AWS::AutoScaling::ScheduledAction"
_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_EVENT_BRIDGE = ("AWS::Events::Rule", "AWS::Scheduler::Schedule")

# What a call of UpdateAutoScalingGroup says that leaves hosts.
_LEAVES_HOSTS = re.compile(r'"(?:DesiredCapacity|MaxSize)"\s*:\s*"?[1-9]')


class Schedules:
    """Reads scheduled actions."""

    def __init__(self, index: Index, notes: Notes) -> None:
        self._actions: dict[Reference, list[Section]] = defaultdict(list)
        # Whatever group an action of no known one is for may be any.
        self._of_any: list[Section] = []
        self._index = index
        self._others = [each for each in index.all(*_EVENT_BRIDGE) if "ScheduleExpression" in each.properties]
        for resource in index.all(_ACTION):
            action = Section.of(resource, notes)
            group = index.find(action.get("AutoScalingGroupName"), _GROUP)
            (self._of_any if group is None else self._actions[group.reference]).append(action)

    def block(self, group: Resource) -> Block:
        """When the hosts of a group in a Capacity Block are there."""
        actions = self._actions.get(group.reference, [])
        ends = _time(each for each in actions if _shrinks(each))
        if ends is None and (self._of_any or any(self._may_empty(each, group) for each in self._others)):
            ends = UNKNOWN
        return Block(starts=_time(each for each in actions if _grows(each)), ends=ends)

    def _may_empty(self, schedule: Resource, group: Resource) -> bool:
        found = references_to(schedule, group, self._index)
        return found is not None and not _LEAVES_HOSTS.search(found)


def _time(actions: Iterable[Section]) -> str | Unknown | None:
    """The one time of these; unknown where there are several, or one that comes again and again."""
    times = [UNKNOWN if each.has("Recurrence") else each.text("StartTime") for each in actions]
    known = times[0] if len(times) == 1 else UNKNOWN if times else None
    return UNKNOWN if times and known is None else known


def _shrinks(action: Section) -> bool:
    """Whether nothing is left afterwards, or that is not known."""
    most, desired, least = (action.integer(key) for key in ("MaxSize", "DesiredCapacity", "MinSize"))
    if most == 0 or isinstance(most, Unknown):
        return True
    return desired is not None and not desired and not least


def _grows(action: Section) -> bool:
    """Whether there are hosts afterwards, or may be."""
    sizes = [action.integer(key) for key in ("MaxSize", "DesiredCapacity", "MinSize")]
    return not _shrinks(action) and any(each is not None and each != 0 for each in sizes)
