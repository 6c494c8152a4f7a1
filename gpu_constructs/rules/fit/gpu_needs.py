"""What containers need of their GPUs besides the number: memory, compute capability, number format, NVLink.

The author of a task states it, which is a warning, because ECS places tasks without looking at it; or the command of a
model server names a model whose size is known.
"""

from __future__ import annotations

from dataclasses import replace

from gpu_constructs.facts import InstanceType
from gpu_constructs.facts.drivers import gib_of
from gpu_constructs.facts.model_memory import ModelMemory
from gpu_constructs.fleet import Container, GpuNeeds, Pool, Task, known
from gpu_constructs.placement.machine import NeedKind, UnmetNeed, unmet_needs
from gpu_constructs.placement.route import Destination
from gpu_constructs.rules.evidence.accelerated import failing_pairs
from gpu_constructs.rules.evidence.fixes import hosts_for, with_container
from gpu_constructs.rules.evidence.server_commands import model_of
from gpu_constructs.rules.finding import Text, Way, Word, and_list, one_way
from gpu_constructs.rules.rule import Context, Problem, Problems, error

_OnType = tuple[InstanceType, tuple[UnmetNeed, ...]]
_SAID_TOGETHER: tuple[frozenset[NeedKind], ...] = (
    frozenset({NeedKind.GPU_MEMORY}),
    frozenset({NeedKind.NVLINK}),
    # https://docs.nvidia.com/deeplearning/tensorrt/latest/getting-started/support-matrix.html
    frozenset({NeedKind.COMPUTE_CAPABILITY, NeedKind.PRECISION}),
)


@error(
    "GPU064",
    question="do the GPUs have the memory, compute capability, number format and NVLink that containers need?",
    because="ECS looks at the number of GPUs, not at their model: a program fails with a CUDA out-of-memory error, "
    "finds no kernel for its GPU, has its number format emulated or refused, or runs its collective operations over "
    "PCIe at a fraction of the speed; a model server whose GPUs do not hold the weights of its model does not start",
    softer="where what a container needs is stated, or where it may get other GPUs",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu-specifying.html",
    stops_work=True,
)
def gpus_serve_their_containers(context: Context) -> Problems:
    yield from _larger_models(context)
    for kinds in _SAID_TOGETHER:
        for task, pool, types in context.once(_unmet_anywhere):
            by_type = ((each, tuple(need for need in unmet if need.need in kinds)) for each, unmet in types)
            if missing := [each for each in by_type if each[1]]:
                yield _problem(task, pool, missing, others=len(missing) < len(types))


def _larger_models(context: Context) -> Problems:
    pairs = failing_pairs(context, _served_by, lambda served, there: _lack_memory(*served, there))
    for route, container, (model, _), each in pairs:
        weights, gpus = model.parts[0].gib, model.shared_by(max(known(container.gpus, otherwise=1), 1))
        why = _lack_memory(model, container, each)[0][1]
        needs = GpuNeeds(memory_mib=int(weights * 1024 / gpus))
        with_needs = with_container(route.task, container, replace(container, needs=needs))
        yield Problem(
            about=route.task,
            container=container,
            involves=(each.pool,),
            message=f"container {container.name} of {route.task.name} serves {model.name}, whose weights are "
            f"{weights:.1f} GiB, and {why} ({each.pool.name}): it does not start",
            fix=f"{'a larger share' if container.mps else 'more GPUs that share it'}, or a smaller model",
            ways=(hosts_for(with_needs(), each.pool, "hosts of a type"),),
            property_name="Command",
            is_shortage=True,
            is_certain=route.is_closed
            and not context.has_unknown_variables(route.task, container)
            and all(len(_lack_memory(model, container, to)) == len(to.types) for to in route.destinations),
        )


def _served_by(container: Container) -> tuple[ModelMemory, Container] | None:
    """The model that a container serves, where its command says which memory that takes."""
    has_gpus = known(container.gpus, otherwise=1) or container.gpu_part or container.mps
    found = model_of(container) if has_gpus else None
    return None if found is None else (found, container)


def _lack_memory(model: ModelMemory, container: Container, there: Destination) -> list[tuple[InstanceType, str]]:
    """The types of a pool whose GPUs do not hold the model of a container, with why."""
    counts = [(each, min(known(container.gpus, otherwise=each.gpus) or 1, max(each.gpus, 1))) for each in there.types]
    share = next((each.memory_mib for each in container.mps if isinstance(each.memory_mib, int)), None)
    return [(each, why) for each, count in counts if (why := model.too_large_for(each, count, share))]


def _unmet_anywhere(context: Context) -> tuple[tuple[Task, Pool, tuple[_OnType, ...]], ...]:
    """For each task and pool the types that it may be placed on, with the needs that they do not meet."""
    found = []
    for route in context.routed(lambda task: any(each.needs for each in task.containers)):
        task = route.task
        types = {each.name: each for destination in route.destinations for each in destination.types}
        seen = {name: (each, unmet_needs(task, each)) for name, each in types.items()}
        # Whoever runs a task by hand may choose hosts that serve it.
        is_short = any if route.workload is not None else all
        if seen and is_short(bool(unmet) for _, unmet in seen.values()):
            found += [
                (task, destination.pool, tuple(seen[each.name] for each in destination.types))
                for destination in route.destinations
            ]
    return tuple(found)


def _problem(task: Task, pool: Pool, missing: list[_OnType], *, others: bool) -> Problem:
    worst = missing[0][1][0]
    container = next(each for each in task.containers if each.name == worst.container)
    beside = ", which it may be placed on," if others else ""
    which = f"{and_list(each for each, _ in missing)} of {pool.name}{beside}"
    of_memory, most = worst.need is NeedKind.GPU_MEMORY, worst.instance_type.gpu_memory_mib
    needs = container.needs and replace(container.needs, memory_mib=most)
    less = with_container(task, container, replace(container, needs=needs))
    undeclared, (property_name, called) = _undeclared(worst), _STATED[worst.need]
    return Problem(
        about=task,
        container=container,
        message=Text(
            Word(f"container {container.name} of {task.name}"),
            f" needs {worst.asked} {called}, and {which} {'have' if len(missing) > 1 else 'has'} {worst.has}",
        ),
        fix="ask for less, or other hosts",
        ways=((Way(text=f"state {undeclared} in the declaration of {worst.instance_type}"),),)
        if undeclared
        else (
            hosts_for(task, pool, "hosts of a type"),
            *(one_way(f"memory on each GPU no higher than {gib_of(most):g} GiB", less) if of_memory and most else ()),
        ),
        property_name=property_name,
        value=worst.asked,
        is_shortage=True,
        is_certain=False,
    )


def _undeclared(unmet: UnmetNeed) -> str:
    """The field that the declaration of a type lacks to say whether it meets a need; empty where it says so."""
    devices = unmet.instance_type.accelerators
    if not unmet.instance_type.declared or devices is None:
        return ""
    if unmet.need is NeedKind.GPU_MEMORY:
        return "gpu_memory_mib" if devices.memory_mib is None else ""
    return "compute_capability" if unmet.need in _SAID_TOGETHER[2] and devices.compute_capability is None else ""


# The property that states each need, and how messages call it.
_STATED = {
    NeedKind.GPU_MEMORY: ("GpuMemoryMib", "of memory on each GPU"),
    NeedKind.COMPUTE_CAPABILITY: ("ComputeCapability", "(CUDA compute capability)"),
    NeedKind.PRECISION: ("Precision", "of its GPUs"),
    NeedKind.NVLINK: ("Nvlink", "between its GPUs"),
}
