"""Drains and replaces hosts whose GPUs fail, within a daily budget: the machine, its table, its events, its alarm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from gpu_constructs.cdk.policies import allowed, policy_of
from gpu_constructs.cdk.state_parts import alarm_of_executions, started_by_events, state_machine
from gpu_constructs.cdk.tokens import late_list, late_text
from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.monitoring.events import FAULT_DETAIL_TYPE, FAULT_SOURCE
from gpu_constructs.cluster.monitoring.recovery_states import KEY, RecoveryRun, recovery_definition
from gpu_constructs.facts.aws_limits import HOST_HEALTH

if TYPE_CHECKING:
    from aws_cdk import aws_sns as sns


class GpuRecovery(Construct):
    """Drains and replaces hosts whose GPUs fail; made by `GpuMonitoring.add_recovery`.

    Attributes:
        state_machine: Each execution of it looks after one host.
        table: Which hosts it has counted, by day.
        alarm: Goes off where a person has to look: the budget of a day is used, or something failed.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        hosts: ClusterHosts,
        capacities: Callable[[], Sequence[GpuCapacity]],
        daemon: Callable[[], str],
        notify: sns.ITopic,
        replacements_per_day: int,
        drain_seconds: int,
    ) -> None:
        super().__init__(scope, construct_id)
        self.table: dynamodb.Table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name=KEY, type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )

        def definition() -> str:
            run = RecoveryRun(
                partition=hosts.place[0],
                cluster_arn=hosts.cluster_arn,
                providers=[each.capacity_provider_name for each in capacities()],
                daemon=daemon(),
                table=self.table.table_name,
                topic=notify.topic_arn,
                replacements_per_day=replacements_per_day,
                drain_seconds=drain_seconds,
            )
            return hosts.stack.to_json_string(recovery_definition(run))

        def groups() -> list[str]:
            partition, region, account = hosts.place
            return [
                f"arn:{partition}:autoscaling:{region}:{account}:autoScalingGroup:*:autoScalingGroupName/{name}"
                # With no capacity there is nothing to end, and no policy without a resource.
                for name in [each.auto_scaling_group.auto_scaling_group_name for each in capacities()] or ["none"]
            ]

        self.state_machine: sfn.StateMachine
        self.state_machine, role = state_machine(
            self,
            definition=late_text(definition),
            allowed_to="Recover",
            policy=_permissions(hosts, self.table, late_list(groups)),
        )
        notify.grant_publish(role)
        self.rule: events.CfnRule = self._rule(hosts)
        self.alarm: cloudwatch.Alarm = alarm_of_executions(
            self,
            self.state_machine,
            description="A host with a failed GPU was not replaced; the cause of the execution says why",
            label="Hosts not replaced",
        )
        self.alarm.add_alarm_action(actions.SnsAction(notify))

    def _rule(self, hosts: ClusterHosts) -> events.CfnRule:
        target = started_by_events(self, self.state_machine)
        of_account = {"account": [hosts.place[2]]}  # a bus may take events of other accounts
        arns = hosts.stack.format_arn(
            service="ecs", resource="container-instance", resource_name=f"{hosts.cluster_name}/"
        )
        of_cluster = {"clusterArn": [hosts.cluster_arn], "containerInstanceArn": [{"prefix": arns}]}
        return events.CfnRule(
            self,
            "Rule",
            description="GPUs that failed",
            # cdk-preflight takes nothing beside $or (pf-events-pattern-or-exclusive).
            event_pattern={
                "$or": [
                    {
                        **of_account,
                        "source": [FAULT_SOURCE],
                        "detail-type": [FAULT_DETAIL_TYPE],
                        "detail": {**of_cluster, "reason": [{"exists": True}]},
                    },
                    {
                        **of_account,
                        "source": ["aws.ecs"],
                        "detail-type": [HOST_HEALTH],
                        "detail": {**of_cluster, "overallStatus": ["IMPAIRED"]},
                    },
                ],
            },
            targets=[target],
        )


def _permissions(hosts: ClusterHosts, table: dynamodb.Table, groups: list[str]) -> iam.PolicyDocument:
    """What the machine may do: in this one cluster, with its groups and the table."""
    of_ecs = ("DescribeContainerInstances", "ListTasks", "StopTask", "UpdateContainerInstancesState")
    in_cluster = {"ArnEquals": {"ecs:cluster": hosts.cluster_arn}}
    return policy_of(
        allowed("DrainHostsAndStopTasks", [f"ecs:{each}" for each in of_ecs], "*", in_cluster),
        allowed("ReplaceHosts", "autoscaling:TerminateInstanceInAutoScalingGroup", groups),
        allowed("LookAtGroups", "autoscaling:DescribeAutoScalingInstances", "*"),
        allowed("Count", ["dynamodb:GetItem", "dynamodb:UpdateItem"], table.table_arn),
    )
