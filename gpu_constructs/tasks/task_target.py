"""Where the tasks of one task definition may be placed, and how it has to be written for that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.arguments import name as require_name
from gpu_constructs.cdk.refusal import require_served, require_yes
from gpu_constructs.cdk.tokens import is_token, known_text
from gpu_constructs.cluster.capacity.gpu_capacity import GpuCapacity, ImportedGpuCapacity
from gpu_constructs.errors import IncompatibleError, InvalidValueError, argument_named, unexpected
from gpu_constructs.facts import Architecture
from gpu_constructs.facts.aws_limits import MAX_PLACEMENT_CONSTRAINTS
from gpu_constructs.facts.declared import metadata_of as types_written
from gpu_constructs.fleet import DECLARED_TYPES, METADATA_KEY, PlacementConstraint, Pool, PoolKind, Task
from gpu_constructs.placement.demand import MEMBER_OF
from gpu_constructs.placement.query.ast import instance_type_in, render

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from gpu_constructs.cluster.managed import ManagedGpuCapacity

Capacity: TypeAlias = "GpuCapacity | ImportedGpuCapacity | ManagedGpuCapacity"

# Launch types that ECS checks a task definition for, and whether its hosts are Managed Instances.
_LAUNCHES = {"EC2": False, "MANAGED_INSTANCES": True}
# CPU architectures as ``runtimePlatform`` spells them.
_SPELLED = {Architecture.X86_64: "X86_64", Architecture.ARM64: "ARM64"}
_LINUX = "LINUX"
_OF_CONSTRAINTS = ("GPU040", "GPU070")
_MODES: Mapping[str, str] = {"NetworkMode": "network_mode", "IpcMode": "ipc_mode"}


def expressions_on(capacity: Sequence[Capacity]) -> tuple[str, ...]:
    """The placement constraint that is true on every host of some capacities and on no other.

    None is needed where Managed Instances are the only ones: a provider launches nothing but its own types, and CDK
    writes no constraint there either. They take constraints on ecs.instance-type, of four attributes, so that a task
    which may run on both kinds keeps its own.
    """
    require_capacities(capacity)
    architectures: dict[Architecture, str] = {each.architecture: each.pool.name for each in capacity}
    if len(architectures) > 1:
        sides = ", ".join(f"{name} is {architecture}" for architecture, name in architectures.items())
        raise IncompatibleError(
            f"one container image runs on one architecture, and these capacities have several: {sides}",
            argument="capacity",
            value=[each.pool.name for each in capacity],
            fix="one task definition for each architecture",
            rule="GPU067",
        )
    if all(map(_is_managed, capacity)):
        return ()
    with argument_named("capacity"):
        return (_one_of_types(dict.fromkeys(name for each in capacity for name in each.instance_type_names)),)


def mode_on(capacity: Sequence[Capacity], given: ecs.NetworkMode | None) -> ecs.NetworkMode | None:
    """The network mode as CDK takes it; None for ECS's own default on EC2, ``bridge``."""
    if given is ecs.NetworkMode.NAT:
        raise InvalidValueError(
            "network mode nat is for Windows, where ECS has no GPUs",
            argument="network_mode",
            value=given,
            allowed="bridge, host, awsvpc, none",
            fix="leave it out for bridge",
            rule="GPU028",
        )
    return ecs.NetworkMode.AWS_VPC if given is None and any(map(_is_managed, capacity)) else given


def task_on(
    capacity: Sequence[Capacity],
    name: str,
    *,
    expressions: Sequence[str],
    family: str | None,
    network_mode: ecs.NetworkMode | None,
    ipc_mode: ecs.IpcMode | None,
) -> Task:
    """A task definition without a container, as the value that every check reads.

    Its processor architecture is written down for Managed Instances, which choose the host by it.
    """
    managed = set(map(_is_managed, capacity))
    task = Task(
        name=name,
        ipc_mode=None if ipc_mode is None else ipc_mode.name.lower(),
        # The enum of CDK has other names than ECS, such as ``AWS_VPC``.
        network_mode="bridge" if network_mode is None else network_mode.name.lower().replace("_", ""),
        names_network_mode=network_mode is not None,
        family=family,
        compatibilities=tuple(launch for launch, is_managed in _LAUNCHES.items() if is_managed in managed),
        architecture=capacity[0].architecture if True in managed else None,
        operating_system=_LINUX if True in managed else None,
        constraints=tuple(PlacementConstraint(type=MEMBER_OF, expression=known_text(each)) for each in expressions),
    )
    require_yes(task, "GPU047", arguments=_MODES)
    return task


def constraints_of(given: Sequence[ecs.PlacementConstraint] | None, there: int = 0) -> tuple[PlacementConstraint, ...]:
    """Placement constraints as every check reads them; `there` says how many its task has besides."""
    written = [each for constraint in given or () for each in constraint.to_json()]
    if any(each.expression is not None and not each.expression.strip() for each in written):
        raise unexpected("placement_constraints", "", "an expression", fix="leave it out")
    if there + len(written) > MAX_PLACEMENT_CONSTRAINTS:
        problem = (
            f"a task has {MAX_PLACEMENT_CONSTRAINTS} constraints at most, got {len(written)} beside {there} others"
        )
        raise InvalidValueError(
            problem, argument="placement_constraints", value=len(written), fix="join some with 'and'"
        )
    return tuple(
        PlacementConstraint(type=each.type, expression=None if each.expression is None else known_text(each.expression))
        for each in written
    )


def with_constraints(task: Task, given: Sequence[ecs.PlacementConstraint], pools: Sequence[Pool]) -> Task:
    """A task with more constraints; refused are those that ECS cannot read or that hosts of a capacity do not meet."""
    task = replace(task, constraints=(*task.constraints, *constraints_of(given, len(task.constraints))))
    for pool in pools:
        require_served(task, [pool], {"PlacementConstraints.Expression": "placement_constraints"}, also=_OF_CONSTRAINTS)
    return task


def require_options(task: Task, volumes: Sequence[ecs.Volume], *, enable_fault_injection: bool | None) -> None:
    """Refuses what ECS would refuse, or CDK without the name of the argument."""
    if enable_fault_injection and task.network_mode not in {"awsvpc", "host"}:
        problem, fix = "AWS FIS needs network mode awsvpc or host", "network_mode=ecs.NetworkMode.AWS_VPC"
        raise IncompatibleError(problem, argument="enable_fault_injection", value=True, fix=fix)
    names = [each["name"] if isinstance(each, Mapping) else each.name for each in volumes]
    for each in names:
        require_name("volumes", each, fix="a name such as 'scratch'")
    if len(set(names)) < len(names):
        raise unexpected("volumes", names, "a different name for each volume", fix="another name for one of them")


def resource_of(task_definition: ecs.TaskDefinition) -> ecs.CfnTaskDefinition:
    """The resource of a task definition."""
    return cast("ecs.CfnTaskDefinition", task_definition.node.default_child)


def write_task(task_definition: ecs.TaskDefinition, task: Task, capacity: Sequence[Capacity]) -> None:
    """Writes what `ecs.Ec2TaskDefinition` has no argument for into a task definition for some capacity.

    The task's own size is left out: neither a page nor aws-cdk-lib 2.275 asks for it on Managed Instances, and as a
    hard limit it would keep containers from CPU that is idle.
    """
    declared = types_written([instance_type for each in capacity for instance_type in each.pool.instance_types])
    if not declared and not isinstance(task.architecture, Architecture):
        return
    resource = resource_of(task_definition)
    if isinstance(task.architecture, Architecture):
        resource.requires_compatibilities = list(task.compatibilities)
        resource.runtime_platform = ecs.CfnTaskDefinition.RuntimePlatformProperty(
            cpu_architecture=_SPELLED[task.architecture], operating_system_family=_LINUX
        )
    if declared:
        # Its placement constraint names them, and their hosts may be in no template of the app.
        resource.add_override(f"Metadata.{METADATA_KEY}.{DECLARED_TYPES}", declared)


def _is_managed(capacity: Capacity) -> bool:
    return capacity.pool.kind is PoolKind.MANAGED_INSTANCES


def encryption_key_of(capacity: Sequence[Capacity]) -> kms.IKey | None:
    """The key that the logs of a task are encrypted with; None for a key of AWS."""
    keys = (None if isinstance(each, ImportedGpuCapacity) else each.encryption_key for each in capacity)
    return next(filter(None, keys), None)


def require_capacities(capacity: Sequence[Capacity]) -> None:
    """Refuses what is not a list of different capacities."""
    if not isinstance(capacity, Sequence) or not capacity or not all(_is_capacity(each) for each in capacity):
        raise unexpected(
            "capacity",
            capacity,
            "a list of the capacities that the task may run on",
            fix="capacity=[family[1]] for hosts with one GPU of a family"
            if isinstance(capacity, Mapping)
            else "capacity=[…] with what cluster.add_capacity returned",
        )
    if len({id(each) for each in capacity}) < len(capacity):
        raise InvalidValueError(
            f"got {len(capacity)} capacities, {len({id(each) for each in capacity})} of them different",
            argument="capacity",
            value=[each.pool.name for each in capacity],
            allowed="each capacity once",
            fix="leave out the capacity that is there twice",
        )


def _is_capacity(given: object) -> bool:
    # Managed capacity is known by its pool, so that its modules are loaded only where there is some.
    pool = getattr(given, "pool", None)
    is_managed = isinstance(pool, Pool) and pool.kind is PoolKind.MANAGED_INSTANCES
    return is_managed or isinstance(given, (GpuCapacity, ImportedGpuCapacity))


def _one_of_types(names: Iterable[str]) -> str:
    """The expression over these types; the query language has no word for a token, so a stand-in is written for it."""
    stand_ins = {name: f"known-at-deploy-{i:04d}" if is_token(name) else name for i, name in enumerate(names)}
    expression = render(instance_type_in(stand_ins.values()))
    for name, stand_in in stand_ins.items():
        expression = expression.replace(stand_in, name) if stand_in != name else expression
    return expression
