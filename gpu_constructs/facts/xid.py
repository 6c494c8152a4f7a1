"""Xid errors: what the NVIDIA driver reports of a GPU in the kernel log, and whether the host has to be replaced.

Numbers and meanings are NVIDIA's: https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html. Which of them
make a host unfit is what ECS itself goes by, in the code of its agent (https://github.com/aws/amazon-ecs-agent/pull/5044
and 5070, read on 2026-11-21).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gpu_constructs.facts.values import dataclass


@dataclass(frozen=True, slots=True)
class Xid:
    """One kind of error.

    Attributes:
        number: Its number in the kernel log.
        meaning: What happened, in NVIDIA's words.
    """

    number: int
    meaning: str


_FATAL = {
    46: "GPU stopped processing",
    48: "double bit ECC error",
    54: "auxiliary power is not connected to the GPU board",
    62: "internal micro-controller halt",
    64: "GPU memory remapping failure",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    95: "uncontained memory error",
    109: "context switch timeout",
    110: "security fault",
    136: "link training failed",
    140: "unrecovered ECC error",
    142: "NVENC3 error",
    143: "GPU initialization error",
    151: "key rotation error",
    155: "NVLink error defined by software",
    156: "resource retirement event",
    158: "GPU fatal timeout",
}
_APPLICATION = {
    8: "GPU stopped processing",
    11: "invalid or corrupted push buffer stream",
    13: "graphics engine exception",
    25: "invalid or illegal push buffer stream",
    31: "GPU memory page fault",
    32: "invalid or corrupted push buffer stream",
    **dict.fromkeys((39, 40, 41), "copy engine exception"),
    60: "video processor exception",
    69: "graphics engine class error",
    80: "corrupted data sent to the GPU",
    94: "contained memory error",
    **dict.fromkeys((70, 71, 72, 75, 76, 77, 85, *range(126, 136)), "copy engine error"),
    **dict.fromkeys((68, 83, 84, 88, 89, 96, 97, 98), "video decoder error"),
    **dict.fromkeys((82, *range(99, 106)), "image decoder error"),
    **dict.fromkeys((86, 139), "optical flow accelerator error"),
}
# ECS does not look at these. After 119 and 120, NVIDIA advises a reset of the GPU where work does not go on.
_OTHER = {
    43: "GPU stopped processing",
    45: "cleanup after earlier errors, or after a process that was killed",
    61: "internal micro-controller breakpoint or warning",
    63: "GPU memory remapping event",
    92: "high single-bit ECC error rate",
    119: "GSP RPC timeout",
    120: "GSP error",
}

XIDS: Mapping[int, Xid] = MappingProxyType(
    {number: Xid(number, meaning) for number, meaning in sorted({**_FATAL, **_APPLICATION, **_OTHER}.items())}
)
"""Those that something is known of, by number."""

FATAL_XIDS: tuple[int, ...] = tuple(sorted(_FATAL))
"""After which the host has to be replaced: ECS takes the GPU for failed, and only a reset or other hardware helps."""
APPLICATION_XIDS: tuple[int, ...] = tuple(sorted(_APPLICATION))
"""After which the application has to be restarted: ECS counts them and leaves the host alone."""
