"""What a value or a call cannot take by itself is refused under the name of its argument, with what it takes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from aws_cdk import aws_s3 as s3

from gpu_constructs import (
    AlarmLimits,
    BatchRetries,
    CapacityChoice,
    FairShares,
    GpuConstructsError,
    GpuMachineImage,
    GpuShare,
    HostMount,
    HostNetwork,
    HostReplacement,
    HostScaling,
    HostStorage,
    JobData,
    JobRetries,
    ManagedOperation,
    ManagedStorage,
    ModelCache,
    ModelServer,
    Purchase,
    TrainingLauncher,
    WarmHosts,
)
from gpu_constructs.jobs.training.training_launcher import Tool
from tests.jobs.batch.queues import queue
from tests.model_storage import bucket_of, files_of, imported_lustre, lustre_of, serve
from tests.synthesis import Ground, Site

AMI = ec2.MachineImage.generic_linux({"us-east-1": "ami-00000000000000000"})
BLOCK = "cr-0123456789abcdef0"
ENDS = datetime(2030, 1, 1, tzinfo=timezone.utc)
OF_DEPLOY: Any = "${Token[TOKEN.1]}"
LATER = cdk.Token.as_number({"Ref": "Number"})
OF_STACK = cdk.Lazy.number(cdk.Token.as_any(1))  # type: ignore[arg-type]


def _block(**arguments: Any) -> Purchase:
    return Purchase.capacity_block(BLOCK, **{"instances": 1, "ends": ENDS, **arguments})


def _mounting(bucket: s3.IBucket, *paths: str) -> HostStorage:
    return HostStorage(mounts=[HostMount.s3(bucket, path=each) for each in paths])


def _server(**arguments: Any) -> ModelServer:
    return ModelServer(**{"name": "mine", "image": ecs.ContainerImage.from_registry("mine:1"), **arguments})


def _container(**arguments: Any) -> Callable[[Site], object]:
    return lambda site: site.task().add_gpu_container("chat", image=site.image, **arguments)


REFUSED: list[tuple[str, Callable[[Any], object], tuple[Any, ...]]] = [
    # Hosts
    (
        "construct_id",
        lambda value: CapacityChoice(value, instance_types=["g6.xlarge"], max_instances=1),
        ("", OF_DEPLOY),
    ),
    ("on_demand_base", lambda value: Purchase.spot(on_demand_base=value), (-1, 1.5, OF_DEPLOY)),
    ("instances", lambda value: Purchase.reservations(instances=value), (0, -1)),
    ("ends", lambda value: _block(ends=value), (None, datetime(1, 1, 1, tzinfo=timezone.utc))),
    ("scale_in_after_seconds", lambda value: ManagedOperation(scale_in_after_seconds=value), (3601, -2)),
    ("volume_gib", lambda value: ManagedStorage(volume_gib=value), (0, 1.5)),
    ("percent_at_once", lambda value: HostReplacement(percent_at_once=value), (0, 101)),
    ("replacement", lambda value: HostScaling(replacement=value), ("rolling",)),
    ("warm_hosts", lambda value: HostScaling(warm_hosts=value), (2,)),
    ("hosts", lambda value: WarmHosts(hosts=value), (OF_DEPLOY,)),
    ("images_gib", lambda value: HostStorage(images_gib=value), (0, -1, float("inf"), 30000)),
    ("placement_group", lambda value: HostNetwork.efa(placement_group=value), ("mine", OF_DEPLOY)),
    ("security_group", lambda value: HostNetwork.efa(security_group=value), ("sg-1",)),
    ("driver_branch", lambda value: GpuMachineImage.custom(AMI, driver_branch=value), ("580", 580.1, -5)),
    ("agent_version", lambda value: GpuMachineImage.custom(AMI, agent_version=value), ("1.107",)),
    ("root_device", lambda value: GpuMachineImage.custom(AMI, root_device=value), ("xvda", "")),
    ("release", lambda value: GpuMachineImage.pinned("al2023-gpu", release=value), (cdk.Fn.import_value("R"),)),
    # Tasks
    ("memory_mib", lambda value: GpuShare(memory_mib=value), (0, -1, 4096.0, True, "4096")),
    ("max_compute_percent", lambda value: GpuShare(memory_mib=1, max_compute_percent=value), (0, 101, 0.3)),
    # Servers of models
    ("model", ModelServer.vllm, ("", "two words")),
    ("model", ModelServer.tgi, (7,)),
    ("model", lambda _: ModelServer.preset("dlc_vllm"), (None,)),
    ("model", lambda value: ModelServer.preset("ollama", tag="1", model=value), ("qwen",)),
    ("name", lambda value: ModelServer.preset(value, model="qwen"), ("vlm",)),
    ("name", lambda value: _server(name=value), ("",)),
    ("tag", lambda _: ModelServer.triton(), (None,)),
    ("tag", lambda _: ModelServer.preset("ollama"), (None,)),
    ("tag", lambda value: ModelServer.vllm("qwen", tag=value), ("a b", "v0.20.0\0")),
    ("image", lambda value: ModelServer.vllm("qwen", image=value), ("mine:1",)),
    ("image", lambda _: ModelServer(name="mine"), (None,)),
    ("image_name", lambda value: ModelServer(name="mine", image_name=value), (5,)),
    ("port", lambda value: ModelServer.vllm("qwen", port=value), (70000, OF_STACK)),
    ("arguments", lambda value: ModelServer.vllm("qwen", arguments=value), ("--max-model-len 8192",)),
    ("health_path", lambda value: _server(health_path=value), ("ready",)),
    ("cache_directory", lambda value: _server(cache_directory=value), ("models",)),
    ("health_check_grace_period", lambda time: _server(health_check_grace_period=time), (300, cdk.Duration.millis(5))),
    ("environment", lambda value: _server(environment=value), ({"A": 1},)),
    # Jobs
    ("path", JobData.directory, ("data", "/a\nb", "/a/../b", "/a/./b", "/a'b", "")),
    ("no_host", lambda value: JobRetries(no_host=value), (-1, 1.5)),
    ("exit_codes", lambda value: JobRetries(exit_codes=value), ({0: 1}, {75: -1}, 75)),
    ("attempts", lambda value: BatchRetries(attempts=value), (0, 11, LATER)),
    ("exit_codes", lambda value: BatchRetries(exit_codes=value), ([1, 2, 3], [0], [LATER], 75)),
    ("shares", lambda value: FairShares(shares=value), ({}, {"a b": 1}, {"a": 0})),
    ("processes_per_host", lambda value: TrainingLauncher.torchrun(processes_per_host=value), (0,)),
    ("processes_per_host", lambda value: TrainingLauncher(tool=Tool.JAX, processes_per_host=value), (4,)),
    ("command", lambda value: TrainingLauncher.torchrun().command(value, gpus=2), (5, "train.py")),
    ("idle_minutes", lambda value: AlarmLimits(idle_minutes=value), (-1,)),
]
"""An argument, what takes it, and values that it cannot have."""

CALLS: list[tuple[str, Callable[[Site], object]]] = [
    ("base", lambda site: site.l4.strategy(base=100_001)),
    ("join_within", lambda site: site.capacity("g6.xlarge", join_within=cdk.Duration.minutes(4))),
    ("join_within", lambda site: site.capacity("g6.xlarge", join_within=cdk.Duration.hours(25))),
    ("root_volume_mib_per_second", lambda site: HostStorage(root_volume_mib_per_second=site.number("T"))),
    ("family", lambda site: site.task(family="a/b")),
    ("capacity", lambda site: site.task(site.l4, site.l4)),
    ("gpus", _container(gpus="all")),
    ("ipc_mode", lambda site: site.task(site.managed(instance_types=["g6.xlarge"]), ipc_mode=ecs.IpcMode.TASK)),
    ("memory_limit_mib", _container(memory_mib=1024, memory_limit_mib=1024)),
    ("prefix", lambda site: JobData.s3(bucket_of(site), prefix="a\nb/")),
    ("prefix", lambda site: JobData.s3(bucket_of(site), prefix="a*/")),
    ("start_within", lambda site: queue(site, start_within=cdk.Duration.minutes(5))),
    ("start_within", lambda site: queue(site, start_within=cdk.Duration.days(2))),
    ("start_within", lambda site: queue(site, start_within=cdk.Duration.seconds(LATER))),
    ("update_timeout", lambda site: queue(site, update_timeout=cdk.Duration.days(6))),
    ("update_timeout", lambda site: queue(site, update_timeout=cdk.Duration.minutes(LATER))),
    ("priority", lambda site: queue(site, priority=-1)),
    ("shares", lambda site: queue(site, shares={"research": 1})),
    # Storage of models
    ("path", lambda site: HostMount.s3(bucket_of(site), path="/mnt/local-disks/s3")),
    ("bucket", lambda site: HostMount.s3(s3.Bucket)),  # type: ignore[arg-type] # is refused
    ("prefix", lambda site: HostMount.s3(bucket_of(site), prefix="a; reboot #")),
    ("prefix", lambda site: HostMount.s3(bucket_of(site), prefix="-x")),
    ("mount_name", lambda site: HostMount.fsx_lustre(lustre_of(site), mount_name="a; reboot")),
    ("mount_name", lambda site: HostMount.fsx_lustre(lustre_of(site), mount_name=f"{cdk.Aws.REGION}; reboot")),
    ("file_system", lambda site: HostMount.fsx_lustre(imported_lustre(site, "x; reboot"), mount_name="abc")),
    ("file_system", lambda site: HostMount.fsx_lustre(imported_lustre(site, "x\nEOF\nreboot"), mount_name="abc")),
    ("bucket", lambda _: HostMount.s3("weights")),  # type: ignore[arg-type] # is refused
    ("mounts", lambda site: HostStorage(mounts=[bucket_of(site)])),  # type: ignore[list-item] # is refused
    ("mounts", lambda site: _mounting(bucket_of(site), "/mnt/s3", "/mnt/s3")),
    ("mounts", lambda site: _mounting(bucket_of(site), "/mnt/s3/sub", "/mnt/s3")),
    ("file_system", lambda site: ModelCache.efs("fs-1")),  # type: ignore[arg-type] # is refused
    ("file_system", lambda site: ModelCache.efs(efs.FileSystem)),  # type: ignore[arg-type] # is refused
    ("access_point", lambda site: ModelCache.efs(files_of(site), access_point="fsap-1")),  # type: ignore[arg-type]
    ("file_system", lambda site: ModelCache.fsx_lustre("fs-1")),  # type: ignore[arg-type] # is refused
    ("mount_name", lambda site: ModelCache.fsx_lustre(lustre_of(site), mount_name="a name")),
    ("path", lambda site: ModelCache.fsx_lustre(lustre_of(site), path="/etc")),
    ("bucket", lambda site: ModelCache.s3_copy("weights")),  # type: ignore[arg-type] # is refused
    ("prefix", lambda site: ModelCache.s3_mount(bucket_of(site), prefix="a; rm -rf /")),
    ("image", lambda site: ModelCache.s3_copy(bucket_of(site), image="")),
    ("name", lambda site: ModelCache.host_disk("../models")),
    ("network_mode", lambda site: serve(site.task(network_mode=ecs.NetworkMode.NONE), ModelCache.host_disk())),
]


@pytest.mark.parametrize(
    ("argument", "takes", "value"),
    [
        pytest.param(name, takes, value, id=f"{name} {place}")
        for name, takes, values in REFUSED
        for place, value in enumerate(values)
    ],
)
def test_a_value_that_it_cannot_have_is_refused(argument: str, takes: Callable[[Any], object], value: Any) -> None:
    _require_refused(argument, lambda: takes(value))


@pytest.mark.parametrize(("argument", "call"), CALLS)
def test_a_call_that_cannot_be_is_refused(ground: Ground, argument: str, call: Callable[[Site], object]) -> None:
    _require_refused(argument, lambda: call(ground))


def _require_refused(argument: str, call: Callable[[], object]) -> None:
    with pytest.raises(GpuConstructsError) as refused:
        call()
    assert refused.value.argument == argument
    assert refused.value.fix or refused.value.allowed
