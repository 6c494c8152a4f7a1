"""What ECS reports of a cluster, kept in a log group."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from gpu_constructs.hardware.aws_events import (
    BLOCK_WARNINGS,
    DEPLOYMENT_STATE,
    HOST_HEALTH,
    SERVICE_ACTION,
    SPOT_WARNING,
    TASK_STATE,
)
from gpu_constructs.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.monitoring.counted_events import COUNTED, namespace_of_events


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
        target = events.CfnRule.TargetProperty(id="Logs", arn=self._arn_of_logs(hosts))
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

    def _arn_of_logs(self, hosts: ClusterHosts) -> str:
        """The ARN of the log group as EventBridge takes it, without the ``:*`` of CloudFormation's."""
        return hosts.stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=self.log_group.log_group_name,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
