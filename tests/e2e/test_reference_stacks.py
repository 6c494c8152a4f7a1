"""The story of each reference stack on the emulator: deployed, used, updated and destroyed.

The real command line deploys the demo. Elsewhere CloudFormation gets the same templates.
"""

from __future__ import annotations

import functools
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from ecs_emulator.account import Account
from ecs_emulator.inventory import inventory
from ecs_emulator.local import Local
from stacks.existing_cluster import ExistingClusterStack
from stacks.tensorflow_benchmark import TensorflowBenchmarkStack

from tests.stacks.stories import BLOCK_ENDS, STORIES
from tests.synthesis import Site, app_in, synth_the_app

from .cdk_cli import ROOT
from .deployed import Stacks
from .deployed_jobs import Jobs, as_process, submitted, until
from .plain_cluster import CLUSTER, THEIRS, plain_cluster
from .requests_path import Arrival, send
from .scenario import LARGE, SMALL, STACK, Scenario
from .stage import Prepared, Stage
from .templates import Template

GIVEN = {
    "clusterName": CLUSTER,
    "capacityProviders": ["cpu"],
    "defaultCapacityProviderStrategy": [{"capacityProvider": "cpu", "weight": 1}],
}
"""The cluster that is there already, as AWS prints it."""
BLOCK = f"cr-{'1' * 17}"


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All stacks of the app, with other values than their defaults, as ``cdk -c`` gives them."""
    subnets = [{"SubnetId": "subnet-1", "AvailabilityZone": "us-east-1a", "VpcId": "vpc-1"}]
    context = {
        "gpu_instance_type": LARGE,
        "chat_model": "Qwen/Qwen2.5-3B-Instruct",
        "image_queue_hosts": "1",
        "recommender_hosts": "2",
        "benchmark_family": "p3",
        "capacity_block": BLOCK,
        "capacity_block_zone": "us-east-1a",
        "capacity_block_ends": BLOCK_ENDS.isoformat(),
        "existing_cluster": json.dumps(GIVEN),
        "existing_cluster_hosts": "0",
        "existing_subnets": json.dumps(subnets),
    }
    return synth_the_app(tmp_path_factory.mktemp("changed"), context)


def assembly(folder: Path, make: Callable[[cdk.App], object]) -> Path:
    """A stack with its defaults, which the app makes alike: see `test_cdks_own_validation`."""
    app = app_in(folder, Site.recommended_context())
    make(app)
    return Path(app.synth().directory)


def template(folder: Path, name: str) -> Template:
    """What CloudFormation is given of one stack: the emulator needs no other file of it."""
    read: Template = json.loads((folder / f"{name}.template.json").read_text())
    return read


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


def test_the_benchmark_stack_deploys_runs_updates_and_goes_without_a_trace(
    stage: Stage, changed: Path, tmp_path: Path
) -> None:
    """The demo: the same story, told to pytest."""
    make = functools.partial(TensorflowBenchmarkStack, construct_id=STACK, gpu_instance_types=[SMALL])
    assemblies = {SMALL: assembly(tmp_path, make), LARGE: changed}
    command_line = Prepared(**vars(stage.cdk), assemblies=assemblies)
    for step in Scenario(cdk=command_line, account=stage.account).steps:
        step.act()


def test_the_check_task_runs_on_the_family_it_is_kept_to(cloud: Local, changed: Path) -> None:
    stack = cloud.deploy_assembly(changed, "nvidia-smi")
    cluster = stack.outputs["ClusterName"]

    (task,) = cloud.account.run_command(stack.outputs["NvidiaSmiRunTask"]).tasks
    minutes = [cloud.account.tasks(cluster)[0] for _ in range(5)]
    hosts = {host.instance_id: host.instance_type for host in cloud.account.hosts(cluster)}

    assert minutes[-1].arn == task
    assert minutes[-1].status == "RUNNING"
    assert len(set(minutes[-1].gpus)) == 2
    assert hosts[str(minutes[-1].instance_id)].startswith("g6.")

    cloud.account.stop_all(cluster)
    cloud.destroy(stack)


def test_the_chat_gets_requests_through_https_before_and_after_another_model(
    cloud: Local, changed: Path, tmp_path: Path
) -> None:
    account = cloud.account
    certificate = account.client("acm").request_certificate(DomainName="chat.example.com")["CertificateArn"]
    chat = template(assembly(tmp_path, STORIES["chat"]), "chat")
    stack = cloud.deploy(chat, "chat", CertificateArn=certificate)
    outputs = stack.outputs

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

    assert cloud.update(stack, template(changed, "chat")).outputs == outputs
    assert send(account, outputs["ClusterName"], there).containers == ("Vllm",)

    cloud.destroy(stack)
    assert bounds(account) == []
    account.client("acm").delete_certificate(CertificateArn=certificate)


def test_messages_start_tasks_and_hosts_from_zero_and_without_them_both_leave(
    cloud: Local, changed: Path, tmp_path: Path
) -> None:
    account = cloud.account
    sqs = account.client("sqs")
    stack = cloud.deploy_assembly(assembly(tmp_path, STORIES["image-queue"]), "image-queue")
    outputs = stack.outputs
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

    assert cloud.update(stack, template(changed, "image-queue")).outputs == outputs
    assert bounds(account) == [(0, 1)]
    assert running(account, cluster, minutes=1) == 0
    ask(50)
    assert running(account, cluster, minutes=5) == 1

    cloud.destroy(stack)
    assert "QueueUrls" not in sqs.list_queues()
    assert [each["Name"] for each in account.client("s3").list_buckets()["Buckets"] if "images" in each["Name"]]


def test_an_existing_cluster_gains_gpus_and_is_given_back(cloud: Local, changed: Path, tmp_path: Path) -> None:
    account, stacks = cloud.account, Stacks(cloud.account)
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
    stack = cloud.deploy_assembly(synth("first"), "existing-cluster")
    assert described() == {**GIVEN, "capacityProviders": ["cpu", "gpu-l4"]}
    (check,) = account.run_command(stack.outputs["CheckRunTask"]).tasks
    assert running(account, CLUSTER, minutes=5) == 2
    types = {each.instance_id: each.instance_type for each in account.hosts(CLUSTER)}
    where = {each.arn: types[str(each.instance_id)] for each in account.tasks(CLUSTER)}
    assert where.pop(check) == "g6.xlarge"
    assert list(where.values()) == ["c7i.large"]
    name = "existing-cluster.template.json"
    assert (synth("again") / name).read_text() == (tmp_path / "first" / name).read_text()

    ecs.stop_task(cluster=CLUSTER, task=check)
    cloud.update(stack, template(changed, "existing-cluster"))
    assert described() == GIVEN
    cloud.destroy(stack)
    assert described() == GIVEN
    assert inventory(account.client) == before
    stacks.delete(THEIRS)


def test_a_recommender_is_trained_from_s3_to_s3_and_resumes_after_a_lost_host(
    stage: Stage, changed: Path, tmp_path: Path
) -> None:
    account, s3, stacks = stage.account, stage.account.client("s3"), Stacks(stage.account)
    stack = stacks.create(template(assembly(tmp_path, STORIES["recommender"]), "recommender"), "recommender")
    outputs = stacks.outputs(stack)
    repository, _, tag = outputs["ImageUri"].rpartition("/")[2].partition(":")
    pushed = {"imageManifest": "{}", "imageManifestMediaType": "application/vnd.oci.image.manifest.v1+json"}
    account.client("ecr").put_image(repositoryName=repository, imageTag=tag, **pushed)
    bucket, jobs = outputs["BucketName"], Jobs(account, outputs["ClusterName"])
    # Ten customers of hiking boots and ten of novels; each lacks one product that all others of theirs bought.
    tastes = {"hiker": ("boots", "tent", "map", "stove"), "reader": ("novel", "lamp", "shelf", "glasses")}
    lacks = {f"{taste}{each}": liked[each % 4] for taste, liked in tastes.items() for each in range(10)}
    bought = [f"{who},{it}" for who, lack in lacks.items() for it in tastes[who[:-1]] if it != lack]
    for name, half in (("old", bought[::2]), ("new", bought[1::2])):
        s3.put_object(Bucket=bucket, Key=f"data/{name}.csv", Body="\n".join(half))

    def train(task: dict[str, Any]) -> subprocess.Popen[str]:
        environment = {**stage.cdk.environment, **jobs.environment(task)}
        return as_process(ROOT / "stacks" / "recommender_image" / "train.py", environment)

    assert account.hosts(jobs.cluster) == ()
    start = re.sub(r"(epochs\W+)30\b", r"\g<1>900", outputs["Start"])  # names may hold a 30 as well
    execution = jobs.start_as(start)
    (first,) = jobs.tasks()
    jobs.ends(first, "spot")
    with train(first) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith(f"{len(bought)} purchases, from epoch 0\n")
        assert process.stdout.readline() == "epoch 10\n"
        process.kill()
    second = jobs.attempt(execution, 1)
    with train(second) as process:
        said = process.communicate()[0].splitlines()
    jobs.ends(second, str(process.returncode))
    end = jobs.end(execution)
    assert (end["status"], process.returncode) == ("SUCCEEDED", 0), said
    assert int(said[0].rpartition(" ")[2]) >= 10
    assert said[-1] == "epoch 900"
    (result,) = s3.list_objects_v2(Bucket=bucket, Prefix="results/")["Contents"]
    rows = s3.get_object(Bucket=bucket, Key=result["Key"])["Body"].read().decode().splitlines()
    assert dict(row.split(",") for row in rows) == lacks
    assert [each["stopCode"] for each in jobs.tasks()] == ["SpotInterruption", "EssentialContainerExited"]

    stacks.update(stack, template(changed, "recommender"))
    assert stacks.outputs(stack) == outputs
    groups = account.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    assert [each["MaxSize"] for each in groups] == [2]
    stacks.delete(stack)
    assert len(s3.list_objects_v2(Bucket=bucket, Prefix="data/")["Contents"]) == 2


def test_three_jobs_train_on_hosts_with_as_many_gpus_as_each_asks_for(cloud: Local, changed: Path) -> None:
    stack = cloud.deploy_assembly(changed, "benchmark-jobs")
    outputs = stack.outputs
    jobs = Jobs(cloud.account, outputs["ClusterName"])
    assert cloud.account.hosts(jobs.cluster) == ()
    executions = {gpus: jobs.start_as(outputs[f"Start{gpus}Gpu"]) for gpus in (1, 4, 8)}
    for task in jobs.tasks():
        jobs.ends(task, "0")
    placed: dict[str, int] = {}
    for _ in range(5):
        types = {each.instance_id: each.instance_type for each in cloud.account.hosts(jobs.cluster)}
        placed |= {
            types[str(each.instance_id)]: len(each.gpus) for each in cloud.account.tasks(jobs.cluster) if each.gpus
        }
    assert placed == {"p3.2xlarge": 1, "p3.8xlarge": 4, "p3.16xlarge": 8}
    assert {jobs.end(each)["status"] for each in executions.values()} == {"SUCCEEDED"}
    assert running(cloud.account, jobs.cluster, minutes=20) == 0
    assert cloud.account.hosts(jobs.cluster) == ()
    cloud.destroy(stack)


def test_a_task_of_each_of_four_families_gets_a_host_of_its_own(cloud: Local, changed: Path) -> None:
    stack = cloud.deploy_assembly(changed, "four-families")
    cluster = stack.outputs["ClusterName"]
    for name, line in stack.outputs.items():
        if name.endswith("RunTask"):
            cloud.account.run_command(line)
    assert running(cloud.account, cluster, minutes=5) == 4
    types = {each.instance_id: each.instance_type for each in cloud.account.hosts(cluster)}
    gpus = {types[str(each.instance_id)]: len(each.gpus) for each in cloud.account.tasks(cluster)}
    assert gpus == {"g4dn.xlarge": 1, "p3.2xlarge": 1, "p4d.24xlarge": 8, "inf1.xlarge": 0}
    cloud.account.stop_all(cluster)
    cloud.destroy(stack)


def test_a_nightly_fine_tuning_goes_on_from_its_checkpoints_on_another_spot_host(cloud: Local, changed: Path) -> None:
    account = cloud.account
    stack = cloud.deploy_assembly(changed, "fine-tuning")
    outputs = stack.outputs
    jobs, machines = Jobs(account, outputs["ClusterName"]), account.client("stepfunctions")
    (schedule,) = account.client("scheduler").list_schedules()["Schedules"]
    cloud.switch("due", schedule["Name"])
    account.hosts(jobs.cluster)
    jobs.ends(jobs.tasks()[0], "spot,0")
    machine = outputs["Start"].split()[-1]
    (execution,) = machines.list_executions(stateMachineArn=machine)["executions"]
    assert jobs.end(execution["executionArn"])["status"] == "SUCCEEDED"
    assert [each["stopCode"] for each in jobs.tasks()] == ["SpotInterruption", "EssentialContainerExited"]
    seen = [jobs.environment(each) for each in jobs.tasks()]
    assert [each["JOB_ATTEMPT"] for each in seen] == ["0", "1"]
    (kept,) = {each["JOB_CHECKPOINTS"] for each in seen}
    definition = account.client("ecs").describe_task_definition(taskDefinition=jobs.tasks()[0]["taskDefinitionArn"])
    (mount,) = definition["taskDefinition"]["containerDefinitions"][0]["mountPoints"]
    assert kept.startswith(f"{mount['containerPath']}/checkpoints/")
    # Nothing starts it again before the next night.
    assert running(account, jobs.cluster, minutes=20) == 0
    assert account.hosts(jobs.cluster) == ()
    assert len(jobs.tasks()) == 2
    cloud.destroy(stack)


def test_a_pre_training_runs_on_all_sixteen_hosts_of_a_capacity_block(cloud: Local, changed: Path) -> None:
    account = cloud.account
    times = {"StartDate": "2025-12-31T11:30:00Z", "EndDate": BLOCK_ENDS.isoformat()}
    block = {"InstanceType": "p5.48xlarge", "AvailabilityZone": "us-east-1a", "TotalInstanceCount": 16}
    block |= {"ReservationType": "capacity-block", "InstanceMatchCriteria": "targeted", **times}
    cloud.switch(f"reservations/{BLOCK}", json.dumps(block))
    stack = cloud.deploy_assembly(changed, "pre-training")
    job = submitted(account, stack.outputs)
    described = until(account, job, 20)
    reservations = account.client("ec2").describe_instances()["Reservations"]  # those that are terminated as well
    instances = [each for reservation in reservations for each in reservation["Instances"]]
    assert described["status"] == "SUCCEEDED"
    assert [each.get("CapacityReservationId") for each in instances] == [BLOCK] * 16
    cloud.destroy(stack)
