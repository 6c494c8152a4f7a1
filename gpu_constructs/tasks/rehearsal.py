"""What CDK refuses of a container when it is too late to take the container back is asked before.

A container definition becomes one of its task definition's in the middle of its constructor, and nothing takes it out
again (aws-cdk-lib 2.275). What CDK looks at after that is tried on a task definition that is removed at once, so that a
container that is refused is in no template. What CDK looks at before needs no rehearsal: the container is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aws_cdk import aws_ecs as ecs

from gpu_constructs.cdk.calls import translated
from gpu_constructs.errors import InvalidValueError
from gpu_constructs.fleet import Unknown

_STAGE = "Rehearsal"
_WITH_NAMES = frozenset({"bridge", "awsvpc"})
"""Network modes in which CDK takes the name of a port, once in each container."""

_CHECKED_LATE = (
    "port_mappings",
    "inference_accelerator_resources",
    "enable_restart_policy",
    "restart_ignored_exit_codes",
    "restart_attempt_period",
    "firelens_config",
)
# Their keys and buckets are granted to a role, of which a removed construct takes nothing back.
_LEAVES_TRACES = ("secrets", "environment_files")


def rehearse(
    add: Callable[..., ecs.ContainerDefinition],
    task_definition: ecs.TaskDefinition,
    name: str,
    options: Mapping[str, Any],
    *,
    network_mode: str | Unknown | None,
) -> None:
    """Refuses a container that CDK would refuse once it is part of the task definition.

    Raises:
        InvalidValueError: An argument has the wrong type, or an environment file does not exist.
        RefusedByCdkError: CDK refuses it for another reason.
    """
    _require_environment_files(options.get("environment_files"))
    late = {each: options[each] for each in _CHECKED_LATE if options.get(each) is not None}
    if not late or (late.keys() == {"port_mappings"} and _are_harmless(late["port_mappings"], network_mode)):
        return
    _try(add, task_definition, name, late)


def rehearse_whole(task_definition: ecs.TaskDefinition, name: str, options: Mapping[str, Any]) -> None:
    """Refuses a container that CDK would refuse at any time, for what is made before it and stays.

    Raises:
        InvalidValueError: An argument has the wrong type, or an environment file does not exist.
        RefusedByCdkError: CDK refuses it for another reason.
    """
    _require_environment_files(options.get("environment_files"))
    tried = {each: value for each, value in options.items() if each not in _LEAVES_TRACES}
    _try(ecs.TaskDefinition.add_container, task_definition, name, tried)


def _try(
    add: Callable[..., ecs.ContainerDefinition],
    task_definition: ecs.TaskDefinition,
    name: str,
    options: Mapping[str, Any],
) -> None:
    try:
        with translated():
            accelerators = "inference_accelerator_resources" in options
            stage = ecs.Ec2TaskDefinition(
                task_definition,
                _STAGE,
                network_mode=task_definition.network_mode,
                task_role=task_definition.task_role,
                inference_accelerators=task_definition.inference_accelerators if accelerators else None,
            )
            add(stage, name, image=ecs.ContainerImage.from_registry("rehearsal"), memory_limit_mib=512, **options)
    finally:
        task_definition.node.try_remove_child(_STAGE)


def _are_harmless(mappings: object, network_mode: str | Unknown | None) -> bool:
    """Whether each maps a port and says nothing that CDK could refuse; a rehearsal is seven requests to Node."""
    if not isinstance(mappings, (list, tuple)) or not all(isinstance(each, ecs.PortMapping) for each in mappings):
        return False
    names = [each.name for each in mappings if each.name is not None]
    if names and (network_mode not in _WITH_NAMES or not all(names) or len(set(names)) < len(names)):
        return False
    return all(
        isinstance(each.container_port, int)
        and each.container_port > 0
        and (each.host_port, each.container_port_range, each.app_protocol) == (None,) * 3
        for each in mappings
    )


def _require_environment_files(files: object) -> None:
    """CDK looks for them when the container has its permissions, which would stay."""
    for each in files if isinstance(files, (list, tuple)) else ():
        if isinstance(each, ecs.AssetEnvironmentFile) and not Path(each.path).exists():
            raise InvalidValueError(
                f"there is no file {each.path}",
                argument="environment_files",
                value=each.path,
                fix="the path of a file of lines NAME=value",
            )
