"""What a container asks of the GPUs of its host, and what it needs of each of them.

It asks ECS for whole ones, all of them, the part that there is, or a share of one
(https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu-specifying.html). For what it needs of them ECS has
no setting: it is kept in the template's metadata, and because ECS places by the number of GPUs alone, every host that
the task may be placed on has to meet it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import aws_cdk as cdk
from typing_extensions import TypedDict

from gpu_constructs.cdk.arguments import flag, gpu_memory_mib, number_of, whole_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.cdk.tokens import is_list_token, is_token
from gpu_constructs.errors import IncompatibleError, argument_named, unexpected
from gpu_constructs.facts.aws_limits import MAX_PERCENT
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.cuda import dotted, is_target
from gpu_constructs.facts.declared import as_properties
from gpu_constructs.facts.gpu_features import precision as number_format
from gpu_constructs.facts.values import dataclass
from gpu_constructs.fleet import GPU, UNKNOWN, Container, GpuNeeds, NvidiaMps, Pool, ResourceRequirement, Task
from gpu_constructs.placement.fit import alternatives

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
    """

    memory_mib: int
    max_compute_percent: int | None = None

    def __post_init__(self) -> None:
        number_of(self, "memory_mib", smallest=1, unit="MiB of one GPU", fix="memory_mib=4096", rule=_RULE)
        if self.max_compute_percent is not None:
            number_of(
                self,
                "max_compute_percent",
                smallest=1,
                largest=MAX_PERCENT,
                unit="percent",
                fix="leave it out for no limit",
                rule=_RULE,
            )


Gpus: TypeAlias = float | Literal["ALL"] | GpuShare

_ALL = "ALL"
_FIX = "gpus=1, 'ALL' for every GPU of the host, GpuShare(memory_mib=4096) for a share of one, or 0.25 on g6f.2xlarge"


def ask_for(gpus: Gpus) -> tuple[ResourceRequirement, Mapping[str, object] | None]:
    """Reads the argument ``gpus`` of `GpuTaskDefinition.add_gpu_container`.

    Returns the entry of ``resourceRequirements``, and the same as CloudFormation takes it where CDK cannot write it:
    ``ALL``, a share, a token.
    """
    if isinstance(gpus, GpuShare):
        return _shared(gpus)
    if isinstance(gpus, str) and gpus == _ALL:
        return ResourceRequirement(value=_ALL), {"Type": GPU, "Value": _ALL}
    if is_token(gpus) and not is_list_token(gpus):
        value = gpus if isinstance(gpus, str) else cdk.Tokenization.stringify_number(gpus)
        return ResourceRequirement.gpus(UNKNOWN), {"Type": GPU, "Value": value}
    if isinstance(gpus, float) and (part := ResourceRequirement(value=repr(gpus))).part:
        return part, None
    return ResourceRequirement.gpus(whole_number("gpus", gpus, smallest=1, unit="GPUs", fix=_FIX)), None


def _shared(share: GpuShare) -> tuple[ResourceRequirement, Mapping[str, object]]:
    memory, percent = share.memory_mib, share.max_compute_percent
    mps = NvidiaMps(
        memory_mib=UNKNOWN if is_token(memory) else memory,
        max_compute_percent=UNKNOWN if is_token(percent) else percent,
    )
    allocation = {"Memory": memory} | ({} if percent is None else {"MaxComputePercent": percent})
    return ResourceRequirement(nvidia_mps=mps), {"Type": GPU, "SharingStrategy": {"NvidiaMps": allocation}}


def require_gpu_pools(pools: Sequence[Pool], asked: Container, *, efa: bool) -> None:
    """Refuses CPU capacity, of which a rule would say no more than that it has 0 GPUs."""
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


# "8.9", "sm_89", and of one architecture "10.0a", "sm_100a", "compute_100f"
_CAPABILITY = r"(?:sm_?|compute_)?([1-9][0-9]?)\.?([0-9])([af]?)"
_MOST = 100


class GpuNeedOptions(TypedDict, total=False):
    """What a container, a job or a training may need of each of its GPUs.

    Attributes:
        gpu_memory_gib: Memory in GiB that each of its GPUs must have, measured by what EC2 reports: an L4 has 22.3 GiB,
            not 24. By default any GPU will do.
        min_compute_capability: CUDA compute capability that its GPUs must have, as (major, minor) or ``"8.9"``. Code
            for ``sm_100a`` runs on 10.0 alone, for ``sm_100f`` on 10.x: ``"10.0a"`` or ``"10.0f"``. By default any.
        precision: The narrowest number format that it computes in, such as ``bf16`` or ``fp8``; GPUs that only emulate
            it are refused. Where weights alone are in a format, name that: ``awq``, ``bitsandbytes``, ``fp8-weights``,
            ``gptq`` or ``mxfp4``. By default any GPU will do.
        nvlink: Whether its GPUs must be joined by NVLink, as tensor parallelism over several wants it. By default not.
    """

    gpu_memory_gib: float | None
    min_compute_capability: tuple[int, int] | str | None
    precision: str | None
    nvlink: bool


NEEDS: Mapping[str, str] = {
    "GpuMemoryMib": "gpu_memory_gib",
    "ComputeCapability": "min_compute_capability",
    "Precision": "precision",
    "Nvlink": "nvlink",
}
"""What needs are called, by property of the metadata."""


def plan_needs(options: GpuNeedOptions) -> GpuNeeds | None:
    """The needs of a container, None where it has none."""
    nvlink, precision = options.get("nvlink", False), options.get("precision")
    memory_gib, capability = options.get("gpu_memory_gib"), options.get("min_compute_capability")
    flag("nvlink", nvlink)
    with argument_named("precision"):
        known = None if precision is None else number_format(precision).name
    target = (None, "") if capability is None else _target(capability)
    needs = GpuNeeds(
        memory_mib=None if memory_gib is None else gpu_memory_mib(memory_gib),
        compute_capability=target[0],
        compute_features=target[1],
        precision=known,
        nvlink=nvlink,
    )
    return None if needs == GpuNeeds() else needs


def metadata_of(task: Task) -> dict[str, object] | None:
    """The needs of all containers as the metadata of the task definition; None where no container needs anything."""
    written = {each.name: _written(each) for each in task.containers if each.needs is not None}
    return {"Containers": written} if written else None


def _written(container: Container) -> dict[str, object]:
    needs = container.needs or GpuNeeds()
    target = needs.compute_capability and dotted(needs.compute_capability) + needs.compute_features
    return as_properties(
        {
            "gpu_memory_mib": needs.memory_mib,
            "compute_capability": target,
            "precision": needs.precision,
            "nvlink": needs.nvlink or None,
        }
    )


def _target(value: object) -> tuple[tuple[int, int], str]:
    match value:
        case (int(major), int(minor)) if not isinstance(major, bool) and 0 < major < _MOST and minor in range(10):
            return (major, minor), ""
    text = str(value)[:NAME] if isinstance(value, (str, float)) else ""
    found = re.fullmatch(_CAPABILITY, text)
    if found:
        capability = int(found[1]), int(found[2])
        if is_target(capability, found[3]) if found[3] else value == f"{found[1]}.{found[2]}":
            return capability, found[3]
    raise unexpected(
        "min_compute_capability",
        value,
        "major and minor",
        allowed="two whole numbers, the second of one digit, text such as '8.9', or '10.0a' or 'sm_100a' for code of "
        "one architecture alone, with a from 9.0 and f from 10.0",
        fix=f"min_compute_capability=({', '.join(found.groups()[:2] if found else ('8', '0'))})",
    )
