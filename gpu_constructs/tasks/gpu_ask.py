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
from gpu_constructs.errors import IncompatibleError
from gpu_constructs.fleet import GPU, UNKNOWN, Container, NvidiaMps, Pool, ResourceRequirement, Task, Unknown
from gpu_constructs.placement import alternatives
from gpu_constructs.tasks.gpu_share import GpuShare

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


def require_gpu_pools(pools: Sequence[Pool], asked: Container, *, efa: bool) -> None:
    """Refuses CPU capacity, of which a rule would say no more than that it has 0 GPUs.

    Raises:
        IncompatibleError: The hosts of a pool have no accelerators.
    """
    for pool in pools:
        if pool.shape is not None and pool.shape.vendor is None:
            able = alternatives(Task(name=asked.name, containers=(asked,)))
            types = [each for each in able if not each.bare_metal and (each.network.efa_supported or not efa)]
            such_as = f"such as {types[0]}" if types else "with such GPUs"
            raise IncompatibleError(
                f"{pool.name} is CPU capacity, {pool.instance_types[0]} has no GPU",
                argument="capacity",
                value=pool.name,
                fix=f"add_container for a container without GPUs, or capacity of a type {such_as}",
                rule="GPU060",
            )
