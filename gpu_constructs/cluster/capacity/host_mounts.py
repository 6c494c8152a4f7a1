"""Shared storage that the hosts of a capacity mount, so that tasks find it in a directory of their host.

ECS itself mounts EFS only. Lustre is mounted "from the Amazon EC2 instance that is hosting your Amazon ECS tasks"
(https://docs.aws.amazon.com/fsx/latest/LustreGuide/mounting-ecs.html), and Mountpoint for Amazon S3 with
``--allow-other``, since a container that mounts it for itself needs more privileges and its siblings do not see it
(https://github.com/awslabs/mountpoint-s3/issues/472). Both packages are in the repositories of Amazon Linux 2023:
https://docs.aws.amazon.com/fsx/latest/LustreGuide/install-lustre-client.html and
https://docs.aws.amazon.com/AmazonS3/latest/userguide/mountpoint-installation.html, read on 2026-11-22.

A unit of systemd mounts at every boot. The ECS agent requires it, so that a host without its mounts takes no task.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, cast

from gpu_constructs.cdk.arguments import of_form
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.tokens import known_parts
from gpu_constructs.cluster.capacity.local_disks import MOUNT_POINT, required_lines
from gpu_constructs.cluster.hosts.shared_hosts import SharedHosts
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.facts.values import dataclass

if TYPE_CHECKING:
    from aws_cdk import aws_fsx as fsx
    from aws_cdk import aws_s3 as s3

_PATH = rf"(?!{MOUNT_POINT})/mnt(?:/[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}){{1,4}}"
# A command takes what begins with - for an option.
_PREFIX = r"(?!/*-)[A-Za-z0-9._=/-]{0,512}"
# The known parts of a name that goes into the script, which root runs.
_NAME = r"(?!-)(?:[A-Za-z0-9._-]|\{\{resolve:[A-Za-z0-9._:/-]+\}\}|dummy-value-for-[A-Za-z0-9._/-]+)*"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMount:
    """Shared storage that every host of a capacity mounts, for `HostStorage`.

    Made by one of the class methods. A `ModelCache` of the same storage is found there by its containers; any other
    container finds it through a volume of its host::

        task.add_volume(name="data", host=ecs.Host(source_path=mount.path))

    On Amazon Linux 2023, with a way to its package repositories.

    Attributes:
        path: The directory of a host.
        package: The package that mounts it.
        command: What mounts it; names in it may be tokens.
        file_system: The file system; None for a bucket.
        bucket: The bucket; None for a file system.
        prefix: The part of the bucket, which ends with ``/``; empty for all of it.
    """

    path: str
    package: str
    command: str = field(repr=False, compare=False)
    file_system: fsx.IFileSystem | None = None
    bucket: s3.IBucket | None = None
    prefix: str = ""

    @classmethod
    @checked
    def fsx_lustre(
        cls, file_system: fsx.IFileSystem, *, path: str = "/mnt/lustre", mount_name: str | None = None
    ) -> HostMount:
        """A file system of Amazon FSx for Lustre, which tasks may read and write. It lets the hosts in.

        Args:
            file_system: The file system.
            path: Where hosts mount it.
            mount_name: For an imported file system, the name that ``describe-file-systems`` prints.
        """
        _require_path(path)
        system = cast("fsx.LustreFileSystem", file_system)
        if mount_name is None and not hasattr(type(system), "mount_name"):
            raise InvalidValueError(
                "a file system that was imported does not say its mount name",
                argument="mount_name",
                fix="mount_name='…', the MountName that aws fsx describe-file-systems prints",
            )
        name, host = (system.mount_name if mount_name is None else mount_name), system.dns_name
        printed = "the MountName that aws fsx describe-file-systems prints"
        what, allowed = "the mount name of a file system", "1 to 8 letters, digits, _ and -"
        of_form("mount_name", name, r"[A-Za-z0-9_-]{1,8}", what, allowed=allowed, fix=printed)
        _require_name("mount_name", name, "the mount name of a file system")
        _require_name("file_system", host, "the DNS name of a file system")
        command = f"mount -t lustre -o relatime,flock {shlex.quote(f'{host}@tcp:/{name}')} {path}"
        return cls(path=path, package="lustre-client", command=command, file_system=file_system)

    @classmethod
    @checked
    def s3(cls, bucket: s3.IBucket, *, prefix: str = "", path: str = "/mnt/s3") -> HostMount:
        """A bucket, which tasks may read, through Mountpoint for Amazon S3. The role of the hosts may read it.

        Args:
            bucket: The bucket.
            prefix: The part of it that is mounted, such as ``models/``. By default all of it.
            path: Where hosts mount it.
        """
        _require_path(path)
        prefix, name = folder(prefix), bucket.bucket_name
        _require_name("bucket", name, "the name of a bucket")
        part = f" --prefix {shlex.quote(prefix)}" if prefix else ""
        command = f"mount-s3 --read-only --allow-other{part} {shlex.quote(name)} {path}"
        return cls(path=path, package="mount-s3", command=command, bucket=bucket, prefix=prefix)

    def require_near(self, hosts: SharedHosts) -> None:
        """Refuses a file system that is certain to be in another VPC."""
        if self.file_system is not None:
            hosts.require_same_vpc(self.file_system, argument="mounts")

    def let_in(self, hosts: SharedHosts) -> None:
        """Lets the hosts reach and read it."""
        if self.bucket is not None:
            self.bucket.grant_read(hosts.role, f"{self.prefix}*" if self.prefix else None)
        if self.file_system is not None:
            # From the side of the hosts, so that the rule is in their stack, which needs the file system anyway.
            hosts.security_group.connections.allow_to_default_port(self.file_system)


def _require_path(path: str) -> None:
    what, allowed = "a directory that hosts mount storage on", f"a directory below /mnt, other than {MOUNT_POINT}"
    of_form("path", path, _PATH, what, allowed=allowed, fix="path='/mnt/models'", at_synth=True)


def folder(prefix: str) -> str:
    """A part of a bucket that ends with ``/``, as a folder does."""
    allowed = "letters, digits and ._=/-, known at synth, not - at the beginning"
    of_form("prefix", prefix, _PREFIX, "a folder of a bucket", allowed=allowed, fix="prefix='models/'", at_synth=True)
    return f"{prefix.strip('/')}/" if prefix.strip("/") else ""


def _require_name(argument: str, name: str, kind: str) -> None:
    allowed, fix = "letters, digits and ._-, not - at the beginning", "the name that AWS shows"
    of_form(argument, known_parts(name), _NAME, kind, allowed=allowed, fix=fix, at_synth=True)


def prepare_mounts(mounts: Sequence[HostMount]) -> tuple[str, ...]:
    """Lines of user data that mount storage at this boot and at every later one."""
    if not mounts:
        return ()
    each = (f"mkdir -p {one.path}\nmountpoint -q {one.path} || {one.command}" for one in mounts)
    script = ("#!/bin/bash", "set -euo pipefail", *each)
    return (
        f"dnf install -q -y {' '.join(dict.fromkeys(one.package for one in mounts))}",
        *required_lines("host-mounts", "Shared storage for containers", script, before="ecs.service"),
        # The start of the agent, which waits for the end of user data, does not know yet that it needs the mounts.
        "systemctl stop ecs.service",
        "systemctl enable --now host-mounts.service",
        "systemctl start --no-block ecs.service",
    )
