"""The metrics of a monitored cluster, and what parts of this library say to each other through AWS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

FAULT_SOURCE = "gpu-constructs"
"""Source of the events that the daemon sends to the default event bus, one for each fault of a GPU."""

FAULT_DETAIL_TYPE = "GPU Fault"
"""Their detail type. The detail has ``clusterArn``, ``containerInstanceArn``, ``ec2InstanceId``,
``capacityProviderName``, ``gpuIndex``, ``gpuUuid``, ``xid`` and ``reason``; null where it is not known.
"""

PASSED_ITS_TIME_LIMIT = "it passed its time limit"
"""How the reason begins with which a job stops the task of an attempt that takes too long."""

STOPPED_BY_RECOVERY = "GPU recovery: "
"""How the reason begins with which the recovery stops a task. A `GpuJob` counts it as the loss of its host."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of namespace `METRIC_NAMESPACE`, with a value a minute.

    Attributes:
        name: Its name.
        unit: Its unit, as CloudWatch names it.
        statistic: Over a minute, what of the values says it of a cluster, a provider or a service.
    """

    name: str
    unit: str
    statistic: str


_OF_GPUS = (
    ("GPUUtilization", "Percent"),  # part of the time in which anything ran on the GPU
    ("GPUMemoryUtilization", "Percent"),  # memory of the GPU that is taken
    ("GPUMemoryUsed", "Bytes"),
    ("GPUPowerDraw", "None"),  # in watts
    ("GPUTemperature", "None"),  # in degrees Celsius
)
# Numbers that each host sends once for each minute, so that the sum over a minute is that of all hosts.
_OF_HOSTS = (
    "GPUs",  # that the driver shows
    "GPUsReserved",  # that tasks hold
    "UnreadableHosts",  # 1 if the daemon runs and cannot read the GPUs of the host, else 0
    "MissingGPUs",  # that the type of the host has and the driver does not show
    "UnhealthyGPUs",  # that had a fault after which the host has to be replaced
    "FatalXids",  # faults of GPUs after which the host has to be replaced
    "ApplicationXids",  # faults that the program on a GPU caused, after which it has to start again
    "OtherXids",  # after which ECS does nothing, and those that are not known
    "UncorrectedEccErrors",  # errors in GPU memory that error correction could not mend
)
METRICS: Mapping[str, Metric] = MappingProxyType(
    {name: Metric(name, unit, "Average") for name, unit in _OF_GPUS}
    | {name: Metric(name, "Count", "Sum") for name in _OF_HOSTS}
)
"""By name. Each has values for the cluster and for each capacity provider, those of GPUs for each service as well.

Hosts come and go, and tasks more often, so neither is a dimension unless `per_gpu` asks for it: CloudWatch bills each
metric by name and dimensions. What one host, GPU or task did is in the log line of each minute.
"""
