"""A pre-training over 16 hosts of a Capacity Block, which start together and talk over EFA."""

from __future__ import annotations

from datetime import datetime

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from gpu_constructs import CapacityChoice, GpuBatchQueue, HostNetwork, JobData, ModelServer, MultiNodeTraining, Purchase
from stacks.decided import NO_ACCESS_LOGS, decide
from stacks.network import demo_vpc
from stacks.pre_training_work import PROGRAM

__all__ = ["PreTrainingStack"]

_HOSTS = 16


class PreTrainingStack(cdk.Stack):
    """Trains on 128 GPUs while a Capacity Block lasts.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        reservation_id: The reservation of the block, with 16 hosts of p5.48xlarge.
        zone: Its Availability Zone.
        ends: When it ends.
    """

    def __init__(self, scope: Construct, construct_id: str, *, reservation_id: str, zone: str, ends: datetime) -> None:
        super().__init__(scope, construct_id, description="A pre-training over 16 hosts of a Capacity Block")
        block = CapacityChoice(
            "Block",
            instance_types=["p5.48xlarge"],
            max_instances=_HOSTS,
            purchase=Purchase.capacity_block(reservation_id, instances=_HOSTS, ends=ends),
            network=HostNetwork.efa(),
        )
        limit = cdk.Duration.hours(1)
        queue = GpuBatchQueue(self, "Queue", vpc=demo_vpc(self, zone), environments=[block], start_within=limit)
        bucket = s3.Bucket(self, "Checkpoints", enforce_ssl=True)
        training = MultiNodeTraining(
            self,
            "Training",
            queue=queue,
            hosts=_HOSTS,
            image=ModelServer.preset("dlc_pytorch").container_image(),
            command=["--no-python", "python", "-c", PROGRAM],
            checkpoints=JobData.s3(bucket),
            timeout=cdk.Duration.days(5),
        )
        decide(bucket, NO_ACCESS_LOGS)
        cdk.CfnOutput(self, "Submit", value=training.submit_command())
