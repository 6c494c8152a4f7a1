"""How fast hosts come and how they leave: ECS managed scaling and the hosts that are kept prepared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import aws_autoscaling as autoscaling
from constructs import Construct

from gpu_constructs.arguments import whole_number
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import Pool, WarmPool

__all__ = ["MAX_INSTANCE_WARMUP_SECONDS", "HostScaling"]

MAX_INSTANCE_WARMUP_SECONDS = 10000
"""ManagedScaling.instanceWarmupPeriod of the ECS API."""

# CUDA images of several GB on a host that first loads its driver: the default of 300 s would let managed scaling take
# a second step before the first hosts have registered.
_GPU_WARMUP_SECONDS = 600
_CPU_WARMUP_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class HostScaling:
    """How ECS managed scaling moves the hosts of a capacity.

    Args:
        instance_warmup_seconds: How long a new host counts as on its way. By default 600 with accelerators, whose
            images and drivers take minutes, and 300 without.
        managed_termination_protection: Whether hosts with tasks are protected from scale-in. By default not: managed
            draining already lets their tasks end, and protected hosts keep a stack from being deleted.
        warm_pool: Hosts that are kept prepared. By default none.

    Raises:
        InvalidValueError: An argument is wrong by itself.
    """

    instance_warmup_seconds: int | None = None
    managed_termination_protection: bool = False
    warm_pool: WarmPool | None = None

    def __post_init__(self) -> None:
        if self.instance_warmup_seconds is not None:
            whole_number(
                "instance_warmup_seconds",
                self.instance_warmup_seconds,
                smallest=0,
                largest=MAX_INSTANCE_WARMUP_SECONDS,
                unit="seconds",
                fix=f"instance_warmup_seconds={_GPU_WARMUP_SECONDS}",
            )
        if type(self.managed_termination_protection) is not bool:
            raise InvalidValueError(
                f"expects True or False, got {shown(self.managed_termination_protection)}",
                argument="managed_termination_protection",
                value=self.managed_termination_protection,
                fix="leave it out",
            )

    def require_possible(self, pool: Pool) -> None:
        """Refuses what contradicts the capacity.

        Args:
            pool: What the capacity can launch, this scaling included.

        Raises:
            IncompatibleError: AWS refuses it with something else of the capacity.
        """

    def warmup_of(self, pool: Pool) -> int:
        """How long a new host of a pool counts as on its way, in seconds.

        Args:
            pool: What is launched.
        """
        if self.instance_warmup_seconds is None:
            return _GPU_WARMUP_SECONDS if pool.shape is None or pool.shape.vendor else _CPU_WARMUP_SECONDS
        return self.instance_warmup_seconds

    def agent_settings(self) -> Mapping[str, str]:
        """What it adds to the settings of the ECS agent, by the names of its variables."""
        return {}

    def add_to(self, scope: Construct, group: autoscaling.AutoScalingGroup) -> None:
        """Defines what it needs beside the Auto Scaling group.

        Args:
            scope: The capacity.
            group: Its Auto Scaling group.
        """
