"""Caches of models: each is mounted, reached and permitted, and refused where the hosts cannot have it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_s3 as s3
from jsii._kernel.providers import process

from gpu_constructs import (
    GpuCluster,
    GpuConstructsError,
    GpuMachineImage,
    GpuService,
    GpuTaskDefinition,
    HostMount,
    HostStorage,
    IncompatibleError,
    ModelCache,
    ModelServer,
)
from tests.reaching import Estate
from tests.synthesis import Ground, Site, user_data

_MODES = [ecs.NetworkMode.BRIDGE, ecs.NetworkMode.HOST, ecs.NetworkMode.AWS_VPC]
_EFS = {"IAM": "ENABLED"}


def files_of(site: Site, stack: cdk.Stack | None = None) -> efs.FileSystem:
    return efs.FileSystem(stack or site.stack, "Models", vpc=site.vpc)


def lustre_of(site: Site) -> fsx.LustreFileSystem:
    return fsx.LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        vpc_subnet=site.vpc.private_subnets[0],
        storage_capacity_gib=1200,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
    )


def imported_lustre(site: Site, dns_name: str) -> fsx.IFileSystem:
    group = ec2.SecurityGroup(site.stack, "Group", vpc=site.vpc)
    return fsx.LustreFileSystem.from_lustre_file_system_attributes(
        site.stack, "Files", dns_name=dns_name, file_system_id="fs-1", security_group=group
    )


def bucket_of(site: Site) -> s3.IBucket:
    return s3.Bucket.from_bucket_name(site.stack, "Weights", "weights")


def mount_on(site: Site, path: str) -> HostMount:
    return HostMount.s3(s3.Bucket.from_bucket_name(site.stack, path.replace("/", "-"), "weights"), path=path)


def serve(task: GpuTaskDefinition, cache: ModelCache, name: str = "Vllm") -> GpuTaskDefinition:
    task.add_model_server(name, server=ModelServer.vllm("Qwen/Qwen2.5-7B-Instruct"), cache=cache)
    return task


def volume_of(site: Site) -> dict[str, Any]:
    (volume,) = site.only("AWS::ECS::TaskDefinition")["Volumes"]
    assert isinstance(volume, dict)
    return volume


def variables_of(container: dict[str, Any]) -> dict[str, Any]:
    return {each["Name"]: each["Value"] for each in container["Environment"]}


def into(site: Site, group: str) -> set[tuple[str, int, int]]:
    """Who reaches a security group on which ports; names are cut to what the test has chosen."""
    estate = Estate({each.stack_name: dict(each.template) for each in site.app.synth(force=True).stacks})
    named = ("ClusterHostSecurityGroup", "ServiceSecurityGroup", "Models", "Lustre")
    return {
        (next(each for each in named if each in way.source), way.first, way.last)
        for way in estate.ingress
        if f".{group}" in way.target
    }


def allowed(site: Site, role: str) -> list[Any]:
    """The actions of the policies of a role, by the beginning of its logical id."""
    return [
        statement["Action"]
        for each in site.properties("AWS::IAM::Policy")
        if each["PolicyName"].startswith(role)
        for statement in each["PolicyDocument"]["Statement"]
    ]


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("whose", ["of this stack", "of another stack", "imported"])
def test_a_file_system_is_reached_in_every_mode_and_from_every_stack(
    site: Site, mode: ecs.NetworkMode, whose: str
) -> None:
    stack = site.stack
    cluster = site.cluster
    files: efs.IFileSystem
    if whose == "of another stack":
        files = files_of(site)
        stack = cdk.Stack(site.app, "Gpu")
        cluster = GpuCluster(stack, "Cluster", vpc=site.vpc)
    elif whose == "imported":
        group = ec2.SecurityGroup(stack, "Models", vpc=site.vpc)
        files = efs.FileSystem.from_file_system_attributes(
            stack, "Files", file_system_id="fs-0123456789abcdef0", security_group=group
        )
    else:
        files = files_of(site)
    l4 = cluster.add_capacity("L4", instance_types=["g6.2xlarge"], max_instances=2)
    task = serve(GpuTaskDefinition(stack, "Task", capacity=[l4], network_mode=mode), ModelCache.efs(files))
    GpuService(stack, "Service", cluster=cluster, task_definition=task)
    mounted = "ServiceSecurityGroup" if mode is ecs.NetworkMode.AWS_VPC else "ClusterHostSecurityGroup"
    assert into(site, "Models") == {(mounted, 2049, 2049)}
    assert not into(site, "ClusterHost")
    assert whose == "of another stack" or site.warnings() == []


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("place", ["Network", "Hosts", "Tasks", "Files"])
def test_stacks_of_hosts_tasks_and_files_have_no_cycle_and_each_rule_once(
    site: Site, mode: ecs.NetworkMode, place: str
) -> None:
    stacks = {name: cdk.Stack(site.app, name) for name in ("Network", "Hosts", "Tasks", "Files")}
    vpc = ec2.Vpc(stacks["Network" if place == "Network" else "Hosts"], "Vpc")
    cluster = GpuCluster(stacks["Hosts"], "Cluster", vpc=vpc)
    l4 = cluster.add_capacity("L4", instance_types=["g6.2xlarge"], max_instances=2)
    files = efs.FileSystem(stacks[place], "Models", vpc=vpc)
    for name in "AB":
        task = GpuTaskDefinition(stacks["Tasks"], f"Task{name}", capacity=[l4], network_mode=mode)
        serve(task, ModelCache.efs(files))
        GpuService(stacks["Tasks"], f"Service{name}", cluster=cluster, task_definition=task)
    rules = [
        each
        for stack in site.app.synth().stacks
        for each in stack.template.get("Resources", {}).values()
        if each["Type"] == "AWS::EC2::SecurityGroupIngress"
    ]
    # EC2 refuses a rule that is there already.
    assert [each["Properties"]["FromPort"] for each in rules] == [2049] * (2 if mode is ecs.NetworkMode.AWS_VPC else 1)


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
    assert allowed(site, "TaskTaskRole") == [
        [f"elasticfilesystem:Client{each}" for each in ("Mount", "Write", "RootAccess")]
    ]
    container = site.container()
    assert container["MountPoints"] == [
        {"SourceVolume": "models", "ContainerPath": "/root/.cache/huggingface", "ReadOnly": False}
    ]
    assert variables_of(container)["HF_HOME"] == "/root/.cache/huggingface"
    (service,) = [each for each in site.template()["Resources"].values() if each["Type"] == "AWS::ECS::Service"]
    assert {"ModelsEfsMountTarget1", "ModelsEfsMountTarget2"} <= {each[:21] for each in service["DependsOn"]}


def test_storage_of_another_vpc_is_refused(site: Site) -> None:
    other = ec2.Vpc(site.stack, "Other")
    files, lustre = (
        efs.FileSystem(site.stack, "Far", vpc=other),
        fsx.LustreFileSystem(
            site.stack,
            "FarLustre",
            vpc=other,
            vpc_subnet=other.private_subnets[0],
            storage_capacity_gib=1200,
            lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
        ),
    )
    task, cluster = site.task(), site.cluster
    before = site.children()
    for mode in (task, site.task(name="Own", network_mode=ecs.NetworkMode.AWS_VPC)):
        with pytest.raises(IncompatibleError, match="cache: the file system is in VPC Stack/Other, and .*vpc-12"):
            serve(mode, ModelCache.efs(files))
    mounts = HostStorage(mounts=[HostMount.fsx_lustre(lustre)])
    with pytest.raises(IncompatibleError, match="mounts: the file system is in VPC Stack/Other"):
        cluster.add_capacity("Far", instance_types=["g6.xlarge"], max_instances=1, storage=mounts)
    assert [each for each in site.children() if "Own" not in each] == before


def test_an_access_point_is_a_directory_with_its_own_user(site: Site) -> None:
    files = files_of(site)
    point = files.add_access_point("Point", path="/models", posix_user=efs.PosixUser(uid="1000", gid="1000"))
    serve(site.task(), ModelCache.efs(files, access_point=point))
    configuration = volume_of(site)["EFSVolumeConfiguration"]
    assert configuration["AuthorizationConfig"] == {**_EFS, "AccessPointId": {"Ref": "ModelsPoint1E24A0EB"}}
    assert configuration["TransitEncryption"] == "ENABLED"
    assert "RootDirectory" not in configuration
    assert allowed(site, "TaskTaskRole") == [["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]]


def test_a_server_that_comes_after_the_service_reaches_its_cache_too(site: Site) -> None:
    capacity = site.capacity("g6.12xlarge")
    task = site.task(capacity, network_mode=ecs.NetworkMode.AWS_VPC)
    task.add_gpu_container("main", image=site.image)
    GpuService(site.stack, "Service", cluster=site.cluster, task_definition=task)
    serve(task, ModelCache.efs(files_of(site)))
    assert into(site, "Models") == {("ServiceSecurityGroup", 2049, 2049)}


def test_servers_of_one_task_share_a_cache_and_keep_others_apart(site: Site) -> None:
    task = site.task(site.capacity("g6.12xlarge"))
    shared, other = ModelCache.efs(files_of(site)), ModelCache.host_disk()
    for name, cache in (("A", shared), ("B", shared), ("C", other)):
        serve(task, cache, name)
    properties = site.only("AWS::ECS::TaskDefinition")
    assert [each["Name"] for each in properties["Volumes"]] == ["models", "models-2"]
    mounts = [each["MountPoints"][0]["SourceVolume"] for each in properties["ContainerDefinitions"]]
    assert mounts == ["models", "models", "models-2"]


def test_a_volume_of_the_name_of_a_cache_is_kept_apart_from_it(site: Site) -> None:
    task = site.task()
    task.add_volume(name="models")
    serve(task, ModelCache.host_disk())
    for name in ("models", "models-2"):
        with pytest.raises(GpuConstructsError, match="a volume of this name") as refused:
            task.add_volume(name=name)
        assert refused.value.fix
    assert [each["Name"] for each in site.only("AWS::ECS::TaskDefinition")["Volumes"]] == ["models", "models-2"]


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
    assert server["DependsOn"] == [{"Condition": "SUCCESS", "ContainerName": "VllmCopy"}]
    volume = volume_of(site)["Name"]
    assert copy["MountPoints"] == [{"SourceVolume": volume, "ContainerPath": "/models", "ReadOnly": False}]
    assert server["MountPoints"] == [{"SourceVolume": volume, "ContainerPath": "/models", "ReadOnly": True}]
    assert "HF_HOME" not in variables_of(server)
    assert [each for each in allowed(site, "TaskTaskRole") if "s3:GetObject*" in each]


@pytest.mark.parametrize(
    "wrong",
    [
        {"memory_mib": 15900},
        {"port_mappings": [ecs.PortMapping(container_port=80, container_port_range="1-2")]},
        {"credential_specs": [ecs.DomainlessCredentialSpec("arn:aws:s3:::specs/a.json")] * 2},
        {"environment_files": [ecs.EnvironmentFile.from_asset("/nonexistent")]},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_copy_whose_server_is_refused_leaves_nothing_behind(ground: Ground, wrong: Any) -> None:
    task, cache = ground.task(), ModelCache.s3_copy(bucket_of(ground))
    before = ground.children()
    with pytest.raises(GpuConstructsError):
        task.add_model_server("Vllm", server=ModelServer.vllm("/models"), cache=cache, **wrong)
    assert ground.children() == before
    serve(task, cache)


def volumes_of_copies(stack_name: str, *, bucket: str | None, prefix: str = "") -> str:
    """The name of the volume of a copy in an app of its own, with paths that all such apps have."""
    site = Site(cdk.App())
    stack = cdk.Stack(site.app, "Chat", stack_name=stack_name)
    weights = s3.Bucket(stack, "W") if bucket is None else s3.Bucket.from_bucket_name(stack, "W", bucket)
    task = GpuTaskDefinition(stack, "Task", capacity=[site.capacity("g6.xlarge")])
    serve(task, ModelCache.s3_copy(weights, prefix=prefix))
    return next(iter(task.volumes_of_caches.values()))


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


def test_a_copy_whose_server_is_there_already_leaves_nothing_behind(ground: Ground) -> None:
    task = ground.task(ground.capacity("g6.12xlarge"))
    cache = ModelCache.s3_copy(bucket_of(ground))
    serve(task, cache)
    before = ground.children()
    with pytest.raises(GpuConstructsError, match="is already used"):
        serve(task, cache)
    assert ground.children() == before


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
    assert any("s3:GetObject*" in each for each in allowed(site, "ClusterHostRole")) is (kind == "bucket")


def test_hosts_that_do_not_mount_it_are_refused_with_the_mount(ground: Ground) -> None:
    bucket = bucket_of(ground)
    other = ground.capacity("g6.xlarge", storage=HostStorage(mounts=[HostMount.s3(bucket, prefix="llama")]))
    with pytest.raises(IncompatibleError, match="do not mount the storage of the cache on /mnt/s3") as refused:
        serve(ground.task(other), ModelCache.s3_mount(bucket, prefix="qwen"))
    assert refused.value.argument == "cache"
    assert "HostStorage(mounts=[HostMount.s3(bucket, …)])" in str(refused.value.fix)


@pytest.mark.parametrize(
    "cache",
    [
        lambda site: ModelCache.host_disk(),
        lambda site: ModelCache.s3_mount(bucket_of(site)),
        lambda site: ModelCache.fsx_lustre(lustre_of(site)),
    ],
)
def test_managed_instances_take_no_volume_of_their_host(site: Site, cache: Callable[[Site], ModelCache]) -> None:
    managed = site.cluster.add_managed_capacity("Managed", instance_types=["g6.2xlarge"])
    with pytest.raises(IncompatibleError, match="take no volume of their host") as refused:
        serve(site.task(managed), cache(site))
    assert refused.value.fix


def test_managed_instances_copy_for_each_task_and_mount_files(site: Site) -> None:
    managed = site.cluster.add_managed_capacity("Managed", instance_types=["g6.2xlarge"])
    serve(site.task(managed), ModelCache.s3_copy(bucket_of(site)))
    assert volume_of(site).keys() == {"Name"}
    serve(site.task(managed, name="Other"), ModelCache.efs(files_of(site)))
    assert site.findings("GPU047") == []


def test_a_server_without_a_directory_has_no_cache(ground: Ground) -> None:
    server = ModelServer.comfyui(image=ground.image)
    with pytest.raises(GpuConstructsError, match="not known where comfyui keeps models") as refused:
        ground.task().add_model_server("ComfyUi", server=server, cache=ModelCache.host_disk())
    assert refused.value.argument == "cache"


BAD: list[tuple[str, Callable[[Site], object]]] = [
    ("file_system", lambda site: ModelCache.efs("fs-1")),  # type: ignore[arg-type] # is refused
    ("file_system", lambda site: ModelCache.efs(efs.FileSystem)),  # type: ignore[arg-type] # is refused
    ("access_point", lambda site: ModelCache.efs(files_of(site), access_point="fsap-1")),  # type: ignore[arg-type]
    ("file_system", lambda site: ModelCache.fsx_lustre("fs-1")),  # type: ignore[arg-type] # is refused
    ("mount_name", lambda site: ModelCache.fsx_lustre(lustre_of(site), mount_name="a name")),
    ("path", lambda site: ModelCache.fsx_lustre(lustre_of(site), path="/etc")),
    ("path", lambda site: HostMount.s3(bucket_of(site), path="/mnt/local-disks/s3")),
    ("bucket", lambda site: ModelCache.s3_copy("weights")),  # type: ignore[arg-type] # is refused
    ("bucket", lambda site: HostMount.s3(s3.Bucket)),  # type: ignore[arg-type] # is refused
    ("prefix", lambda site: ModelCache.s3_mount(bucket_of(site), prefix="a; rm -rf /")),
    ("prefix", lambda site: HostMount(path="/mnt/x", bucket=bucket_of(site), prefix="a; reboot #")),
    ("prefix", lambda site: HostMount.s3(bucket_of(site), prefix="-x")),
    ("mount_name", lambda site: HostMount(path="/mnt/x", file_system=lustre_of(site), mount_name="a; reboot")),
    ("mount_name", lambda site: HostMount.fsx_lustre(lustre_of(site), mount_name=f"{cdk.Aws.REGION}; reboot")),
    ("file_system", lambda site: HostMount.fsx_lustre(imported_lustre(site, "x; reboot"), mount_name="abc")),
    ("file_system", lambda site: HostMount.fsx_lustre(imported_lustre(site, "x\nEOF\nreboot"), mount_name="abc")),
    ("file_system", lambda _: HostMount(path="/mnt/x")),
    ("bucket", lambda site: HostMount(path="/mnt/x", bucket=bucket_of(site), file_system=lustre_of(site))),
    ("bucket", lambda _: HostMount(path="/mnt/x", bucket="weights")),  # type: ignore[arg-type] # is refused
    ("image", lambda site: ModelCache.s3_copy(bucket_of(site), image="")),
    ("name", lambda site: ModelCache.host_disk("../models")),
    ("mounts", lambda site: HostStorage(mounts=[bucket_of(site)])),  # type: ignore[list-item] # is refused
    ("mounts", lambda site: HostStorage(mounts=[HostMount.s3(bucket_of(site))] * 2)),
    ("mounts", lambda site: HostStorage(mounts=[mount_on(site, "/mnt/s3/sub"), mount_on(site, "/mnt/s3")])),
    ("network_mode", lambda site: serve(site.task(network_mode=ecs.NetworkMode.NONE), ModelCache.host_disk())),
]


@pytest.mark.parametrize(("argument", "call"), BAD)
def test_a_wrong_value_is_named_with_a_fix(ground: Ground, argument: str, call: Callable[[Site], object]) -> None:
    with pytest.raises(GpuConstructsError) as refused:
        call(ground)
    assert refused.value.argument == argument
    assert refused.value.fix


def test_an_imported_lustre_file_system_says_its_mount_name(ground: Ground) -> None:
    with pytest.raises(GpuConstructsError, match="does not say its mount name"):
        HostMount.fsx_lustre(imported_lustre(ground, "fs-1.fsx.us-east-1.amazonaws.com"))


def test_a_name_that_is_known_at_deploy_time_is_one_word_of_the_script(site: Site) -> None:
    name = cdk.CfnParameter(site.stack, "Name").value_as_string
    bucket = s3.Bucket.from_bucket_name(site.stack, "Given", name)
    files = imported_lustre(site, name)
    assert f" '{name}' /mnt/s3" in HostMount.s3(bucket).command
    assert f" '{name}@tcp:/abc' /mnt/lustre" in HostMount.fsx_lustre(files, mount_name="abc").command


def test_a_preset_with_a_cache_asks_node_no_more_than_the_same_by_hand(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    send = process._NodeProcess.send  # jsii has no other place to count

    def counting(self: Any, request: Any, answer: Any) -> Any:
        asked.append(request)
        return send(self, request, answer)

    capacity, files = site.capacity("g6.12xlarge"), files_of(site)
    first, second, third, fourth = (site.task(capacity, name=name) for name in "ABCD")
    serve(first, ModelCache.efs(files))
    by_hand(site, second, files)
    monkeypatch.setattr(process._NodeProcess, "send", counting)
    serve(third, ModelCache.efs(files))
    of_preset = len(asked)
    by_hand(site, fourth, files)
    assert of_preset <= len(asked) - of_preset


def by_hand(site: Site, task: GpuTaskDefinition, files: efs.FileSystem) -> None:
    """What a preset with a file system makes."""
    container = task.add_gpu_container(
        "Vllm",
        image=ecs.ContainerImage.from_registry("vllm/vllm-openai:v0.27.1"),
        command=["--model", "Qwen/Qwen2.5-7B-Instruct"],
        environment={"HF_HOME": "/root/.cache/huggingface"},
        port_mappings=[ecs.PortMapping(container_port=8000, name="vllm")],
    )
    task.add_volume(
        name="models",
        efs_volume_configuration=ecs.EfsVolumeConfiguration(
            file_system_id=files.file_system_id,
            transit_encryption="ENABLED",
            authorization_config=ecs.AuthorizationConfig(iam="ENABLED"),
        ),
    )
    container.add_mount_points(
        ecs.MountPoint(source_volume="models", container_path="/root/.cache/huggingface", read_only=False)
    )
    files.grant_root_access(task.task_role)
    files.connections.allow_default_port_from(site.cluster.cluster)


def test_other_systems_have_no_packages(ground: Ground) -> None:
    bottlerocket = GpuMachineImage.newest("bottlerocket-ecs-2-nvidia-x86_64")
    storage = HostStorage(mounts=[HostMount.s3(bucket_of(ground))])
    with pytest.raises(IncompatibleError, match="bottlerocket has no packages") as refused:
        ground.capacity("g6.xlarge", image=bottlerocket, storage=storage)
    assert refused.value.argument == "mounts"


def test_the_agent_waits_for_the_mounts_at_every_boot(site: Site) -> None:
    site.capacity("g6.xlarge", storage=HostStorage(mounts=[HostMount.s3(bucket_of(site), prefix="qwen")]))
    text = user_data(site.launch_template())
    unit = text.partition("> /etc/systemd/system/host-mounts.service\n")[2].partition("\nEOF\n")[0].splitlines()
    assert {"Before=ecs.service", "RequiredBy=ecs.service", "ExecStart=/usr/local/sbin/host-mounts"} <= set(unit)
    assert [line for line in text.splitlines() if line.startswith(("dnf ", "systemctl "))] == [
        "dnf install -q -y mount-s3",
        "systemctl daemon-reload",
        "systemctl stop ecs.service",
        "systemctl enable --now host-mounts.service",
        "systemctl start --no-block ecs.service",
    ]


@pytest.mark.parametrize(("mounted", "fails"), [(False, False), (True, False), (False, True)])
def test_the_script_mounts_what_is_not_mounted_and_fails_with_the_mount(
    site: Site, tmp_path: Path, *, mounted: bool, fails: bool
) -> None:
    site.capacity("g6.xlarge", storage=HostStorage(mounts=[HostMount.s3(bucket_of(site), prefix="qwen")]))
    text = user_data(site.launch_template())
    script = (
        text.partition("> /usr/local/sbin/host-mounts\n")[2].partition("\nEOF\n")[0].replace("/mnt", f"{tmp_path}/mnt")
    )
    stand_ins = {
        "mountpoint": f"exit {int(not mounted)}",
        "mount-s3": f'echo "$*" >> {tmp_path}/log; exit {int(fails)}',
    }
    for name, body in stand_ins.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    bash = shutil.which("bash")
    assert bash
    ran = subprocess.run([bash, "-c", script], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False)
    assert ran.returncode == int(fails)
    log = tmp_path / "log"
    called = log.read_text().replace(str(tmp_path), "") if log.exists() else ""
    assert called == ("" if mounted else "--read-only --allow-other --prefix qwen/ weights /mnt/s3\n")
    assert (tmp_path / "mnt/s3").is_dir()
