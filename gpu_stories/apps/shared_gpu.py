"""Two small models on one GPU, each with a share of its memory."""

from aws_cdk import Acknowledgment, App, CfnOutput, Stack, Validations, aws_ec2 as ec2, aws_ecs as ecs
from constructs import Construct
from gpu_constructs import GpuCluster, GpuService, GpuShare, GpuTaskDefinition

IMAGE = "nvidia/cuda:12.8.1-base-ubuntu24.04"  # your image and program; this one waits
SHARES = {"Embed": GpuShare(memory_mib=6144, max_compute_percent=40), "Rank": GpuShare(memory_mib=12288)}
REASON = "both are ours, keep nothing and start again in seconds"


class SharedGpuStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1))
        l4 = cluster.add_capacity("L4", instance_types=["g6.2xlarge"], max_instances=2)
        for name, share in SHARES.items():
            task = GpuTaskDefinition(self, name, capacity=[l4])
            task.add_gpu_container(
                name.lower(),
                image=ecs.ContainerImage.from_registry(IMAGE),
                gpus=share,
                command=["sleep", "infinity"],
            )
            # MPS is no isolation: a fatal fault of one process ends the others on the GPU.
            Validations.of(task).acknowledge(Acknowledgment(id="gpu-constructs::GPU034", reason=REASON))
            GpuService(self, f"{name}Service", cluster=cluster, task_definition=task)
        CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)


if __name__ == "__main__":
    app = App()
    SharedGpuStack(app, "shared-gpu")
    app.synth()
