"""The story of each reference stack on the emulator, with the real command line: deployed, used, updated, destroyed."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .account import Account
from .cdk_cli import Cdk
from .inventory import inventory
from .plain_cluster import CLUSTER, THEIRS, plain_cluster
from .requests_path import Arrival, send
from .server import ROOT, emulator


@dataclass(frozen=True)
class Stage:
    """An emulator with an empty account, and the command line in front of it."""

    cdk: Cdk
    account: Account

    def synth(self, stack: str, **context: str) -> Path:
        return self.cdk.synth(stack, context)

    def running(self, cluster: str, *, minutes: int) -> int:
        """Tasks that run once these minutes have passed."""
        for _ in range(minutes):
            tasks = self.account.tasks(cluster)
            self.account.hosts(cluster)
        return sum(each.status == "RUNNING" for each in tasks)

    def bounds(self) -> list[tuple[int, int]]:
        """The least and the most tasks of each service that is scaled."""
        targets = self.account.client("application-autoscaling").describe_scalable_targets(ServiceNamespace="ecs")
        return [(each["MinCapacity"], each["MaxCapacity"]) for each in targets["ScalableTargets"]]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with emulator(tmp_path) as running:
        yield Stage(Cdk(project=ROOT, work=tmp_path, environment=running.environment(os.environ)), Account(running))


def test_the_chat_gets_requests_through_https_before_and_after_another_model(stage: Stage) -> None:
    account = stage.account
    certificate = account.client("acm").request_certificate(DomainName="chat.example.com")["CertificateArn"]
    chat = stage.synth("chat")
    stage.cdk.bootstrap(chat)
    before = inventory(account.client)
    outputs = stage.cdk.deploy(chat, "chat", CertificateArn=certificate)

    there = f"{outputs['Url']}/v1/chat/completions"
    assert send(account, outputs["ClusterName"], there).containers == ("Vllm",)
    in_clear = send(account, outputs["ClusterName"], there.replace("https", "http"))
    assert in_clear == Arrival(301, there.lower().replace("/v1", ":443/v1"))
    # The emulator counts no requests, so it ends at the policy: what it follows is the balancer of this stack.
    assert stage.bounds() == [(1, 4)]
    scaling = account.client("application-autoscaling").describe_scaling_policies(ServiceNamespace="ecs")
    (policy,) = scaling["ScalingPolicies"]
    followed = policy["TargetTrackingScalingPolicyConfiguration"]["PredefinedMetricSpecification"]
    (balancer,) = account.client("elbv2").describe_load_balancers()["LoadBalancers"]
    assert followed["PredefinedMetricType"] == "ALBRequestCountPerTarget"
    assert followed["ResourceLabel"].startswith(f"{balancer['LoadBalancerArn'].partition(':loadbalancer/')[2]}/target")

    other = stage.synth("chat", chat_model="Qwen/Qwen2.5-3B-Instruct")
    assert stage.cdk.differs(other, "chat")
    assert stage.cdk.deploy(other, "chat") == outputs
    assert send(account, outputs["ClusterName"], there).containers == ("Vllm",)

    stage.cdk.destroy(other, "chat")
    assert inventory(account.client) == before
    assert stage.bounds() == []


def test_messages_start_tasks_and_hosts_from_zero_and_without_them_both_leave(stage: Stage) -> None:
    account = stage.account
    sqs = account.client("sqs")
    images = stage.synth("image-queue")
    stage.cdk.bootstrap(images)
    before = inventory(account.client)
    outputs = stage.cdk.deploy(images, "image-queue")
    cluster, words = outputs["ClusterName"], shlex.split(outputs["SendPrompt"])
    assert words[:3] == ["aws", "sqs", "send-message"]
    prompt = dict(zip(words[3::2], words[4::2], strict=True))

    def ask(count: int) -> None:
        for _ in range(count):
            sqs.send_message(QueueUrl=prompt["--queue-url"], MessageBody=prompt["--message-body"])

    assert stage.bounds() == [(0, 4)]
    assert stage.running(cluster, minutes=20) == 0
    assert account.hosts(cluster) == ()

    ask(1)
    assert stage.running(cluster, minutes=5) == 1
    ask(5)
    assert stage.running(cluster, minutes=5) == 2
    sqs.purge_queue(QueueUrl=prompt["--queue-url"])
    assert stage.running(cluster, minutes=20) == 0
    assert account.hosts(cluster) == ()

    fewer = stage.synth("image-queue", image_queue_hosts="1")
    assert stage.cdk.deploy(fewer, "image-queue") == outputs
    assert stage.bounds() == [(0, 1)]
    assert stage.running(cluster, minutes=1) == 0
    ask(50)
    assert stage.running(cluster, minutes=5) == 1

    stage.cdk.destroy(fewer, "image-queue")
    assert inventory(account.client) == before
    assert "QueueUrls" not in sqs.list_queues()
    assert [each["Name"] for each in account.client("s3").list_buckets()["Buckets"] if "images" in each["Name"]]


def test_an_existing_cluster_gains_gpus_and_is_given_back(stage: Stage, tmp_path: Path) -> None:
    account = stage.account
    theirs = plain_cluster(tmp_path / "theirs")
    stage.cdk.bootstrap(theirs)
    network = stage.cdk.deploy(theirs, THEIRS)
    before, ecs = inventory(account.client), account.client("ecs")

    def described() -> dict[str, Any]:
        (cluster,) = ecs.describe_clusters(clusters=[CLUSTER])["clusters"]
        return {key: cluster[key] for key in ("clusterName", "capacityProviders", "defaultCapacityProviderStrategy")}

    def synth(**context: str) -> Path:
        ids = [network["First"], network["Second"]]
        subnets = account.client("ec2").describe_subnets(SubnetIds=ids)["Subnets"]
        printed = {"existing_cluster": json.dumps(described()), "existing_subnets": json.dumps(subnets)}
        return stage.synth("existing-cluster", **printed, **context)

    given = described()
    outputs = stage.cdk.deploy(synth(), "existing-cluster")
    assert described() == {**given, "capacityProviders": [*given["capacityProviders"], "gpu-l4"]}
    (check,) = account.run_command(outputs["CheckRunTask"]).tasks
    assert stage.running(CLUSTER, minutes=5) == 2
    types = {each.instance_id: each.instance_type for each in account.hosts(CLUSTER)}
    where = {each.arn: types[str(each.instance_id)] for each in account.tasks(CLUSTER)}
    assert where.pop(check) == "g6.xlarge"
    assert list(where.values()) == ["c7i.large"]
    assert not stage.cdk.differs(synth(), "existing-cluster")

    ecs.stop_task(cluster=CLUSTER, task=check)
    without = synth(existing_cluster_hosts="0")
    stage.cdk.deploy(without, "existing-cluster")
    assert described() == given
    stage.cdk.destroy(without, "existing-cluster")
    assert described() == given
    assert inventory(account.client) == before
