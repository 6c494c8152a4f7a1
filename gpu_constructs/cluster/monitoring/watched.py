"""What a monitored cluster is made of, and its metrics as plain values, for the dashboard and the alarms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from gpu_constructs.cluster.monitoring.events import COUNTED, METRIC_NAMESPACE, METRICS, namespace_of_events
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import Pool, PoolKind
from gpu_constructs.placement.destinations import carries_gpus

_ITSELF = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric of CloudWatch with a statistic."""

    namespace: str
    name: str
    dimensions: Mapping[str, str] = field(default_factory=dict)
    statistic: str = "Average"


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """A line of a graph or what an alarm watches: metric math over some series.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html

    Attributes:
        series: The series that it names, by the ids that it has for them; none where it searches.
    """

    expression: str
    label: str
    series: Mapping[str, Series] = field(default_factory=dict)

    @classmethod
    def of(cls, series: Series, label: str) -> Formula:
        """A series as it is."""
        return cls(expression=_ITSELF, label=label, series={_ITSELF: series})

    @property
    def itself(self) -> Series | None:
        """The one series that it is, without any math; None for any other formula."""
        return self.series.get(_ITSELF)


PERIOD_SECONDS = 300
"""Of the dashboard: CloudWatch keeps such values for 63 days, those of a minute for 15.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html
"""

GROUP_METRIC = "GroupInServiceInstances"
"""What the Auto Scaling groups of a monitored cluster send; it costs nothing.

https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-metrics.html
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPool:
    """The hosts of one capacity provider.

    Attributes:
        provider_name: The name of its provider, which may be a token.
        group_name: The name of its Auto Scaling group, which may be a token; None on Managed Instances.
    """

    pool: Pool
    cluster_name: str
    provider_name: str
    group_name: str | None

    @property
    def title(self) -> str:
        """What people know it by."""
        return self.pool.name

    @property
    def is_measured(self) -> bool:
        """Whether its hosts have GPUs that the daemon measures, or may have where their types are not known."""
        is_group = self.pool.kind is PoolKind.AUTO_SCALING_GROUP
        return is_group and (carries_gpus(self.pool) or not self.pool.instance_types)

    def gpu_series(self, name: str, statistic: str | None = None) -> Series:
        """A metric of the daemon."""
        return _of_daemon(name, statistic, self._dimensions)

    def group_series(self, name: str) -> Series:
        """A metric of the Auto Scaling group."""
        assert self.group_name is not None  # noqa: S101 - those who ask have looked
        return Series(namespace="AWS/AutoScaling", name=name, dimensions={"AutoScalingGroupName": self.group_name})

    @property
    def demand(self) -> Series:
        """How many hosts its tasks need, in percent of those that it has.

        https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-auto-scaling.html
        """
        return Series(
            namespace="AWS/ECS/ManagedScaling",
            name="CapacityProviderReservation",
            dimensions=self._dimensions,
        )

    @property
    def _dimensions(self) -> Mapping[str, str]:
        return {"ClusterName": self.cluster_name, "CapacityProviderName": self.provider_name}


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedCluster:
    """A cluster."""

    name: str
    region: str
    event_log: str
    gpu_log: str
    pools: tuple[WatchedPool, ...] = ()

    @property
    def hosts_with_faults(self) -> str:
        """The query of CloudWatch Logs Insights for hosts with faults, and for what the daemon could not read.

        https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Filter.html
        """
        commands = (
            f"SOURCE '{self.gpu_log}'",
            "filter UnhealthyGPUs > 0 or MissingGPUs > 0 or UnreadableHosts > 0",
            "fields @timestamp, InstanceId, MissingGPUs as missing, coalesce(Faults.0, Problems.0) as what",
            "sort @timestamp desc",
            "limit 20",
        )
        return " | ".join(commands)

    @property
    def is_measured(self) -> bool:
        """Whether it has hosts that the daemon measures."""
        return any(self.measured)

    @property
    def measured(self) -> Iterator[WatchedPool]:
        """Pools whose GPUs the daemon measures."""
        return (each for each in self.pools if each.is_measured)

    def gpu_series(self, name: str, statistic: str | None = None) -> Series:
        """A metric of the daemon, of all hosts of the cluster."""
        return _of_daemon(name, statistic, {"ClusterName": self.name})

    def events(self, metric: str, label: str | None = None) -> Formula:
        """The number of some events."""
        series = Series(namespace=namespace_of_events(self.name), name=metric, statistic="Sum")
        return Formula.of(series, label or COUNTED[metric].says)


def _of_daemon(name: str, statistic: str | None, dimensions: Mapping[str, str]) -> Series:
    return Series(
        namespace=METRIC_NAMESPACE,
        name=name,
        dimensions=dimensions,
        statistic=statistic or METRICS[name].statistic,
    )
