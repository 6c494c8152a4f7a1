"""What changes the size of an Auto Scaling group besides ECS: when it grows, and when it shrinks to none.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-autoscaling-scheduledaction.html

Amazon EventBridge can do the same, by a call of the API or by a function of the user's own. When it runs and what it
does is not read, only whether it may be what empties the group.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from gpu_constructs.facts.budget import FOLLOWED
from gpu_constructs.fleet import UNKNOWN, Block, Unknown
from gpu_constructs.template.mentions import mentioned
from gpu_constructs.template.model import STATE_MACHINES, Reference, Resource
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Notes, Section

_ACTION = "AWS::AutoScaling::ScheduledAction"
_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_SIZES = ("MaxSize", "DesiredCapacity", "MinSize")
_POLICY = "AWS::AutoScaling::ScalingPolicy"
_WORK = ("AWS::ECS::Service", "AWS::Events::Rule", "AWS::Pipes::Pipe", "AWS::Scheduler::Schedule", *STATE_MACHINES)
_PERMISSIONS = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::Role")
_PROVIDER = "AWS::ECS::CapacityProvider"
_EVENT_BRIDGE = ("AWS::Events::Rule", "AWS::Scheduler::Schedule")

# What a call of UpdateAutoScalingGroup says that leaves hosts.
_LEAVES_HOSTS = re.compile(r'"(?:DesiredCapacity|MaxSize)"\s*:\s*"?[1-9]')
_MAY_CALL = re.compile(
    r"autoscaling:(?:\*|Set\*|SetDesiredCapacity|Update\*|UpdateAutoScalingGroup|ExecutePolicy)", re.IGNORECASE
)


class Schedules:
    """Reads scheduled actions, and whatever else may change the size of a group."""

    def __init__(self, index: Index, notes: Notes) -> None:
        self._actions: dict[Reference, list[Section]] = defaultdict(list)
        # Whatever group an action of no known one is for may be any.
        self._of_any: list[Section] = []
        self._index = index
        self._known: dict[Reference, tuple[str, list[Reference]]] = {}
        self._others = [each for each in index.all(*_EVENT_BRIDGE) if "ScheduleExpression" in each.properties]
        for resource in index.all(_ACTION):
            action = Section.of(resource, notes)
            group = index.find(action.get("AutoScalingGroupName"), _GROUP, resource.origin.place)
            (self._of_any if group is None else self._actions[group.reference]).append(action)

    def block(self, group: Resource) -> Block:
        """When the hosts of a group in a Capacity Block are there."""
        actions = self._actions.get(group.reference, [])
        ends = _time(each for each in actions if _shrinks(each))
        if ends is None and (self._of_any or self._may_be_emptied(group)):
            ends = UNKNOWN
        return Block(starts=_time(each for each in actions if _grows(each)), ends=ends)

    def may_start(self, group: Resource) -> bool:
        """Whether something here may start hosts of a group that ECS does not start itself."""
        if not self._is_asked:
            return False
        return (
            bool(self._of_any)
            or any(_grows(each) for each in self._actions.get(group.reference, ()))
            or not self._with_policies.isdisjoint({group.reference, None})
            or self._somebody_may_call
        )

    @cached_property
    def _is_asked(self) -> bool:
        """Whether anything here runs tasks that ECS starts no hosts for: without a strategy, or without its scaling."""
        return any("CapacityProviderStrategy" not in each.properties for each in self._index.all(*_WORK)) or any(
            Section.of(each, []).section("AutoScalingGroupProvider").section("ManagedScaling").get("Status")
            != "ENABLED"
            for each in self._index.all(_PROVIDER)
        )

    @cached_property
    def _with_policies(self) -> frozenset[Reference | None]:
        """Groups that have a scaling policy of their own; None for one that is not known."""
        return frozenset(
            self._index.reference(each.properties.get("AutoScalingGroupName"), _GROUP, each.origin.place)
            for each in self._index.all(_POLICY)
        )

    @cached_property
    def _somebody_may_call(self) -> bool:
        """Whether a role of these files may set the size of a group, as one of a function that does."""
        return any(_MAY_CALL.search(mentioned(each)[0]) for each in self._index.all(*_PERMISSIONS))

    def _may_be_emptied(self, group: Resource) -> bool:
        """Whether a schedule of EventBridge speaks of a group, and does not certainly leave hosts."""
        text, referred = self._emptying
        name = group.properties.get("AutoScalingGroupName")
        by_name = isinstance(name, str) and bool(name) and name in text
        return by_name or (group.stack, group.logical_id) in referred

    @cached_property
    def _emptying(self) -> tuple[str, frozenset[tuple[str, str]]]:
        """What all schedules say and refer to that may leave no hosts.

        A schedule names the group itself, or it starts a function that does.
        """
        texts: dict[str, None] = {}
        referred: set[Reference] = set()
        for each in self._others:
            text, references = mentioned(each)
            if not _LEAVES_HOSTS.search(text):
                texts[text] = None
                referred.update(references)
                behind = (self._index.at(one) for one in tuple(dict.fromkeys(references))[:FOLLOWED])
                for of_function, by_function in (self._said_once(one) for one in behind if one is not None):
                    texts[of_function] = None
                    referred.update(by_function)
        return "\n".join(texts), frozenset((each.stack, each.logical_id) for each in referred)

    def _said_once(self, resource: Resource) -> tuple[str, list[Reference]]:
        if resource.reference not in self._known:
            self._known[resource.reference] = mentioned(resource)
        return self._known[resource.reference]


def _time(actions: Iterable[Section]) -> str | Unknown | None:
    """The one time of these; unknown where there are several, or one that comes again and again."""
    times = [UNKNOWN if each.has("Recurrence") else each.text("StartTime") for each in actions]
    known = times[0] if len(times) == 1 else UNKNOWN if times else None
    return UNKNOWN if times and known is None else known


def _shrinks(action: Section) -> bool:
    """Whether nothing is left afterwards, or that is not known."""
    most, desired, least = (action.integer(key) for key in _SIZES)
    return most == 0 or isinstance(most, Unknown) or (desired is not None and not desired and not least)


def _grows(action: Section) -> bool:
    """Whether there are hosts afterwards, or may be."""
    return not _shrinks(action) and any(action.integer(key) not in {None, 0} for key in _SIZES)
