"""A chat model that only your own services reach, by its name in Service Connect."""

from aws_cdk import App, Stack, aws_ec2 as ec2, aws_ecs as ecs, aws_servicediscovery as cloudmap
from constructs import Construct
from gpu_constructs import CpuService, GpuCluster, GpuService, GpuTaskDefinition, ModelServer

MODEL = "Qwen/Qwen2.5-7B-Instruct"  # on Hugging Face
ASK = "while sleep 60; do curl --silent --show-error http://chat:8000/v1/models; done"  # yours comes here


class ChatPrivateStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1))
        models = cloudmap.HttpNamespace(self, "Models", name="models").namespace_arn
        l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=2)
        cpu = cluster.add_capacity("Cpu", instance_types=["c7i.large"], max_instances=2)

        chat = GpuTaskDefinition(self, "Chat", capacity=[l4], network_mode=ecs.NetworkMode.AWS_VPC)
        chat.add_model_server(
            "vllm",
            server=ModelServer.vllm(MODEL, arguments=["--max-model-len", "8192"]),
            cpu=3 * 1024,
            memory_mib=13 * 1024,
            port_mappings=[ecs.PortMapping(container_port=8000, name="http")],
        )
        with_room_for_the_proxy(chat, cpu=3 * 1024, memory_mib=13 * 1024)
        server = GpuService(self, "Service", cluster=cluster, task_definition=chat)
        server.enable_service_connect(
            namespace=models,
            services=[ecs.ServiceConnectService(port_mapping_name="http", dns_name="chat", port=8000)],
        )

        ask = ecs.Ec2TaskDefinition(self, "Ask", network_mode=ecs.NetworkMode.AWS_VPC)
        image = ecs.ContainerImage.from_registry("public.ecr.aws/docker/library/buildpack-deps:curl")
        ask.add_container("ask", image=image, cpu=256, memory_limit_mib=256, command=["sh", "-c", ASK])
        with_room_for_the_proxy(ask, cpu=256, memory_mib=256)
        client = CpuService(self, "Client", cluster=cluster, task_definition=ask, capacity=[cpu])
        client.enable_service_connect(namespace=models)
        # A client knows the names that were there when it started.
        client.node.find_child("Service").node.add_dependency(server.node.find_child("Service"))
        (of_server,), (of_client,) = (each.connections.security_groups for each in (server, client))
        of_server.add_ingress_rule(of_client, ec2.Port.tcp(8000))


def with_room_for_the_proxy(task: ecs.Ec2TaskDefinition, *, cpu: int, memory_mib: int) -> None:
    """Gives a task a size of its own: that of its containers, and what the proxy of Service Connect needs."""
    resource = task.node.default_child
    assert isinstance(resource, ecs.CfnTaskDefinition)
    resource.cpu, resource.memory = str(cpu + 256), str(memory_mib + 64)


if __name__ == "__main__":
    app = App()
    ChatPrivateStack(app, "chat-private")
    app.synth()
