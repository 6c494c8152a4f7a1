"""Recommendations by machine learning on a pool of GPU hosts: image in ECR, data in S3, one number for its size."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from gpu_constructs import GpuCluster, GpuJob, GpuTaskDefinition, JobData
from stacks.decided import NO_ACCESS_LOGS, decide
from stacks.network import demo_vpc

__all__ = ["RecommenderStack"]


class RecommenderStack(cdk.Stack):
    """Trains a recommender of products on up to that many hosts, which come for a training and leave after it.

    The data and results stay in their bucket when the stack is deleted; the images go.
    """

    def __init__(self, scope: Construct, construct_id: str, *, hosts: int) -> None:
        super().__init__(scope, construct_id, description="Training of a recommender, from S3 to S3, on GPU hosts")
        gone = cdk.RemovalPolicy.DESTROY
        images = ecr.Repository(self, "Images", image_scan_on_push=True, empty_on_delete=True, removal_policy=gone)
        bucket = s3.Bucket(self, "Data", enforce_ssl=True)

        cluster = GpuCluster(self, "Cluster", vpc=demo_vpc(self))
        pool = cluster.add_capacity("Pool", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=hosts)
        train = GpuTaskDefinition(self, "Train", capacity=[pool])
        train.add_gpu_container("train", image=ecs.ContainerImage.from_ecr_repository(images, "1"), gpus=1)
        job = GpuJob(
            self,
            "Job",
            cluster=cluster,
            task_definition=train,
            timeout=cdk.Duration.hours(6),
            reads={"DATA": JobData.s3(bucket, prefix="data/")},
            writes={"RESULTS": JobData.s3(bucket, prefix="results/")},
            checkpoints=JobData.s3(bucket, prefix="checkpoints/"),
        )
        decide(bucket, NO_ACCESS_LOGS)
        cdk.CfnOutput(self, "ImageUri", value=images.repository_uri_for_tag("1"))
        cdk.CfnOutput(self, "BucketName", value=bucket.bucket_name)
        cdk.CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)
        cdk.CfnOutput(self, "Start", value=job.start_command(job_input={"epochs": 30}))
