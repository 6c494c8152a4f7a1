"""A container with accelerators as CDK and CloudFormation take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs

from gpu_constructs.errors import InvalidValueError
from gpu_constructs.tasks.container_options import ContainerOptions, passed_on
from gpu_constructs.tasks.container_plan import ContainerPlan
from gpu_constructs.tasks.rehearsal import rehearse

_ULIMITS = {
    "memlock": ecs.Ulimit(name=ecs.UlimitName.MEMLOCK, soft_limit=-1, hard_limit=-1),
    "stack": ecs.Ulimit(name=ecs.UlimitName.STACK, soft_limit=67108864, hard_limit=67108864),
}

# What ECS gives where nothing is written (Device of the ECS API); AWS's page of EFA writes all three.
_PERMISSIONS = [ecs.DevicePermission.READ, ecs.DevicePermission.WRITE, ecs.DevicePermission.MKNOD]

_ADDED_TO: WeakKeyDictionary[ecs.LinuxParameters, bool] = WeakKeyDictionary()
"""Linux settings that users gave to a container, and whether devices or capabilities were added to them for it."""

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


def define_container(
    task_definition: ecs.TaskDefinition,
    construct_id: str,
    *,
    image: ecs.ContainerImage,
    plan: ContainerPlan,
    options: ContainerOptions,
    log_group: logs.ILogGroup,
) -> ecs.ContainerDefinition:
    """Defines a container that was planned; it is there afterwards, or nothing of it is.

    Raises:
        InvalidValueError: An argument has the wrong type, or the name is taken.
        RefusedByCdkError: CDK refuses it for another reason.
    """
    given = options.get("linux_parameters")
    adds = bool(plan.devices or plan.capabilities)
    if given is not None and given in _ADDED_TO and (adds or _ADDED_TO[given]):
        raise InvalidValueError(
            f"each container has its own devices and capabilities, and {construct_id} would share those of another",
            argument="linux_parameters",
            value=given,
            fix="an ecs.LinuxParameters for each container",
        )
    rehearse(
        ecs.TaskDefinition.add_container,
        task_definition,
        construct_id,
        options,
        network_mode=plan.task.network_mode,
    )
    parameters_id = f"{construct_id}LinuxParameters"
    parameters = _linux_parameters(task_definition, parameters_id, plan, given)
    # Of the class above, because GpuTaskDefinition takes no GPUs here.
    container = ecs.TaskDefinition.add_container(
        task_definition,
        construct_id,
        image=image,
        gpu_count=plan.gpu_count,
        cpu=plan.cpu,
        memory_limit_mib=plan.memory_mib,
        memory_reservation_mib=options.get("memory_reservation_mib"),
        linux_parameters=parameters,
        ulimits=_ulimits(plan, options.get("ulimits") or ()),
        environment=plan.environment,
        essential=options.get("essential", True),
        readonly_root_filesystem=options.get("readonly_root_filesystem") or None,
        logging=options.get("logging") or ecs.LogDrivers.aws_logs(stream_prefix=construct_id, log_group=log_group),
        **passed_on(options),
    )
    if given is not None:
        _ADDED_TO[given] = adds
    return container


def _ulimits(plan: ContainerPlan, given: Sequence[ecs.Ulimit]) -> list[ecs.Ulimit] | None:
    names = {each["name"] if isinstance(each, Mapping) else each.name for each in given}
    defaults = [_ULIMITS[each] for each in plan.ulimits if _ULIMITS[each].name not in names]
    return [*defaults, *given] or None


def _linux_parameters(
    task_definition: ecs.TaskDefinition, parameters_id: str, plan: ContainerPlan, given: ecs.LinuxParameters | None
) -> ecs.LinuxParameters | None:
    if given is None and not (plan.shared_memory_mib or plan.devices or plan.capabilities):
        return None
    parameters = given or ecs.LinuxParameters(
        task_definition,
        parameters_id,
        shared_memory_size=plan.shared_memory_mib,
    )
    if plan.devices:
        parameters.add_devices(
            *(ecs.Device(host_path=each, container_path=each, permissions=_PERMISSIONS) for each in plan.devices)
        )
    if plan.capabilities:
        parameters.add_capabilities(*(ecs.Capability[each] for each in plan.capabilities))
    return parameters


def write_requirement(resource: ecs.CfnTaskDefinition, container: int, requirement: Mapping[str, object]) -> None:
    """Writes what CDK has no argument for: ``gpu_count`` is a number, and would print the number of a token.

    Args:
        resource: The task definition.
        container: Which of its containers, from 0.
        requirement: The container's one entry of ``ResourceRequirements``.
    """
    # CDK's task definition makes the list of its containers at synth, so that until then there is none to set it in.
    resource.add_property_override(f"ContainerDefinitions.{container}.ResourceRequirements", [requirement])
    if "SharingStrategy" in requirement and not _IS_SHARING_KNOWN:
        cdk.Validations.of(resource).acknowledge(*_NOT_KNOWN_TO_CDK)
