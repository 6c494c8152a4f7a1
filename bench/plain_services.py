"""How each kind of service is written by hand: behind a load balancer, with a cache of its model, scaled by a queue."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bench.kinds import CERTIFICATE, MESSAGES_PER_TASK, MODEL, PORT
from bench.plain_hosts import Shared, capacity
from bench.plain_tasks import MEMLOCK, STACK, on_hosts, role_of
from bench.workloads import CONTAINER_IMAGE, Pair

__all__ = ["cached", "load_balanced", "scaled"]

_VLLM = "vllm/vllm-openai:v0.27.1"
_HOSTS = 4


def load_balanced(scope: Construct, shared: Shared, pair: Pair) -> None:
    """A service behind HTTPS."""
    service = _service(scope, shared, pair, _listening(scope, pair), grace=cdk.Duration.minutes(10))
    # Part of the service, whose hosts CDK does not know from the cluster.
    service.connections.add_security_group(cast("ec2.ISecurityGroup", shared.security_group))
    vpc = cast("ec2.IVpc", shared.vpc)
    balancer = elbv2.ApplicationLoadBalancer(
        service, "LoadBalancer", vpc=vpc, idle_timeout=cdk.Duration.minutes(10), drop_invalid_header_fields=True
    )
    targets = elbv2.ApplicationTargetGroup(
        service,
        "Targets",
        vpc=vpc,
        protocol=elbv2.ApplicationProtocol.HTTP,
        port=PORT,
        target_type=elbv2.TargetType.INSTANCE,
        health_check=elbv2.HealthCheck(
            path="/health",
            port="traffic-port",
            protocol=elbv2.Protocol.HTTP,
            interval=cdk.Duration.seconds(15),
            timeout=cdk.Duration.seconds(10),
            healthy_threshold_count=2,
            unhealthy_threshold_count=4,
        ),
    )
    certificate = acm.Certificate.from_certificate_arn(service, "Certificate", CERTIFICATE)
    https = elbv2.ApplicationListener(
        service,
        "Listener",
        load_balancer=cast("elbv2.IApplicationLoadBalancer", balancer),
        protocol=elbv2.ApplicationProtocol.HTTPS,
        port=443,
        certificates=[cast("elbv2.IListenerCertificate", certificate)],
        ssl_policy=elbv2.SslPolicy.TLS13_12_RES_PQ,
        default_target_groups=[cast("elbv2.IApplicationTargetGroup", targets)],
        open=False,
    )
    http = elbv2.ApplicationListener(
        service,
        "Redirect",
        load_balancer=cast("elbv2.IApplicationLoadBalancer", balancer),
        protocol=elbv2.ApplicationProtocol.HTTP,
        port=80,
        default_action=elbv2.ListenerAction.redirect(protocol="HTTPS", port="443", permanent=True),
        open=False,
    )
    inside = ec2.Peer.ipv4(shared.vpc.vpc_cidr_block)
    for each in (https, http):
        each.connections.allow_default_port_from(inside)
    targets.add_target(service.load_balancer_target(container_name="training", container_port=PORT))


def cached(scope: Construct, shared: Shared, pair: Pair) -> None:
    """A model server with EFS for what it downloads."""
    files = efs.FileSystem(scope, f"Models{pair.number}", vpc=cast("ec2.IVpc", shared.vpc))
    task = _task(scope, pair)
    task.add_volume(
        name="models",
        efs_volume_configuration=ecs.EfsVolumeConfiguration(
            file_system_id=files.file_system_id,
            transit_encryption="ENABLED",
            authorization_config=ecs.AuthorizationConfig(iam="ENABLED"),
        ),
    )
    directory = "/root/.cache/huggingface"
    container = _container(
        scope,
        pair,
        task,
        image=ecs.ContainerImage.from_registry(_VLLM),
        command=[MODEL, "--host", "0.0.0.0", "--port", str(PORT)],  # noqa: S104 - its own network
        variables={"HF_HOME": directory, "VLLM_CACHE_ROOT": f"{directory}/vllm"},
        port_name="training",
    )
    container.add_mount_points(ecs.MountPoint(container_path=directory, read_only=False, source_volume="models"))
    files.grant_root_access(task.task_role)
    files.connections.allow_default_port_from(shared.security_group)
    _service(scope, shared, pair, task).node.add_dependency(files.mount_targets_available)


def scaled(scope: Construct, shared: Shared, pair: Pair) -> None:
    """A service that the messages of a queue start and stop."""
    queue = sqs.Queue(scope, f"Queue{pair.number}")
    service = _service(scope, shared, pair, _listening(scope, pair), is_scaled=True)
    count = service.auto_scale_task_count(min_capacity=0, max_capacity=_HOSTS)
    minute = cdk.Duration.minutes(1)
    waiting, busy = (
        cloudwatch.Metric(
            namespace="AWS/SQS",
            metric_name=f"ApproximateNumberOfMessages{state}",
            dimensions_map={"QueueName": queue.queue_name},
            statistic="Maximum",
            period=minute,
        )
        for state in ("Visible", "NotVisible")
    )
    needed = cloudwatch.MathExpression(
        expression=f"CEIL((waiting + busy) / {MESSAGES_PER_TASK})",
        using_metrics={"waiting": cast("cloudwatch.IMetric", waiting), "busy": cast("cloudwatch.IMetric", busy)},
        label="Tasks needed",
        period=minute,
    )
    target = cast("appscaling.ScalableTarget", count.node.find_child("Target")).scalable_target_id
    more: list[tuple[int | None, int | None, int]] = [(0, 2, 1), (2, 3, 2), (3, 4, 3), (4, None, _HOSTS)]
    none: list[tuple[int | None, int | None, int]] = [(None, 0, 0)]
    for what, steps, operator, minutes in (
        ("Backlog", more, cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD, 1),
        ("Quiet", none, cloudwatch.ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD, 15),
    ):
        # The L2 has no policy of exact numbers whose alarm looks back for more than ten minutes.
        policy = appscaling.CfnScalingPolicy(
            count,
            what,
            policy_name=what,
            policy_type="StepScaling",
            scaling_target_id=target,
            step_scaling_policy_configuration=appscaling.CfnScalingPolicy.StepScalingPolicyConfigurationProperty(
                adjustment_type="ExactCapacity",
                cooldown=600,
                metric_aggregation_type="Maximum",
                step_adjustments=[
                    appscaling.CfnScalingPolicy.StepAdjustmentProperty(
                        metric_interval_lower_bound=low, metric_interval_upper_bound=high, scaling_adjustment=tasks
                    )
                    for low, high, tasks in steps
                ],
            ),
        )
        alarm = cloudwatch.Alarm(
            count,
            f"{what}Alarm",
            metric=cast("cloudwatch.IMetric", needed),
            threshold=0,
            comparison_operator=operator,
            evaluation_periods=minutes,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        cast("cloudwatch.CfnAlarm", alarm.node.default_child).alarm_actions = [policy.ref]


def _task(scope: Construct, pair: Pair) -> ecs.Ec2TaskDefinition:
    name = f"Task{pair.number}"
    return ecs.Ec2TaskDefinition(
        scope,
        name,
        family=f"gpu-task-{pair.number}",
        placement_constraints=[on_hosts(pair.hosts)],
        task_role=role_of(scope, name),
    )


def _listening(scope: Construct, pair: Pair) -> ecs.Ec2TaskDefinition:
    task = _task(scope, pair)
    image = ecs.ContainerImage.from_registry(CONTAINER_IMAGE)
    _container(scope, pair, task, image=image, command=["nvidia-smi"])
    return task


def _container(
    scope: Construct,
    pair: Pair,
    task: ecs.Ec2TaskDefinition,
    *,
    image: ecs.ContainerImage,
    command: list[str],
    variables: Mapping[str, str] = MappingProxyType({}),
    port_name: str | None = None,
) -> ecs.ContainerDefinition:
    name = f"Task{pair.number}"
    (share,) = pair.hosts.shares
    kept, going = logs.RetentionDays.ONE_MONTH, cdk.RemovalPolicy.DESTROY
    log_group = logs.LogGroup(scope, f"{name}Logs", retention=kept, removal_policy=going)
    shared_memory = share.shared_memory_mib
    return task.add_container(
        "training",
        image=image,
        gpu_count=1,
        cpu=share.cpu,
        memory_limit_mib=share.memory_mib,
        linux_parameters=ecs.LinuxParameters(scope, f"{name}LinuxParameters", shared_memory_size=shared_memory),
        ulimits=[MEMLOCK, STACK],
        command=command,
        environment={"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", **variables},
        port_mappings=[ecs.PortMapping(container_port=PORT, name=port_name)],
        logging=ecs.LogDrivers.aws_logs(stream_prefix="training", log_group=cast("logs.ILogGroup", log_group)),
    )


def _service(
    scope: Construct,
    shared: Shared,
    pair: Pair,
    task: ecs.Ec2TaskDefinition,
    *,
    grace: cdk.Duration | None = None,
    is_scaled: bool = False,
) -> ecs.Ec2Service:
    made = capacity(scope, f"Capacity{pair.number}", shared, pair.hosts, max_instances=_HOSTS)
    name = made.provider.capacity_provider_name
    service = ecs.Ec2Service(
        scope,
        f"Service{pair.number}",
        cluster=cast("ecs.ICluster", shared.cluster),
        task_definition=task,
        capacity_provider_strategies=[ecs.CapacityProviderStrategy(capacity_provider=name, weight=1)],
        desired_count=None if is_scaled else 1,
        min_healthy_percent=75 if is_scaled else 100,
        max_healthy_percent=200,
        circuit_breaker=ecs.DeploymentCircuitBreaker(enable=True, rollback=True),
        placement_strategies=[ecs.PlacementStrategy.packed_by_memory()],
        availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.DISABLED,
        enable_ecs_managed_tags=True,
        propagate_tags=ecs.PropagatedTagSource.SERVICE,
        health_check_grace_period=grace,
    )
    cast("ecs.CfnService", service.node.default_child).add_property_override("PlacementStrategies.0.Field", "memory")
    service.node.add_dependency(shared.cluster)
    return service
