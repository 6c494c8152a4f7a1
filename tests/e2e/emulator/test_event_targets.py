"""What an event starts through the targets of a rule."""

from __future__ import annotations

import json

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from ecs_emulator.local import Local
from gpu_constructs import BatchRetries, CapacityChoice, GpuBatchQueue, GpuCluster, GpuTaskDefinition

from tests.e2e.deployed_jobs import until
from tests.synthesis import synthesized

_IMAGE = "example/segment:1"


def _arrives(stack: cdk.Stack, name: str, target: events.IRuleTarget) -> None:
    pattern = events.EventPattern(source=["imaging"], detail_type=["StudyArrived"], detail={"kind": [name]})
    events.Rule(stack, name, rule_name=name, event_pattern=pattern, targets=[target])


def _of_batch(stack: cdk.Stack) -> None:
    choice = CapacityChoice("A", instance_types=["g6.xlarge"], max_instances=1)
    queue = GpuBatchQueue(stack, "Queue", vpc=ec2.Vpc(stack, "Vpc", max_azs=2), environments=[choice])
    image = ecs.ContainerImage.from_registry(_IMAGE)
    job = queue.add_job("Segment", image=image, retries=BatchRetries(attempts=4))  # exit code 1 is no reason to retry
    definition, arn = job.job_definition, queue.job_queue.job_queue_arn
    for name, attempts in (("as-defined", None), ("replaced", 3)):
        target = targets.BatchJob(
            arn, queue.job_queue, definition.job_definition_arn, definition, attempts=attempts, job_name=name
        )
        _arrives(stack, name, target)


def _sent(cloud: Local, kind: str) -> str:
    entry = {"Source": "imaging", "DetailType": "StudyArrived", "Detail": json.dumps({"kind": kind})}
    cloud.account.client("events").put_events(Entries=[entry])
    return _came_of(cloud, kind)


def _came_of(cloud: Local, rule: str) -> str:
    return str(cloud.account.client("ssm").get_parameter(Name=f"/emulator/runs/{rule}")["Parameter"]["Value"])


def test_an_event_submits_a_job_whose_target_replaces_how_its_definition_retries(cloud: Local) -> None:
    stack, batch = cloud.deploy(synthesized("Events", _of_batch)), cloud.account.client("batch")
    attempts = {}
    for name in ("as-defined", "replaced"):
        cloud.switch(f"jobs/{name}", "1")
        arn = _sent(cloud, name).removeprefix("started ")
        attempts[name] = len(until(cloud.account, arn, 60)["attempts"])

    assert attempts == {"as-defined": 1, "replaced": 3}
    cloud.switch("due", "replaced")
    batch.describe_jobs(jobs=[])
    assert _came_of(cloud, "replaced").startswith("started arn:aws:batch:")
    cloud.destroy(stack)


def _of_ecs(stack: cdk.Stack) -> None:
    cluster = GpuCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2), cluster_name="imaging")
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=1)
    cluster.set_default_strategy([l4.strategy()])
    task = GpuTaskDefinition(stack, "Task", capacity=[l4])
    task.add_gpu_container("segment", image=ecs.ContainerImage.from_registry(_IMAGE))
    _arrives(stack, "task", targets.EcsTask(cluster=cluster.cluster, task_definition=task))


def test_an_event_runs_a_task(cloud: Local) -> None:
    stack = cloud.deploy(synthesized("Events", _of_ecs))

    arn = _sent(cloud, "task").removeprefix("started ")

    assert cloud.account.client("ecs").list_tasks(cluster="imaging")["taskArns"] == [arn]
    cloud.account.stop_all("imaging")
    cloud.destroy(stack)
