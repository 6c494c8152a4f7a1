"""What a container asks of the GPUs of its host: whole ones, all of them, the part that there is, or a share of one.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu-specifying.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import aws_cdk as cdk

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.cdk.tokens import is_list_token, is_token
from gpu_constructs.errors import GpuConstructsError, IncompatibleError
from gpu_constructs.fleet import GPU, UNKNOWN, Container, NvidiaMps, Pool, ResourceRequirement, Task, Unknown
from gpu_constructs.hardware import InstanceType, Vendor
from gpu_constructs.placement.machine import LEAST_CAPABILITY, why_too_old
from gpu_constructs.rules.tasks.sharing import NEW_ENOUGH
from gpu_constructs.tasks.gpu_share import GpuShare

__all__ = ["GpuAsk", "Gpus", "ask_for", "require_gpu_pools", "require_one_way", "require_shareable"]

Gpus: TypeAlias = float | Literal["ALL"] | GpuShare

_ALL = "ALL"
_FIX = "gpus=1, 'ALL' for every GPU of the host, GpuShare(memory_mib=4096) for a share of one, or 0.25 on g6f.2xlarge"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuAsk:
    """What is asked of GPUs, in the fleet's words and in CloudFormation's.

    Attributes:
        requirement: The entry of ``resourceRequirements``.
        gpu_count: The same as CDK's ``gpu_count``; None where that cannot say it.
        written: The entry as CloudFormation takes it, where CDK cannot write it: ``ALL``, a share, a token.
    """

    requirement: ResourceRequirement
    gpu_count: float | None = None
    written: Mapping[str, object] | None = None


def ask_for(gpus: Gpus) -> GpuAsk:
    """Reads the argument ``gpus`` of `GpuTaskDefinition.add_gpu_container`.

    Raises:
        InvalidValueError: It is neither a whole number, nor ``ALL``, nor a part below 1, nor a share.
    """
    if isinstance(gpus, GpuShare):
        return _shared(gpus)
    if isinstance(gpus, str) and gpus == _ALL:
        return GpuAsk(requirement=ResourceRequirement(value=_ALL), written={"Type": GPU, "Value": _ALL})
    if is_token(gpus) and not is_list_token(gpus):
        value = gpus if isinstance(gpus, str) else cdk.Tokenization.stringify_number(gpus)
        return GpuAsk(requirement=ResourceRequirement.gpus(UNKNOWN), written={"Type": GPU, "Value": value})
    if isinstance(gpus, float):
        part = ResourceRequirement(value=repr(gpus))
        if part.part:
            return GpuAsk(requirement=part, gpu_count=gpus)
    count = whole_number("gpus", gpus, smallest=1, unit="GPUs", fix=_FIX)
    return GpuAsk(requirement=ResourceRequirement.gpus(count), gpu_count=None if isinstance(count, Unknown) else count)


def _shared(share: GpuShare) -> GpuAsk:
    memory, percent = share.memory_mib, share.max_compute_percent
    mps = NvidiaMps(
        memory_mib=UNKNOWN if is_token(memory) else memory,
        max_compute_percent=UNKNOWN if is_token(percent) else percent,
    )
    allocation = {"Memory": memory} | ({} if percent is None else {"MaxComputePercent": percent})
    return GpuAsk(
        requirement=ResourceRequirement(nvidia_mps=mps),
        written={"Type": GPU, "SharingStrategy": {"NvidiaMps": allocation}},
    )


def require_one_way(task: Task, gpus: Gpus) -> None:
    """Refuses a task whose GPU containers cannot all have what they ask for, whatever host it gets (GPU023).

    Args:
        task: The task with its newest container, which is asked about.
        gpus: What that container asks for, as given.

    Raises:
        IncompatibleError: Some containers share a GPU and others ask for their own, or one leaves none for another.
    """
    *before, newest = [each for each in task.containers if each.wants_gpu]
    for other in before:
        reason = _conflict(other, newest)
        if reason:
            raise IncompatibleError(f"{newest.name} {reason[0]}", argument="gpus", value=gpus, fix=reason[1])


def _conflict(other: Container, newest: Container) -> tuple[str, str] | None:
    apart = "another task definition for one of them"
    if bool(newest.mps) is not bool(other.mps):
        mine, others = ("a share of one", "GPUs of its own") if newest.mps else ("GPUs of its own", "a share of one")
        like = "1" if newest.mps else "GpuShare(memory_mib=…)"
        problem = (
            f"asks for {mine} and {other.name} for {others}; the GPU containers of one task must use the same option"
        )
        return problem, f"gpus={like} like {other.name}, or {apart}"
    if newest.takes_all_gpus or other.takes_all_gpus:
        greedy, left = (newest, other) if newest.takes_all_gpus else (other, newest)
        problem = f"is one too many: {greedy.name} asks for all GPUs of the host, which leaves none for {left.name}"
        return problem, f"a number of GPUs for each, or {apart}"
    if newest.gpu_part and other.gpu_part:
        return f"is one too many: {other.name} has the one part of a GPU that a host has", apart
    return None


def require_gpu_pools(pools: Sequence[Pool], ask: GpuAsk, gpus: Gpus) -> None:
    """Refuses capacity that has no NVIDIA GPUs, and whole GPUs of hosts that have a part of one.

    Args:
        pools: Where the task may run.
        ask: What its newest container asks for.
        gpus: The same, as given.

    Raises:
        IncompatibleError: A pool cannot serve it.
    """
    whole = ask.requirement.value is not None and not ask.requirement.part and not ask.requirement.is_all
    for pool in pools:
        shape = pool.shape
        if shape is None:
            continue
        if shape.vendor is not Vendor.NVIDIA:
            raise _no_gpus(pool, pool.instance_types[0], shape.vendor)
        if whole and shape.partition < 1:
            raise IncompatibleError(
                f"a host of {pool.name} has {shape}, and a whole GPU never fits on {pool.instance_types[0]}",
                argument="gpus",
                value=gpus,
                fix=f"gpus={shape.partition:g}, or capacity with whole GPUs, such as g6.xlarge",
            )


def _no_gpus(pool: Pool, first: InstanceType, vendor: Vendor | None) -> GpuConstructsError:
    if vendor is None:
        problem = f"{pool.name} is CPU capacity, {first} has no GPU"
        fix = "add_container for a container without GPUs, or capacity of a type such as g6.xlarge"
    else:
        model = first.accelerators.model if first.accelerators else vendor
        problem = f"{pool.name} has {model} devices ({first}), and ECS hands out NVIDIA GPUs only as GPU"
        fix = "capacity with NVIDIA GPUs, such as g6.xlarge"
        if vendor is Vendor.NEURON:
            fix = f"add_neuron_container, or {fix}"
    return IncompatibleError(problem, argument="capacity", value=pool.name, fix=fix)


def require_shareable(pools: Sequence[Pool], gpus: Gpus) -> None:
    """Refuses a share of a GPU where the hosts cannot share one: their image (GPU033) or their GPUs (GPU180).

    Args:
        pools: Where the task may run.
        gpus: What is asked for, as given.

    Raises:
        IncompatibleError: No host of a pool shares its GPUs.
    """
    if not isinstance(gpus, GpuShare):
        return
    for pool in pools:
        reason = why_too_old(pool)
        if reason:
            raise IncompatibleError(
                f"hosts of {pool.name} cannot share a GPU: {reason}", argument="gpus", value=gpus, fix=NEW_ENOUGH
            )
        for each in pool.instance_types:
            capability = each.accelerators.compute_capability if each.accelerators else None
            if capability is not None and capability < LEAST_CAPABILITY:
                raise IncompatibleError(
                    f"hosts of {pool.name} cannot share a GPU: {each} has compute capability "
                    f"{'{}.{}'.format(*capability)}, and MPS limits memory and compute from "
                    f"{'{}.{}'.format(*LEAST_CAPABILITY)} on",
                    argument="gpus",
                    value=gpus,
                    fix="capacity of a newer type, such as g4dn.xlarge, or whole GPUs",
                )
