"""What a capacity was asked to be, checked before anything is made of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2

from gpu_constructs.arguments import known_or, whole_number
from gpu_constructs.errors import InvalidValueError, argument_named, shown
from gpu_constructs.fleet import UNKNOWN, Pool, Unknown, require_one_shape
from gpu_constructs.hardware import InstanceType, instance_type
from gpu_constructs.images import GpuMachineImage
from gpu_constructs.tokens import is_list_token, is_token

__all__ = ["CapacityPlan", "plan_capacity"]

MIN_ROOT_VOLUME_GIB = 30
"""The snapshot behind the ECS-optimized AMIs is 30 GiB; EC2 refuses a smaller volume."""

MAX_ROOT_VOLUME_GIB = 65536
"""Largest gp3 volume (https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html)."""

MAX_INSTANCE_WARMUP_SECONDS = 10000
"""ManagedScaling.instanceWarmupPeriod of the ECS API."""

# CUDA images of several GB on a host that first loads its driver: the default of 300 s would let managed scaling take
# a second step before the first hosts have registered.
_GPU_WARMUP_SECONDS = 600
_CPU_WARMUP_SECONDS = 300

_RESERVED_NAME = re.compile(r"aws|ecs|fargate", re.IGNORECASE)
_PROVIDER_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """A capacity that may be made: every argument is either right or a token.

    Attributes:
        pool: What it can launch.
        machine_image: The image of its hosts.
        instance_types: Names as given, tokens among them, each once.
        min_instances: As given.
        max_instances: As given.
        root_volume_gib: Size of the volume that holds container images.
        capacity_provider_name: As given; None lets CloudFormation make one.
        instance_warmup_seconds: As given, or the default for the shape.
        managed_termination_protection: As given.
    """

    pool: Pool
    machine_image: GpuMachineImage
    instance_types: tuple[str, ...]
    min_instances: int
    max_instances: int
    root_volume_gib: int
    capacity_provider_name: str | None
    instance_warmup_seconds: int
    managed_termination_protection: bool


def plan_capacity(
    name: str,
    *,
    instance_types: Sequence[str],
    max_instances: int,
    min_instances: int = 0,
    image: GpuMachineImage | None = None,
    root_volume_gib: int = 100,
    capacity_provider_name: str | None = None,
    instance_warmup_seconds: int | None = None,
    managed_termination_protection: bool = False,
    region: str | None = None,
) -> CapacityPlan:
    """Checks everything that can be seen before a resource exists.

    The arguments are those of `GpuCluster.add_capacity`; `name` is the construct id, `region` where the stack goes, or
    None where that is only known at deploy time.

    Raises:
        UnknownNameError: An instance type does not exist.
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: The types cannot be in one pool, or no image drives them.
    """
    names, known = _types(instance_types)
    if len(known) < len(names) and image is None:
        raise InvalidValueError(
            "an instance type that is only known at deploy time does not say which image drives it",
            argument="instance_types",
            value=list(names),
            fix="take the type from context instead of a parameter, or give image=…",
        )
    require_one_shape(known, argument="instance_types")
    with argument_named("instance_types"):
        chosen = image if image is not None else GpuMachineImage.for_types(known)
    if not isinstance(chosen, GpuMachineImage):
        raise InvalidValueError(
            f"expects a GpuMachineImage, got {shown(chosen)}",
            argument="image",
            value=chosen,
            fix="GpuMachineImage.pinned('al2023-gpu'), .newest('al2023-gpu') or .custom(…)",
        )
    chosen.require_drives(known)
    volume = whole_number(
        "root_volume_gib",
        root_volume_gib,
        smallest=MIN_ROOT_VOLUME_GIB,
        largest=MAX_ROOT_VOLUME_GIB,
        unit="GiB",
        fix="root_volume_gib=100; CUDA images want no less",
    )
    _require_provider_name(capacity_provider_name)
    if type(managed_termination_protection) is not bool:
        raise InvalidValueError(
            f"expects True or False, got {shown(managed_termination_protection)}",
            argument="managed_termination_protection",
            value=managed_termination_protection,
            fix="leave it out",
        )
    low = whole_number("min_instances", min_instances, smallest=0, unit="hosts", fix="min_instances=0")
    high = whole_number("max_instances", max_instances, smallest=1, unit="hosts", fix="max_instances=1")
    pool = Pool(
        name=name,
        instance_types=known,
        image=chosen.host_image,
        min_instances=low,
        max_instances=high,
        region=region,
        managed_termination_protection=managed_termination_protection,
        has_unknown_types=len(known) < len(names),
        provider=UNKNOWN if is_token(capacity_provider_name) else capacity_provider_name,
    )
    if _contradict(pool):
        raise InvalidValueError(
            f"{min_instances} hosts at least and {max_instances} at most contradict each other",
            argument="min_instances",
            value=min_instances,
            allowed=f"0 to {max_instances}",
            fix=f"max_instances={min_instances}, or a smaller min_instances",
        )
    return CapacityPlan(
        pool=pool,
        machine_image=chosen,
        instance_types=names,
        min_instances=known_or(min_instances, low),
        max_instances=known_or(max_instances, high),
        root_volume_gib=known_or(root_volume_gib, volume),
        capacity_provider_name=capacity_provider_name,
        instance_warmup_seconds=_warmup(instance_warmup_seconds, pool),
        managed_termination_protection=managed_termination_protection,
    )


def _types(instance_types: Sequence[str]) -> tuple[tuple[str, ...], tuple[InstanceType, ...]]:
    if isinstance(instance_types, str) or not isinstance(instance_types, Sequence) or not instance_types:
        split = [each.strip() for each in instance_types.split(",")] if isinstance(instance_types, str) else None
        raise InvalidValueError(
            f"expects a list with at least one instance type, got {shown(instance_types)}",
            argument="instance_types",
            value=instance_types,
            fix=f"{split!r}" if split and all(split) else "a list in the order of preference, such as ['g6.xlarge']",
        )
    if any(is_list_token(each) for each in instance_types):
        raise InvalidValueError(
            "a list that is only known at deploy time cannot become the overrides of an Auto Scaling group",
            argument="instance_types",
            fix="take the types from context instead of a parameter",
        )
    for each in instance_types:
        if isinstance(each, ec2.InstanceType):
            raise InvalidValueError(
                "expects names, got an ec2.InstanceType",
                argument="instance_types",
                value=each,
                fix=f"{each.to_string()!r}",
            )
    with argument_named("instance_types"):
        known = tuple(instance_type(each) for each in instance_types if not is_token(each))
    return tuple(dict.fromkeys(instance_types)), tuple(dict.fromkeys(known))


def _contradict(pool: Pool) -> bool:
    low, high = pool.min_instances, pool.max_instances
    return not isinstance(low, Unknown) and not isinstance(high, Unknown) and low > high


def _warmup(seconds: int | None, pool: Pool) -> int:
    if seconds is None:
        return _GPU_WARMUP_SECONDS if pool.shape is None or pool.shape.vendor else _CPU_WARMUP_SECONDS
    warmup = whole_number(
        "instance_warmup_seconds",
        seconds,
        smallest=0,
        largest=MAX_INSTANCE_WARMUP_SECONDS,
        unit="seconds",
        fix=f"instance_warmup_seconds={_GPU_WARMUP_SECONDS}",
    )
    return known_or(seconds, warmup)


def _require_provider_name(value: str | None) -> None:
    # https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateCapacityProvider.html
    if value is None or (isinstance(value, str) and is_token(value) and not _RESERVED_NAME.match(value)):
        return
    if not isinstance(value, str) or not _PROVIDER_NAME.fullmatch(value) or _RESERVED_NAME.match(value):
        raise InvalidValueError(
            f"ECS takes no capacity provider called {shown(value)}",
            argument="capacity_provider_name",
            value=value,
            allowed="1 to 255 letters, digits, hyphens and underscores, not beginning with aws, ecs or fargate",
            fix="leave it out, and CloudFormation makes a name that is never taken",
        )
