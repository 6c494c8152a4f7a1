"""The story of each reference stack on the emulator, with the real command line: deployed, used, updated, destroyed."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from stacks.existing_cluster import ExistingClusterStack

from tests.stacks.stories import STORIES
from tests.synthesis import Site

from .account import Account
from .cdk_cli import CdkError
from .deployed import Stacks
from .inventory import inventory
from .plain_cluster import CLUSTER, THEIRS, plain_cluster
from .requests_path import Arrival, send
from .stage import Stage
from .test_updates import FORCED, IN_USE, MOVES
from .test_updates import STACK as MOVED
from .test_updates import assembly as moved_service

GIVEN = {
    "clusterName": CLUSTER,
    "capacityProviders": ["cpu"],
    "defaultCapacityProviderStrategy": [{"capacityProvider": "cpu", "weight": 1}],
}
"""The cluster that is there already, as AWS prints it."""


@pytest.fixture(scope="module")
def changed(_stage: Stage) -> Path:
    """All stacks of the app, by the command line, with other values than their defaults."""
    subnets = [{"SubnetId": "subnet-1", "AvailabilityZone": "us-east-1a", "VpcId": "vpc-1"}]
    context = {
        "chat_model": "Qwen/Qwen2.5-3B-Instruct",
        "image_queue_hosts": "1",
        "existing_cluster": json.dumps(GIVEN),
        "existing_cluster_hosts": "0",
        "existing_subnets": json.dumps(subnets),
    }
    return _stage.cdk.synth("--all", context)


def assembly(folder: Path, make: Callable[[cdk.App], object]) -> Path:
    """A stack with its defaults, which the app makes alike: see `test_reference_app`."""
    app = cdk.App(outdir=str(folder), context=Site.recommended_context())
    make(app)
    return Path(app.synth().directory)


def running(account: Account, cluster: str, *, minutes: int) -> int:
    """Tasks that run once these minutes have passed."""
    for _ in range(minutes):
        tasks = account.tasks(cluster)
        account.hosts(cluster)
    return sum(each.status == "RUNNING" for each in tasks)


def bounds(account: Account) -> list[tuple[int, int]]:
    """The least and the most tasks of each service that is scaled."""
    targets = account.client("application-autoscaling").describe_scalable_targets(ServiceNamespace="ecs")
    return [(each["MinCapacity"], each["MaxCapacity"]) for each in targets["ScalableTargets"]]


def test_the_chat_gets_requests_through_https_before_and_after_another_model(
    stage: Stage, changed: Path, tmp_path: Path
) -> None:
    account = stage.account
    certificate = account.client("acm").request_certificate(DomainName="chat.example.com")["CertificateArn"]
    outputs = stage.cdk.deploy(assembly(tmp_path, STORIES["chat"]), "chat", CertificateArn=certificate)

    there = f"{outputs['Url']}/v1/chat/completions"
    assert send(account, outputs["ClusterName"], there).containers == ("Vllm",)
    in_clear = send(account, outputs["ClusterName"], there.replace("https", "http"))
    assert in_clear == Arrival(301, there.lower().replace("/v1", ":443/v1"))
    # The emulator counts no requests, so it ends at the policy: what it follows is the balancer of this stack.
    assert bounds(account) == [(1, 4)]
    scaling = account.client("application-autoscaling").describe_scaling_policies(ServiceNamespace="ecs")
    (policy,) = scaling["ScalingPolicies"]
    followed = policy["TargetTrackingScalingPolicyConfiguration"]["PredefinedMetricSpecification"]
    (balancer,) = account.client("elbv2").describe_load_balancers()["LoadBalancers"]
    assert followed["PredefinedMetricType"] == "ALBRequestCountPerTarget"
    assert followed["ResourceLabel"].startswith(f"{balancer['LoadBalancerArn'].partition(':loadbalancer/')[2]}/target")

    assert stage.cdk.deploy(changed, "chat") == outputs
    assert send(account, outputs["ClusterName"], there).containers == ("Vllm",)

    stage.cdk.destroy(changed, "chat")
    assert bounds(account) == []


def test_messages_start_tasks_and_hosts_from_zero_and_without_them_both_leave(
    stage: Stage, changed: Path, tmp_path: Path
) -> None:
    account = stage.account
    sqs = account.client("sqs")
    outputs = stage.cdk.deploy(assembly(tmp_path, STORIES["image-queue"]), "image-queue")
    cluster, words = outputs["ClusterName"], shlex.split(outputs["SendPrompt"])
    assert words[:3] == ["aws", "sqs", "send-message"]
    prompt = dict(zip(words[3::2], words[4::2], strict=True))

    def ask(count: int) -> None:
        for _ in range(count):
            sqs.send_message(QueueUrl=prompt["--queue-url"], MessageBody=prompt["--message-body"])

    assert bounds(account) == [(0, 4)]
    assert running(account, cluster, minutes=20) == 0
    assert account.hosts(cluster) == ()

    ask(1)
    assert running(account, cluster, minutes=5) == 1
    ask(5)
    assert running(account, cluster, minutes=5) == 2
    sqs.purge_queue(QueueUrl=prompt["--queue-url"])
    assert running(account, cluster, minutes=20) == 0
    assert account.hosts(cluster) == ()

    assert stage.cdk.deploy(changed, "image-queue") == outputs
    assert bounds(account) == [(0, 1)]
    assert running(account, cluster, minutes=1) == 0
    ask(50)
    assert running(account, cluster, minutes=5) == 1

    stage.cdk.destroy(changed, "image-queue")
    assert "QueueUrls" not in sqs.list_queues()
    assert [each["Name"] for each in account.client("s3").list_buckets()["Buckets"] if "images" in each["Name"]]


def test_an_existing_cluster_gains_gpus_and_is_given_back(stage: Stage, changed: Path, tmp_path: Path) -> None:
    account, stacks = stage.account, Stacks(stage.account)
    theirs = plain_cluster(tmp_path / "theirs") / f"{THEIRS}.template.json"
    network = stacks.outputs(stacks.create(json.loads(theirs.read_text()), THEIRS))
    before, ecs = inventory(account.client), account.client("ecs")

    def described() -> dict[str, Any]:
        (cluster,) = ecs.describe_clusters(clusters=[CLUSTER])["clusters"]
        return {key: cluster[key] for key in ("clusterName", "capacityProviders", "defaultCapacityProviderStrategy")}

    def synth(folder: str) -> Path:
        ids = [network["First"], network["Second"]]
        subnets = account.client("ec2").describe_subnets(SubnetIds=ids)["Subnets"]
        make = functools.partial(
            ExistingClusterStack,
            construct_id="existing-cluster",
            cluster=described(),
            subnets=subnets,
            max_instances=2,
        )
        return assembly(tmp_path / folder, make)

    assert described() == GIVEN
    outputs = stage.cdk.deploy(synth("first"), "existing-cluster")
    assert described() == {**GIVEN, "capacityProviders": ["cpu", "gpu-l4"]}
    (check,) = account.run_command(outputs["CheckRunTask"]).tasks
    assert running(account, CLUSTER, minutes=5) == 2
    types = {each.instance_id: each.instance_type for each in account.hosts(CLUSTER)}
    where = {each.arn: types[str(each.instance_id)] for each in account.tasks(CLUSTER)}
    assert where.pop(check) == "g6.xlarge"
    assert list(where.values()) == ["c7i.large"]
    name = "existing-cluster.template.json"
    assert (synth("again") / name).read_text() == (tmp_path / "first" / name).read_text()

    ecs.stop_task(cluster=CLUSTER, task=check)
    stage.cdk.deploy(changed, "existing-cluster")
    assert described() == GIVEN
    stage.cdk.destroy(changed, "existing-cluster")
    assert described() == GIVEN
    assert inventory(account.client) == before
    stacks.delete(THEIRS)


def test_the_command_line_says_what_is_in_use(stage: Stage, tmp_path: Path) -> None:
    before, after = MOVES["another id"]
    stacks = Stacks(stage.account)
    first = moved_service(tmp_path / "before", before)
    stacks.create(first, MOVED)
    moved_service(tmp_path / "after", after, force_new_deployment=FORCED)
    with pytest.raises(CdkError, match=IN_USE):
        stage.cdk.deploy(tmp_path / "after", MOVED)
    stacks.update(MOVED, first)
    stacks.delete(MOVED)
