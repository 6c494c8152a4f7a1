"""What only an Auto Scaling group says about its hosts."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu_constructs.fleet.unknown import UNKNOWN, Unknown
from gpu_constructs.fleet.warm_pool import WarmPool

__all__ = ["GroupSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """What only an Auto Scaling group says about its hosts.

    Attributes:
        warm_pool: The hosts that it keeps prepared; None without.
        checks_gpus: Whether a host with fewer GPUs than its type should have never takes tasks.
        name: Its unique name, by which two providers of one group are found: the logical id, after the name of its
            stack where two stacks have the same one. None where the files that were read do not define a group.
        desired_instances: Hosts that it is set to; None if nothing was written.
        scale_in_protection: Whether it protects new hosts from scale-in, which managed termination protection needs;
            only templates say so.
    """

    warm_pool: WarmPool | None = None
    checks_gpus: bool = False
    name: str | None = field(default=None, compare=False)
    desired_instances: int | Unknown | None = field(default=None, compare=False)
    scale_in_protection: bool | Unknown = field(default=UNKNOWN, compare=False)
