"""What only an Auto Scaling group says about its hosts, those among them that it keeps prepared."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu_constructs.fleet.unknown import UNKNOWN, Unknown

__all__ = ["GroupSettings", "WarmPool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmPool:
    """Hosts that have booted once and wait, so that the next ones come sooner.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutWarmPool.html

    Attributes:
        state: How they wait: ``Stopped``, ``Running``, ``Hibernated``, or whatever else was written.
        min_size: Hosts that are always prepared.
        max_prepared: Hosts in service and prepared together up to which more are prepared; None is the group's own
            maximum.
        reuse_on_scale_in: Whether a host goes back to the pool when the group shrinks.
    """

    state: str | Unknown = "Stopped"
    min_size: int | Unknown = 0
    max_prepared: int | Unknown | None = None
    reuse_on_scale_in: bool | Unknown = False


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
