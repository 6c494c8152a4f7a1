"""A training over four hosts of a Capacity Block, which start together and talk over EFA."""

from datetime import datetime

from aws_cdk import App, CfnOutput, Duration, Stack, aws_ec2 as ec2, aws_s3 as s3
from constructs import Construct
from gpu_constructs import CapacityChoice, GpuBatchQueue, HostNetwork, JobData, ModelServer, MultiNodeTraining, Purchase

HOSTS = 4
BLOCK, ZONE = "cr-0123456789abcdef0", "us-east-1a"  # of the Capacity Block that you bought
ENDS = datetime.fromisoformat("2027-06-28T11:30:00+00:00")  # when it ends
PROGRAM = "import torch.distributed as each; each.init_process_group('nccl'); print(each.get_rank())"


class GangStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        # With EFA, the containers are in the default security group, whose members reach each other.
        vpc = ec2.Vpc(self, "Vpc", availability_zones=[ZONE], nat_gateways=1, restrict_default_security_group=False)
        block = CapacityChoice(
            "Block",
            instance_types=["p5.48xlarge"],
            max_instances=HOSTS,
            purchase=Purchase.capacity_block(BLOCK, instances=HOSTS, ends=ENDS),
            network=HostNetwork.efa(),
        )
        queue = GpuBatchQueue(self, "Queue", vpc=vpc, environments=[block])
        bucket = s3.Bucket(self, "Checkpoints", enforce_ssl=True)  # stays when the stack is deleted
        training = MultiNodeTraining(
            self,
            "Training",
            queue=queue,
            hosts=HOSTS,
            image=ModelServer.preset("dlc_pytorch").container_image(),
            command=["--no-python", "python", "-c", PROGRAM],  # yours: ["train.py"], started for each of the 32 GPUs
            checkpoints=JobData.s3(bucket),
            timeout=Duration.days(2),
        )
        CfnOutput(self, "Submit", value=training.submit_command())


if __name__ == "__main__":
    app = App()
    GangStack(app, "gang")
    app.synth()
