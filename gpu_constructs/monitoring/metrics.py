"""The metrics of a monitored cluster, and what parts of this library say to each other through AWS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
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


class Statistic(Enum):
    """Which statistic of CloudWatch says what the metric means, over a period of one minute or of any longer one."""

    AVERAGE = "Average"
    MAXIMUM = "Maximum"
    SUM = "Sum"


class DimensionSet(Enum):
    """Under which dimensions a metric has values.

    Hosts come and go, and tasks more often, so neither is a dimension unless `per_gpu` asks for it: CloudWatch bills
    each metric by name and dimensions. What one host, GPU or task did is in the log line of each minute.
    """

    CLUSTER = ("ClusterName",)
    CAPACITY_PROVIDER = ("ClusterName", "CapacityProviderName")
    SERVICE = ("ClusterName", "ServiceName")
    GPU = ("ClusterName", "InstanceId", "GpuIndex")


_OF_HOSTS = (DimensionSet.CLUSTER, DimensionSet.CAPACITY_PROVIDER)
_OF_GPUS = (*_OF_HOSTS, DimensionSet.SERVICE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of namespace `METRIC_NAMESPACE`, with a value a minute.

    Attributes:
        name: Its name.
        unit: Its unit, as CloudWatch names it.
        meaning: What one value says.
        statistic: Over a minute, what of the values says it of a cluster, a provider or a service.
        dimension_sets: Under which dimensions it has values without ``per_gpu``.
    """

    name: str
    unit: str
    meaning: str
    statistic: Statistic
    dimension_sets: tuple[DimensionSet, ...]


def _of_gpu(name: str, unit: str, meaning: str) -> Metric:
    return Metric(name=name, unit=unit, meaning=meaning, statistic=Statistic.AVERAGE, dimension_sets=_OF_GPUS)


def _of_host(name: str, meaning: str) -> Metric:
    """A number that each host sends once for each minute, so that the sum over a minute is that of all hosts."""
    return Metric(name=name, unit="Count", meaning=meaning, statistic=Statistic.SUM, dimension_sets=_OF_HOSTS)


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        each.name: each
        for each in (
            _of_gpu("GPUUtilization", "Percent", "part of the time in which anything ran on the GPU"),
            _of_gpu("GPUMemoryUtilization", "Percent", "memory of the GPU that is taken"),
            _of_gpu("GPUMemoryUsed", "Bytes", "memory of the GPU that is taken"),
            _of_gpu("GPUPowerDraw", "None", "power that the GPU takes, in watts"),
            _of_gpu("GPUTemperature", "None", "temperature of the GPU, in degrees Celsius"),
            _of_host("GPUs", "GPUs that the driver shows on the host"),
            _of_host("GPUsReserved", "GPUs that tasks hold on the host"),
            _of_host("UnreadableHosts", "1 if the daemon runs and cannot read the GPUs of the host, else 0"),
            _of_host("MissingGPUs", "GPUs that the type of the host has and the driver does not show"),
            _of_host("UnhealthyGPUs", "GPUs that had a fault after which the host has to be replaced"),
            _of_host("FatalXids", "faults of GPUs after which the host has to be replaced"),
            _of_host("ApplicationXids", "faults that the program on a GPU caused, after which it has to start again"),
            _of_host("OtherXids", "Xids after which ECS does nothing, and those that are not known"),
            _of_host("UncorrectedEccErrors", "errors in GPU memory that error correction could not mend"),
        )
    }
)
