"""Where the hosts of a capacity keep container images and scratch data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_constructs.arguments import known_or, whole_number
from gpu_constructs.fleet import Pool
from gpu_constructs.hardware import OperatingSystem

__all__ = ["HostStorage"]

MIN_ROOT_VOLUME_GIB = 30
"""The snapshot behind the ECS-optimized AMIs is 30 GiB; EC2 refuses a smaller volume."""

MAX_ROOT_VOLUME_GIB = 65536
"""Largest gp3 volume (https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStorage:
    """Where hosts keep container images and scratch data.

    Args:
        root_volume_gib: Size in GiB of the encrypted gp3 volume that holds container images; 30 at least. By default
            100: CUDA images want no less.

    Raises:
        InvalidValueError: An argument is wrong by itself.
    """

    root_volume_gib: int = 100

    def __post_init__(self) -> None:
        volume = whole_number(
            "root_volume_gib",
            self.root_volume_gib,
            smallest=MIN_ROOT_VOLUME_GIB,
            largest=MAX_ROOT_VOLUME_GIB,
            unit="GiB",
            fix="root_volume_gib=100; CUDA images want no less",
        )
        object.__setattr__(self, "root_volume_gib", known_or(self.root_volume_gib, volume))

    def require_possible(self, pool: Pool) -> None:
        """Refuses what the hosts of a pool do not have.

        Args:
            pool: What the capacity can launch.
        """

    def boot_commands(self, operating_system: OperatingSystem) -> Sequence[str]:
        """Lines of user data that prepare the disks, in the form of the operating system.

        Args:
            operating_system: Decides the form.
        """
        del operating_system
        return ()
