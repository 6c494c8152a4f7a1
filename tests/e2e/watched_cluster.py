"""A cluster with recovery, what can happen to it, and how it looks after that."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from ecs_emulator.account import Account, HostView
from gpu_constructs import GpuCluster, GpuJob, GpuService, GpuTaskDefinition, JobRetries

from tests.synthesis import Properties, synthesized

__all__ = ["Watched", "template"]

IMAGE = ecs.ContainerImage.from_registry("example/work:1")


class Watched:
    """A cluster with recovery that is deployed, and what can happen to it."""

    def __init__(self, account: Account, outputs: Any, update: Callable[[Callable[[Any], Any]], object]) -> None:
        self.account, self.outputs, self.update = account, outputs, update
        self.cluster: str = outputs["ClusterName"]
        self._ecs = account.client("ecs")
        # The emulator delivers nothing to subscriptions of a template.
        account.client("sns").subscribe(TopicArn=outputs["Topic"], Protocol="sqs", Endpoint=outputs["Queue"])

    def minutes(self, count: int = 1) -> None:
        for _ in range(count):
            self.account.hosts(self.cluster)

    def hosts(self) -> dict[str, HostView]:
        """Its hosts, by instance."""
        return {each.instance_id: each for each in self.account.hosts(self.cluster)}

    def states(self) -> dict[str, str]:
        """Instance to ``ACTIVE`` or ``DRAINING``."""
        return {each["ec2InstanceId"]: each["status"] for each in self._described()}

    def _described(self) -> Any:
        arns = self._ecs.list_container_instances(cluster=self.cluster)["containerInstanceArns"]
        asked = self._ecs.describe_container_instances(cluster=self.cluster, containerInstances=arns)
        return asked["containerInstances"]

    def host_of(self, family: str) -> str:
        """The host of a task that runs."""
        task = next(each for each in self.account.tasks(self.cluster) if each.family == family)
        assert task.instance_id is not None
        return task.instance_id

    def running(self, family: str) -> list[str]:
        """Hosts of the running tasks."""
        tasks = self.account.tasks(self.cluster)
        return sorted(str(each.instance_id) for each in tasks if each.family == family and each.status == "RUNNING")

    def send(self, source: str, kind: str, detail: Any, times: int = 1) -> None:
        """An event, as often as EventBridge delivers it."""
        entry = {"Source": source, "DetailType": kind, "Detail": json.dumps(detail)}
        self.account.client("events").put_events(Entries=[entry] * times)

    def of_host(self, instance: str) -> dict[str, str]:
        """What an event says of a host."""
        found = self._described()
        (arn,) = (each["containerInstanceArn"] for each in found if each["ec2InstanceId"] == instance)
        return {"clusterArn": self.outputs["ClusterArn"], "containerInstanceArn": arn, "ec2InstanceId": instance}

    def fault(self, instance: str, times: int = 1) -> None:
        """A GPU fails; the daemon on the host reports it."""
        detail = {**self.of_host(instance), "reason": "the ECS agent reports XID_79"}
        self.send("gpu-constructs", "GPU Fault", detail, times)

    def start(self, ends: str) -> str:
        """Starts the job; its tasks end like this."""
        self.account.client("ssm").put_parameter(Name="/emulator/ends/train", Value=ends, Type="String", Overwrite=True)
        started = self.account.client("stepfunctions").start_execution(stateMachineArn=self.outputs["Machine"])
        return str(started["executionArn"])

    def end(self, execution: str) -> dict[str, Any]:
        """What the job says when it is over."""
        for _ in range(300):
            described: dict[str, Any] = self.account.client("stepfunctions").describe_execution(executionArn=execution)
            if described["status"] != "RUNNING":
                return described
        raise AssertionError("still running")

    def attempts(self) -> list[str]:
        """Tasks of the job that have stopped."""
        found: list[str] = self._ecs.list_tasks(cluster=self.cluster, family="train", desiredStatus="STOPPED")[
            "taskArns"
        ]
        return found

    def told(self) -> list[str]:
        """What the topic has said since the last look."""
        queue = self.account.client("sqs")
        said = []
        while messages := queue.receive_message(QueueUrl=self.outputs["Said"]).get("Messages"):
            for each in messages:
                said.append(json.loads(each["Body"])["Message"])
                queue.delete_message(QueueUrl=self.outputs["Said"], ReceiptHandle=each["ReceiptHandle"])
        return said

    def executions(self) -> list[tuple[str, str]]:
        """How the recovery's executions ended: status and error."""
        client = self.account.client("stepfunctions")
        found = client.list_executions(stateMachineArn=self.outputs["Recovery"])["executions"]
        described = [client.describe_execution(executionArn=each["executionArn"]) for each in found]
        return [(each["status"], each.get("error", "")) for each in described]


@functools.cache
def template(
    *,
    instance_type: str = "g6.xlarge",
    most: int = 4,
    copies: int = 0,
    **how: Any,
) -> Properties:
    """Such a cluster with a job and, on request, a service; not to be changed, as many tests deploy it."""

    def define(stack: cdk.Stack) -> None:
        topic, queue = sns.Topic(stack, "Operators"), sqs.Queue(stack, "Inbox")
        cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
        recovery = cluster.add_monitoring("Monitoring", notify=topic).add_recovery(**how)
        hosts = cluster.add_capacity("Gpus", instance_types=[instance_type], max_instances=most)
        task = GpuTaskDefinition(stack, "Train", capacity=[hosts], family="train")
        task.add_gpu_container("train", image=IMAGE, gpus=1)
        limit, retries = cdk.Duration.hours(9), JobRetries(lost_host=1)
        job = GpuJob(stack, "Job", cluster=cluster, task_definition=task, timeout=limit, retries=retries)
        outputs = {
            "ClusterName": cluster.cluster.cluster_name,
            "ClusterArn": cluster.cluster.cluster_arn,
            "Machine": job.state_machine.state_machine_arn,
            "Recovery": recovery.state_machine.state_machine_arn,
            "Topic": topic.topic_arn,
            "Queue": queue.queue_arn,
            "Said": queue.queue_url,
        }
        if copies:
            chat = GpuTaskDefinition(stack, "Chat", capacity=[hosts], family="chat")
            chat.add_gpu_container("chat", image=IMAGE, gpus=1)
            service = GpuService(stack, "Service", cluster=cluster, task_definition=chat, desired_count=copies)
            outputs["Chat"] = service.service_name
        for name, value in outputs.items():
            cdk.CfnOutput(stack, f"{name}Output", value=value).override_logical_id(name)

    return synthesized("Watched", define)
