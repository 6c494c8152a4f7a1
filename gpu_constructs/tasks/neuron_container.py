"""A container with Neuron devices: their paths on hosts of an Auto Scaling group, ``NeuronDevice`` elsewhere.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from gpu_constructs.cdk.arguments import whole_number
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError
from gpu_constructs.fleet import NEURON_DEVICE, Container, Pool, PoolKind, ResourceRequirement, Task, known
from gpu_constructs.hardware import Vendor
from gpu_constructs.placement import demand_of
from gpu_constructs.tasks.container_options import ContainerOptions
from gpu_constructs.tasks.container_plan import ContainerPlan, finish_plan, require_container_name

NeuronDevices: TypeAlias = int | Literal["ALL"]

_ALL = "ALL"
_ARGUMENTS: Mapping[str, str] = {
    "ResourceRequirements": "devices",
    '{"Type": "NeuronDevice", "Value": "ALL"}': "devices='ALL'",
    "ALL": "'ALL'",
}
_FIX = "devices='ALL' for every device of the host, or a number such as devices=1"

# As in AWS's own example (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference-task-def.html, read
# 2026-11-21): the Neuron runtime locks the memory that it shares with a device.
_CAPABILITIES = ("IPC_LOCK",)


def plan_neuron_container(
    name: str, *, task: Task, pools: Sequence[Pool], devices: NeuronDevices, options: ContainerOptions
) -> ContainerPlan:
    """Checks a container against the smallest host of every pool, and says which devices it gets.

    Raises:
        InvalidValueError: An argument is wrong by itself.
        IncompatibleError: A pool has no Neuron devices, the pools give them out in different ways or in different
            numbers, or another container of the task has them all.
        DoesNotFitError: A pool's smallest host has less of something than the task asks for.
    """
    _require_neuron(pools)
    require_container_name(name, options)
    count = None if isinstance(devices, str) and devices == _ALL else _number(devices)
    managed = _are_managed(pools)
    before = [each.name for each in task.containers if _has_neuron(each)]
    if before and count is None and not managed:
        raise IncompatibleError(
            f"{name} asks for all Neuron devices of the host, of which {before[-1]} of the same task has some",
            argument="devices",
            value=devices,
            fix="a number of devices for each, or another task definition for one of them",
        )
    if managed:
        value = _ALL if count is None else str(count)
        container = Container(name=name, requirements=(ResourceRequirement(type=NEURON_DEVICE, value=value),))
    else:
        first = demand_of(task).neuron_devices
        end = _devices_of_host(pools) if count is None else first + count
        container = Container(name=name, devices=tuple(f"/dev/neuron{index}" for index in range(first, end)))
    plan = finish_plan(
        container,
        task=task,
        pools=pools,
        options=options,
        variables_by_default={},
        arguments=_ARGUMENTS,
        given={"devices": devices},
    )
    if managed:
        return replace(plan, requirement={"Type": NEURON_DEVICE, "Value": _ALL})
    return replace(plan, capabilities=_CAPABILITIES)


def _number(devices: NeuronDevices) -> int:
    if is_token(devices):
        raise InvalidValueError("a list of devices needs a number that is known at synth", argument="devices", fix=_FIX)
    return known(whole_number("devices", devices, smallest=1, unit="Neuron devices", fix=_FIX))


def _require_neuron(pools: Sequence[Pool]) -> None:
    for pool in pools:
        shape = pool.shape
        if shape is not None and shape.vendor is not Vendor.NEURON:
            instead = "add_container" if shape.vendor is None else "add_gpu_container"
            raise IncompatibleError(
                f"a host of {pool.name} ({pool.instance_types[0]}) has {shape}, and no Neuron device",
                argument="capacity",
                value=pool.name,
                fix=f"{instead}, or capacity of a type such as inf2.xlarge",
                rule="GPU060",
            )


def _are_managed(pools: Sequence[Pool]) -> bool:
    managed = [pool.name for pool in pools if pool.kind is PoolKind.MANAGED_INSTANCES]
    others = [pool.name for pool in pools if pool.kind is not PoolKind.MANAGED_INSTANCES]
    if managed and others:
        raise IncompatibleError(
            f"ECS Managed Instances ({', '.join(managed)}) give out Neuron devices as a resource, and hosts of an Auto "
            f"Scaling group ({', '.join(others)}) by path",
            argument="capacity",
            value=[pool.name for pool in pools],
            fix="one task definition for each",
        )
    return bool(managed)


def _devices_of_host(pools: Sequence[Pool]) -> int:
    counts = {each.accelerators.count: each.name for pool in pools for each in pool.instance_types if each.accelerators}
    if not counts or not all(pool.types_are_known for pool in pools):
        raise InvalidValueError(
            "an instance type that is only known at deploy time does not say how many Neuron devices it has",
            argument="devices",
            value=_ALL,
            fix="a number such as devices=1",
        )
    if len(counts) > 1:
        sides = ", ".join(f"{name} has {count}" for count, name in counts.items())
        raise IncompatibleError(
            f"a task definition lists its devices once, and the hosts have different numbers of Neuron devices "
            f"({sides})",
            argument="devices",
            value=_ALL,
            fix="one task definition for each number, or a number that all of them have",
        )
    return next(iter(counts))


def _has_neuron(container: Container) -> bool:
    return any(each.type == NEURON_DEVICE for each in container.requirements) or any(
        path.startswith("/dev/neuron") for path in container.devices
    )
