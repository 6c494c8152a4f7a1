"""Instance types: do they exist, go together in one pool, and carry GPUs that ECS hands out?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpu_constructs.errors import GpuConstructsError, UnknownNameError, shown
from gpu_constructs.facts import RECORDED, InstanceType, Vendor, instance_type, may_be_accelerated, may_exist
from gpu_constructs.facts.aws_limits import BATCH_TYPE_WORDS
from gpu_constructs.facts.budget import NAME
from gpu_constructs.facts.catalogue import how_to_declare
from gpu_constructs.facts.names import is_family_name, matches, name_problem
from gpu_constructs.fleet import Pool, PoolKind, Scheduler, Shape, Task
from gpu_constructs.placement import fit
from gpu_constructs.placement.destinations import unassigned
from gpu_constructs.rules.change import Way, Ways, either
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.fixes import hosts_for
from gpu_constructs.rules.evidence.lists import and_list, with_verb
from gpu_constructs.rules.hosts.instance_requirements import unmatched
from gpu_constructs.rules.rule import Problem, Problems, error, warning
from gpu_constructs.rules.words import Text, Word

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
    unless=("GPU305",),
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
    unless=("GPU052", "GPU099", "GPU101", "GPU117", "GPU288"),
)
def one_shape(context: Context) -> Problems:
    mixed = [pool for pool in context.fleet.pools if _is_scaled(pool) and len(pool.shapes) > 1]
    # GPU060 and GPU069 judge a task that is known, if it needs more than the smallest type has.
    known = {each.pool.name for one in context.assignments for each in one.destinations} if mixed else set()
    by_hand = [each for each in unassigned(context.fleet) if each.scheduler is Scheduler.ECS] if mixed else []
    for pool in (pool for pool in mixed if pool.name not in known):
        if by_hand and all(fit(each, pool).answer is True for each in by_hand):
            continue
        yield Problem(
            about=pool,
            message=f"its types have different shapes ({_by_shape(pool)}), and managed scaling looks at the smallest "
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


def _is_scaled(pool: Pool) -> bool:
    return pool.kind is PoolKind.AUTO_SCALING_GROUP and pool.has_provider and pool.managed_scaling is not False


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
        types = [instance_type(each) for each in error.nearest]
        old = replace(pool, unknown_type_names=others)
        meant = either(*((each.name, replace(old, instance_types=(*pool.instance_types, each))) for each in types))
        return meant if name_problem(name) else (*meant, (Way(text=how_to_declare(name)),))
    except GpuConstructsError:
        return ()
    return ()


def _by_shape(pool: Pool) -> str:
    groups: dict[Shape, list[InstanceType]] = {}
    for each in pool.instance_types:
        groups.setdefault(Shape.of(each), []).append(each)
    return "; ".join(f"{shape}: {and_list(types)}" for shape, types in groups.items())


def _vendors(pool: Pool) -> set[Vendor | None]:
    return {None if each.accelerators is None else each.accelerators.vendor for each in pool.instance_types}
