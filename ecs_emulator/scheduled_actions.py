"""Scheduled actions of Auto Scaling groups.

moto 5.2.5 cannot update or delete them in a stack, gives every one without a name the same, and runs none. Here one
runs, once, in the first minute at or after its start time, by the clock of ``/emulator/now`` (`switches`); recurrence
is kept and not followed. https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-scheduled-scaling.html
"""

from __future__ import annotations

from typing import Any

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import FakeScheduledAction, autoscaling_backends

from . import autoscaling, switches
from .autoscaling import EmulatedGroup
from .resource import Properties, Region, Resource

__all__ = ["ScheduledAction", "run_due"]


def run_due(group: EmulatedGroup) -> None:
    """Do what the group's actions say whose time has come."""
    time = switches.now(group.where)
    due = [
        action
        for action in _backend(group.where).describe_scheduled_actions(group.name)
        if action.start_time and switches.moment(action.start_time) <= time and not action.__dict__.get("done")
    ]
    for action in sorted(due, key=lambda item: switches.moment(str(item.start_time))):
        action.__dict__["done"] = True
        _run(group, action)


def _run(group: EmulatedGroup, action: FakeScheduledAction) -> None:
    group.min_size = group.min_size if action.min_size is None else action.min_size
    group.max_size = group.max_size if action.max_size is None else action.max_size
    desired = action.desired_capacity if action.desired_capacity is not None else group.desired_capacity
    lowest, highest = int(group.min_size or 0), int(group.max_size or 0)
    autoscaling.resize(group, min(max(int(desired or 0), lowest), highest))


def _backend(region: Region) -> Any:
    return autoscaling_backends[region.account_id][region.name]


class ScheduledAction(Resource):
    """The resource type; ``Ref`` gives its name."""

    type_name = "AWS::AutoScaling::ScheduledAction"
    create_only = frozenset({"AutoScalingGroupName"})

    def __init__(self, name: str, group: str) -> None:
        super().__init__(name, {"ScheduledActionName": name})
        self._group = group

    attribute_names = frozenset({"ScheduledActionName"})

    @classmethod
    def create(cls, region: Region, name: str, properties: Properties) -> ScheduledAction:
        made = cls(name, properties["AutoScalingGroupName"])
        made.update(region, properties)
        return made

    def update(self, region: Region, properties: Properties) -> None:
        sizes = [properties.get(name) for name in ("DesiredCapacity", "MaxSize", "MinSize")]
        start, end = properties.get("StartTime"), properties.get("EndTime")
        if self._group not in _backend(region).autoscaling_groups:
            raise ValidationError(f"AutoScalingGroup name not found - {self._group}")
        if all(size is None for size in sizes):
            raise ValidationError("At least one of MinSize, MaxSize or DesiredCapacity must be specified")
        if not start and not properties.get("Recurrence"):
            raise ValidationError("Either StartTime or Recurrence must be specified")
        if start and switches.moment(start) <= switches.now(region):
            raise ValidationError("Given start time is in the past")
        if start and end and switches.moment(end) <= switches.moment(start):
            raise ValidationError("End time must be after the start time")
        _backend(region).put_scheduled_update_group_action(
            self._group,
            *sizes,
            self.physical_resource_id,
            start,
            end,
            properties.get("Recurrence"),
            properties.get("TimeZone"),
        )

    def remove(self, region: Region) -> None:
        _backend(region).delete_scheduled_action(self._group, self.physical_resource_id)
