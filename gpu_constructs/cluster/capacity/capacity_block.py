"""When the hosts of a Capacity Block come and go: scheduled actions of their Auto Scaling group.

https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from aws_cdk import aws_autoscaling as autoscaling
from constructs import Construct

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.facts.aws_limits import CAPACITY_BLOCK_ENDS_EARLY_MINUTES
from gpu_constructs.fleet import Block, Unknown

DRAIN_MINUTES = 45
"""How long before its end a Capacity Block is drained by default: a quarter of an hour for tasks to end."""


def block_of(*, starts: datetime | None, ends: datetime, drain_minutes: int) -> Block:
    """When the hosts of a Capacity Block are there: they are asked to leave some minutes before it ends."""
    start = None if starts is None else _in_utc("starts", starts)
    end = _in_utc("ends", ends)
    minutes = whole_number(
        "drain_minutes",
        drain_minutes,
        smallest=CAPACITY_BLOCK_ENDS_EARLY_MINUTES + 1,
        unit="minutes",
        fix=f"drain_minutes={DRAIN_MINUTES}; EC2 terminates what runs {CAPACITY_BLOCK_ENDS_EARLY_MINUTES} minutes "
        "before the end",
    )
    if isinstance(minutes, Unknown):
        raise InvalidValueError(
            "a number that is only known at deploy time cannot be taken from a time that is written at synth",
            argument="drain_minutes",
            fix=f"drain_minutes={DRAIN_MINUTES}",
        )
    try:
        drains = end - timedelta(minutes=minutes)
    except OverflowError:
        drains = None
    if drains is None or (start is not None and drains <= start):
        raise InvalidValueError(
            f"a block that is drained {minutes} minutes before {_written(end)}"
            + ("" if start is None else f" and starts {_written(start)}")
            + " leaves no time for tasks",
            argument="ends",
            value=_written(end),
            allowed="" if start is None else f"more than {minutes} minutes after {_written(start)}",
            fix="EndDate of the block, as aws ec2 describe-capacity-reservations prints it",
        )
    return Block(starts=None if start is None else _written(start), ends=_written(drains))


def schedule_block(scope: Construct, group: autoscaling.AutoScalingGroup, block: Block, *, max_instances: int) -> None:
    """Defines the scheduled actions.

    The one at the start sets both sizes, so that a group that an earlier block left at zero grows again. Deploys in
    between change neither, because CDK gives every Auto Scaling group the update policy
    ``IgnoreUnmodifiedGroupSizeProperties``. From the start on all hosts run: they are paid for, whether they run or
    not.
    """
    for construct_id, time, size in (("BlockStart", block.starts, max_instances), ("BlockDrain", block.ends, 0)):
        if isinstance(time, str):
            autoscaling.CfnScheduledAction(
                scope,
                construct_id,
                auto_scaling_group_name=group.auto_scaling_group_name,
                start_time=time,
                min_size=size,
                max_size=size,
            )


def _in_utc(argument: str, value: datetime) -> datetime:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        problem = (
            "a time without a time zone could mean any of them" if isinstance(value, datetime) else "expects a time"
        )
        when = value if isinstance(value, datetime) else datetime(2026, 12, 1, 11, 30, tzinfo=timezone.utc)
        raise InvalidValueError(
            f"{problem}, got {shown(value)}",
            argument=argument,
            value=value,
            fix=f"datetime({when.year}, {when.month}, {when.day}, {when.hour}, {when.minute}, tzinfo=timezone.utc)",
        )
    try:
        return value.astimezone(timezone.utc)
    except OverflowError:
        raise InvalidValueError(
            f"{shown(value)} is not a time in UTC", argument=argument, value=value, fix="the times of the block"
        ) from None


def _written(moment: datetime) -> str:
    """As Auto Scaling takes it (StartTime of PutScheduledUpdateGroupAction)."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
