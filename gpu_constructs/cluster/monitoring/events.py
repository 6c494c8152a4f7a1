"""What ECS reports of a cluster: kept in a log group, and counted as metrics for alarms and the dashboard.

A metric filter counts what it finds in the log group. Its metrics are in a namespace of the cluster. EventBridge
delivers at least once, so a number may be too high by one (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_cwe_events.html).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.facts.aws_limits import (
    DEPLOYMENT_STATE,
    HOST_HEALTH,
    LOST_HOST,
    NOT_STARTED,
    PLACEMENT_FAILURE,
    SERVICE_ACTION,
    TASK_STATE,
)
from gpu_constructs.facts.values import dataclass

METRIC_NAMESPACE = "GpuConstructs"
"""Namespace of the metrics that the daemon sends."""

FAULT_SOURCE = "gpu-constructs"
"""Source of the events that the daemon sends to the default event bus, one for each fault of a GPU."""

FAULT_DETAIL_TYPE = "GPU Fault"
"""Their detail type. The detail has ``clusterArn``, ``containerInstanceArn``, ``ec2InstanceId``,
``capacityProviderName`` and ``reason``.
"""

STOPPED_BY_RECOVERY = "GPU recovery: "
"""How the reason begins with which the recovery stops a task. A `GpuJob` counts it as the loss of its host."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of namespace `METRIC_NAMESPACE`, with a value a minute."""

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
    "GPUs",  # that the ECS agent measures
    "GPUsReserved",  # that tasks hold
    "UnreadableHosts",  # 1 if the daemon runs and nothing was measured on the host, else 0
    "MissingGPUs",  # that the type of the host has and the agent does not measure
    "UnhealthyGPUs",  # 1 if the agent says that a GPU of the host has failed, else 0
    "ApplicationXids",  # faults that the program on a GPU caused, after which it has to start again
)
METRICS: Mapping[str, Metric] = MappingProxyType(
    {name: Metric(unit, "Average") for name, unit in _OF_GPUS} | {name: Metric("Count", "Sum") for name in _OF_HOSTS}
)
"""By name. Each has values for the cluster and for each capacity provider, those of GPUs for each service as well.

Hosts come and go, and tasks more often, so neither is a dimension: CloudWatch bills each metric by name and dimensions.
What one host, GPU or task did is in the log line of each minute.
"""


@dataclass(frozen=True, slots=True)
class CountedEvent:
    """Events that are counted together: what one of them says, and the pattern of their metric filter."""

    says: str
    filter_pattern: str


def _pattern(detail_type: str, **detail: tuple[str, ...]) -> str:
    """The pattern of a type of events whose fields of ``detail`` have one of the values listed.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
    """
    fields = {"detail-type": (detail_type,), **{f"detail.{name}": values for name, values in detail.items()}}
    terms = (" || ".join(f'$.{path} = "{value}"' for value in values) for path, values in fields.items())
    return f"{{ {' && '.join(f'({each})' for each in terms)} }}"


def namespace_of_events(cluster_name: str) -> str:
    """The namespace of the counted events of a cluster."""
    return f"{METRIC_NAMESPACE}/{cluster_name}"


COUNTED: Mapping[str, CountedEvent] = MappingProxyType(
    {
        # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_service_events.html
        "PlacementFailures": CountedEvent(
            "a service could not place a task", _pattern(SERVICE_ACTION, eventName=(PLACEMENT_FAILURE,))
        ),
        # https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html
        "TasksNotStarted": CountedEvent(
            "a task ended before its containers ran, for want of a host or of an image",
            _pattern(TASK_STATE, lastStatus=("STOPPED",), stopCode=(NOT_STARTED,)),
        ),
        # No page says which of these stop codes a Spot host of EC2 causes, so all of them count:
        # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html
        "LostTasks": CountedEvent(
            "a task ended with its host", _pattern(TASK_STATE, lastStatus=("STOPPED",), stopCode=LOST_HOST)
        ),
    }
)
"""By the name of the metric that has their number."""


class ClusterEvents(Construct):
    """Keeps the events of a cluster in a log group, from where Logs Insights and metric filters read them.

    https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_cwe_events.html
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
            targets=[events.CfnRule.TargetProperty(id="Logs", arn=arn)],
        )
        for metric, each in COUNTED.items():
            logs.CfnMetricFilter(
                self,
                metric,
                log_group_name=log_group.log_group_name,
                filter_pattern=each.filter_pattern,
                metric_transformations=[
                    logs.CfnMetricFilter.MetricTransformationProperty(
                        metric_namespace=namespace_of_events(hosts.cluster_name),
                        metric_name=metric,
                        metric_value="1",
                        unit="Count",
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
