"""What ECS and EC2 report of a cluster: kept in a log group, and counted as metrics for alarms and the dashboard.

A metric filter counts what it finds in the log group. Its metrics are in a namespace of the cluster, because an event
of EC2 has no cluster in it that could be a dimension. EventBridge delivers at least once, so a number may be too high
by one (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_cwe_events.html).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.facts.aws_limits import (
    BLOCK_WARNINGS,
    DEPLOYMENT_STATE,
    HOST_HEALTH,
    LOST_HOST,
    NOT_STARTED,
    PLACEMENT_FAILURE,
    SERVICE_ACTION,
    SPOT_WARNING,
    TASK_STATE,
)

METRIC_NAMESPACE = "GpuConstructs"
"""Namespace of the metrics that the daemon sends."""

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
    """A metric of namespace `METRIC_NAMESPACE`, with a value a minute."""

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
    """

    metric: str
    says: str
    detail_types: tuple[str, ...]
    detail: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dimensions: Mapping[str, str] = field(default_factory=dict)

    @property
    def filter_pattern(self) -> str:
        """The pattern of its metric filter.

        https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
        """
        fields = {"detail-type": self.detail_types, **{f"detail.{name}": each for name, each in self.detail.items()}}
        terms = (" || ".join(f'$.{path} = "{value}"' for value in values) for path, values in fields.items())
        return f"{{ {' && '.join(f'({each})' for each in terms)} }}"


def namespace_of_events(cluster_name: str) -> str:
    """The namespace of the counted events of a cluster."""
    return f"{METRIC_NAMESPACE}/{cluster_name}"


COUNTED: Mapping[str, CountedEvent] = MappingProxyType(
    {
        each.metric: each
        for each in (
            # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service_events.html
            CountedEvent(
                metric="PlacementFailures",
                says="a service could not place a task",
                detail_types=(SERVICE_ACTION,),
                detail={"eventName": (PLACEMENT_FAILURE,)},
            ),
            # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html
            CountedEvent(
                metric="TasksNotStarted",
                says="a task ended before its containers ran, for want of a host or of an image",
                detail_types=(TASK_STATE,),
                detail={"lastStatus": ("STOPPED",), "stopCode": (NOT_STARTED,)},
            ),
            # No page says which of these stop codes a Spot host of EC2 causes, so all of them count:
            # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html
            CountedEvent(
                metric="LostTasks",
                says="a task ended with its host",
                detail_types=(TASK_STATE,),
                detail={"lastStatus": ("STOPPED",), "stopCode": LOST_HOST},
            ),
            # Where Step Functions stops the task first, ECS has its reason instead of that of the job, and a training
            # on several hosts stops its tasks for another reason; the alarm of the job or of the training itself goes
            # off in any case. https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_StopTask.html
            CountedEvent(
                metric="JobsOverTime",
                says="a job was ended by its time limit",
                detail_types=(TASK_STATE,),
                detail={"lastStatus": ("STOPPED",), "stoppedReason": (f"{PASSED_ITS_TIME_LIMIT}*",)},
            ),
            # The event has no cluster in it: Spot instances of the account that are in no cluster, or in another one of
            # the region, count as well.
            # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
            CountedEvent(
                metric="SpotInterruptions",
                says="EC2 takes a Spot host back within two minutes",
                detail_types=(SPOT_WARNING,),
            ),
            # Editions of the page differ in the name of the event:
            # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html
            CountedEvent(
                metric="BlockWarnings",
                says="a Capacity Block ends within 40 minutes",
                detail_types=BLOCK_WARNINGS,
                dimensions={BLOCK_DIMENSION: "$.detail.capacity-reservation-id"},
            ),
        )
    }
)


class ClusterEvents(Construct):
    """Keeps the events of a cluster in a log group, from where Logs Insights and metric filters read them.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_cwe_events.html

    Attributes:
        log_group: Where they are kept.
        rule: The rule of EventBridge for what ECS reports.
        rule_of_ec2: The rule for what EC2 reports, of the whole region.
    """

    def __init__(self, scope: Construct, construct_id: str, *, hosts: ClusterHosts, log_group: logs.LogGroup) -> None:
        super().__init__(scope, construct_id)
        self.log_group: logs.LogGroup = log_group
        # As EventBridge takes it, without the ``:*`` of CloudFormation's.
        arn = hosts.stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=log_group.log_group_name,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        target = events.CfnRule.TargetProperty(id="Logs", arn=arn)
        # Events of deployments have no clusterArn; their resource, the service, has the name of the cluster in it.
        services = hosts.stack.format_arn(service="ecs", resource="service", resource_name=f"{hosts.cluster_name}/")
        of_ecs = {"source": ["aws.ecs"]}
        self.rule: events.CfnRule = events.CfnRule(
            self,
            "Rule",
            description="What ECS reports of the cluster: services, deployments, ends of tasks, health of hosts",
            # cdk-preflight takes nothing beside $or (pf-events-pattern-or-exclusive).
            event_pattern={
                "$or": [
                    {
                        **of_ecs,
                        "detail-type": [SERVICE_ACTION, HOST_HEALTH],
                        "detail": {"clusterArn": [hosts.cluster_arn]},
                    },
                    {
                        **of_ecs,
                        "detail-type": [TASK_STATE],
                        "detail": {"clusterArn": [hosts.cluster_arn], "lastStatus": ["STOPPED"]},
                    },
                    {**of_ecs, "detail-type": [DEPLOYMENT_STATE], "resources": [{"prefix": services}]},
                ],
            },
            targets=[target],
        )
        self.rule_of_ec2: events.CfnRule = events.CfnRule(
            self,
            "Ec2Rule",
            description="What EC2 takes back: Spot instances and Capacity Blocks of the region",
            event_pattern={"source": ["aws.ec2"], "detail-type": [SPOT_WARNING, *BLOCK_WARNINGS]},
            targets=[target],
        )
        for each in COUNTED.values():
            logs.CfnMetricFilter(
                self,
                each.metric,
                log_group_name=log_group.log_group_name,
                filter_pattern=each.filter_pattern,
                metric_transformations=[
                    logs.CfnMetricFilter.MetricTransformationProperty(
                        metric_namespace=namespace_of_events(hosts.cluster_name),
                        metric_name=each.metric,
                        metric_value="1",
                        unit="Count",
                        dimensions=[
                            logs.CfnMetricFilter.DimensionProperty(key=key, value=path)
                            for key, path in each.dimensions.items()
                        ]
                        or None,
                    )
                ],
            )
        log_group.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("events.amazonaws.com")],
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                resources=[log_group.log_group_arn],
            )
        )
