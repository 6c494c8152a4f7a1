"""The storage behind a cache of models: its volume, permissions and security group rules, one class for each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_efs as efs
from constructs import IDependable
from typing_extensions import override

from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.cluster.capacity.gpu_capacity import require_known_groups
from gpu_constructs.cluster.capacity.host_mounts import HostMount
from gpu_constructs.cluster.capacity.local_disks import SCRATCH_PATH
from gpu_constructs.cluster.managed import ManagedGpuCapacity
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import LocalDiskUse
from gpu_constructs.tasks.task_target import Capacity

if TYPE_CHECKING:
    from aws_cdk import aws_s3 as s3

Runner: TypeAlias = ecs.Ec2Service | ec2.ISecurityGroup
"""What has the connections of tasks with network interfaces: a service, or the group of a job."""

_WEIGHTS = "/models"
# By itself, sync keeps files that left the bucket, and files of an equal size that are newer there: "compare_time" in
# https://github.com/aws/aws-cli/blob/develop/awscli/customizations/s3/syncstrategy/base.py, read on 2026-11-22.
_SYNC = ("--no-progress", "--delete", "--exact-timestamps")


class CacheStorage:
    """What a `ModelCache` stands for in a task: where it is mounted, who may use it and who reaches it."""

    __slots__ = ()

    @property
    def directory(self) -> str | None:
        """The mount path of a bucket; None for the directory in which the server looks for models."""
        return None

    @property
    def is_read_only(self) -> bool:
        """Whether containers may only read it, as they may a bucket that is mounted or copied."""
        return self.directory is not None

    def require_on(self, capacity: Sequence[Capacity]) -> None:
        """Refuses capacity whose hosts cannot have it."""

    def volume(self, capacity: Sequence[Capacity], name: str) -> Mapping[str, Any]:
        """Its volume as arguments of ``add_volume`` of CDK; without any, a volume that lives as long as the task."""
        raise NotImplementedError

    def volume_name(self, task: ecs.TaskDefinition) -> str:  # noqa: ARG002 - the same in every task
        """The name of that volume; Docker shares volumes of one name."""
        return "models"

    def grant(self, task: ecs.TaskDefinition) -> None:
        """Lets the role of a task use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EfsStorage(CacheStorage):
    """A file system of Amazon EFS that tasks mount, or a directory of it with its own user."""

    file_system: efs.IFileSystem
    access_point: efs.IAccessPoint | None

    @override
    def volume(self, capacity: Sequence[Capacity], name: str) -> Mapping[str, Any]:
        point = self.access_point
        settings = ecs.EfsVolumeConfiguration(
            file_system_id=self.file_system.file_system_id,
            transit_encryption="ENABLED",
            authorization_config=ecs.AuthorizationConfig(
                iam="ENABLED", access_point_id=None if point is None else point.access_point_id
            ),
        )
        return {"efs_volume_configuration": settings}

    @override
    def grant(self, task: ecs.TaskDefinition) -> None:
        if self.access_point is None:
            # Without root access, EFS maps root to the user nobody, who may not write there.
            self.file_system.grant_root_access(task.task_role)
        else:
            self.file_system.grant_read_write(task.task_role)

    def require_reached(self, capacity: Sequence[Capacity], *, from_hosts: bool) -> None:
        """Refuses capacity that cannot reach it."""
        for hosts in dict.fromkeys(each.hosts for each in capacity):
            hosts.require_same_vpc(self.file_system, argument="cache")
        if from_hosts:
            require_known_groups(capacity)


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedStorage(CacheStorage):
    """What the hosts mount, by a mount that the capacity must have: FSx for Lustre, or a bucket for reading only."""

    mount: HostMount

    @property
    @override
    def directory(self) -> str | None:
        return None if self.mount.bucket is None else _WEIGHTS

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
    def volume(self, capacity: Sequence[Capacity], name: str) -> Mapping[str, Any]:
        return {"host": ecs.Host(source_path=self.mount.path)}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDisk(CacheStorage):
    """A directory of the host."""

    name: str

    @override
    def require_on(self, capacity: Sequence[Capacity]) -> None:
        for each in capacity:
            if isinstance(each, ManagedGpuCapacity):
                raise _not_managed(each)

    @override
    def volume(self, capacity: Sequence[Capacity], name: str) -> Mapping[str, Any]:
        if any(each.pool.user_data.local_disks is LocalDiskUse.SCRATCH for each in capacity):
            return {"host": ecs.Host(source_path=f"{SCRATCH_PATH}/{self.name}")}
        # Docker keeps it with its images, which may be on local disks, and on Bottlerocket where containers may write.
        shared = ecs.DockerVolumeConfiguration(autoprovision=True, driver="local", scope=ecs.Scope.SHARED)
        return {"docker_volume_configuration": shared}

    @override
    def volume_name(self, task: ecs.TaskDefinition) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketCopy(CacheStorage):
    """The part of a bucket that a container, with an image of the AWS command line, copies before the server starts."""

    bucket: s3.IBucket
    prefix: str
    image: str

    @property
    @override
    def directory(self) -> str:
        return _WEIGHTS

    @property
    def command(self) -> list[str]:
        """What copies, for the AWS command line."""
        return ["s3", "sync", *_SYNC, f"s3://{self.bucket.bucket_name}/{self.prefix}", _WEIGHTS]

    @override
    def volume(self, capacity: Sequence[Capacity], name: str) -> Mapping[str, Any]:
        if any(isinstance(each, ManagedGpuCapacity) for each in capacity):
            return {}
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
    """The volumes that the caches of a task definition become, each defined once, for what runs it now and later."""

    def __init__(
        self,
        task: ecs.TaskDefinition,
        capacity: Sequence[Capacity],
        *,
        network_mode: object,
        runners: Sequence[Runner],
    ) -> None:
        self._task = task
        self._capacity = capacity
        # The agent mounts from the network of such a task ("netns" in GetDriverOptions of amazon-ecs-agent).
        self._mounts_from_task = network_mode == "awsvpc"
        self._volumes: dict[CacheStorage, str] = {}
        self._runners = runners

    def volume_of(self, cache: CacheStorage) -> str:
        """The name of the volume of a cache, with permission and a way to it."""
        if cache not in self._volumes:
            name, taken = cache.volume_name(self._task), self._volumes.values()
            if name in taken:
                name = next(each for each in map(f"{name}-{{}}".format, count(2)) if each not in taken)
            self._task.add_volume(name=name, **cache.volume(self._capacity, name))
            cache.grant(self._task)
            if isinstance(cache, EfsStorage) and not self._mounts_from_task:
                for hosts in dict.fromkeys(each.hosts for each in self._capacity):
                    hosts.let_into(cache.file_system, task=self._task)
            self._volumes[cache] = name
            for runner in self._runners:
                runner.node.add_dependency(*self._connected(runner, cache))
        return self._volumes[cache]

    def connected(self, runner: Runner) -> list[IDependable]:
        """What a runner has to wait for, which can reach the caches then."""
        return [ready for cache in self._volumes for ready in self._connected(runner, cache)]

    def _connected(self, runner: Runner, cache: CacheStorage) -> list[IDependable]:
        if not isinstance(cache, EfsStorage):
            return []
        if self._mounts_from_task and runner.stack == cache.file_system.stack:
            cache.file_system.connections.allow_default_port_from(runner)
        elif self._mounts_from_task:
            # From this side, so that the rule is in the stack that needs the file system anyway.
            runner.connections.allow_to_default_port(cache.file_system)
        return [cache.file_system.mount_targets_available]


def _root_stack(task: ecs.TaskDefinition) -> cdk.Stack:
    """The stack that is deployed with a task definition; the name of a nested one is not known at synth."""
    stack = cdk.Stack.of(task)
    while (parent := stack.nested_stack_parent) is not None:
        stack = parent
    return stack


def _not_managed(capacity: ManagedGpuCapacity) -> IncompatibleError:
    return IncompatibleError(
        f"{capacity.pool.name} is of ECS Managed Instances, which take no Docker volume and no mount of the host",
        argument="cache",
        value=capacity.pool.name,
        fix="ModelCache.efs(…), or ModelCache.s3_copy(…)",
    )
