"""Caches of models: each is mounted, reached and permitted, and refused where the hosts cannot have it."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_efs as efs
from aws_cdk import aws_s3 as s3

from gpu_constructs import (
    GpuConstructsError,
    GpuService,
    GpuTaskDefinition,
    HostMount,
    HostStorage,
    IncompatibleError,
    ModelCache,
    ModelServer,
)
from tests.model_storage import bucket_of, files_of, into, lustre_of, serve
from tests.synthesis import Ground, Site

_EFS = {"IAM": "ENABLED"}


def volume_of(site: Site) -> dict[str, Any]:
    (volume,) = site.only("AWS::ECS::TaskDefinition")["Volumes"]
    return dict(volume)


def variables_of(container: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in container["Environment"]}


def test_a_file_system_is_mounted_with_tls_and_the_role_of_the_task(site: Site) -> None:
    task = serve(site.task(), ModelCache.efs(files_of(site)))
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    assert volume_of(site) == {
        "Name": "models",
        "EFSVolumeConfiguration": {
            "FilesystemId": {"Ref": "ModelsC55D3500"},
            "TransitEncryption": "ENABLED",
            "AuthorizationConfig": _EFS,
        },
    }
    container = site.container()
    assert container["MountPoints"] == [
        {"SourceVolume": "models", "ContainerPath": "/root/.cache/huggingface", "ReadOnly": False}
    ]
    assert variables_of(container)["HF_HOME"] == "/root/.cache/huggingface"
    (service,) = [each for each in site.template()["Resources"].values() if each["Type"] == "AWS::ECS::Service"]
    assert {"ModelsEfsMountTarget1", "ModelsEfsMountTarget2"} <= {each[:21] for each in service["DependsOn"]}


def test_an_access_point_is_a_directory_with_its_own_user(site: Site) -> None:
    files = files_of(site)
    point = files.add_access_point("Point", path="/models", posix_user=efs.PosixUser(uid="1000", gid="1000"))
    serve(site.task(), ModelCache.efs(files, access_point=point))
    configuration = volume_of(site)["EFSVolumeConfiguration"]
    assert configuration["AuthorizationConfig"] == {**_EFS, "AccessPointId": {"Ref": "ModelsPoint1E24A0EB"}}
    assert configuration["TransitEncryption"] == "ENABLED"
    assert "RootDirectory" not in configuration
    # Without an access point: tests/policies.
    policies = {each["PolicyName"][:12]: each["PolicyDocument"] for each in site.properties("AWS::IAM::Policy")}
    (statement,) = policies["TaskTaskRole"]["Statement"]
    assert statement["Action"] == ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]


def test_servers_of_one_task_share_a_cache_and_keep_others_apart(site: Site) -> None:
    task = site.task(site.capacity("g6.12xlarge"))
    shared, other = ModelCache.efs(files_of(site)), ModelCache.host_disk()
    for name, cache in (("A", shared), ("B", shared), ("C", other)):
        serve(task, cache, name)
    properties = site.only("AWS::ECS::TaskDefinition")
    assert [each["Name"] for each in properties["Volumes"]] == ["models", "models-2"]
    mounts = [each["MountPoints"][0]["SourceVolume"] for each in properties["ContainerDefinitions"]]
    assert mounts == ["models", "models", "models-2"]


@pytest.mark.parametrize(
    ("storage", "volume"),
    [
        (HostStorage(scratch_on_local_disks=True), {"Host": {"SourcePath": "/mnt/local-disks/scratch/models"}}),
        (HostStorage(images_on_local_disks=True), {"DockerVolumeConfiguration": {"Scope": "shared"}}),
        (None, {"DockerVolumeConfiguration": {"Scope": "shared"}}),
    ],
    ids=["scratch space on local disks", "images on local disks", "the root volume"],
)
def test_a_disk_of_the_host_is_the_fastest_there_is(site: Site, storage: HostStorage | None, volume: Any) -> None:
    serve(site.task(site.capacity("g6.xlarge", storage=storage)), ModelCache.host_disk())
    (kind,) = volume
    found = volume_of(site)
    assert found["Name"] == "models"
    assert volume[kind].items() <= found[kind].items()


def test_a_copy_ends_before_the_server_starts(site: Site) -> None:
    serve(site.task(), ModelCache.s3_copy(bucket_of(site), prefix="/qwen"))
    copy, server = site.only("AWS::ECS::TaskDefinition")["ContainerDefinitions"]
    assert copy["Name"] == "VllmCopy"
    assert copy["Command"] == [
        *("s3", "sync", "--no-progress", "--delete", "--exact-timestamps"),
        *("s3://weights/qwen/", "/models"),
    ]
    assert (copy["Essential"], copy["StartTimeout"]) == (False, 3600)
    assert copy["MemoryReservation"] < copy["Memory"] < server["Memory"]
    assert server["DependsOn"] == [{"Condition": "SUCCESS", "ContainerName": "VllmCopy"}]
    volume = volume_of(site)["Name"]
    assert copy["MountPoints"] == [{"SourceVolume": volume, "ContainerPath": "/models", "ReadOnly": False}]
    assert server["MountPoints"] == [{"SourceVolume": volume, "ContainerPath": "/models", "ReadOnly": True}]
    assert "HF_HOME" not in variables_of(server)


def volumes_of_copies(stack_name: str, *, bucket: str | None, prefix: str = "") -> str:
    """The name of the volume of a copy in an app of its own, with paths that all such apps have."""
    site = Site(cdk.App())
    stack = cdk.Stack(site.app, "Chat", stack_name=stack_name)
    weights = s3.Bucket(stack, "W") if bucket is None else s3.Bucket.from_bucket_name(stack, "W", bucket)
    task = GpuTaskDefinition(stack, "Task", capacity=[site.capacity("g6.xlarge")])
    cache = ModelCache.s3_copy(weights, prefix=prefix)
    serve(task, cache)
    return task.caches.volume_of(cache.storage)


def test_only_copies_of_the_same_part_of_the_same_bucket_share_a_volume() -> None:
    names = [
        volumes_of_copies("tenant-a", bucket="a-weights"),
        volumes_of_copies("tenant-a", bucket="b-weights"),
        volumes_of_copies("tenant-a", bucket="a-weights", prefix="qwen"),
        volumes_of_copies("tenant-a", bucket=None),
        volumes_of_copies("tenant-b", bucket=None),
    ]
    assert len(set(names)) == len(names)
    assert volumes_of_copies("tenant-b", bucket="a-weights") == names[0]


@pytest.mark.parametrize("kind", ["lustre", "bucket"])
def test_what_hosts_mount_is_a_volume_of_the_host(site: Site, kind: str) -> None:
    if kind == "lustre":
        files = lustre_of(site)
        mount, cache = HostMount.fsx_lustre(files), ModelCache.fsx_lustre(files)
    else:
        bucket = bucket_of(site)
        mount, cache = HostMount.s3(bucket, prefix="qwen"), ModelCache.s3_mount(bucket, prefix="qwen")
    capacity = site.capacity("g6.xlarge", storage=HostStorage(mounts=[mount]))
    serve(site.task(capacity), cache)
    assert volume_of(site) == {"Name": "models", "Host": {"SourcePath": mount.path}}
    directory = "/root/.cache/huggingface" if kind == "lustre" else "/models"
    assert site.container()["MountPoints"] == [
        {"SourceVolume": "models", "ContainerPath": directory, "ReadOnly": kind == "bucket"}
    ]
    if kind == "lustre":
        assert into(site, "Lustre") == {("ClusterHostSecurityGroup", 988, 1023), ("Lustre", 988, 1023)}


def test_hosts_that_do_not_mount_it_are_refused_with_the_mount(ground: Ground) -> None:
    bucket = bucket_of(ground)
    other = ground.capacity("g6.xlarge", storage=HostStorage(mounts=[HostMount.s3(bucket, prefix="llama")]))
    with pytest.raises(IncompatibleError, match="do not mount the storage of the cache on /mnt/s3") as refused:
        serve(ground.task(other), ModelCache.s3_mount(bucket, prefix="qwen"))
    assert refused.value.argument == "cache"
    assert "HostStorage(mounts=[HostMount.s3(bucket, …)])" in str(refused.value.fix)


def test_managed_instances_copy_for_each_task_and_mount_files(site: Site) -> None:
    managed = site.cluster.add_managed_capacity("Managed", instance_types=["g6.2xlarge"])
    serve(site.task(managed), ModelCache.s3_copy(bucket_of(site)))
    assert volume_of(site).keys() == {"Name"}
    serve(site.task(managed, name="Other"), ModelCache.efs(files_of(site)))
    assert site.findings("GPU047") == []


def test_a_server_without_a_directory_has_no_cache(ground: Ground) -> None:
    server = ModelServer.preset("comfyui", image=ground.image)
    with pytest.raises(GpuConstructsError, match=r"not known where comfyui keeps.*cache_directory=") as refused:
        ground.task().add_model_server("ComfyUi", server=server, cache=ModelCache.host_disk())
    assert refused.value.argument == "cache"
