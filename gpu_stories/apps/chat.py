"""A chat model behind HTTPS, whose copies follow its requests."""

from aws_cdk import App, CfnOutput, Stack, aws_certificatemanager as acm, aws_ec2 as ec2
from constructs import Construct
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition, ModelServer, ScaleBy

MODEL = "Qwen/Qwen2.5-7B-Instruct"  # on Hugging Face
DOMAIN = "chat.example.com"  # the deploy waits until its owner has confirmed the certificate in DNS


class ChatStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1))
        l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=4)

        chat = GpuTaskDefinition(self, "Chat", capacity=[l4])
        chat.add_model_server("vllm", server=ModelServer.vllm(MODEL, arguments=["--max-model-len", "8192"]))
        service = GpuService(self, "Service", cluster=cluster, task_definition=chat)

        certificate = acm.Certificate(
            self, "Certificate", domain_name=DOMAIN, validation=acm.CertificateValidation.from_dns()
        )
        https = service.add_application_load_balancer("Https", certificate=certificate)
        service.scale(by=[ScaleBy.requests(endpoint=https, per_task_per_minute=120)])
        CfnOutput(self, "Url", value=https.url)  # reached from the VPC; internet_facing=True opens it


if __name__ == "__main__":
    app = App()
    ChatStack(app, "chat")
    app.synth()
