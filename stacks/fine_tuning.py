"""A language model fine-tuned every night on Spot hosts, which resumes from checkpoints when a host is interrupted."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_efs as efs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from gpu_constructs import GpuCluster, GpuJob, GpuTaskDefinition, JobData, ModelCache, ModelServer, Purchase
from stacks.decided import NO_ACCESS_LOGS, decide
from stacks.fine_tuning_work import TUNE, WORK
from stacks.network import demo_vpc

__all__ = ["FineTuningStack"]


class FineTuningStack(cdk.Stack):
    """Tunes a model on 8 GPUs that talk over NVLink, on a Spot host of whichever type EC2 has."""

    def __init__(self, scope: Construct, construct_id: str, *, instance_types: Sequence[str]) -> None:
        super().__init__(scope, construct_id, description="A nightly fine-tuning on Spot hosts, with checkpoints")
        vpc = demo_vpc(self)
        cluster = GpuCluster(self, "Cluster", vpc=vpc)
        hosts = cluster.add_capacity("Spot", instance_types=instance_types, max_instances=1, purchase=Purchase.spot())
        kept = efs.FileSystem(self, "Kept", vpc=vpc, removal_policy=cdk.RemovalPolicy.DESTROY)
        tune = GpuTaskDefinition(self, "Tune", capacity=[hosts])
        tune.add_model_server(
            "tune",
            server=ModelServer.preset("pytorch"),
            cache=ModelCache.efs(kept),
            gpus=8,
            gpu_memory_gib=75,
            min_compute_capability=(8, 0),
            nvlink=True,
            cpu=8 * 10 * 1024,  # ten vCPUs feed each GPU
            command=["sh", "-c", WORK],
            environment={"TUNE": TUNE, "AWS_REGION": self.region},
        )
        bucket = s3.Bucket(self, "Texts", enforce_ssl=True)
        job = GpuJob(
            self,
            "Job",
            cluster=cluster,
            task_definition=tune,
            timeout=cdk.Duration.hours(8),
            reads={"TEXTS": JobData.s3(bucket, prefix="texts/")},
            writes={"TUNED": JobData.s3(bucket, prefix="tuned/")},
            checkpoints=JobData.directory("/root/.cache/huggingface/checkpoints"),  # on what goes with the stack
        )
        job.run_on_schedule("Nightly", schedule=scheduler.ScheduleExpression.cron(hour="1", minute="0"))
        decide(bucket, NO_ACCESS_LOGS)
        decide(tune, {"ECS2": "the program that it runs and the region are no secrets"})
        cdk.CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)
        cdk.CfnOutput(self, "BucketName", value=bucket.bucket_name)
        cdk.CfnOutput(self, "Start", value=job.start_command())
