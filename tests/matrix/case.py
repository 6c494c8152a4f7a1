"""One combination of the matrix as constructs; who builds it, and where, is not said here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpu_constructs import GpuCluster

__all__ = ["Case"]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One combination.

    Args:
        name: What it is, for whoever reads a failure; unique in its matrix.
        define: Adds it to a cluster, under the construct id that it is given; ids of more constructs begin with it.
        providers: Capacity providers that it adds.
        is_deployed: Whether the emulator takes it; a case that it does not take is in a stack that is not deployed.
    """

    name: str
    define: Callable[[GpuCluster, str], object]
    providers: int = 1
    is_deployed: bool = True
