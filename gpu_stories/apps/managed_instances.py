"""A model on GPU hosts that AWS chooses, patches and repairs: ECS Managed Instances."""

from aws_cdk import App, CfnOutput, Stack, aws_ec2 as ec2
from constructs import Construct
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition, ManagedStorage, ModelServer

MODEL = "Qwen/Qwen2.5-7B-Instruct"  # on Hugging Face


class ManagedInstancesStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1))
        managed = cluster.add_managed_capacity(
            "Managed", instance_types=["g6.xlarge", "g6.2xlarge"], storage=ManagedStorage(volume_gib=200)
        )
        chat = GpuTaskDefinition(self, "Chat", capacity=[managed])
        chat.add_model_server("vllm", server=ModelServer.vllm(MODEL, arguments=["--max-model-len", "8192"]))
        GpuService(self, "Service", cluster=cluster, task_definition=chat)
        CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)


if __name__ == "__main__":
    app = App()
    ManagedInstancesStack(app, "managed-instances")
    app.synth()
