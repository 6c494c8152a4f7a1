"""A chat model behind HTTPS, whose number of copies follows its requests."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_efs as efs
from constructs import Construct

from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition, ModelCache, ModelServer, ScaleBy
from stacks.decided import decide
from stacks.network import demo_vpc

__all__ = ["ChatStack"]


class ChatStack(cdk.Stack):
    """Serves a model with vLLM inside a VPC, on one to four hosts that read it from one file system.

    Args:
        scope: Where it is defined.
        construct_id: Its id in that scope.
        model: Its name on Hugging Face, for an L4 with 22 GiB.
    """

    def __init__(self, scope: Construct, construct_id: str, *, model: str) -> None:
        super().__init__(scope, construct_id, description="A chat model behind HTTPS that scales with its requests")
        of_certificate = cdk.CfnParameter(
            self, "CertificateArn", description="A certificate of AWS Certificate Manager for the name of the chat"
        )
        certificate = acm.Certificate.from_certificate_arn(self, "Certificate", of_certificate.value_as_string)

        vpc = demo_vpc(self)
        cluster = GpuCluster(self, "Cluster", vpc=vpc)
        l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=4)
        # Models can be downloaded again, so they go with the stack.
        models = efs.FileSystem(self, "Models", vpc=vpc, removal_policy=cdk.RemovalPolicy.DESTROY)

        chat = GpuTaskDefinition(self, "Chat", capacity=[l4])
        server = ModelServer.vllm(model, arguments=["--max-model-len", "8192"])
        chat.add_model_server("Vllm", server=server, gpus=1, cache=ModelCache.efs(models))

        service = GpuService(self, "Service", cluster=cluster, task_definition=chat)
        https = service.add_application_load_balancer("Https", certificate=certificate)
        service.scale(by=[ScaleBy.requests(endpoint=https, per_task_per_minute=120)])

        decide(https.load_balancer, {"ELB2": "no access logs; give access_logs_bucket to a load balancer that stays"})
        cdk.CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)
        cdk.CfnOutput(self, "Url", value=https.url)
