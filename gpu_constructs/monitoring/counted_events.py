"""Which events of a cluster are counted, as metrics that alarms and the dashboard read from its log of events.

A metric filter counts what it finds in the log group. Its metrics are in a namespace of the cluster, because an event
of EC2 has no cluster in it that could be a dimension. EventBridge delivers at least once, so a number may be too high
by one (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_cwe_events.html).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gpu_constructs.capacity.boot_check import METRIC_NAMESPACE
from gpu_constructs.hardware.aws_events import (
    BLOCK_WARNINGS,
    LOST_HOST,
    NOT_STARTED,
    PLACEMENT_FAILURE,
    SERVICE_ACTION,
    SPOT_WARNING,
    TASK_STATE,
)
from gpu_constructs.monitoring.signals import PASSED_ITS_TIME_LIMIT

BLOCK_DIMENSION = "CapacityReservationId"
"""Of the number of warnings of each Capacity Block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedEvent:
    """Events that are counted together.

    Attributes:
        metric: The metric that has their number.
        says: What one of them says.
        detail_types: The detail types that they have.
        dimensions: Dimensions of the metric, each with the field that its value is in. A metric without them counts
            every event.
        detail: Values that fields of ``detail`` have, one of those listed; ``*`` at the end stands for anything.
        source: Where AWS describes them.
        doubt: What no page of AWS promises; empty where nothing is open.
    """

    metric: str
    says: str
    detail_types: tuple[str, ...]
    detail: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dimensions: Mapping[str, str] = field(default_factory=dict)
    source: str
    doubt: str = ""

    @property
    def filter_pattern(self) -> str:
        """The pattern of its metric filter.

        https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
        """
        fields = {"detail-type": self.detail_types, **{f"detail.{name}": each for name, each in self.detail.items()}}
        terms = (_any_of(path, values) for path, values in fields.items())
        return f"{{ {' && '.join(terms)} }}"


def namespace_of_events(cluster_name: str) -> str:
    """The namespace of the counted events of a cluster."""
    return f"{METRIC_NAMESPACE}/{cluster_name}"


def _any_of(path: str, values: tuple[str, ...]) -> str:
    each = (f'$.{path} = "{value}"' for value in values)
    return f"({' || '.join(each)})"


_TASKS = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html"
_STOP_CODES = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html"

COUNTED: Mapping[str, CountedEvent] = MappingProxyType(
    {
        each.metric: each
        for each in (
            CountedEvent(
                metric="PlacementFailures",
                says="a service could not place a task",
                detail_types=(SERVICE_ACTION,),
                detail={"eventName": (PLACEMENT_FAILURE,)},
                source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service_events.html",
            ),
            CountedEvent(
                metric="TasksNotStarted",
                says="a task ended before its containers ran, for want of a host or of an image",
                detail_types=(TASK_STATE,),
                detail={"lastStatus": ("STOPPED",), "stopCode": (NOT_STARTED,)},
                source=_TASKS,
            ),
            CountedEvent(
                metric="LostTasks",
                says="a task ended with its host",
                detail_types=(TASK_STATE,),
                detail={"lastStatus": ("STOPPED",), "stopCode": LOST_HOST},
                source=_STOP_CODES,
                doubt="no page says which of these stop codes a Spot host of EC2 causes, so all of them count",
            ),
            CountedEvent(
                metric="JobsOverTime",
                says="a job was ended by its time limit",
                detail_types=(TASK_STATE,),
                detail={"lastStatus": ("STOPPED",), "stoppedReason": (f"{PASSED_ITS_TIME_LIMIT}*",)},
                source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_StopTask.html",
                doubt="where Step Functions stops the task first, ECS has its reason instead of that of the job, and a "
                "training on several hosts stops its tasks for another reason; the alarm of the job or of the training "
                "itself goes off in any case",
            ),
            CountedEvent(
                metric="SpotInterruptions",
                says="EC2 takes a Spot host back within two minutes",
                detail_types=(SPOT_WARNING,),
                source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html",
                doubt="the event has no cluster in it: Spot instances of the account that are in no cluster, or in "
                "another one of the region, count as well",
            ),
            CountedEvent(
                metric="BlockWarnings",
                says="a Capacity Block ends within 40 minutes",
                detail_types=BLOCK_WARNINGS,
                dimensions={BLOCK_DIMENSION: "$.detail.capacity-reservation-id"},
                source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html",
                doubt="editions of that page differ in the name of the event",
            ),
        )
    }
)
