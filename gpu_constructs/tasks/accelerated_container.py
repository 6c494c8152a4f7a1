"""A container with accelerators: what it may be on the capacity of its task, and how CDK and CloudFormation take it.

GPUs are asked for. Neuron devices are given by their paths on hosts of an Auto Scaling group, and asked for as
``NeuronDevice`` elsewhere: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.arguments import texts, whole_number
from gpu_constructs.cdk.tokens import is_token
from gpu_constructs.errors import IncompatibleError, InvalidValueError, shown
from gpu_constructs.facts import Vendor
from gpu_constructs.fleet import NEURON_DEVICE, Container, GpuNeeds, Pool, PoolKind, ResourceRequirement, Task, known
from gpu_constructs.placement.demand import demand_of
from gpu_constructs.placement.pool_profile import FairShare
from gpu_constructs.tasks.container_options import ContainerOptions, GpuContainerOptions, passed_on
from gpu_constructs.tasks.container_plan import ContainerPlan, finish_plan, require_container_name, with_one_more
from gpu_constructs.tasks.gpu_ask import Gpus, ask_for, require_gpu_pools
from gpu_constructs.tasks.host_share import GPU_LIMITS, require_met

if TYPE_CHECKING:
    from aws_cdk import aws_logs as logs

NeuronDevices: TypeAlias = int | Literal["ALL"]

_DRIVER_CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES"
_COMPUTE = ("compute", "utility")
# https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
_CAPABILITIES_OF_DRIVER = (*_COMPUTE, "video", "graphics", "display", "compat32", "ngx", "all")

_GPU_ARGUMENTS: Mapping[str, str] = {
    "ResourceRequirements": "gpus",
    "SharingStrategy": "GpuShare(memory_mib=…)",
    "Value": "gpus=1",
    'the value, "Value":': "gpus, such as",
}
_NEURON_ARGUMENTS: Mapping[str, str] = {
    "ResourceRequirements": "devices",
    '{"Type": "NeuronDevice", "Value": "ALL"}': "devices='ALL'",
    "ALL": "'ALL'",
}

_ALL = "ALL"
_FIX = "devices='ALL' for every device of the host, or a number such as devices=1"

# As in AWS's own example (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-inference-task-def.html, read
# 2026-11-21): the Neuron runtime locks the memory that it shares with a device.
_CAPABILITIES = ("IPC_LOCK",)

_LIMITS = {
    name: ecs.Ulimit(name=ecs.UlimitName[name.upper()], soft_limit=limit, hard_limit=limit)
    for name, limit in GPU_LIMITS.items()
}

# What ECS gives where nothing is written (Device of the ECS API); AWS's page of EFA writes all three.
_PERMISSIONS = [ecs.DevicePermission.READ, ecs.DevicePermission.WRITE, ecs.DevicePermission.MKNOD]

_IS_SHARING_KNOWN = hasattr(ecs.CfnTaskDefinition.ResourceRequirementProperty, "sharing_strategy")
"""Whether the schema of CDK is of agent 1.107.0 or later, as that of aws-cdk-lib 2.276 is."""

# Against an older schema SharingStrategy is unknown (F3002) and Value required (F3003); errors where
# @aws-cdk/core:validateAgainstDefaultRules is on, as in every new app, and in cdk-preflight where it is strict.
_NOT_KNOWN_TO_CDK = tuple(
    cdk.Acknowledgment(id=f"{plugin}::{rule}", reason=reason)
    for plugin in ("CloudFormation-Validate", "cdk-preflight")
    for rule, reason in (
        ("F3002", "SharingStrategy of a GPU is newer than the schema that CDK brings"),
        ("F3003", "Value is not required with SharingStrategy, which is newer than the schema that CDK brings"),
    )
)


def plan_gpu_container(
    name: str,
    *,
    task: Task,
    pools: Sequence[Pool],
    gpus: Gpus,
    needs: GpuNeeds | None,
    options: GpuContainerOptions,
    kept: FairShare,
) -> ContainerPlan:
    """Checks a container against the smallest host of every pool."""
    requirement, written = ask_for(gpus)
    asked = Container(name=name, requirements=(requirement,), needs=needs)
    require_gpu_pools(pools, asked, efa=options.get("efa") is True)
    require_container_name(name, options)
    plan = finish_plan(
        asked,
        task=task,
        pools=pools,
        options=options,
        variables_by_default=_of_driver(options),
        arguments=_GPU_ARGUMENTS,
        given={"gpus": gpus},
        kept=kept,
    )
    require_met(with_one_more(task, asked), pools)
    count = None if written else requirement.whole or requirement.part
    return replace(plan, gpu_count=count, requirement=written, ulimits=tuple(GPU_LIMITS))


def _of_driver(options: GpuContainerOptions) -> dict[str, str]:
    """The variable that says what of the driver a container is given."""
    given = texts("driver_capabilities", options.get("driver_capabilities") or (), example="['video']")
    unknown = [each for each in given if each not in _CAPABILITIES_OF_DRIVER]
    said = _DRIVER_CAPABILITIES in {*(options.get("environment") or ()), *(options.get("secrets") or ())}
    if unknown or (given and said):
        raise InvalidValueError(
            f"NVIDIA's driver offers no {shown(unknown[0])}" if unknown else f"{_DRIVER_CAPABILITIES} is set as well",
            argument="driver_capabilities",
            value=given,
            allowed=", ".join(_CAPABILITIES_OF_DRIVER),
            fix="driver_capabilities=['video'] or ['graphics']" if unknown else "leave one of them out",
        )
    return {_DRIVER_CAPABILITIES: "all" if "all" in given else ",".join(dict.fromkeys((*_COMPUTE, *given)))}


def plan_neuron_container(
    name: str, *, task: Task, pools: Sequence[Pool], devices: NeuronDevices, options: ContainerOptions
) -> ContainerPlan:
    """Checks a container against the smallest host of every pool, and says which devices it gets."""
    _require_neuron(pools)
    require_container_name(name, options)
    if is_token(devices):
        raise InvalidValueError("a list of devices needs a number that is known at synth", argument="devices", fix=_FIX)
    is_all = isinstance(devices, str) and devices == _ALL
    count = None if is_all else known(whole_number("devices", devices, smallest=1, unit="Neuron devices", fix=_FIX))
    managed = _are_managed(pools)
    before = [each.name for each in task.containers if each.wants_neuron]
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
        arguments=_NEURON_ARGUMENTS,
        given={"devices": devices},
    )
    if managed:
        return replace(plan, requirement={"Type": NEURON_DEVICE, "Value": _ALL})
    return replace(plan, capabilities=_CAPABILITIES)


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


def define_container(
    task_definition: ecs.TaskDefinition,
    construct_id: str,
    *,
    image: ecs.ContainerImage,
    plan: ContainerPlan,
    options: ContainerOptions,
    log_group: logs.ILogGroup,
) -> ecs.ContainerDefinition:
    """Defines a container that was planned."""
    given = options.get("linux_parameters")
    parameters = _linux_parameters(task_definition, f"{construct_id}LinuxParameters", plan, given)
    ulimits = options.get("ulimits") or ()
    named = {each["name"] if isinstance(each, Mapping) else each.name for each in ulimits}
    defaults = [_LIMITS[each] for each in plan.ulimits if _LIMITS[each].name not in named]
    # Of the class above, because GpuTaskDefinition takes no GPUs here.
    return ecs.TaskDefinition.add_container(
        task_definition,
        construct_id,
        image=image,
        gpu_count=plan.gpu_count,
        cpu=plan.cpu,
        memory_limit_mib=plan.memory_mib,
        memory_reservation_mib=options.get("memory_reservation_mib"),
        linux_parameters=parameters,
        ulimits=[*defaults, *ulimits] or None,
        environment=plan.environment,
        essential=options.get("essential", True),
        readonly_root_filesystem=options.get("readonly_root_filesystem") or None,
        logging=options.get("logging") or ecs.LogDrivers.aws_logs(stream_prefix=construct_id, log_group=log_group),
        **passed_on(options),
    )


def _linux_parameters(
    task_definition: ecs.TaskDefinition, parameters_id: str, plan: ContainerPlan, given: ecs.LinuxParameters | None
) -> ecs.LinuxParameters | None:
    paths = plan.container.devices
    if given is None and not (plan.shared_memory_mib or paths or plan.capabilities):
        return None
    parameters = given or ecs.LinuxParameters(
        task_definition,
        parameters_id,
        shared_memory_size=plan.shared_memory_mib,
    )
    if paths:
        parameters.add_devices(
            *(ecs.Device(host_path=each, container_path=each, permissions=_PERMISSIONS) for each in paths)
        )
    if plan.capabilities:
        parameters.add_capabilities(*(ecs.Capability[each] for each in plan.capabilities))
    return parameters


def write_requirement(resource: ecs.CfnTaskDefinition, container: int, requirement: Mapping[str, object]) -> None:
    """Writes what CDK has no argument for: ``gpu_count`` is a number, and would print the number of a token."""
    # CDK's task definition makes the list of its containers at synth, so that until then there is none to set it in.
    resource.add_property_override(f"ContainerDefinitions.{container}.ResourceRequirements", [requirement])
    if "SharingStrategy" in requirement and not _IS_SHARING_KNOWN:
        cdk.Validations.of(resource).acknowledge(*_NOT_KNOWN_TO_CDK)
