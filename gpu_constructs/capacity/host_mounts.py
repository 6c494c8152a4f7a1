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

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_s3 as s3

from gpu_constructs.capacity.local_disks import MOUNT_POINT
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.hosts.cluster_hosts import ClusterHosts

__all__ = ["HostMount", "folder", "prepare_mounts"]

_PATH = re.compile(r"/mnt(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,63}){1,4}")
_MOUNT_NAME = re.compile(r"[A-Za-z0-9_-]{1,8}")
_PREFIX = re.compile(r"[A-Za-z0-9._=/-]{0,512}")
_SCRIPT = "/usr/local/sbin/host-mounts"
_UNIT = f"""\
[Unit]
Description=Shared storage for containers
Wants=network-online.target
After=network-online.target
Before=ecs.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={_SCRIPT}
[Install]
RequiredBy=ecs.service"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMount:
    """Shared storage that every host of a capacity mounts, for `HostStorage`.

    Made by one of the class methods. A `ModelCache` of the same storage is found there by its containers; any other
    container finds it through a volume of its host::

        task.add_volume(name="data", host=ecs.Host(source_path=mount.path))

    On Amazon Linux 2023, with a way to its package repositories.

    Attributes:
        path: The directory of a host.
        file_system: The file system; None for a bucket.
        mount_name: The name of a file system that was imported.
        bucket: The bucket; None for a file system.
        prefix: The part of the bucket, which ends with ``/``; empty for all of it.
    """

    path: str
    file_system: fsx.IFileSystem | None = None
    mount_name: str | None = None
    bucket: s3.IBucket | None = None
    prefix: str = ""

    def __post_init__(self) -> None:
        path = self.path
        if not isinstance(path, str) or not _PATH.fullmatch(path) or path.startswith(MOUNT_POINT):
            raise InvalidValueError(
                f"{shown(path)} is not a directory that hosts mount storage on",
                argument="path",
                value=path,
                allowed=f"a directory below /mnt, other than {MOUNT_POINT}",
                fix="path='/mnt/models'",
            )

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

        Raises:
            InvalidValueError: An argument is wrong by itself, or an imported file system has no `mount_name`.
        """
        if mount_name is None and not isinstance(file_system, fsx.LustreFileSystem):
            raise InvalidValueError(
                "a file system that was imported does not say its mount name",
                argument="mount_name",
                fix="mount_name='…', the MountName that aws fsx describe-file-systems prints",
            )
        if mount_name is not None and not is_token(mount_name) and not _MOUNT_NAME.fullmatch(str(mount_name)):
            raise InvalidValueError(
                f"{shown(mount_name)} is not the mount name of a file system",
                argument="mount_name",
                value=mount_name,
                allowed="1 to 8 letters, digits, _ and -",
                fix="the MountName that aws fsx describe-file-systems prints",
            )
        return cls(path=path, file_system=file_system, mount_name=mount_name)

    @classmethod
    @checked
    def s3(cls, bucket: s3.IBucket, *, prefix: str = "", path: str = "/mnt/s3") -> HostMount:
        """A bucket, which tasks may read, through Mountpoint for Amazon S3. The role of the hosts may read it.

        Args:
            bucket: The bucket.
            prefix: The part of it that is mounted, such as ``models/``. By default all of it.
            path: Where hosts mount it.

        Raises:
            InvalidValueError: An argument is wrong by itself.
        """
        return cls(path=path, bucket=bucket, prefix=folder(prefix))

    @property
    def package(self) -> str:
        """The package that mounts it."""
        return "lustre-client" if self.bucket is None else "mount-s3"

    @property
    def command(self) -> str:
        """What mounts it; names in it may be tokens."""
        if self.bucket is not None:
            part = f" --prefix {self.prefix}" if self.prefix else ""
            return f"mount-s3 --read-only --allow-other{part} {self.bucket.bucket_name} {self.path}"
        system = cast("fsx.LustreFileSystem", self.file_system)
        name = self.mount_name or system.mount_name
        return f"mount -t lustre -o relatime,flock {system.dns_name}@tcp:/{name} {self.path}"

    def let_in(self, hosts: ClusterHosts) -> None:
        """Lets the hosts reach and read it.

        Args:
            hosts: What the hosts of the cluster share.
        """
        if self.bucket is not None:
            self.bucket.grant_read(hosts.role, f"{self.prefix}*" if self.prefix else None)
        if self.file_system is not None:
            # From the side of the hosts, so that the rule is in their stack, which needs the file system anyway.
            hosts.security_group.connections.allow_to_default_port(self.file_system)


def folder(prefix: str) -> str:
    """A part of a bucket that ends with ``/``, as a folder does.

    Raises:
        InvalidValueError: It is not text, or has characters that a shell reads in its own way.
    """
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise InvalidValueError(
            f"{shown(prefix)} is not a folder of a bucket",
            argument="prefix",
            value=prefix,
            allowed="letters, digits and ._=/-, known at synth",
            fix="prefix='models/'",
        )
    return f"{prefix.strip('/')}/" if prefix.strip("/") else ""


def prepare_mounts(mounts: Sequence[HostMount]) -> tuple[str, ...]:
    """Lines of user data that mount storage at this boot and at every later one.

    Args:
        mounts: What is mounted.
    """
    if not mounts:
        return ()
    each = (f"mkdir -p {one.path}\nmountpoint -q {one.path} || {one.command}" for one in mounts)
    return (
        f"dnf install -q -y {' '.join(dict.fromkeys(one.package for one in mounts))}",
        f"cat <<'EOF' > {_SCRIPT}",
        "#!/bin/bash",
        "set -euo pipefail",
        *each,
        "EOF",
        f"chmod +x {_SCRIPT}",
        "cat <<'EOF' > /etc/systemd/system/host-mounts.service",
        _UNIT,
        "EOF",
        "systemctl daemon-reload",
        # The start of the agent, which waits for the end of user data, does not know yet that it needs the mounts.
        "systemctl stop ecs.service",
        "systemctl enable --now host-mounts.service",
        "systemctl start --no-block ecs.service",
    )
