"""Hosts whose GPUs fail are drained and replaced, within a daily budget, and a topic gets a message of each step.

A state machine, in the Amazon States Language, takes a host out of its cluster and has it replaced. It starts with an
event: a GPU failed, or EC2 is about to take a Spot host. `which_host` reads the event, looks whether the host is one of
ours, and takes one of the day's replacements. `draining` empties the host, and here it is replaced. Each execution
holds its host: a second one for the same host stops the tasks on another GPU that failed, or ends without doing
anything. One that fails lets its host go, so that the next event begins again.
"""

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

from gpu_constructs.cdk.same_place import service_of_this_account
from gpu_constructs.cdk.state_parts import State, alarm_of_executions, choice_state, is_there
from gpu_constructs.cdk.tokens import late_list, late_text
from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.monitoring.draining import (
    LONGEST_REPLACEMENT_SECONDS,
    draining_states,
    longest_drain_seconds,
    replacement_states,
)
from gpu_constructs.cluster.monitoring.events import FAULT_DETAIL_TYPE, FAULT_SOURCE
from gpu_constructs.cluster.monitoring.which_host import (
    ENDS_BY_ITSELF,
    GIVES_UP,
    KEY,
    RecoveryRun,
    first_states,
    gives_up,
    release_host,
    tell,
)
from gpu_constructs.facts.aws_limits import HOST_HEALTH, REBALANCE_RECOMMENDATION, SPOT_WARNING

if TYPE_CHECKING:
    from aws_cdk import aws_sns as sns

# What the calls take, with their retries.
_MARGIN_SECONDS = 3600


def recovery_definition(run: RecoveryRun) -> State:
    """The definition of the machine."""
    return {
        "Comment": "Drains and replaces hosts whose GPUs failed, and hosts that EC2 takes back",
        "StartAt": "Known",
        "TimeoutSeconds": longest_drain_seconds(run) + LONGEST_REPLACEMENT_SECONDS + _MARGIN_SECONDS,
        "States": {
            **first_states(run),
            **draining_states(run),
            **replacement_states(run),
            ENDS_BY_ITSELF: {"Type": "Succeed"},
            "Failed": tell(
                run,
                "did not end",
                "What was begun has to be looked after by hand: {}: {}",
                "$.error.Error",
                "$.error.Cause",
                following="NotRecovered",
            ),
            "NotRecovered": gives_up("NotRecovered", "{}: {}", "$.error.Error", "$.error.Cause"),
            GIVES_UP: release_host(run, following="Over"),
            "Over": choice_state([{**is_there("$.error"), "Next": "GivenUp"}], ENDS_BY_ITSELF),
            "GivenUp": {"Type": "Fail", "ErrorPath": "$.error.Error", "CausePath": "$.error.Cause"},
        },
    }


class GpuRecovery(Construct):
    """Drains and replaces hosts whose GPUs fail; made by `GpuMonitoring.add_recovery`.

    Attributes:
        state_machine: Each execution of it looks after one host.
        table: Which hosts it has counted, by day, and which execution holds a host.
        rule: The events that start it.
        alarm: Goes off where a person has to look: the budget of a day is used, a host got no replacement, or still
            holds tasks, or something failed.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        hosts: ClusterHosts,
        capacities: Callable[[], Sequence[GpuCapacity]],
        notify: sns.ITopic,
        replacements_per_day: int,
        drain_seconds: int,
        end_remaining_tasks: bool,
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
                cluster_name=hosts.cluster_name,
                providers=[each.capacity_provider_name for each in capacities()],
                table=self.table.table_name,
                topic=notify.topic_arn,
                replacements_per_day=replacements_per_day,
                drain_seconds=drain_seconds,
                ends_remaining_tasks=end_remaining_tasks,
            )
            return hosts.stack.to_json_string(recovery_definition(run))

        def groups() -> list[str]:
            partition, region, account = hosts.place
            return [
                f"arn:{partition}:autoscaling:{region}:{account}:autoScalingGroup:*:autoScalingGroupName/{name}"
                # With no capacity there is nothing to end, and no policy without a resource.
                for name in [each.auto_scaling_group.auto_scaling_group_name for each in capacities()] or ["none"]
            ]

        role = iam.Role(
            self,
            "Role",
            assumed_by=service_of_this_account("states.amazonaws.com"),
            inline_policies={
                "Recover": iam.PolicyDocument(statements=_statements(hosts, self.table, late_list(groups)))
            },
        )
        notify.grant_publish(role)
        self.state_machine: sfn.StateMachine = sfn.StateMachine(
            self,
            "StateMachine",
            role=role,
            definition_body=sfn.DefinitionBody.from_string(late_text(definition)),
        )
        self.rule: events.CfnRule = self._rule(hosts)
        self.alarm: cloudwatch.Alarm = alarm_of_executions(
            self,
            self.state_machine,
            description="A host with a failed GPU was not replaced; the cause of the execution says why",
            label="Hosts not replaced",
        )
        self.alarm.add_alarm_action(actions.SnsAction(notify))

    def _rule(self, hosts: ClusterHosts) -> events.CfnRule:
        role = iam.Role(self, "EventsRole", assumed_by=service_of_this_account("events.amazonaws.com"))
        self.state_machine.grant_start_execution(role)
        of_account = {"account": [hosts.place[2]]}  # a bus may take events of other accounts
        of_cluster = {"clusterArn": [hosts.cluster_arn], "ec2InstanceId": [{"prefix": "i-"}]}
        return events.CfnRule(
            self,
            "Rule",
            description="GPUs that failed, and Spot hosts that EC2 takes back",
            # cdk-preflight takes nothing beside $or (pf-events-pattern-or-exclusive).
            event_pattern={
                "$or": [
                    {**of_account, "source": [FAULT_SOURCE], "detail-type": [FAULT_DETAIL_TYPE], "detail": of_cluster},
                    {
                        **of_account,
                        "source": ["aws.ecs"],
                        "detail-type": [HOST_HEALTH],
                        "detail": {**of_cluster, "overallStatus": ["IMPAIRED"]},
                    },
                    # They name the instance alone; the machine looks for it in the cluster.
                    {**of_account, "source": ["aws.ec2"], "detail-type": [SPOT_WARNING, REBALANCE_RECOMMENDATION]},
                ],
            },
            targets=[
                events.CfnRule.TargetProperty(
                    id="StateMachine", arn=self.state_machine.state_machine_arn, role_arn=role.role_arn
                )
            ],
        )


def _statements(hosts: ClusterHosts, table: dynamodb.Table, groups: list[str]) -> list[iam.PolicyStatement]:
    """What the machine may do: in this one cluster, with its groups and the table."""
    in_cluster = {"ArnEquals": {"ecs:cluster": hosts.cluster_arn}}
    return [
        iam.PolicyStatement(sid="FindHosts", actions=["ecs:ListContainerInstances"], resources=[hosts.cluster_arn]),
        iam.PolicyStatement(
            sid="DrainHostsAndStopTasks",
            actions=[
                "ecs:DescribeContainerInstances",
                "ecs:DescribeTasks",
                "ecs:ListServices",
                "ecs:ListTasks",
                "ecs:StopTask",
                "ecs:UpdateContainerInstancesState",
            ],
            resources=["*"],
            conditions=in_cluster,
        ),
        iam.PolicyStatement(
            sid="ReplaceHosts", actions=["autoscaling:TerminateInstanceInAutoScalingGroup"], resources=groups
        ),
        iam.PolicyStatement(
            sid="LookAtGroups",
            actions=[
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeAutoScalingInstances",
                "autoscaling:DescribeScalingActivities",
            ],
            resources=["*"],
        ),
        iam.PolicyStatement(sid="Count", actions=["dynamodb:UpdateItem"], resources=[table.table_arn]),
    ]
