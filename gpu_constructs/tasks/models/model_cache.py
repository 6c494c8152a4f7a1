"""Where containers keep the models that they load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_constructs.cdk.arguments import of_form
from gpu_constructs.cdk.kinds import checked
from gpu_constructs.cluster.capacity.host_mounts import HostMount, folder
from gpu_constructs.errors import unexpected
from gpu_constructs.facts.values import dataclass
from gpu_constructs.tasks.models.cache_storage import BucketCopy, CacheStorage, EfsStorage, HostDisk, MountedStorage

if TYPE_CHECKING:
    from aws_cdk import aws_efs as efs
    from aws_cdk import aws_fsx as fsx
    from aws_cdk import aws_s3 as s3

_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
# The newest release of https://gallery.ecr.aws/aws-cli/aws-cli that other public projects pinned by 2026-11-21.
_AWS_CLI = "public.ecr.aws/aws-cli/aws-cli:2.36.44"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCache:
    """Where a container keeps models, for `GpuTaskDefinition.add_model_server`.

    Made by one of the class methods:

    | | for | who fills it |
    |---|---|---|
    | `efs` | a few hosts; nothing to prepare | the first task downloads, the others read |
    | `fsx_lustre` | many hosts that load at once | the same, or a bucket that is linked to it |
    | `s3_copy` | weights in a bucket, read at full speed from disk | each host copies them once |
    | `s3_mount` | weights in a bucket, read once from front to back | nothing is copied |
    | `host_disk` | one host, or weights that may be downloaded again | the first task of each host |

    Data is encrypted on its way. At rest it is as the file system, the bucket or the disk is; those that CDK and this
    library make are encrypted.

    Attributes:
        storage: What the class method made.
    """

    storage: CacheStorage

    @staticmethod
    @checked
    def efs(file_system: efs.IFileSystem, *, access_point: efs.IAccessPoint | None = None) -> ModelCache:
        """A file system of Amazon EFS, mounted with TLS and the task role.

        Its security group lets in the hosts, in network mode ``awsvpc`` the service; a task that is run without one
        needs ``file_system.connections.allow_default_port_from(…)`` for its own group. The task role may read and
        write, without an access point as root.

        Args:
            file_system: The file system.
            access_point: A directory of it with its own user. By default the whole file system.
        """
        return ModelCache(storage=EfsStorage(file_system=file_system, access_point=access_point))

    @staticmethod
    @checked
    def fsx_lustre(
        file_system: fsx.IFileSystem, *, path: str = "/mnt/lustre", mount_name: str | None = None
    ) -> ModelCache:
        """A file system of Amazon FSx for Lustre, which the hosts mount.

        The capacity has to mount it: ``storage=HostStorage(mounts=[HostMount.fsx_lustre(file_system)])``.

        Args:
            file_system: The file system.
            path: Where hosts mount it.
            mount_name: The name of one that was imported; see `HostMount.fsx_lustre`.
        """
        return ModelCache(
            storage=MountedStorage(mount=HostMount.fsx_lustre(file_system, path=path, mount_name=mount_name))
        )

    @staticmethod
    @checked
    def s3_mount(bucket: s3.IBucket, *, prefix: str = "", path: str = "/mnt/s3") -> ModelCache:
        """A bucket that the hosts mount through Mountpoint for Amazon S3, for reading only; containers see ``/models``.

        The capacity has to mount it: ``storage=HostStorage(mounts=[HostMount.s3(bucket)])``.

        Args:
            bucket: The bucket.
            prefix: The part of it, such as ``qwen/``. By default all of it.
            path: Where hosts mount it.
        """
        return ModelCache(storage=MountedStorage(mount=HostMount.s3(bucket, prefix=prefix, path=path)))

    @staticmethod
    @checked
    def s3_copy(bucket: s3.IBucket, *, prefix: str = "", image: str = _AWS_CLI) -> ModelCache:
        """A bucket that is copied to ``/models`` before the server starts, by a container that ends before that.

        What a host has already is not copied again, and what left the bucket is deleted there. On ECS Managed
        Instances, each task copies for itself.

        Args:
            bucket: The bucket.
            prefix: The part of it, such as ``qwen/``. By default all of it.
            image: An image with the AWS command line as its entry point.
        """
        if not isinstance(image, str) or not image.strip():
            raise unexpected("image", image, "the name of an image", fix=repr(_AWS_CLI))
        return ModelCache(storage=BucketCopy(bucket=bucket, prefix=folder(prefix), image=image))

    @staticmethod
    @checked
    def host_disk(name: str = "models") -> ModelCache:
        """A directory of the host that all its tasks share and that stays until the host leaves.

        On local NVMe disks where the capacity has ``scratch_on_local_disks`` or ``images_on_local_disks``, else on the
        root volume. Not on ECS Managed Instances.

        Args:
            name: Its name; caches with one name are one.
        """
        what, allowed = "the name of a cache", "letters, digits, _ and -, up to 100"
        of_form("name", name, _NAME, what, allowed=allowed, fix="name='models'", at_synth=True)
        return ModelCache(storage=HostDisk(name=name))
