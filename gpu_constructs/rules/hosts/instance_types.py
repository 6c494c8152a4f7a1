"""Instance types: do they exist, go together in one pool, carry GPUs, and do requirements select any?

ECS hands out the GPUs of some types only. By instance requirements, ECS Managed Instances and Auto Scaling groups
choose types themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from functools import partial

from gpu_constructs.errors import GpuConstructsError, UnknownNameError, shown
from gpu_constructs.facts import (
    RECORDED,
    InstanceType,
    Vendor,
    accelerated,
    general,
    instance_type,
    may_be_accelerated,
    may_exist,
)
from gpu_constructs.facts.aws_limits import BATCH_TYPE_WORDS
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.catalogue import how_to_declare
from gpu_constructs.facts.names import EC2_VALUES, is_family_name, matches, name_problem
from gpu_constructs.facts.values import grouped
from gpu_constructs.fleet import InstanceRequirements, Pool, PoolKind, Scheduler, Shape, Task, satisfies
from gpu_constructs.placement.destinations import unassigned
from gpu_constructs.placement.fit import fit
from gpu_constructs.rules.evidence.fixes import API_NAMES, asked_of, hosts_for
from gpu_constructs.rules.finding import Text, Way, Ways, Word, and_list, either, first_of, or_list, with_verb
from gpu_constructs.rules.rule import Context, Problem, Problems, error, warning

_PROPERTY = "InstanceType"
_NEURON = Word("Neuron devices instead of GPUs")
_NAMES = "https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html"


@error(
    "GPU050",
    question="can an instance type have this name?",
    because="the name of an instance type is a family, a dot and one of few sizes; EC2 refuses any other",
    source=_NAMES,
)
def well_formed(pool: Pool) -> Problems:
    for name in pool.unknown_type_names:
        problem = _malformed(pool, name)
        if problem:
            yield Problem(
                message=f"{shown(name)} cannot be an instance type: {problem}",
                ways=partial(_did_you_mean, pool, name),
                property_name=_PROPERTY,
                value=name,
            )


@warning(
    "GPU051",
    question="is the instance type in the catalogue?",
    because="nothing is known about a type that is newer than the catalogue, so nothing about it can be checked",
    source=_NAMES,
)
def in_catalogue(context: Context) -> Problems:
    wanted = {each.pool.name for one in context.assignments if one.task.wants_gpu for each in one.destinations}
    for pool in context.fleet.pools:
        for name in pool.unknown_type_names:
            if _malformed(pool, name) or (pool.kind is PoolKind.BATCH and name in BATCH_TYPE_WORDS):
                continue
            if not may_be_accelerated(name) and pool.name not in wanted:
                continue
            yield Problem(
                about=pool,
                message=f"the catalogue of {RECORDED} does not have {shown(name)}: it may be newer, or misspelt, and "
                "nothing that depends on it was checked",
                fix=how_to_declare(name),
                ways=partial(_did_you_mean, pool, name),
                property_name=_PROPERTY,
                value=name,
            )
        for pattern in unmatched(pool.requirements):
            if any(matches(pattern, each.name) for each in pool.instance_types):
                continue  # declared
            yield Problem(
                about=pool,
                message=f"AllowedInstanceTypes {shown(pattern)} does not match any type of the catalogue of {RECORDED}",
                fix=how_to_declare(pattern) if may_exist(pattern) else "",
                property_name="AllowedInstanceTypes",
                value=pattern,
            )


@warning(
    "GPU053",
    question="do all instance types of a capacity provider have the same GPUs?",
    because="managed scaling compares a task with the smallest type of the Auto Scaling group; one that needs more "
    "never makes the group grow",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/managed-scaling-behavior.html",
    unless=("GPU052", "GPU099", "GPU101", "GPU117"),
)
def one_shape(context: Context) -> Problems:
    groups = [pool for pool in context.fleet.pools if pool.kind is PoolKind.AUTO_SCALING_GROUP and pool.has_provider]
    mixed = [pool for pool in groups if pool.managed_scaling is not False and len(pool.shapes) > 1]
    # GPU060 and GPU069 judge a task that is known, if it needs more than the smallest type has.
    known = {each.pool.name for one in context.assignments for each in one.destinations} if mixed else set()
    by_hand = [each for each in unassigned(context.fleet) if each.scheduler is Scheduler.ECS] if mixed else []
    for pool in (pool for pool in mixed if pool.name not in known):
        if by_hand and all(fit(each, pool).answer is True for each in by_hand):
            continue
        alike = grouped((Shape.of(each), each) for each in pool.instance_types)
        shapes = "; ".join(f"{shape}: {and_list(types)}" for shape, types in alike.items())
        yield Problem(
            about=pool,
            message=f"its types have different shapes ({shapes}), and managed scaling looks at the smallest "
            "only: a task that only the others can run may never make the group grow",
            fix=Word("a capacity provider for each shape"),
            property_name=_PROPERTY,
            value=[each.name for each in pool.instance_types],
            allowed="types with the same number of accelerators of one vendor and the same architecture",
        )


@error(
    "GPU054",
    question="do the hosts of a GPU task carry GPUs that ECS hands out?",
    because="ECS hands out NVIDIA GPUs only; a host with any other accelerator registers none, and the task is never "
    "placed",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html",
)
def usable(context: Context) -> Problems:
    suspects = [pool for pool in context.fleet.pools if pool.types_are_known and _vendors(pool) - {None, Vendor.NVIDIA}]
    waiting_on = context.gpu_workloads if suspects else {}
    for pool in suspects:
        waiting = waiting_on.get(pool.name)
        if waiting and Vendor.NVIDIA not in _vendors(pool):
            others = [each for each in pool.instance_types if each.accelerators is not None]
            task = waiting[0] if isinstance(waiting[0], Task) else waiting[0].task
            devices = dict.fromkeys(each.accelerators.model for each in others if each.accelerators is not None)
            yield Problem(
                about=pool,
                message=f"{with_verb((each.name for each in waiting), 'asks', 'ask')} for GPUs, and "
                f"{with_verb(others, 'carries', 'carry')} {and_list(devices)}: ECS hands out NVIDIA GPUs only",
                fix=Text(*((_NEURON, ", or ") if Vendor.NEURON in _vendors(pool) else ()), "types with NVIDIA GPUs"),
                ways=(
                    *([(Way(text=_NEURON),)] if Vendor.NEURON in _vendors(pool) else []),
                    hosts_for(task, pool, "types with NVIDIA GPUs,") if task is not None else (),
                ),
                property_name=_PROPERTY,
                involves=tuple(waiting),
            )


def _malformed(pool: Pool, name: str) -> str:
    """Why no instance type can have this name; empty if one can."""
    if pool.kind is PoolKind.BATCH and (name in BATCH_TYPE_WORDS or is_family_name(name)):
        return ""
    return name_problem(name)


def _did_you_mean(pool: Pool, name: str) -> Ways:
    """The nearest names of types that go with the rest of the pool, each in the place of the wrong one."""
    others = tuple(each for each in pool.unknown_type_names if each != name)
    try:
        instance_type(name[:NAME])
    except UnknownNameError as error:
        old = replace(pool, unknown_type_names=others)
        types = {
            each: replace(old, instance_types=(*pool.instance_types, instance_type(each))) for each in error.nearest
        }
        if name_problem(name):
            return either(*types.items())
        return first_of((f"{how_to_declare(name)}; if it is misspelt, {each}", new) for each, new in types.items())
    except GpuConstructsError:
        return ()
    return ()


def _vendors(pool: Pool) -> set[Vendor | None]:
    return {each.vendor for each in pool.instance_types}


_EC2 = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html"


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
    if _selects_nothing(pool, wanted):
        culprits, is_certain = _culprits(wanted), _contradicts(wanted)
        yield Problem(
            message=f"no instance type of the catalogue of {RECORDED} satisfies the requirements "
            f"{and_list(asked_of(wanted).values())}",
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
    return pool.requirements is not None and (
        _asks_accelerators(pool.requirements) or all(each.accelerators for each in pool.instance_types)
    )


def _of_other_vendors(pool: Pool) -> Problems:
    if pool.requirements is None:
        return
    others = [each for each in pool.instance_types if each.vendor not in {None, Vendor.NVIDIA}]
    if others and Vendor.NVIDIA in _vendors(pool):
        families = dict.fromkeys(each.family for each in others)
        of_batch = pool.kind is PoolKind.BATCH  # whose Managed Instances have no other requirement
        name = "AllowedInstanceTypes" if of_batch else "AcceleratorManufacturers"
        yield Problem(
            message=f"the requirements also select {and_list(families)}, without NVIDIA GPUs",
            fix=f"{name} with NVIDIA GPUs only" if of_batch else f"{name} nvidia",
            about=pool,
            property_name=name,
        )


def _selects_nothing(pool: Pool, wanted: InstanceRequirements) -> bool:
    """Whether it is certain that nothing satisfies them; not where a newer or unlisted type may."""
    if pool.instance_types or pool.has_unknown_types or pool.unknown_type_names or not _choices(wanted):
        return False
    is_newer = any(not known.issuperset(getattr(wanted, field)) for field, known in EC2_VALUES.items())
    return not is_newer and not unmatched(wanted) and not _some(_choices(wanted), wanted)


def _choices(wanted: InstanceRequirements) -> tuple[InstanceType, ...]:
    """Types of which it is known whether they satisfy them; none where those without accelerators may be any."""
    if _asks_accelerators(wanted):
        return accelerated()
    return (*accelerated(), *general()) if wanted.allowed_instance_types else ()


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
        API_NAMES[each.name]
        for each in fields(wanted)
        if getattr(wanted, each.name) != getattr(free, each.name)
        and _some(_choices(wanted), replace(wanted, **{each.name: getattr(free, each.name)}))
    ]


def _some(types: Iterable[InstanceType], wanted: InstanceRequirements) -> bool:
    return any(satisfies(each, wanted) for each in types)


def unmatched(wanted: InstanceRequirements | None) -> list[str]:
    """Patterns of allowed types that no type of the catalogue matches, so that they are newer or misspelt."""
    if wanted is None:
        return []
    return [
        each
        for each in wanted.allowed_instance_types
        if not _some(accelerated(), InstanceRequirements(allowed_instance_types=(each,)))
        and not _some(general(), InstanceRequirements(allowed_instance_types=(each,)))
    ]
