"""Model servers with their caches on the emulator: deployed, running with their volumes, and destroyed.

What a cache holds is not modelled: the emulator mounts nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from ecs_emulator.local import Local
from gpu_constructs import GpuCluster, GpuService, GpuTaskDefinition, HostStorage, ModelCache, ModelServer

from tests.synthesis import app_in

STACK = "Serving"
_QWEN = ModelServer.vllm("Qwen/Qwen2.5-7B-Instruct")


def _assembly(directory: Path) -> Path:
    app = app_in(directory)
    stack = cdk.Stack(app, STACK)
    vpc = ec2.Vpc(stack, "Vpc", nat_gateways=1, restrict_default_security_group=False)
    cluster = GpuCluster(stack, "Cluster", vpc=vpc)
    storage = HostStorage(scratch_on_local_disks=True)
    l4 = cluster.add_capacity("L4", instance_types=["g6.xlarge"], max_instances=4, storage=storage)
    files = efs.FileSystem(stack, "Models", vpc=vpc, removal_policy=cdk.RemovalPolicy.DESTROY)
    point = files.add_access_point(
        "Point", path="/chat", create_acl=efs.Acl(owner_uid="1000", owner_gid="1000", permissions="750")
    )
    caches = {
        "Whole": ModelCache.efs(files),
        "Point": ModelCache.efs(files, access_point=point),
        "Disk": ModelCache.host_disk(),
    }
    for name, cache in caches.items():
        task = GpuTaskDefinition(stack, name, capacity=[l4])
        task.add_model_server("Vllm", server=_QWEN, cache=cache)
        GpuService(stack, f"{name}Service", cluster=cluster, task_definition=task)
    cdk.CfnOutput(stack, "ClusterName", value=cluster.cluster.cluster_name)
    cdk.CfnOutput(stack, "Files", value=files.file_system_id)
    app.synth()
    return directory


def test_servers_run_with_their_caches_and_go(cloud: Local, tmp_path: Path) -> None:
    stack = cloud.deploy_assembly(_assembly(tmp_path), STACK)
    cluster, ecs = stack.outputs["ClusterName"], cloud.account.client("ecs")
    for _ in range(5):
        cloud.account.hosts(cluster)
    arns = ecs.list_tasks(cluster=cluster)["taskArns"]
    tasks = ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"]
    assert [each["lastStatus"] for each in tasks] == ["RUNNING"] * 3
    found: dict[str, Any] = {}
    for each in tasks:
        described = ecs.describe_task_definition(taskDefinition=each["taskDefinitionArn"])["taskDefinition"]
        (volume,) = described["volumes"]
        (mount,) = described["containerDefinitions"][0]["mountPoints"]
        assert mount["sourceVolume"] == volume["name"]
        found[described["family"].removeprefix(STACK)[:4]] = volume
    assert found["Disk"]["host"] == {"sourcePath": "/mnt/local-disks/scratch/models"}
    whole, point = (found[name]["efsVolumeConfiguration"] for name in ("Whol", "Poin"))
    assert whole["fileSystemId"] == point["fileSystemId"] == stack.outputs["Files"]
    (made,) = cloud.account.client("efs").describe_access_points(FileSystemId=stack.outputs["Files"])["AccessPoints"]
    assert point["authorizationConfig"] == {"iam": "ENABLED", "accessPointId": made["AccessPointId"]}
    cloud.destroy(stack)
