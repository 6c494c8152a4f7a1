"""A service whose GPUs are measured, whose failed hosts are replaced, and whose cost has a limit."""

from aws_cdk import App, CfnOutput, Stack, aws_ec2 as ec2, aws_sns as sns, aws_sns_subscriptions as subscriptions
from constructs import Construct
from gpu_constructs import AlarmLimits, GpuBudget, GpuCluster, GpuService, GpuTaskDefinition, ModelServer

MODEL = "Qwen/Qwen2.5-7B-Instruct"  # on Hugging Face
EMAIL = "gpus@example.com"  # AWS asks this person first
USD_PER_HOUR = 5  # more hosts than that pays for are refused at synth


class WatchedStack(Stack):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        told = sns.Topic(self, "Told", enforce_ssl=True)
        told.add_subscription(subscriptions.EmailSubscription(EMAIL))

        cluster = GpuCluster(self, "Cluster", vpc=ec2.Vpc(self, "Vpc", max_azs=2, nat_gateways=1))
        monitoring = cluster.add_monitoring("Monitoring", notify=told, alarms=AlarmLimits(idle_minutes=120))
        monitoring.add_recovery(replacements_per_day=2)
        l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge", "g6.2xlarge"], max_instances=4)
        GpuBudget.add_to(self, usd_per_hour=USD_PER_HOUR)

        chat = GpuTaskDefinition(self, "Chat", capacity=[l4])
        chat.add_model_server("vllm", server=ModelServer.vllm(MODEL, arguments=["--max-model-len", "8192"]))
        GpuService(self, "Service", cluster=cluster, task_definition=chat)
        CfnOutput(self, "Dashboard", value=monitoring.dashboard.ref)


if __name__ == "__main__":
    app = App()
    WatchedStack(app, "watched")
    app.synth()
