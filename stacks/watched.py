"""A service and a nightly job on GPUs that are measured, shown and watched; a host whose GPU fails is replaced."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from gpu_constructs import AlarmLimits, GpuCluster, GpuJob, GpuService, GpuTaskDefinition, ModelServer, Purchase
from stacks.network import demo_vpc
from stacks.tensorflow_benchmark import BENCHMARK, IMAGE

__all__ = ["WatchedStack"]


class WatchedStack(cdk.Stack):
    """Serves a model and trains another one every night, on hosts whose GPUs are watched, and replaced when they fail.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        email: Who is told of alarms; AWS asks that person first.
    """

    def __init__(self, scope: Construct, construct_id: str, *, email: str) -> None:
        super().__init__(scope, construct_id, description="A service and a job on GPUs, with a dashboard and alarms")
        told = sns.Topic(self, "Told", enforce_ssl=True)
        told.add_subscription(subscriptions.EmailSubscription(email))

        cluster = GpuCluster(self, "Cluster", vpc=demo_vpc(self))
        monitoring = cluster.add_monitoring("Monitoring", notify=told, alarms=AlarmLimits(idle_minutes=120))
        monitoring.add_recovery()
        l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=4)
        spot = Purchase.spot()
        a10g = cluster.add_capacity("A10g", instance_types=["g5.xlarge", "g5.2xlarge"], max_instances=2, purchase=spot)

        chat = GpuTaskDefinition(self, "Chat", capacity=[l4])
        chat.add_model_server("Vllm", server=ModelServer.vllm("Qwen/Qwen2.5-7B-Instruct"), gpus=1)
        GpuService(self, "Service", cluster=cluster, task_definition=chat)

        train = GpuTaskDefinition(self, "Train", capacity=[a10g])
        image = ecs.ContainerImage.from_registry(IMAGE)
        train.add_gpu_container("train", image=image, gpus=1, command=["python", "-c", BENCHMARK])
        job = GpuJob(self, "Job", cluster=cluster, task_definition=train, timeout=cdk.Duration.hours(2))
        job.run_on_schedule("Nightly", schedule=scheduler.ScheduleExpression.cron(hour="2", minute="0"))

        cdk.CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)
        cdk.CfnOutput(self, "Dashboard", value=monitoring.dashboard.ref)
        cdk.CfnOutput(self, "Start", value=job.start_command())
