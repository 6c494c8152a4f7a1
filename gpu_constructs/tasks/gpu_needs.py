"""What a container needs of each of its GPUs that ECS has no setting for: kept in the template's metadata.

ECS places by the number of GPUs alone, so every host that the task may be placed on has to meet a need.
"""

from __future__ import annotations

import re

from gpu_constructs.budget import NAME
from gpu_constructs.cdk.arguments import flag, gpu_memory_mib
from gpu_constructs.errors import InvalidValueError, argument_named, shown
from gpu_constructs.fleet import Container, GpuNeeds, Task
from gpu_constructs.hardware.cuda import is_target
from gpu_constructs.hardware.precision import precision as number_format

__all__ = ["metadata_of", "plan_needs"]

# "10.0a", "sm_100a", "compute_100f"
_OF_ONE_ARCHITECTURE = re.compile(r"(?:sm_|compute_)?([1-9][0-9]?)\.?([0-9])([af])")
# "8.9", "sm_89"
_OF_A_NUMBER = re.compile(r"(?:sm_?|compute_)?([1-9][0-9]?)\.?([0-9])")
_MOST = 100


def plan_needs(
    *,
    gpu_memory_gib: float | None,
    min_compute_capability: tuple[int, int] | str | None,
    precision: str | None,
    nvlink: bool,
) -> GpuNeeds | None:
    """The needs of a container, None where it has none.

    The arguments are those of `GpuTaskDefinition.add_gpu_container`.

    Raises:
        InvalidValueError: One is wrong by itself, or only known at deploy time.
        UnknownNameError: There is no such number format.
    """
    flag("nvlink", nvlink, fix="nvlink=True")
    with argument_named("precision"):
        known = None if precision is None else number_format(precision).name
    target = (None, "") if min_compute_capability is None else _target(min_compute_capability)
    needs = GpuNeeds(
        memory_mib=None if gpu_memory_gib is None else gpu_memory_mib(gpu_memory_gib),
        compute_capability=target[0],
        compute_features=target[1],
        precision=known,
        nvlink=nvlink,
    )
    return None if needs == GpuNeeds() else needs


def metadata_of(task: Task) -> dict[str, object] | None:
    """The needs of all containers as the metadata of the task definition; None where no container needs anything.

    Args:
        task: A task definition.
    """
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
