"""GPU hosts for a cluster of plain CDK, whose services on CPU hosts stay as they are."""

from aws_cdk import App, Stack, aws_autoscaling as autoscaling, aws_ec2 as ec2, aws_ecs as ecs
from constructs import Construct
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition, ModelServer


class ExistingClusterStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        # What is there: a cluster with CPU hosts, and a service on them.
        vpc = ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1)
        production = ecs.Cluster(self, "Production", vpc=vpc)
        hosts = autoscaling.AutoScalingGroup(
            self,
            "Web",
            vpc=vpc,
            max_capacity=4,
            instance_type=ec2.InstanceType("c7i.large"),
            machine_image=ecs.EcsOptimizedImage.amazon_linux2023(),
        )
        cpu = ecs.AsgCapacityProvider(
            self,
            "WebProvider",
            auto_scaling_group=hosts,
            enable_managed_termination_protection=False,  # with it, a host that runs is in the way of cdk destroy
        )
        production.add_asg_capacity_provider(cpu)
        on_cpu = ecs.CapacityProviderStrategy(capacity_provider=cpu.capacity_provider_name, weight=1)
        web = ecs.Ec2TaskDefinition(self, "WebTask")
        web.add_container("web", image=ecs.ContainerImage.from_registry("nginx"), memory_limit_mib=512)
        service = ecs.Ec2Service(
            self,
            "WebService",
            cluster=production,
            task_definition=web,
            capacity_provider_strategies=[on_cpu],
            min_healthy_percent=50,
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
        )
        service.node.add_dependency(cpu)

        # What comes. Nothing above is replaced.
        cluster = GpuCluster(self, "Gpu", cluster=production)
        l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=2)
        chat = GpuTaskDefinition(self, "Chat", capacity=[l4])
        model = ModelServer.vllm("Qwen/Qwen2.5-7B-Instruct", arguments=["--max-model-len", "8192"])
        chat.add_model_server("vllm", server=model)
        GpuService(self, "ChatService", cluster=cluster, task_definition=chat)


if __name__ == "__main__":
    app = App()
    ExistingClusterStack(app, "existing-cluster")
    app.synth()
