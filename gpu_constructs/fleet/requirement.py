"""What a container asks of the accelerators, and the roles that its task acts with."""

from __future__ import annotations

import re

from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet.unknown import UNKNOWN, Unknown

GPU = "GPU"
NEURON_DEVICE = "NeuronDevice"

_WHOLE = re.compile(r"[1-9][0-9]{0,5}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NvidiaMps:
    """A share of one GPU through NVIDIA MPS: ``sharingStrategy.nvidiaMps`` of the ECS API.

    Attributes:
        memory_mib: GPU memory in MiB that placement counts and the container may take; None if it was not written.
        max_compute_percent: Limit of compute, 1 to 100, which reserves nothing; None if it was not written.
    """

    memory_mib: int | Unknown | None = None
    max_compute_percent: int | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRequirement:
    """One entry of ``resourceRequirements``, kept as it was written so that a rule can quote it.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ResourceRequirement.html

    Attributes:
        type: ``GPU``, ``NeuronDevice``, ``InferenceAccelerator``, or whatever else was written.
        value: ``"2"``, ``"ALL"``, ``"0.25"``, or whatever else was written; None if nothing was.
        nvidia_mps: The share of a GPU, where the sharing strategy is MPS.
        unknown_keys: Keys that the API does not have, such as ``count``.
        is_number: Whether the value is written as a number outside of a template: CloudFormation makes a string of it.
    """

    type: str | Unknown = GPU
    value: str | Unknown | None = None
    nvidia_mps: NvidiaMps | None = None
    unknown_keys: tuple[str, ...] = ()
    is_number: bool = False

    @classmethod
    def gpus(cls, count: int | Unknown) -> ResourceRequirement:
        """Whole GPUs that the container has to itself, 1 or more."""
        return cls(value=count if isinstance(count, Unknown) else str(count))

    @property
    def whole(self) -> int | None:
        """Whole devices, where the value is a positive integer."""
        return int(self.value) if isinstance(self.value, str) and _WHOLE.fullmatch(self.value) else None

    @property
    def part(self) -> float | None:
        """The part of a GPU, where the value is a decimal between 0 and 1 (hosts of G6f and Gr6f)."""
        if not isinstance(self.value, str) or not re.fullmatch(r"0?\.[0-9]{1,9}", self.value):
            return None
        return float(self.value) or None

    @property
    def is_all(self) -> bool:
        """Whether every device of the host is asked for."""
        return self.value == "ALL"

    @property
    def devices(self) -> int | Unknown:
        """Whole devices that placement reserves; unknown for ``ALL`` and tokens, 0 for parts, shares and mistakes."""
        if self.is_all or isinstance(self.value, Unknown):
            return UNKNOWN
        return self.whole or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuNeeds:
    """What a container needs of each of its GPUs; ECS has no word for it and places without regard to it.

    Attributes:
        memory_mib: Memory of each GPU in MiB at least.
        compute_capability: CUDA compute capability at least, as (major, minor).
        compute_features: The letter of what its code was compiled for, as in ``sm_90a`` or ``sm_100f``: ``a`` where it
            runs on that compute capability alone, ``f`` where it runs on its family; empty where later GPUs run it too.
        precision: The narrowest number format that it computes in, such as ``bf16`` or ``fp8``.
        nvlink: Whether its GPUs must be joined by NVLink, as tensor parallelism over several wants it.
    """

    memory_mib: int | None = None
    compute_capability: tuple[int, int] | None = None
    compute_features: str = ""
    precision: str | None = None
    nvlink: bool = False
