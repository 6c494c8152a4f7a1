"""The storage behind a cache of models: its volume, permissions and security group rules, one class for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from constructs import IDependable
from typing_extensions import override

from gpu_constructs.capacity.gpu_capacity import GpuCapacity, ImportedGpuCapacity, require_known_groups
from gpu_constructs.capacity.host_mounts import HostMount
from gpu_constructs.capacity.local_disks import SCRATCH_PATH
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError
from gpu_constructs.fleet import LocalDiskUse
from gpu_constructs.hosts.cluster_hosts import ClusterHosts
from gpu_constructs.managed.managed_gpu_capacity import ManagedGpuCapacity

if TYPE_CHECKING:
    from aws_cdk import aws_s3 as s3

Runner: TypeAlias = ecs.Ec2Service | ec2.ISecurityGroup
"""What has the connections of tasks with network interfaces: a service, or the group of a job."""

Capacity: TypeAlias = GpuCapacity | ImportedGpuCapacity | ManagedGpuCapacity
"""Where a task may run."""

_WEIGHTS = "/models"
# By itself, sync keeps files that left the bucket, and files of an equal size that are newer there: "compare_time" in
# https://github.com/aws/aws-cli/blob/develop/awscli/customizations/s3/syncstrategy/base.py, read on 2026-11-22.
_SYNC = ("--no-progress", "--delete", "--exact-timestamps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A volume of a task definition, as ``add_volume`` of CDK takes it.

    Attributes:
        efs: Of a file system of EFS.
        docker: Of Docker.
        host: Of the host; with none of the three, a volume that lives as long as the task.
    """

    efs: ecs.EfsVolumeConfiguration | None = None
    docker: ecs.DockerVolumeConfiguration | None = None
    host: ecs.Host | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsCopy:
    """A container that fills a volume before a server starts.

    Attributes:
        image: Its image, with the AWS command line.
        command: What copies.
    """

    image: str
    command: tuple[str, ...]


class CacheStorage:
    """What a `ModelCache` stands for in a task: where it is mounted, who may use it and who reaches it."""

    __slots__ = ()

    @property
    def directory(self) -> str | None:
        """Where containers see it; None for the directory in which their server looks for models."""
        return None

    @property
    def is_read_only(self) -> bool:
        """Whether containers may only read it."""
        return False

    @property
    def ready(self) -> IDependable | None:
        """What has to exist before a task can mount it, apart from the file system or bucket; None if nothing has."""
        return None

    @property
    def copy(self) -> WeightsCopy | None:
        """What fills it before the server starts; None where nothing does."""
        return None

    def require_on(self, capacity: Sequence[Capacity]) -> None:
        """Refuses capacity whose hosts cannot have it.

        Raises:
            IncompatibleError: A capacity does not mount it, or is of ECS Managed Instances, which take no such volume.
        """

    def volume(self, capacity: Sequence[Capacity], name: str) -> Volume:
        """Its volume in a task definition."""
        raise NotImplementedError

    def volume_name(self, task: ecs.TaskDefinition) -> str:  # noqa: ARG002 - the same in every task
        """The name of that volume; Docker shares volumes of one name."""
        return "models"

    def grant(self, task: ecs.TaskDefinition) -> None:
        """Lets the role of a task use it."""

    def require_near(self, capacity: Sequence[Capacity]) -> None:
        """Refuses capacity of another VPC.

        Raises:
            IncompatibleError: The cache is certain to be in another VPC than the hosts.
        """

    def require_way_from(self, capacity: Sequence[Capacity]) -> None:
        """Refuses capacity whose hosts could not be let into it.

        Raises:
            IncompatibleError: The security groups of the hosts are not known.
        """

    def reach_from_hosts(self, hosts: ClusterHosts, task: ecs.TaskDefinition) -> None:
        """Lets hosts reach it, on the port that it is mounted through and no other."""

    def reach_from_tasks(self, service: Runner) -> None:
        """The same for the tasks of a service in network mode ``awsvpc``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EfsStorage(CacheStorage):
    """A file system of Amazon EFS that tasks mount.

    Attributes:
        file_system: The file system.
        access_point: A directory of it with its own user; None for the whole file system.
    """

    file_system: efs.IFileSystem
    access_point: efs.IAccessPoint | None

    @property
    @override
    def ready(self) -> IDependable:
        return self.file_system.mount_targets_available

    @override
    def volume(self, capacity: Sequence[Capacity], name: str) -> Volume:
        point = self.access_point
        return Volume(
            efs=ecs.EfsVolumeConfiguration(
                file_system_id=self.file_system.file_system_id,
                transit_encryption="ENABLED",
                authorization_config=ecs.AuthorizationConfig(
                    iam="ENABLED", access_point_id=None if point is None else point.access_point_id
                ),
            )
        )

    @override
    def grant(self, task: ecs.TaskDefinition) -> None:
        if self.access_point is None:
            # Without root access, EFS maps root to the user nobody, who may not write there.
            self.file_system.grant_root_access(task.task_role)
        else:
            self.file_system.grant_read_write(task.task_role)

    @override
    def require_near(self, capacity: Sequence[Capacity]) -> None:
        for hosts in dict.fromkeys(each.hosts for each in capacity):
            hosts.require_same_vpc(self.file_system, argument="cache")

    @override
    def require_way_from(self, capacity: Sequence[Capacity]) -> None:
        require_known_groups(capacity)

    @override
    def reach_from_hosts(self, hosts: ClusterHosts, task: ecs.TaskDefinition) -> None:
        hosts.let_into(self.file_system, task=task)

    @override
    def reach_from_tasks(self, service: Runner) -> None:
        if service.stack == self.file_system.stack:
            self.file_system.connections.allow_default_port_from(service)
        else:
            # From this side, so that the rule is in the stack that needs the file system anyway.
            service.connections.allow_to_default_port(self.file_system)


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedStorage(CacheStorage):
    """What the hosts mount: FSx for Lustre, or a bucket for reading only.

    Attributes:
        mount: The mount that the capacity must have.
    """

    mount: HostMount

    @property
    @override
    def directory(self) -> str | None:
        return None if self.mount.bucket is None else _WEIGHTS

    @property
    @override
    def is_read_only(self) -> bool:
        return self.mount.bucket is not None

    @override
    def require_on(self, capacity: Sequence[Capacity]) -> None:
        call = "fsx_lustre(file_system, …)" if self.mount.bucket is None else "s3(bucket, …)"
        for each in capacity:
            if isinstance(each, ManagedGpuCapacity):
                raise _not_managed(each)
            if self.mount not in each.mounts:
                raise IncompatibleError(
                    f"the hosts of {each.pool.name} do not mount the storage of the cache on {self.mount.path}",
                    argument="cache",
                    value=[one.path for one in each.mounts],
                    fix=f"storage=HostStorage(mounts=[HostMount.{call}]) for {each.pool.name}, with the same arguments",
                )

    @override
    def volume(self, capacity: Sequence[Capacity], name: str) -> Volume:
        return Volume(host=ecs.Host(source_path=self.mount.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDisk(CacheStorage):
    """A directory of the host.

    Attributes:
        name: Its name.
    """

    name: str

    @override
    def require_on(self, capacity: Sequence[Capacity]) -> None:
        for each in capacity:
            if isinstance(each, ManagedGpuCapacity):
                raise _not_managed(each)

    @override
    def volume(self, capacity: Sequence[Capacity], name: str) -> Volume:
        if any(each.pool.user_data.local_disks is LocalDiskUse.SCRATCH for each in capacity):
            return Volume(host=ecs.Host(source_path=f"{SCRATCH_PATH}/{self.name}"))
        # Docker keeps it with its images, which may be on local disks, and on Bottlerocket where containers may write.
        return Volume(docker=ecs.DockerVolumeConfiguration(autoprovision=True, driver="local", scope=ecs.Scope.SHARED))

    @override
    def volume_name(self, task: ecs.TaskDefinition) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketCopy(CacheStorage):
    """The part of a bucket that a container copies before the server starts.

    Attributes:
        bucket: The bucket.
        prefix: The part of it.
        image: An image with the AWS command line.
    """

    bucket: s3.IBucket
    prefix: str
    image: str

    @property
    @override
    def directory(self) -> str:
        return _WEIGHTS

    @property
    @override
    def copy(self) -> WeightsCopy:
        source = f"s3://{self.bucket.bucket_name}/{self.prefix}"
        return WeightsCopy(image=self.image, command=("s3", "sync", *_SYNC, source, _WEIGHTS))

    @override
    def volume(self, capacity: Sequence[Capacity], name: str) -> Volume:
        if any(isinstance(each, ManagedGpuCapacity) for each in capacity):
            return Volume()
        return HostDisk(name=name).volume(capacity, name)

    @override
    def volume_name(self, task: ecs.TaskDefinition) -> str:
        # Tasks of other apps on the host find the copy of the same part of the same bucket and of no other: two buckets
        # never have one name, and of a name that is not known at synth the stack and the construct are known.
        bucket = self.bucket.bucket_name
        source = (_root_stack(task).stack_name, self.bucket.node.path) if is_token(bucket) else (bucket,)
        return "models-" + sha256("\0".join((*source, self.prefix)).encode()).hexdigest()[:16]

    @override
    def grant(self, task: ecs.TaskDefinition) -> None:
        self.bucket.grant_read(task.task_role, f"{self.prefix}*" if self.prefix else None)


class CacheVolumes:
    """The volumes that the caches of a task definition become, each defined once, and the names of all its volumes.

    Args:
        task: The task definition.
        capacity: Where its tasks may run.
        network_mode: Its network mode.

    Attributes:
        names: Names of volumes that it has; ECS refuses two of one name, and CDK writes both.
    """

    def __init__(self, task: ecs.TaskDefinition, capacity: Sequence[Capacity], *, network_mode: object) -> None:
        self.names: set[str] = set()
        self._task = task
        self._capacity = capacity
        # The agent mounts from the network of such a task ("netns" in GetDriverOptions of amazon-ecs-agent).
        self._mounts_from_task = network_mode == "awsvpc"
        self._volumes: dict[CacheStorage, str] = {}
        self._services: list[Runner] = []

    def free_name(self, name: str) -> str:
        """This name, or with a number after it where a volume has it."""
        if name not in self.names:
            return name
        return next(each for each in (f"{name}-{number}" for number in count(2)) if each not in self.names)

    def require_new(self, name: str) -> None:
        """Refuses the name of another volume.

        Raises:
            InvalidValueError: A volume has it.
        """
        if name in self.names:
            raise InvalidValueError(
                "the task has a volume of this name already",
                argument="name",
                value=name,
                fix=f"another name, such as {self.free_name(name)!r}; a cache of add_model_server has its own",
            )

    def volume_of(self, cache: CacheStorage) -> str:
        """The name of the volume of a cache, with permission and a way to it."""
        if cache not in self._volumes:
            name = self.free_name(cache.volume_name(self._task))
            volume = cache.volume(self._capacity, name)
            self._task.add_volume(
                name=name,
                efs_volume_configuration=volume.efs,
                docker_volume_configuration=volume.docker,
                host=volume.host,
            )
            cache.grant(self._task)
            if not self._mounts_from_task:
                for hosts in dict.fromkeys(each.hosts for each in self._capacity):
                    cache.reach_from_hosts(hosts, self._task)
            self._volumes[cache] = name
            for service in self._services:
                ready = self._connected(service, cache)
                if ready is not None:
                    service.node.add_dependency(ready)
        return self._volumes[cache]

    def connect(self, service: Runner) -> list[IDependable]:
        """Lets the tasks of a service or a job reach the caches; those that are added later are connected as well.

        Args:
            service: The service, or the security group of a job.

        Returns:
            What it has to wait for, until they can be mounted.
        """
        self._services.append(service)
        return [ready for cache in self._volumes if (ready := self._connected(service, cache)) is not None]

    def _connected(self, service: Runner, cache: CacheStorage) -> IDependable | None:
        if self._mounts_from_task:
            cache.reach_from_tasks(service)
        return cache.ready


def _root_stack(task: ecs.TaskDefinition) -> cdk.Stack:
    """The stack that is deployed with a task definition; the name of a nested one is not known at synth."""
    stack = cdk.Stack.of(task)
    while (parent := stack.nested_stack_parent) is not None:
        stack = parent
    return stack


def _not_managed(capacity: ManagedGpuCapacity) -> IncompatibleError:
    return IncompatibleError(
        f"{capacity.pool.name} is of ECS Managed Instances, whose tasks take no volume of their host",
        argument="cache",
        value=capacity.pool.name,
        fix="ModelCache.efs(…), or ModelCache.s3_copy(…)",
    )
