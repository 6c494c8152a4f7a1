"""What the tasks of a training on a cluster share, given in the words of AWS Batch, as `MultiNodeTraining` takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aws_cdk import aws_batch as batch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.hosts.vpcs import require_storage_in
from gpu_constructs.tasks.task_definition import GpuTaskDefinition


def require_reached(volumes: Sequence[batch.EcsVolume] | None, vpc: ec2.IVpc) -> None:
    """Refuses file systems that are certain to be in another VPC.

    Raises:
        IncompatibleError: One is in another VPC.
    """
    for each in volumes or ():
        if isinstance(each, batch.EfsVolume):
            require_storage_in(vpc.vpc_id, each.file_system.connections, argument="volumes")


def mount_volumes(
    task: GpuTaskDefinition, container: ecs.ContainerDefinition, volumes: Sequence[batch.EcsVolume]
) -> None:
    """Adds volumes to a task, and mounts them in its container.

    Raises:
        InvalidValueError: Two volumes have one name.
    """
    names = [each.name for each in volumes]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise InvalidValueError(
            f"two volumes have the name {twice!r}, and ECS takes one of each name",
            argument="volumes",
            value=names,
            fix="another name for one of them",
        )
    for each, name in zip(volumes, names, strict=True):
        task.add_volume(name=name, **_source(each))
        container.add_mount_points(
            ecs.MountPoint(container_path=each.container_path, read_only=bool(each.readonly), source_volume=name)
        )


def _source(volume: batch.EcsVolume) -> dict[str, Any]:
    if isinstance(volume, batch.EfsVolume):
        return {"efs_volume_configuration": _of_efs(volume)}
    return {"host": ecs.Host(source_path=volume.host_path if isinstance(volume, batch.HostVolume) else None)}


def _of_efs(volume: batch.EfsVolume) -> ecs.EfsVolumeConfiguration:
    point, with_role = volume.access_point_id, volume.use_job_role
    return ecs.EfsVolumeConfiguration(
        file_system_id=volume.file_system.file_system_id,
        root_directory=volume.root_directory,
        transit_encryption="ENABLED" if volume.enable_transit_encryption else None,
        transit_encryption_port=volume.transit_encryption_port,
        authorization_config=ecs.AuthorizationConfig(access_point_id=point, iam="ENABLED" if with_role else None)
        if point or with_role
        else None,
    )
