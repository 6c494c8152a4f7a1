"""Hosts that an Auto Scaling group keeps prepared."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_constructs.fleet.unknown import Unknown

__all__ = ["WarmPool"]


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
