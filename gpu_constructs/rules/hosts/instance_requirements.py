"""Instance requirements, by which ECS Managed Instances and Auto Scaling groups choose types: do they select any?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any

from gpu_constructs.budget import NAME
from gpu_constructs.errors import shown
from gpu_constructs.fleet import InstanceRequirements, Pool, PoolKind, satisfies
from gpu_constructs.fleet.instance_requirements import selected_types
from gpu_constructs.hardware import RECORDED, InstanceType, Vendor, accelerated, general, may_exist
from gpu_constructs.hardware.catalogue import how_to_declare
from gpu_constructs.hardware.names import EC2_VALUES, ECS_VALUES
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
    if _selects_nothing(pool, wanted) and _contradicts(wanted):
        yield _unsatisfied(wanted)


@warning(
    "GPU109",
    question="does an instance type of the catalogue satisfy the requirements?",
    because="requirements that no type satisfies launch no host; a type that is newer than the catalogue may satisfy "
    "them",
    source=_EC2,
    changes="InstanceRequirements",
    unless=("GPU100",),
)
def satisfied(pool: Pool) -> Problems:
    if pool.requirements is not None and _selects_nothing(pool, pool.requirements):
        yield _unsatisfied(pool.requirements)


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
    unless=("GPU060", "GPU103"),
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


@warning(
    "GPU102",
    question="are the values of the requirements among those recorded from the API?",
    because="accelerator names, manufacturers and types are enumerations, which AWS extends; the API refuses every "
    "value that is not among them",
    source=_EC2,
)
def in_api(pool: Pool) -> Problems:
    for field, value in _outside(pool.requirements, EC2_VALUES):
        allowed = ", ".join(sorted(EC2_VALUES[field]))
        yield Problem(
            message=f"{_API_NAMES[field]} has the value {shown(value)}, which is not among those recorded: {allowed}",
            fix=_say_instead(field, value),
            property_name=_API_NAMES[field],
            value=value,
        )


@warning(
    "GPU103",
    question="does the ECS API, too, have the values of the requirements?",
    because="the ECS API lists fewer accelerators than EC2 and CloudFormation, and no page says what ECS does with the "
    "others",
    source="https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceRequirementsRequest.html",
)
def in_ecs(pool: Pool) -> Problems:
    if pool.kind is not PoolKind.MANAGED_INSTANCES:
        return
    for field, value in _outside(pool.requirements, ECS_VALUES):
        if value in EC2_VALUES[field]:
            yield Problem(
                message=f"{_API_NAMES[field]} {value} is in the API of EC2 and not in the API of ECS",
                fix=_by_type(value),
                property_name=_API_NAMES[field],
                value=value,
            )


@warning(
    "GPU108",
    question="does every allowed pattern match an instance type?",
    because="a pattern that matches nothing is newer than the catalogue, or misspelt",
    source=_EC2,
)
def patterns_match(pool: Pool) -> Problems:
    for pattern in _unmatched(pool.requirements):
        if _some(pool.instance_types, InstanceRequirements(allowed_instance_types=(pattern,))):
            continue  # declared
        yield Problem(
            message=f"AllowedInstanceTypes {shown(pattern)} does not match any type of the catalogue of {RECORDED}",
            fix=how_to_declare(pattern) if may_exist(pattern) else "",
            property_name="AllowedInstanceTypes",
            value=pattern,
        )


@error(
    "GPU135",
    question="do instance requirements either allow instance types or exclude some?",
    because="EC2 takes AllowedInstanceTypes or ExcludedInstanceTypes, and refuses requirements with both",
    source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html",
)
def one_list(pool: Pool) -> Problems:
    if pool.kind is not PoolKind.MANAGED_INSTANCES:
        yield from _both_lists(pool)


@warning(
    "GPU189",
    question="are the instance types of ECS Managed Instances either allowed or excluded?",
    because="one list includes types and the other excludes types; EC2 refuses both together, and the API page of ECS "
    "does not say what happens",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-instances-instance-types.html",
)
def one_list_managed(pool: Pool) -> Problems:
    if pool.kind is PoolKind.MANAGED_INSTANCES:
        yield from _both_lists(pool)


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
    if any(_outside(wanted, EC2_VALUES)) or _unmatched(wanted):
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


def _unsatisfied(wanted: InstanceRequirements) -> Problem:
    culprits = _culprits(wanted)
    return Problem(
        message=f"no instance type of the catalogue of {RECORDED} satisfies the requirements {_asked(wanted)}",
        fix=f"without {or_list(culprits)} there would be some" if culprits else "ask for less",
    )


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


def _unmatched(wanted: InstanceRequirements | None) -> list[str]:
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


def _say_instead(field: str, value: str) -> str:
    if field == "accelerator_names" and value.lower() not in EC2_VALUES[field] and _by_type(value):
        return _by_type(value)
    near = get_close_matches(value.lower()[:NAME], sorted(EC2_VALUES[field]), n=2)
    return f"did you mean {or_list(near)}?" if near else ""


def _by_type(value: str) -> str:
    """The way to ask for an accelerator that has no name in the API; empty if the catalogue has none of it."""
    families = dict.fromkeys(
        f"{each.family}.*"
        for each in accelerated()
        if each.accelerators is not None and each.accelerators.model.lower().replace(" ", "-") == value.lower()
    )
    return f"AllowedInstanceTypes {and_list(families)}" if families else ""


def _is_nvidia(each: InstanceType) -> bool:
    return each.accelerators is not None and each.accelerators.vendor is Vendor.NVIDIA


def _both_lists(pool: Pool) -> Problems:
    wanted = pool.requirements
    if wanted is not None and wanted.allowed_instance_types and wanted.excluded_instance_types:
        yield Problem(
            message=f"the requirements allow {and_list(wanted.allowed_instance_types)} and exclude "
            f"{and_list(wanted.excluded_instance_types)}; EC2 takes one of the two lists",
            fix="AllowedInstanceTypes alone: types that it does not name are excluded",
            property_name="ExcludedInstanceTypes",
            value=list(wanted.excluded_instance_types),
        )
