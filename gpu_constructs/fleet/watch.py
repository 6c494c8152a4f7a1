"""What watches GPUs: the metrics of GPUs that alarms and scaling policies read. Only templates say so."""

from __future__ import annotations

from dataclasses import field

from gpu_constructs.fleet.origin import Origin
from gpu_constructs.fleet.unknown import UNKNOWN, Unknown
from gpu_constructs.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMetric:
    """A metric of GPUs that an alarm or a scaling policy reads.

    Attributes:
        name: How the user calls the alarm or the policy.
        namespace: The namespace of the metric, of ECS or of Container Insights.
        metric: The name of the metric.
        dimensions: The names of its dimensions; unknown where not all of them are known.
        cluster: The cluster of the dimension ``ClusterName``, as `Pool.cluster` names it.
        origin: Where it was written.
    """

    name: str
    namespace: str
    metric: str
    dimensions: frozenset[str] | Unknown = frozenset()
    cluster: str | Unknown | None = UNKNOWN
    origin: Origin | None = field(default=None, compare=False, repr=False)
