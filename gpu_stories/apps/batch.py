"""A queue of AWS Batch whose GPUs two teams share, first on Spot hosts, then on demand."""

from aws_cdk import App, CfnOutput, Duration, Stack, aws_ec2 as ec2, aws_ecs as ecs, aws_sns as sns
from constructs import Construct
from gpu_constructs import CapacityChoice, FairShares, GpuBatchQueue, Purchase

IMAGE = "nvidia/cuda:12.8.1-base-ubuntu24.04"  # your image and program; this one shows its GPUs
TYPES = ["g6.xlarge", "g6.2xlarge"]


class BatchStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        queue = GpuBatchQueue(
            self,
            "Queue",
            vpc=ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1),
            environments=[
                CapacityChoice("Spot", instance_types=TYPES, max_instances=8, purchase=Purchase.spot()),
                CapacityChoice("OnDemand", instance_types=TYPES, max_instances=2),
            ],
            shares=FairShares(shares={"research": 3, "nightly": 1}),  # while both have jobs; else all of it
        )
        image = ecs.ContainerImage.from_registry(IMAGE)
        for share, hours in {"research": 6, "nightly": 2}.items():
            job = queue.add_job(
                share.title(), image=image, command=["nvidia-smi"], share=share, timeout=Duration.hours(hours)
            )
            CfnOutput(self, f"Submit{share.title()}", value=job.submit_command())
        queue.watch(notify=sns.Topic(self, "Told", enforce_ssl=True))  # of jobs that fail, and of a queue that is stuck


if __name__ == "__main__":
    app = App()
    BatchStack(app, "batch")
    app.synth()
