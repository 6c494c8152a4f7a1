"""Workers that a queue starts and ends, with a dead-letter queue; without messages there is no host."""

from aws_cdk import App, CfnOutput, Duration, Stack, aws_ec2 as ec2, aws_ecs as ecs, aws_sqs as sqs
from constructs import Construct
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition, ScaleBy

IMAGE = "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime"  # your image, with the program that works
WORK = """\
pip install --quiet boto3 && exec python -c '
import os, boto3, torch
queue = boto3.resource("sqs").Queue(os.environ["QUEUE"])
while True:
    for message in queue.receive_messages(WaitTimeSeconds=20):
        print(message.body, torch.cuda.get_device_name())
        message.delete()
'"""


class ScaleToZeroStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        failed = sqs.Queue(self, "Failed", enforce_ssl=True, retention_period=Duration.days(14))
        queue = sqs.Queue(
            self,
            "Queue",
            enforce_ssl=True,
            visibility_timeout=Duration.minutes(15),  # a message that is not deleted by then goes to another worker
            dead_letter_queue=sqs.DeadLetterQueue(queue=failed, max_receive_count=3),
        )
        cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1))
        l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=8)

        worker = GpuTaskDefinition(self, "Worker", capacity=[l4])
        worker.add_gpu_container(
            "work",
            image=ecs.ContainerImage.from_registry(IMAGE),
            command=["sh", "-c", WORK],
            environment={"QUEUE": queue.queue_url, "AWS_DEFAULT_REGION": self.region},
        )
        queue.grant_consume_messages(worker.task_role)
        service = GpuService(self, "Service", cluster=cluster, task_definition=worker)
        service.scale(by=[ScaleBy.queue(queue=queue, messages_per_task=10)], min_tasks=0)
        CfnOutput(self, "Send", value=f"aws sqs send-message --message-body hello --queue-url {queue.queue_url}")


if __name__ == "__main__":
    app = App()
    ScaleToZeroStack(app, "scale-to-zero")
    app.synth()
