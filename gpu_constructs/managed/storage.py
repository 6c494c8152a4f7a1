"""Where hosts of ECS Managed Instances keep container images and scratch data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_constructs.cdk.arguments import flag, known_or, whole_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.hardware.aws_limits import GP3_MAX_GIB


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedStorage:
    """Where hosts of ECS Managed Instances keep container images, logs and scratch data.

    Args:
        volume_gib: Size of the data volume in GiB. By default 100: CUDA images want no less, and ECS's own default is
            80.
        local_disks: Whether the local disks of the host are used instead, joined to one volume; only types that have
            some are launched then. By default not.

    Raises:
        InvalidValueError: An argument is wrong by itself.
    """

    volume_gib: int = 100
    local_disks: bool = False

    def __post_init__(self) -> None:
        volume = whole_number(
            "volume_gib", self.volume_gib, smallest=1, largest=GP3_MAX_GIB, unit="GiB", fix="volume_gib=100"
        )
        object.__setattr__(self, "volume_gib", known_or(self.volume_gib, volume))
        flag("local_disks", self.local_disks)

    def template_data(self) -> Mapping[str, object]:
        """What it adds to the ``InstanceLaunchTemplate``."""
        if self.local_disks:
            # "EBS volumes are not provisioned for data storage"
            # (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ManagedInstancesLocalStorageConfiguration.html)
            return {"LocalStorageConfiguration": {"UseLocalStorage": True}}
        return {"StorageConfiguration": {"StorageSizeGiB": self.volume_gib}}
