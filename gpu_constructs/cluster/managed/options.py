"""What ECS Managed Instances can be asked to be: what a host stores, and who looks after it."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_constructs.cdk.arguments import flag, known_or, whole_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.facts.aws_limits import GP3_MAX_GIB, MAX_IDLE_SECONDS
from gpu_constructs.facts.values import dataclass


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedOperation:
    """How ECS looks after the hosts of Managed Instances.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateManagedInstancesProviderConfiguration.html

    Args:
        automatic_repair: Whether ECS replaces hosts that are impaired, their GPUs included. By default it does.
        scale_in_after_seconds: How long a host may be idle or half empty before ECS ends it, up to 3600; with
            -1 it never does. By default as ECS sees fit.

    Raises:
        InvalidValueError: An argument is wrong by itself.
    """

    automatic_repair: bool = True
    scale_in_after_seconds: int | None = None

    def __post_init__(self) -> None:
        flag("automatic_repair", self.automatic_repair)
        if self.scale_in_after_seconds is not None:
            seconds = whole_number(
                "scale_in_after_seconds",
                self.scale_in_after_seconds,
                smallest=-1,
                largest=MAX_IDLE_SECONDS,
                unit="seconds, -1 for never",
                fix="leave it out for ECS's own default",
            )
            object.__setattr__(self, "scale_in_after_seconds", known_or(self.scale_in_after_seconds, seconds))

    def provider_data(self) -> Mapping[str, object]:
        """What it adds to the ``ManagedInstancesProvider``, where aws-cdk-lib 2.275 has no words for it."""
        repair = {"AutoRepairConfiguration": {"ActionsStatus": "ENABLED" if self.automatic_repair else "DISABLED"}}
        if self.scale_in_after_seconds is None:
            return repair
        return {**repair, "InfrastructureOptimization": {"ScaleInAfter": self.scale_in_after_seconds}}


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
