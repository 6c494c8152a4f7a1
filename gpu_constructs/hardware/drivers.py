"""Which NVIDIA driver branch drives which GPU: a table by CUDA compute capability and pure look-ups over it.

A branch is the part of a driver version before the first dot: 580 of 580.178.04. Newer branches drop old
architectures and older ones do not know new architectures, so each row holds a first and a last branch.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DRIVER_SUPPORT", "DriverSupport", "driver_support", "drives"]

_UNIX_LEGACY = "https://www.nvidia.com/en-us/drivers/unix/legacy-gpu/"
_DEPRECATIONS = "NVIDIA's Unix graphics feature deprecation schedule: 580 is the last branch for Maxwell, Pascal, Volta"
_DRIVERS = "https://docs.nvidia.com/datacenter/tesla/drivers/"
_BLACKWELL = "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ (CUDA 12.8 adds Blackwell, its driver is 570)"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverSupport:
    """The driver branches that drive the GPUs of a range of compute capabilities.

    Attributes:
        architecture: NVIDIA's names for the range.
        lowest: First compute capability of the range, as (major, minor).
        highest: Last compute capability of the range.
        source: Where the bounds are from.
        first_branch: First branch that drives it; None where every branch in use today is recent enough.
        last_branch: Last branch that drives it; None where no end is announced.
    """

    architecture: str
    lowest: tuple[int, int]
    highest: tuple[int, int]
    source: str
    first_branch: int | None = None
    last_branch: int | None = None


# As of 2026-11-21. Lower bounds are given only where a published ECS image can be too old for the GPU.
DRIVER_SUPPORT: tuple[DriverSupport, ...] = (
    DriverSupport(architecture="Kepler", lowest=(3, 0), highest=(3, 7), last_branch=470, source=_UNIX_LEGACY),
    DriverSupport(
        architecture="Maxwell, Pascal, Volta", lowest=(5, 0), highest=(7, 2), last_branch=580, source=_DEPRECATIONS
    ),
    DriverSupport(architecture="Turing, Ampere, Ada, Hopper", lowest=(7, 5), highest=(9, 0), source=_DRIVERS),
    DriverSupport(
        architecture="Blackwell, Blackwell Ultra", lowest=(10, 0), highest=(12, 1), first_branch=570, source=_BLACKWELL
    ),
)


def driver_support(compute_capability: tuple[int, int]) -> DriverSupport | None:
    """Find the row of a compute capability.

    Args:
        compute_capability: As (major, minor), such as (8, 9).

    Returns:
        The row, or None for a capability that the table does not know.
    """
    return next((row for row in DRIVER_SUPPORT if row.lowest <= compute_capability <= row.highest), None)


def drives(branch: int, compute_capability: tuple[int, int]) -> bool | None:
    """Tell whether a driver branch drives a GPU.

    Args:
        branch: Driver branch, such as 580.
        compute_capability: As (major, minor), such as (8, 9).

    Returns:
        None if the table does not know the compute capability.
    """
    row = driver_support(compute_capability)
    if row is None:
        return None
    return (row.first_branch is None or row.first_branch <= branch) and (
        row.last_branch is None or branch <= row.last_branch
    )
