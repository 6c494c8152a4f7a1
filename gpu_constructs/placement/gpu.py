"""Accelerators of one host against what a task asks of them: whole GPUs, parts of one, shares of one, Neuron devices.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu-specifying.html,
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_constructs.fleet import PoolKind
from gpu_constructs.hardware import Accelerators, InstanceType, Vendor
from gpu_constructs.hardware.driver_memory import most_gpu_memory_mib
from gpu_constructs.placement.demand import Demand
from gpu_constructs.placement.host import expected_shareable_mib
from gpu_constructs.placement.reasons import Doubt, DoubtKind, HostResource, Obstacle, ObstacleKind, Shortfall

_EQUAL = 1e-9  # parts are written as decimals


def of_accelerators(
    demand: Demand, instance_type: InstanceType, kind: PoolKind
) -> Iterator[Shortfall | Obstacle | Doubt]:
    """What stands between a task and the accelerators of a host."""
    devices = instance_type.accelerators
    part = devices.partition if devices is not None and devices.vendor is Vendor.NVIDIA and devices.is_fractional else 0
    if demand.gpus:
        yield from _whole_on_part(demand, instance_type, part) if part else _whole(demand, instance_type)
    if demand.part:
        yield from _part(demand.part, instance_type, part)
    if demand.shared_memory_mib is not None and instance_type.gpus:
        yield from _shared(demand.shared_memory_mib, instance_type)
    if demand.neuron or demand.neuron_devices:
        yield from _neuron(demand, instance_type, kind)


def _whole(demand: Demand, instance_type: InstanceType) -> Iterator[Shortfall | Doubt]:
    available = instance_type.gpus
    # One GPU serves one container, so if one takes them all, there is none for another.
    asked = demand.gpus - 1 + available if demand.all_gpus and available else demand.gpus
    if asked > available:
        yield Shortfall(resource=HostResource.GPU, asked=asked, available=available, instance_type=instance_type)
    elif asked + demand.summed_gpus > available:
        yield Doubt(
            kind=DoubtKind.ENTRIES,
            text=f"{instance_type} has {available} GPUs, and whether the entries of one container add up to "
            f"{asked + demand.summed_gpus} is not documented",
        )


def _whole_on_part(demand: Demand, instance_type: InstanceType, part: float) -> Iterator[Obstacle | Doubt]:
    if demand.all_gpus and demand.gpus == 1:
        yield Doubt(
            kind=DoubtKind.UNDOCUMENTED,
            text=f"{instance_type} has {part:g} of a GPU, and what ALL means there is not documented",
            fix=f"ask for {part:g}",
        )
    elif demand.shared_memory_mib is not None:
        text = f"has {part:g} of a GPU, and only whole GPUs are shared through MPS"
        yield Obstacle.of(instance_type, ObstacleKind.SHARING, text)
    elif not demand.may_be_part:
        yield Obstacle.of(instance_type, ObstacleKind.GPU_PART, f"has {part:g} of a GPU, and whole GPUs are asked")


def _part(asked: float, instance_type: InstanceType, part: float) -> Iterator[Obstacle | Doubt]:
    if not part:
        has = "whole GPUs" if instance_type.gpus else "no GPU"
        yield Obstacle.of(
            instance_type,
            ObstacleKind.GPU_PART,
            f"has {has}, and {asked:g} of one is placed on fractional hosts only (G6f, Gr6f)",
        )
    elif asked > part + _EQUAL:
        yield Obstacle.of(instance_type, ObstacleKind.GPU_PART, f"has {part:g} of a GPU, and {asked:g} of one is asked")
    elif asked < part - _EQUAL:
        yield Doubt(
            kind=DoubtKind.UNDOCUMENTED,
            text=f"{instance_type} has {part:g} of a GPU, and whether it takes a task that asks for less, here "
            f"{asked:g}, is not documented",
            fix=f"ask for {part:g}",
        )


def _shared(asked_mib: int, instance_type: InstanceType) -> Iterator[Shortfall | Doubt]:
    memory = instance_type.gpu_memory_mib
    if memory is None:
        yield Doubt(kind=DoubtKind.HOSTS, text=f"no source says how much memory a GPU of {instance_type} has to share")
    elif asked_mib > (most_gpu_memory_mib(instance_type) or memory):
        yield Shortfall(
            resource=HostResource.SHARED_GPU_MEMORY, asked=asked_mib, available=memory, instance_type=instance_type
        )
    elif asked_mib > (least := expected_shareable_mib(memory)):
        yield Doubt(
            kind=DoubtKind.MEMORY,
            text=f"a GPU of {instance_type} with nominally {memory} MiB may have less to share through MPS, and "
            f"{asked_mib} MiB are asked",
            fix=f"ask for no more than {least} MiB",
        )


def _neuron(demand: Demand, instance_type: InstanceType, kind: PoolKind) -> Iterator[Obstacle | Shortfall]:
    devices: Accelerators | None = instance_type.accelerators
    chips = devices.count if devices is not None and devices.vendor is Vendor.NEURON else 0
    if not chips:
        yield Obstacle.of(instance_type, ObstacleKind.NEURON, "has no Neuron device")
    if demand.neuron and kind is not PoolKind.MANAGED_INSTANCES:
        text = f"comes from an {kind.value}, and the resource NeuronDevice is for ECS Managed Instances only"
        yield Obstacle.of(instance_type, ObstacleKind.LAUNCHER, text)
    if chips and demand.neuron_devices > chips:
        yield Shortfall(
            resource=HostResource.NEURON_DEVICES,
            asked=demand.neuron_devices,
            available=chips,
            instance_type=instance_type,
        )
