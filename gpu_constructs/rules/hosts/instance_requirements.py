"""Instance requirements, by which ECS Managed Instances and Auto Scaling groups choose types: do they select any?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from gpu_constructs.facts import RECORDED, InstanceType, Vendor, accelerated, general
from gpu_constructs.facts.names import EC2_VALUES
from gpu_constructs.fleet import InstanceRequirements, Pool, PoolKind, satisfies
from gpu_constructs.fleet.purchase import selected_types
from gpu_constructs.rules.change import either
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list, or_list
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_EC2 = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html"
_API_NAMES = {
    "vcpus": "VCpuCount",
    "memory_mib": "MemoryMiB",
    "accelerator_count": "AcceleratorCount",
    "accelerator_memory_mib": "AcceleratorTotalMemoryMiB",
    "accelerator_manufacturers": "AcceleratorManufacturers",
    "accelerator_names": "AcceleratorNames",
    "accelerator_types": "AcceleratorTypes",
    "allowed_instance_types": "AllowedInstanceTypes",
    "excluded_instance_types": "ExcludedInstanceTypes",
    "cpu_architectures": "the architecture of the image",
    "instance_generations": "InstanceGenerations",
    "local_storage": "LocalStorage",
}
_RANGES = ("vcpus", "memory_mib", "accelerator_count", "accelerator_memory_mib")


@error(
    "GPU100",
    question="can an instance type satisfy the requirements?",
    because="requirements that contradict each other select no type, so no host can ever be launched",
    softer="where they do not contradict each other, and a type that is newer than the catalogue may satisfy them",
    source=_EC2,
    changes="InstanceRequirements.AcceleratorManufacturers",
)
def satisfiable(pool: Pool) -> Problems:
    wanted = pool.requirements
    if wanted is None:
        return
    for field, low, high in _out_of_order(wanted):
        yield Problem(
            message=f"{_API_NAMES[field]} asks for at least {low} and at most {high}, which contradict each other",
            fix="a lower Min, or a higher Max",
            ways=either(
                (f"Min no higher than {high}", _with(pool, wanted, field, high)),
                (f"Max no lower than {low}", _with(pool, wanted, field, low)),
            ),
            property_name=_API_NAMES[field],
            value=(low, high),
        )
    if _selects_nothing(pool, wanted):
        culprits, is_certain = _culprits(wanted), _contradicts(wanted)
        yield Problem(
            message=f"no instance type of the catalogue of {RECORDED} satisfies the requirements {_asked(wanted)}",
            fix=f"without {or_list(culprits)} there would be some" if culprits else "ask for less",
            changes="" if is_certain else "InstanceRequirements",
            is_certain=is_certain,
        )


def _without_gpus(context: Context) -> Problems:
    """Pools of which only the tasks say that they are for GPUs."""
    for pool, _ in context.awaited(lambda each: not _is_accelerated(each)):
        yield from _of_other_vendors(pool)


@warning(
    "GPU101",
    question="do the requirements select NVIDIA GPUs only?",
    because="AcceleratorCount alone is satisfied by any accelerator, such as a Neuron device or an FPGA, which ECS "
    "cannot hand to a task as a GPU",
    source=_EC2,
    changes="InstanceRequirements.AcceleratorManufacturers",
    unless=("GPU060",),
    in_fleet=_without_gpus,
)
def nvidia_only(pool: Pool) -> Problems:
    if _is_accelerated(pool):
        yield from _of_other_vendors(pool)


def _is_accelerated(pool: Pool) -> bool:
    """Whether its requirements are for hosts with accelerators."""
    return pool.requirements is not None and (
        _asks_accelerators(pool.requirements) or all(each.accelerators for each in pool.instance_types)
    )


def _of_other_vendors(pool: Pool) -> Problems:
    if pool.requirements is None:
        return
    others = [each for each in pool.instance_types if each.accelerators and not _is_nvidia(each)]
    if others and any(_is_nvidia(each) for each in pool.instance_types):
        families = dict.fromkeys(each.family for each in others)
        yield Problem(
            message=f"the requirements also select {and_list(families)}, without NVIDIA GPUs",
            fix="AcceleratorManufacturers nvidia",
            about=pool,
            property_name="AcceleratorManufacturers",
        )


def _with(pool: Pool, wanted: InstanceRequirements, field: str, bound: int) -> Pool:
    """The pool with another range, and what it then selects."""
    bounds: dict[str, Any] = {field: (bound, bound)}
    new = replace(wanted, **bounds)
    types = selected_types(new, managed=pool.kind is PoolKind.MANAGED_INSTANCES)
    return replace(pool, requirements=new, instance_types=types)


def _selects_nothing(pool: Pool, wanted: InstanceRequirements) -> bool:
    """Whether it is certain that nothing satisfies them; not where a newer or unlisted type may."""
    if pool.instance_types or pool.has_unknown_types or pool.unknown_type_names or not _asks_accelerators(wanted):
        return False
    if any(_outside(wanted, EC2_VALUES)) or unmatched(wanted):
        return False
    return not _some(accelerated(), wanted)


def _out_of_order(wanted: InstanceRequirements) -> Iterator[tuple[str, int, int]]:
    for field in _RANGES:
        low, high = getattr(wanted, field)
        if low is not None and high is not None and low > high:
            yield field, low, high


def _contradicts(wanted: InstanceRequirements) -> bool:
    """Whether no accelerator is all that they ask for, each of which is known: an AMD T4."""
    said = {field: getattr(wanted, field) for field in EC2_VALUES if getattr(wanted, field)}
    alone = (_some(accelerated(), InstanceRequirements(**{field: value})) for field, value in said.items())
    return len(said) > 1 and all(alone) and not _some(accelerated(), InstanceRequirements(**said))


def _asks_accelerators(wanted: InstanceRequirements) -> bool:
    least = (wanted.accelerator_count[0] or 0) + (wanted.accelerator_memory_mib[0] or 0)
    return bool(least or wanted.accelerator_manufacturers or wanted.accelerator_names or wanted.accelerator_types)


def _culprits(wanted: InstanceRequirements) -> list[str]:
    """Requirements that alone keep all types out, in the words of the API."""
    free = InstanceRequirements()
    return [
        _API_NAMES[each.name]
        for each in fields(wanted)
        if getattr(wanted, each.name) != getattr(free, each.name)
        and _some(accelerated(), replace(wanted, **{each.name: getattr(free, each.name)}))
    ]


def _asked(wanted: InstanceRequirements) -> str:
    said = []
    for each in fields(wanted):
        value = getattr(wanted, each.name)
        if each.name in _RANGES:
            low, high = value
            if value != (None, None):
                said.append(
                    f"{_API_NAMES[each.name]} {'any' if low is None else low} to {'any' if high is None else high}"
                )
        elif value:
            said.append(f"{_API_NAMES[each.name]} {or_list(value)}")
    return and_list(said)


def _some(types: Iterable[InstanceType], wanted: InstanceRequirements) -> bool:
    return any(satisfies(each, wanted) for each in types)


def unmatched(wanted: InstanceRequirements | None) -> list[str]:
    """Patterns of allowed types that no type of the catalogue matches, so that they are newer or misspelt.

    Args:
        wanted: The requirements; None without any.
    """
    if wanted is None:
        return []
    return [
        each
        for each in wanted.allowed_instance_types
        if not _some(accelerated(), InstanceRequirements(allowed_instance_types=(each,)))
        and not _some(general(), InstanceRequirements(allowed_instance_types=(each,)))
    ]


def _outside(wanted: InstanceRequirements | None, values: Mapping[str, frozenset[str]]) -> list[tuple[str, str]]:
    if wanted is None:
        return []
    return [(field, value) for field, known in values.items() for value in getattr(wanted, field) if value not in known]


def _is_nvidia(each: InstanceType) -> bool:
    return each.accelerators is not None and each.accelerators.vendor is Vendor.NVIDIA
