"""What monitoring is told: from when on alarms go off, who hears of them, and how long measurements are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from typing_extensions import TypedDict

from gpu_constructs.cdk.arguments import known_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.values import dataclass
from gpu_constructs.placement.pool_profile import FairShare

if TYPE_CHECKING:
    from aws_cdk import aws_logs as logs
    from aws_cdk import aws_sns as sns

_DAY_MINUTES = 24 * 60
"""What an alarm looks at, at most: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html"""

IDLE_PERIOD_MINUTES = 5
"""The period of the alarm about idle GPUs."""

# Argument, what it counts, the smallest, the largest, the default.
_NUMBERS = (
    ("tasks_wait_minutes", "minutes", 1, _DAY_MINUTES, 15),
    ("placement_failures", "failures", 1, 1000, 1),
    ("idle_minutes", "minutes", IDLE_PERIOD_MINUTES, _DAY_MINUTES, 720),
    ("idle_percent", "percent", 1, 99, 5),
    ("unmeasured_minutes", "minutes", 5, _DAY_MINUTES, 15),
    ("failed_gpus", "hosts", 1, 1000, 1),
    ("missing_gpus", "GPUs", 1, 16, 1),
    ("interruptions_per_hour", "tasks", 1, 100_000, 3),
)


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmLimits:
    """From when on each alarm goes off; None leaves an alarm out.

    What each one means, and what to do then, is in docs/monitoring.md.

    Args:
        tasks_wait_minutes: Minutes in which tasks of a capacity want more hosts than it has. By default 15: hosts of
            most types take their first task within 10 minutes, and ECS gives up on a task that is in no service after
            10 to 30 (containers-roadmap issue 2381). No alarm goes off where no host would fit the task, since ECS then
            asks for none; that is for `placement_failures`.
        placement_failures: Tasks in five minutes that services could not place. By default 1.
        idle_minutes: Minutes in which tasks hold GPUs of a capacity and use less than `idle_percent` of them, a
            multiple of 5. By default 720, half a day, so that the quiet night of a service raises no alarm. The GPUs
            of a capacity are taken together: one idle GPU next to busy ones raises no alarm.
        idle_percent: Use of GPUs below which they count as idle. By default 5.
        unmeasured_minutes: Minutes in which a host of a capacity is in service and its GPUs are not measured. By
            default 15, in which most hosts start.
        failed_gpus: Hosts with a failed GPU. By default 1.
        missing_gpus: GPUs that a host has less than its type. By default 1.
        interruptions_per_hour: Tasks in an hour that ended with their hosts. By default 3. Of services, ECS moves most
            tasks before EC2 takes a Spot host, so that fewer tasks than hosts may be lost.
    """

    tasks_wait_minutes: int | None = 15
    placement_failures: int | None = 1
    idle_minutes: int | None = 720
    idle_percent: int = 5
    unmeasured_minutes: int | None = 15
    failed_gpus: int | None = 1
    missing_gpus: int | None = 1
    interruptions_per_hour: int | None = 3

    def __post_init__(self) -> None:
        for argument, unit, smallest, largest, default in _NUMBERS:
            given = getattr(self, argument)
            if given is None and argument != "idle_percent":
                continue
            fix = f"{argument}={default}"
            known_number(
                argument,
                given,
                smallest=smallest,
                largest=largest,
                unit=unit,
                fix=fix,
                problem="the periods of an alarm are written at synth, so this number must be known then",
                known_by=fix,
            )
        minutes = self.idle_minutes or 0
        if minutes % IDLE_PERIOD_MINUTES:
            raise InvalidValueError(
                f"idle GPUs are measured in periods of {IDLE_PERIOD_MINUTES} minutes",
                argument="idle_minutes",
                value=minutes,
                allowed=f"multiples of {IDLE_PERIOD_MINUTES}",
                fix=f"idle_minutes={minutes - minutes % IDLE_PERIOD_MINUTES}",
            )


class MonitoringOptions(TypedDict, total=False):
    """Arguments of `GpuCluster.add_monitoring`.

    Attributes:
        notify: Who is told of alarms, those of jobs and trainings on the cluster included: a standard topic of the same
            region, which the alarms of the account may then publish to. An imported topic has to allow it itself. By
            default alarms only change their color.
        alarms: From when on alarms go off, and which there are: ``AlarmLimits(idle_minutes=None)``. By default all of
            them.
        image: Another image for the daemon, with Python 3 and boto3, such as a copy in a registry of your own. By
            default that of AWS Lambda for Python, from the public registry of AWS.
        log_retention: How long measurements and events are kept. By default a month.
        log_removal_policy: What becomes of them when the monitoring goes. By default they are deleted.
    """

    notify: sns.ITopic | None
    alarms: AlarmLimits | None
    image: ecs.ContainerImage | None
    log_retention: logs.RetentionDays
    log_removal_policy: cdk.RemovalPolicy


KEPT = FairShare(cpu=64, memory_mib=256)
"""What the daemon keeps of its host: a sixteenth of a vCPU, and memory for Python with boto3 (52 MiB when measured)."""
