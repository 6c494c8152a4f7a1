"""A training every night on Spot hosts, which goes on from its checkpoints when a host is lost."""

from aws_cdk import App, CfnOutput, Duration, Stack, aws_ec2 as ec2, aws_ecs as ecs, aws_s3 as s3
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct
from gpu_constructs import GpuCluster, GpuJob, GpuTaskDefinition, JobData, JobRetries, Purchase

IMAGE = "nvidia/cuda:12.8.1-base-ubuntu24.04"  # your image and program; this one shows its GPU and its places
TRAIN = 'nvidia-smi && echo "$DATASET to $RESULTS, attempt $JOB_ATTEMPT, checkpoints in $JOB_CHECKPOINTS"'


class NightlyStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1))
        spot = cluster.add_capacity(
            "Spot",
            instance_types=["g6.xlarge", "g6.2xlarge", "g5.xlarge", "g5.2xlarge"],
            max_instances=2,
            purchase=Purchase.spot(),
        )
        train = GpuTaskDefinition(self, "Train", capacity=[spot])
        image = ecs.ContainerImage.from_registry(IMAGE)
        train.add_gpu_container("train", image=image, command=["sh", "-c", TRAIN])

        bucket = s3.Bucket(self, "Bucket", enforce_ssl=True)  # stays when the stack is deleted
        job = GpuJob(
            self,
            "Job",
            cluster=cluster,
            task_definition=train,
            timeout=Duration.hours(3),
            retries=JobRetries(lost_host=2),
            max_cost_usd=60,  # of one start with all its retries; more is refused here
            reads={"DATASET": JobData.s3(bucket, prefix="data/")},
            writes={"RESULTS": JobData.s3(bucket, prefix="results/")},
            checkpoints=JobData.s3(bucket, prefix="checkpoints/"),
        )
        job.run_on_schedule("Nightly", schedule=scheduler.ScheduleExpression.cron(hour="2", minute="0"))
        CfnOutput(self, "Start", value=job.start_command())  # to start it by hand


if __name__ == "__main__":
    app = App()
    NightlyStack(app, "nightly")
    app.synth()
