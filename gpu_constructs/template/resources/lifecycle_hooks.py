"""Lifecycle hooks of Auto Scaling groups: what new hosts wait for.

https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutLifecycleHook.html
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from gpu_constructs.fleet import LaunchHook
from gpu_constructs.template.mentions import mentioned
from gpu_constructs.template.model import Reference, Resource
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Notes, Section, given

_HOOK = "AWS::AutoScaling::LifecycleHook"
_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_LAUNCHING = "autoscaling:EC2_INSTANCE_LAUNCHING"
_DEFAULT_SECONDS = 3600
# Resources that may complete lifecycle actions; one that does has one of `_WORDS`.
_MAY_COMPLETE = (
    "AWS::Events::Rule",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::IAM::RolePolicy",
    "AWS::Lambda::Function",
    "AWS::Serverless::Function",
)
_WORDS = ("lifecycle", "aws.autoscaling", "autoscaling:*", "autoscalingfullaccess")


class LifecycleHooks:
    """Finds the hooks of each group."""

    def __init__(self, index: Index, notes: Notes) -> None:
        self._index = index
        self._separate_hooks: dict[Reference, list[Resource]] = {}
        for each in index.all(_HOOK):
            group = index.find(Section.of(each, notes).get("AutoScalingGroupName"), _GROUP, each.origin.place)
            if group is not None:
                self._separate_hooks.setdefault(group.reference, []).append(each)

    def unanswered(self, group: Resource, properties: Section) -> tuple[LaunchHook, ...]:
        """Hooks that end the launch of a host unless it completes the action itself."""
        found = [each for each, section in self._of(group, properties) if _ends_launch(section)]
        return () if not found or self._may_be_completed else tuple(found)

    def _of(self, group: Resource, properties: Section) -> Iterator[tuple[LaunchHook, Section]]:
        for each in properties.sections("LifecycleHookSpecificationList"):
            yield _hook(each, str(each.path[-1])), each
        for resource in self._separate_hooks.get(group.reference, ()):
            section = Section.of(resource, [])
            yield _hook(section, resource.logical_id), section

    @cached_property
    def _may_be_completed(self) -> bool:
        """Whether a function, or a program with that permission, may complete lifecycle actions."""
        texts = (mentioned(each)[0].lower() for each in self._index.all(*_MAY_COMPLETE))
        return any(word in text for text in texts for word in _WORDS)


def _hook(section: Section, otherwise: str) -> LaunchHook:
    name = section.text("LifecycleHookName")
    return LaunchHook(
        name=name if isinstance(name, str) else otherwise,
        seconds=given(section.integer("HeartbeatTimeout"), _DEFAULT_SECONDS),
        origin=section.origin,
    )


def _ends_launch(section: Section) -> bool:
    """Whether the hook holds a launch, abandons it by default and notifies no target."""
    return (
        section.text("LifecycleTransition") == _LAUNCHING
        and section.text("DefaultResult") in {None, "ABANDON"}
        and not section.has("NotificationTargetARN")
    )
