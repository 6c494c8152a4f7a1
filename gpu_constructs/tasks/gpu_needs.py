"""What a container needs of each of its GPUs that ECS has no setting for: kept in the template's metadata.

ECS places by the number of GPUs alone, so every host that the task may be placed on has to meet a need.
"""

from __future__ import annotations

import re
from typing import cast

from typing_extensions import TypedDict

from gpu_constructs.budget import NAME
from gpu_constructs.cdk.arguments import flag, gpu_memory_mib
from gpu_constructs.errors import InvalidValueError, argument_named, shown
from gpu_constructs.fleet import Container, GpuNeeds, Task
from gpu_constructs.hardware.cuda import is_target
from gpu_constructs.hardware.gpu_features import precision as number_format

# "10.0a", "sm_100a", "compute_100f"
_OF_ONE_ARCHITECTURE = re.compile(r"(?:sm_|compute_)?([1-9][0-9]?)\.?([0-9])([af])")
# "8.9", "sm_89"
_OF_A_NUMBER = re.compile(r"(?:sm_?|compute_)?([1-9][0-9]?)\.?([0-9])")
_MOST = 100


class GpuNeedOptions(TypedDict, total=False):
    """What a container, a job or a training may need of each of its GPUs.

    Attributes:
        gpu_memory_gib: Memory in GiB that each of its GPUs must have, measured by what EC2 reports: an L4 has 22.3 GiB,
            not 24. By default any GPU will do.
        min_compute_capability: CUDA compute capability that its GPUs must have, as (major, minor). Code for ``sm_100a``
            runs on 10.0 alone and code for ``sm_100f`` on 10.x: say so with ``"10.0a"`` or ``"10.0f"``. By default any.
        precision: The narrowest number format that it computes in, such as ``bf16`` or ``fp8``; GPUs that only emulate
            it are refused. Where weights alone are in a format, name that: ``awq``, ``bitsandbytes``, ``fp8-weights``,
            ``gptq`` or ``mxfp4``. By default any GPU will do.
        nvlink: Whether its GPUs must be joined by NVLink, as tensor parallelism over several wants it. By default not.
    """

    gpu_memory_gib: float | None
    min_compute_capability: tuple[int, int] | str | None
    precision: str | None
    nvlink: bool


def needs_among(options: GpuNeedOptions) -> GpuNeedOptions:
    """Those of some arguments that are needs."""
    given = {name: value for name, value in options.items() if name in GpuNeedOptions.__annotations__}
    return cast("GpuNeedOptions", given)


def plan_needs(options: GpuNeedOptions) -> GpuNeeds | None:
    """The needs of a container, None where it has none.

    Raises:
        InvalidValueError: One is wrong by itself, or only known at deploy time.
        UnknownNameError: There is no such number format.
    """
    nvlink, precision = options.get("nvlink", False), options.get("precision")
    memory_gib, capability = options.get("gpu_memory_gib"), options.get("min_compute_capability")
    flag("nvlink", nvlink, fix="nvlink=True")
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
    entry: dict[str, object] = {}
    if needs.memory_mib is not None:
        entry["GpuMemoryMib"] = needs.memory_mib
    if needs.compute_capability is not None:
        entry["ComputeCapability"] = "{}.{}".format(*needs.compute_capability) + needs.compute_features
    if needs.precision is not None:
        entry["Precision"] = needs.precision
    if needs.nvlink:
        entry["Nvlink"] = True
    return entry


def _target(value: object) -> tuple[tuple[int, int], str]:
    match value:
        case (int(major), int(minor)) if not isinstance(major, bool) and 0 < major < _MOST and minor in range(10):
            return (major, minor), ""
    text = str(value)[:NAME] if isinstance(value, (str, float)) else ""
    found = _OF_ONE_ARCHITECTURE.fullmatch(text)
    if found and is_target((int(found[1]), int(found[2])), found[3]):
        return (int(found[1]), int(found[2])), found[3]
    written = _OF_A_NUMBER.fullmatch(text.rstrip("af"))
    raise InvalidValueError(
        f"expects major and minor, got {shown(value)}",
        argument="min_compute_capability",
        value=value,
        allowed="two whole numbers, the second of one digit, or text such as '10.0a' or 'sm_100a' for code of one "
        "architecture alone, with a from 9.0 and f from 10.0",
        fix=f"min_compute_capability=({', '.join(written.groups() if written else ('8', '0'))})",
    )
