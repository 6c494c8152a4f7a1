"""What watches the GPUs of a cluster, and everything that waits for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from gpu_constructs.cdk.arguments import known_number, known_seconds, of_kind, require_same_place
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.tokens import late_text
from gpu_constructs.cdk.validation import warn
from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity
from gpu_constructs.cluster.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.cluster.managed import ManagedGpuCapacity
from gpu_constructs.cluster.monitoring.alarms import ClusterAlarms, alarms_of_cluster, alarms_of_pool
from gpu_constructs.cluster.monitoring.daemon_task import daemon_workload, run_daemon, why_unmeasured
from gpu_constructs.cluster.monitoring.dashboard import body_of
from gpu_constructs.cluster.monitoring.events import ClusterEvents
from gpu_constructs.cluster.monitoring.options import KEPT, AlarmLimits
from gpu_constructs.cluster.monitoring.recovery import GpuRecovery
from gpu_constructs.cluster.monitoring.watched import GROUP_METRIC, WatchedCluster, WatchedPool
from gpu_constructs.errors import IncompatibleError, InvalidValueError
from gpu_constructs.fleet import Workload

if TYPE_CHECKING:
    from aws_cdk import aws_events as events
    from aws_cdk import aws_sns as sns

# More would take a cluster down in a day.
_MOST_REPLACEMENTS = 100
# As long as managed draining waits for the tasks of a host.
_LONGEST_DRAIN_SECONDS = 48 * 3600
_RULES = "events.amazonaws.com"
_ALARMS = "cloudwatch.amazonaws.com"

_Capacities: TypeAlias = Callable[[], Sequence[GpuCapacity | ManagedGpuCapacity]]


class GpuMonitoring(Construct):
    """Measures the GPUs of a cluster, shows them, and raises alarms; made by `GpuCluster.add_monitoring`.

    Attributes:
        hosts: What the hosts of the cluster share.
        notify: The topic that alarms notify; None without one.
        log_group: The measurements, a line for each GPU and minute.
        events: What ECS reports of the cluster.
        service: The daemon: one task on each host with NVIDIA GPUs; None without such capacity.
        dashboard: The dashboard.
        recovery: What `add_recovery` added; None before.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        hosts: ClusterHosts,
        capacities: _Capacities,
        notify: sns.ITopic | None = None,
        alarms: AlarmLimits | None = None,
        image: ecs.ContainerImage | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        log_removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> None:
        limits = of_kind("alarms", alarms, AlarmLimits, example="AlarmLimits(idle_minutes=None)")
        require_topic("notify", notify, hosts.stack)
        hosts.room_for_daemons(KEPT)
        super().__init__(scope, construct_id)
        self.hosts: ClusterHosts = hosts
        self.notify: sns.ITopic | None = notify
        self._pools: list[WatchedPool] = []
        self._capacities = capacities
        self._log_retention = log_retention
        self._log_removal_policy = log_removal_policy
        self.log_group: logs.LogGroup = self._make_log_group("Logs")
        self.events: ClusterEvents = ClusterEvents(
            self, "Events", hosts=hosts, log_group=self._make_log_group("EventLogs")
        )
        self.service: ecs.Ec2Service | None = None
        self._run_daemon = partial(run_daemon, self, hosts=hosts, log_group=self.log_group, image=image)
        self._limits = limits
        self._alarms = ClusterAlarms(self, "Alarms", notify=notify)
        self._alarms.add(alarms_of_cluster(self._watched(), self._limits))
        for each in capacities():
            self.watch(each)
        self.dashboard: cloudwatch.CfnDashboard = cloudwatch.CfnDashboard(
            self, "Dashboard", dashboard_body=late_text(self._dashboard_body)
        )
        self.recovery: GpuRecovery | None = None
        if notify is not None:
            let_alarms_publish(self, notify, hosts.place)
        hosts.tell_of_alarms(self._alarms.tell_of)
        hosts.are_measured = True

    @property
    def capacities(self) -> Sequence[GpuCapacity | ManagedGpuCapacity]:
        """Every capacity of the cluster so far, those included that were added after the monitoring."""
        return self._capacities()

    @property
    def task_definition(self) -> ecs.TaskDefinition | None:
        """The daemon's task; None without capacity that has NVIDIA GPUs."""
        return None if self.service is None else self.service.task_definition

    @property
    def workload(self) -> Workload:
        """The daemon, as the value that every check reads."""
        return daemon_workload(self.node.id)

    def _make_log_group(self, construct_id: str) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            construct_id,
            retention=self._log_retention,
            encryption_key=self.hosts.encryption_key,
            removal_policy=self._log_removal_policy,
        )

    @property
    def alarms(self) -> Mapping[str, cloudwatch.Alarm]:
        """The alarms, by their ids under ``Alarms``; those of a capacity begin with its id, as ``L4TasksWait``."""
        return self._alarms.by_name

    def watch(self, capacity: GpuCapacity | ManagedGpuCapacity) -> None:
        """Defines the alarms of a capacity, and lets its Auto Scaling group send what they need.

        With the first that has NVIDIA GPUs the daemon is defined, which measures those of all.

        Args:
            capacity: A capacity of the cluster, which calls this itself for those that come later.
        """
        if isinstance(capacity, GpuCapacity):
            group = cast("autoscaling.CfnAutoScalingGroup", capacity.auto_scaling_group.node.default_child)
            # What `group_metrics` of the capacity asks for stays; the value is one that CDK works out later.
            given = self.hosts.stack.resolve(group.metrics_collection) or []
            group.metrics_collection = [
                autoscaling.CfnAutoScalingGroup.MetricsCollectionProperty(**each)
                for each in (*given, {"granularity": "1Minute", "metrics": [GROUP_METRIC]})
            ]
            if self.hosts.runs_daemons_on(capacity.pool):
                self.service = self.service or self._run_daemon()
                if why := why_unmeasured(capacity.pool):
                    warn(
                        capacity,
                        "gpus-not-measured",
                        f"the GPUs of {capacity.pool.name} will not be measured: {why}; each of its hosts will count "
                        "in UnreadableHosts",
                    )
        pool = WatchedPool(
            pool=capacity.pool,
            cluster_name=self.hosts.cluster_name,
            provider_name=capacity.capacity_provider_name,
            group_name=capacity.auto_scaling_group.auto_scaling_group_name
            if isinstance(capacity, GpuCapacity)
            else None,
        )
        self._pools.append(pool)
        self._alarms.add(alarms_of_pool(pool, self._limits))
        # With the first capacity whose GPUs are measured come the alarms of the measurements.
        self._alarms.add(alarms_of_cluster(self._watched(), self._limits))

    def _dashboard_body(self) -> str:
        """It shows the alarm of the recovery too."""
        others = [] if self.recovery is None else [self.recovery.alarm]
        alarms = [each.alarm_arn for each in (*self.alarms.values(), *others)]
        return self.hosts.stack.to_json_string(body_of(self._watched(), alarms))

    def _watched(self) -> WatchedCluster:
        return WatchedCluster(
            name=self.hosts.cluster_name,
            region=self.hosts.stack.region,
            event_log=self.events.log_group.log_group_name,
            gpu_log=self.log_group.log_group_name,
            pools=tuple(self._pools),
        )

    @checked
    def add_recovery(
        self,
        *,
        notify: sns.ITopic | None = None,
        replacements_per_day: int = 3,
        drain_timeout: cdk.Duration | None = None,
    ) -> GpuRecovery:
        """Drains and replaces hosts whose GPUs fail.

        A GPU has failed when the ECS agent or ECS calls its host unhealthy for it, after Xids that are listed in
        docs/monitoring.md, or when it is missing. Its host gets no new tasks, and services start theirs elsewhere. When
        the host is empty, its Auto Scaling group replaces it. A `GpuJob` whose task is stopped for it runs again within
        its `JobRetries`. Hosts on Managed Instances are AWS's own to replace.

        Args:
            notify: The topic that gets a message of each host. By default the one that alarms notify.
            replacements_per_day: How many hosts may be replaced in one day (UTC), 1 to 100. Further hosts are left
                alone, and the alarm goes off.
            drain_timeout: How long the tasks of a host may take to move or to end before they are stopped, a minute to
                48 hours. By default an hour.
        """
        topic = notify or self.notify
        if topic is None:
            raise InvalidValueError(
                "a recovery needs a topic for its messages",
                argument="notify",
                fix="notify=sns.Topic(self, 'Operators'), here or in add_monitoring",
            )
        require_topic("notify", topic, self.hosts.stack)
        most = known_number(
            "replacements_per_day",
            replacements_per_day,
            smallest=1,
            largest=_MOST_REPLACEMENTS,
            unit="hosts",
            fix="replacements_per_day=3",
            why="does not go into the definition of the state machine",
        )
        seconds = known_seconds(
            "drain_timeout",
            drain_timeout or cdk.Duration.hours(1),
            smallest=60,
            largest=_LONGEST_DRAIN_SECONDS,
            fix="cdk.Duration.hours(1)",
            why="does not go into the definition of the state machine",
        )
        if self.recovery is not None:
            raise InvalidValueError(
                "the cluster has a recovery already", argument="add_recovery", fix="one call, with all of its arguments"
            )
        self.recovery = GpuRecovery(
            self,
            "Recovery",
            hosts=self.hosts,
            capacities=lambda: [each for each in self.capacities if isinstance(each, GpuCapacity)],
            daemon=lambda: "none" if self.service is None else self.service.service_name,
            notify=topic,
            replacements_per_day=most,
            drain_seconds=seconds,
        )
        if topic is not self.notify:
            let_alarms_publish(self.recovery, topic, self.hosts.place)
        return self.recovery


def require_topic(argument: str, topic: sns.ITopic | None, stack: cdk.Stack) -> None:
    """Refuses a topic that the alarms of a stack cannot use.

    A topic of another region: PutMetricAlarm answers ``Invalid region ca-central-1 specified. Only us-west-2 is
    supported.`` (https://github.com/cds-snc/notification-terraform/pull/128). A FIFO topic delivers to queues alone
    (https://docs.aws.amazon.com/sns/latest/dg/fifo-message-delivery.html), and wants a message group of each message
    (https://docs.aws.amazon.com/sns/latest/api/API_Publish.html), which the messages of a recovery do not have.
    """
    if topic is None:
        return
    if topic.fifo:
        raise IncompatibleError(
            "a FIFO topic sends nothing to people: no mail, no text message, no HTTPS",
            argument=argument,
            fix="sns.Topic(self, 'Operators', enforce_ssl=True)",
        )
    why = "and alarms publish in their own region alone"
    require_same_place(stack, argument, region=topic.env.region, what="topic", why=why)


def let_alarms_publish(scope: Construct, topic: sns.ITopic, place: tuple[str, str, str]) -> None:
    """Lets the alarms of an account publish to a topic, and use its key; the place is partition, region and account.

    The policy that a topic has by itself lets the alarms of its account publish. Any other policy, such as that of
    ``enforce_ssl=True``, replaces it (https://repost.aws/knowledge-center/cloudwatch-receive-sns-for-alarm-trigger).
    """
    partition, region, account = place
    every = f"arn:{partition}:cloudwatch:{region}:{account}:alarm:*"
    if not _let_publish(topic, "AlarmsPublish", _ALARMS, every):
        _warn_of_policy(scope, topic, "alarms", f"{_ALARMS}, or is the one that SNS makes")


def let_rules_publish(
    scope: Construct, topic: sns.ITopic, rules: Sequence[events.CfnRule], place: tuple[str, str, str]
) -> None:
    """Lets rules of EventBridge publish to a topic, which a topic does not allow by default.

    A topic of another stack lets all rules of the place in: rules refer to it, so it cannot refer to them.
    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-sns-permissions
    """
    partition, region, account = place
    every = f"arn:{partition}:events:{region}:{account}:rule/*"
    sources = [each.attr_arn for each in rules] if topic.stack == cdk.Stack.of(scope) else every
    if not _let_publish(topic, "RulesPublish", _RULES, sources):
        _warn_of_policy(scope, topic, "notices of jobs", _RULES)


def _warn_of_policy(scope: Construct, topic: sns.ITopic, what: str, whom: str) -> None:
    """Says that CDK does not change an imported topic."""
    warn(
        scope,
        "imported-topic",
        f"the policy of topic {topic.node.id} is not changed, since the topic is imported; {what} reach it where that "
        f"policy allows sns:Publish to {whom}",
    )


def _let_publish(topic: sns.ITopic, sid: str, service: str, sources: str | list[str]) -> bool:
    """Whether CDK could let a service publish, and use the key of the topic."""
    added = topic.add_to_resource_policy(
        iam.PolicyStatement(
            sid=sid,
            principals=[iam.ServicePrincipal(service)],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions={"ArnLike": {"aws:SourceArn": sources}},
        )
    )
    if topic.master_key is not None:
        # https://repost.aws/knowledge-center/cloudwatch-configure-alarm-sns
        topic.master_key.grant(iam.ServicePrincipal(service), "kms:Decrypt", "kms:GenerateDataKey*")
    return added.statement_added
