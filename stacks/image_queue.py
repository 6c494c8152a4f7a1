"""An image generator that a queue drives: without messages it has no host, and costs none."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition, ModelServer, ScaleBy
from stacks.decided import NO_ACCESS_LOGS, decide
from stacks.network import demo_vpc

__all__ = ["ImageQueueStack"]

# Tests compile it; it was never run, for want of a model.
_WORKER = """
import sys, boto3, torch
from diffusers import AutoPipelineForText2Image
model = "stabilityai/stable-diffusion-xl-base-1.0"
draw = AutoPipelineForText2Image.from_pretrained(model, torch_dtype=torch.float16, variant="fp16").to("cuda")
while True:
    for message in boto3.resource("sqs").Queue(sys.argv[1]).receive_messages(WaitTimeSeconds=20):
        draw(message.body).images[0].save("/tmp/image.png")
        boto3.client("s3").upload_file("/tmp/image.png", sys.argv[2], message.message_id + ".png")
        message.delete()
"""
_DECIDED = {
    **NO_ACCESS_LOGS,
    "IAM5[Action::s3:Abort*]": "CDK grants it with s3:PutObject, for uploads in parts",
    "IAM5[Resource::<Images2D38C313.Arn>/*]": "each message becomes an object of its own",
}


class ImageQueueStack(cdk.Stack):
    """Draws what messages describe, on up to that many hosts, and leaves the images in a bucket that stays."""

    def __init__(self, scope: Construct, construct_id: str, *, max_instances: int) -> None:
        super().__init__(scope, construct_id, description="An image generator that a queue scales from zero and back")
        failed = sqs.DeadLetterQueue(max_receive_count=3, queue=sqs.Queue(self, "Failed", enforce_ssl=True))
        again = cdk.Duration.minutes(10)  # a message that no task has deleted by then goes to another one
        prompts = sqs.Queue(self, "Prompts", enforce_ssl=True, visibility_timeout=again, dead_letter_queue=failed)
        images = s3.Bucket(self, "Images", enforce_ssl=True)

        cluster = GpuCluster(self, "Cluster", vpc=demo_vpc(self))
        l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=max_instances)
        draw = GpuTaskDefinition(self, "Draw", capacity=[l4])
        install = "pip install boto3==1.40.55 diffusers==0.35.2 transformers==4.57.1 accelerate==1.11.0"
        work = f"{install} && exec python -c '{_WORKER}' {prompts.queue_url} {images.bucket_name}"
        environment, command = {"AWS_REGION": self.region}, ["sh", "-c", work]
        draw.add_model_server("Worker", server=ModelServer.preset("pytorch"), command=command, environment=environment)
        prompts.grant_consume_messages(draw.task_role)
        images.grant_put(draw.task_role)
        service = GpuService(self, "Service", cluster=cluster, task_definition=draw)
        service.scale(by=[ScaleBy.queue(queue=prompts, messages_per_task=5)], min_tasks=0)
        decide(self, _DECIDED)
        cdk.CfnOutput(self, "ClusterName", value=cluster.cluster.cluster_name)
        send = f"aws sqs send-message --queue-url {prompts.queue_url} --message-body lighthouse"
        cdk.CfnOutput(self, "SendPrompt", value=send)
