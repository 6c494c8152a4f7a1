"""A share of one GPU: containers with shares run on the same GPU side by side."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_constructs.cdk.arguments import known_or, whole_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.hardware.aws_limits import MAX_PERCENT

_RULE = "GPU020"


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class GpuShare:
    """A share of one GPU through NVIDIA MPS, for ``add_gpu_container(gpus=GpuShare(memory_mib=4096))``.

    ECS places it by memory alone, on a GPU that it hands to other shares only; all shares of one task are on the same
    GPU. A container that has a share fails with its neighbours: a fatal fault of one, such as an illegal memory access,
    restarts the others.
    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_NvidiaMpsAllocation.html

    Args:
        memory_mib: GPU memory in MiB that the container may take and that is kept for it.
        max_compute_percent: Part of the GPU's compute that it may use, 1 to 100 percent; a limit, not a reservation. By
            default none: it may use what its neighbours leave.

    Raises:
        InvalidValueError: A number is wrong by itself.
    """

    memory_mib: int
    max_compute_percent: int | None = None

    def __post_init__(self) -> None:
        memory = whole_number(
            "memory_mib", self.memory_mib, smallest=1, unit="MiB of one GPU", fix="memory_mib=4096", rule=_RULE
        )
        object.__setattr__(self, "memory_mib", known_or(self.memory_mib, memory))
        if self.max_compute_percent is not None:
            percent = whole_number(
                "max_compute_percent",
                self.max_compute_percent,
                smallest=1,
                largest=MAX_PERCENT,
                unit="percent",
                fix="leave it out for no limit",
                rule=_RULE,
            )
            object.__setattr__(self, "max_compute_percent", known_or(self.max_compute_percent, percent))
