"""What the number of tasks of a service follows, and how Application Auto Scaling is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.arguments import is_positive, known_number, require_kind
from gpu_constructs.cdk.kinds import checked, names_checked
from gpu_constructs.cluster.monitoring.events import METRIC_NAMESPACE
from gpu_constructs.errors import unexpected
from gpu_constructs.facts.aws_limits import LARGEST_INTEGER, MAX_STEP_ADJUSTMENTS
from gpu_constructs.facts.values import dataclass
from gpu_constructs.services.endpoint import ServiceEndpoint

if TYPE_CHECKING:
    from aws_cdk import aws_sqs as sqs

_MINUTE = cdk.Duration.minutes(1)
# As long as target tracking waits, whose alarm for scaling in needs 15 low minutes.
_QUIET_MINUTES = 15
_TOTAL = "total_of_all_tasks"
_REQUESTS, _BACKLOG, _GPU_USE = "Requests", "Backlog", "GpuUse"
_POLICIES: Mapping[str, tuple[str, ...]] = {
    _REQUESTS: ("ALBRequestCountPerTarget",),
    _BACKLOG: ("StepScaling", "StepScaling"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """A service whose number of tasks is scaled by what policies are added to; see `GpuService.scale`."""

    service: ecs.Ec2Service
    count: ecs.ScalableTaskCount
    least: int
    most: int
    scale_in_cooldown: cdk.Duration
    scale_out_cooldown: cdk.Duration
    is_managed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleBy:
    """What the number of tasks of a service follows. Made by one of its class methods alone.

    Attributes:
        name: What its policy is called.
        target: The value of the metric that is kept.
        metric: What is measured; None for requests, and for the GPUs of the service, of which nothing is known yet.
        endpoint: What counts the requests.
        of_gpus: The metric of the GPUs of the service.
        wakes: Whether it asks for a first task where none runs. It then says how many there are, and nothing else can.
    """

    name: str
    target: float = 1
    metric: cloudwatch.IMetric | None = None
    endpoint: ServiceEndpoint | None = None
    of_gpus: str | None = None
    wakes: bool = False

    @property
    def policies(self) -> tuple[str, ...]:
        """What its policies follow, as `gpu_constructs.fleet.ServiceScaling.by` has it."""
        return _POLICIES.get(self.name, ("TargetTrackingScaling",))

    @classmethod
    @checked
    def requests(cls, *, endpoint: ServiceEndpoint, per_task_per_minute: int) -> ScaleBy:
        """By the requests that each task gets in a minute, counted by an Application Load Balancer.

        For requests that are alike and short; where one takes a second and another a minute, the number says little.
        A load balancer that has no task to send a request to answers 503 and counts nothing for the target group, so
        a service that it reaches keeps one task at least.

        Args:
            endpoint: What ``service.add_application_load_balancer`` returned.
            per_task_per_minute: Requests that each task should get in a minute.
        """
        require_kind("endpoint", endpoint, ServiceEndpoint, example="service.add_application_load_balancer(…)")
        target = _known("per_task_per_minute", per_task_per_minute, unit="requests", usual=60)
        return ScaleBy(name=_REQUESTS, endpoint=endpoint, target=target)

    @classmethod
    @checked
    def queue(cls, *, queue: sqs.IQueue, messages_per_task: int) -> ScaleBy:
        """By the messages of an SQS queue, those that tasks are working on included: from no task and back to none.

        With 5 messages for each task, 1 to 5 messages make one task, 6 to 10 make two. A message counts until it is
        deleted, so a task that works on the last one is not stopped for want of messages; but of several tasks ECS
        stops any, which then needs task scale-in protection, or gives its message back after the visibility timeout.

        SQS sends its metrics every minute, and up to 15 minutes late for a queue that nothing touched for six hours
        (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/monitoring-using-cloudwatch.html):
        what a user waits for should keep one task.

        Args:
            queue: The queue.
            messages_per_task: Messages for which one task is enough.
        """
        dimensions = {"QueueName": queue.queue_name}
        waiting, busy = (
            cloudwatch.Metric(
                namespace="AWS/SQS",
                metric_name=name,
                dimensions_map=dimensions,
                statistic="Maximum",
                period=_MINUTE,
            )
            for name in ("ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible")
        )
        each = _known("messages_per_task", messages_per_task, unit="messages", usual=5)
        # Not FILL(waiting, 0): of a metric that comes late, CloudWatch then takes the newest minute for 0
        # (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html).
        return _backlog(f"(waiting + busy) / {each}", {"waiting": waiting, "busy": busy})

    @classmethod
    @checked
    def backlog(cls, *, metric: cloudwatch.IMetric, per_task: float) -> ScaleBy:
        """By your own total, such as the tokens or the requests that wait for all tasks: from no task and back to none.

        With 1,000 for each task, anything up to 1,000 makes one task, anything up to 2,000 two. Metric math may combine
        several: ``cloudwatch.MathExpression(expression="MAX([tokens / 1000, images])", …)`` with ``per_task=1``. Only
        what is measured without tasks, by a gateway or a queue, starts the first one.

        Args:
            metric: The total, with a value each minute.
            per_task: How much of it one task is enough for.
        """
        return _backlog(f"{_TOTAL} / {_positive('per_task', per_task, usual=1000)!r}", {_TOTAL: metric})

    @classmethod
    @checked
    def average(cls, *, metric: cloudwatch.IMetric, target: float) -> ScaleBy:
        """By your own metric of each task, such as its running or waiting requests, kept near a target.

        With twice the target there are twice as many tasks. What adds up over all tasks is a `backlog`. Tasks that do
        not run measure nothing, so one is kept at least.

        Args:
            metric: A metric with the average of all tasks, in the account and the region of the service; CDK takes no
                metric math here.
            target: The value that it should have.
        """
        return ScaleBy(name="Average", metric=metric, target=_positive("target", target, usual=5))

    @classmethod
    @names_checked
    def gpu_utilization(cls, *, percent: float) -> ScaleBy:
        """By the use of the GPUs that its tasks have.

        On hosts of Auto Scaling groups, the daemon of `GpuCluster.add_monitoring` measures it, whose line comes before;
        on Managed Instances, Container Insights does where it is enhanced, the default. A GPU counts as used while
        anything runs on it: a server that batches, such as vLLM, uses it fully whether it serves one request or fifty,
        and is scaled better by waiting requests.

        Args:
            percent: The use that the tasks should have on average.
        """
        return _of_gpus("GPUUtilization", percent)

    @classmethod
    @names_checked
    def gpu_memory(cls, *, percent: float) -> ScaleBy:
        """By the memory of the GPUs in use, where `gpu_utilization` is measured.

        For servers that load and unload: vLLM takes 90 % when it starts, whatever it has to do.

        Args:
            percent: The use that the tasks should have on average.
        """
        return _of_gpus("GPUMemoryUtilization", percent)


def add_policies(by: ScaleBy, construct_id: str, scaling: Scaling) -> None:
    """Adds what scales a service, called like this under its scaling."""
    if by.endpoint is not None:
        scaling.count.scale_on_request_count(
            construct_id,
            target_group=by.endpoint.target_group,
            requests_per_target=by.target,
            scale_in_cooldown=scaling.scale_in_cooldown,
            scale_out_cooldown=scaling.scale_out_cooldown,
        )
    elif by.wakes:
        _add_steps(construct_id, cast("cloudwatch.IMetric", by.metric), scaling)
    else:
        scaling.count.scale_to_track_custom_metric(
            construct_id,
            metric=by.metric or _metric_of_gpus(str(by.of_gpus), scaling),
            target_value=by.target,
            scale_in_cooldown=scaling.scale_in_cooldown,
            scale_out_cooldown=scaling.scale_out_cooldown,
        )


def _metric_of_gpus(name: str, scaling: Scaling) -> cloudwatch.Metric:
    """What the daemon of a monitored cluster measures of the GPUs of a service, or Container Insights."""
    service = scaling.service
    return cloudwatch.Metric(
        namespace="ECS/ContainerInsights" if scaling.is_managed else METRIC_NAMESPACE,
        metric_name=f"Task{name}" if scaling.is_managed else name,
        # Of Container Insights, as aws-samples/sample-ecs-inference-pipeline asks for them.
        dimensions_map={"ClusterName": service.cluster.cluster_name, "ServiceName": service.service_name},
        statistic="Average",
    )


def _add_steps(construct_id: str, metric: cloudwatch.IMetric, scaling: Scaling) -> None:
    """Two alarms on the tasks that are needed: above the least, and at or below it for a while."""
    step = appscaling.CfnScalingPolicy.StepAdjustmentProperty
    least = [step(metric_interval_upper_bound=0, scaling_adjustment=scaling.least)]
    above = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
    below = cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD
    target = cast("appscaling.ScalableTarget", scaling.count.node.find_child("Target")).scalable_target_id
    cooldown = scaling.scale_in_cooldown.to_seconds()
    for name, operator, minutes, steps in (
        (construct_id, above, 1, _steps_up(scaling.least, scaling.most)),
        ("Quiet", below, _QUIET_MINUTES, least),
    ):
        # One L1 crosses to Node once, where CDK's L2 does for each of up to 20 steps.
        policy = appscaling.CfnScalingPolicy(
            scaling.count,
            name,
            policy_name=name,
            policy_type="StepScaling",
            scaling_target_id=target,
            step_scaling_policy_configuration=appscaling.CfnScalingPolicy.StepScalingPolicyConfigurationProperty(
                adjustment_type="ExactCapacity",
                cooldown=cooldown,
                metric_aggregation_type="Maximum",
                step_adjustments=steps,
            ),
        )
        alarm = cloudwatch.Alarm(
            scaling.count,
            f"{name}Alarm",
            metric=metric,
            threshold=scaling.least,
            comparison_operator=operator,
            evaluation_periods=minutes,
            # A gap in the metric starts and stops nothing.
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        cast("cloudwatch.CfnAlarm", alarm.node.default_child).alarm_actions = [policy.ref]


def _steps_up(least: int, most: int) -> list[appscaling.CfnScalingPolicy.StepAdjustmentProperty]:
    """The steps of an alarm on the tasks that are needed, whose threshold is the least.

    Up to 20 numbers of tasks have a step each. Of more, a step is for several, and has the largest of them, so that
    there are never too few.
    """
    count = min(max(most - least, 1), MAX_STEP_ADJUSTMENTS)  # 1 where nothing changes the number
    numbers = [least - -(most - least) * step // count for step in range(1, count + 1)]
    # A step includes its lower bound.
    begins = [0, *(number - least + 1 for number in numbers[:-1])]
    return [
        appscaling.CfnScalingPolicy.StepAdjustmentProperty(
            metric_interval_lower_bound=lower, metric_interval_upper_bound=upper, scaling_adjustment=tasks
        )
        for lower, upper, tasks in zip(begins, [*begins[1:], None], numbers, strict=True)
    ]


def _backlog(tasks: str, metrics: Mapping[str, cloudwatch.IMetric]) -> ScaleBy:
    """By metric math that says how many tasks are needed, as a fraction."""
    needed = cloudwatch.MathExpression(
        expression=f"CEIL({tasks})", using_metrics=dict(metrics), period=_MINUTE, label="Tasks needed"
    )
    return ScaleBy(name=_BACKLOG, metric=needed, wakes=True)


def _of_gpus(metric: str, percent: float) -> ScaleBy:
    target = _positive("percent", percent, least=1, most=100, usual=70)
    return ScaleBy(name=_GPU_USE, of_gpus=metric, target=target)


def _known(argument: str, value: int, *, unit: str, usual: int) -> int:
    return known_number(
        argument,
        value,
        smallest=1,
        unit=unit,
        fix=f"{argument}={usual}",
        problem="the number of tasks is computed at synth, so this number must be known then",
        known_by=f"{argument}=5, or service.auto_scale_task_count(…)",
    )


def _positive(argument: str, value: float, *, least: int = 0, most: int = LARGEST_INTEGER, usual: float) -> float:
    if not is_positive(value, most) or value < least:
        is_text = isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value)
        number = float(value) if is_text else value
        if is_positive(number, most):
            usual = number * 100 if number < least else number  # 0.6 is meant as 60 percent
        raise unexpected(
            argument,
            value,
            "a number",
            allowed=f"{least} to {most}" if least else "above 0",
            fix=f"{argument}={usual:.15g}",
        )
    return value
