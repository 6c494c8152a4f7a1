"""A task definition of ECS: what is said of the whole task.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html

Its volumes that are file systems of Amazon EFS, as jobs have them too:
https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_EFSVolumeConfiguration.html and
https://docs.aws.amazon.com/batch/latest/APIReference/API_EFSVolumeConfiguration.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpu_constructs.facts import Architecture
from gpu_constructs.facts.aws_limits import (
    CPU_UNITS_PER_VCPU,
    TASK_SETTINGS_REFUSED,
    VOLUME_SETTINGS_REFUSED,
    WRITABLE_ON_MANAGED,
)
from gpu_constructs.facts.names import image_name
from gpu_constructs.facts.servers import server_of_image
from gpu_constructs.fleet import UNKNOWN, PlacementConstraint, Task, Unknown
from gpu_constructs.template.model import Resource, Text, end_of
from gpu_constructs.template.resources.containers import container_of, needs_in, used_settings, words_for_gpus
from gpu_constructs.template.resources.section import Notes, Section, given

TASK_DEFINITION = "AWS::ECS::TaskDefinition"

_ARCHITECTURES = {"X86_64": Architecture.X86_64, "ARM64": Architecture.ARM64}
# https://github.com/docker-library/official-images#architectures-other-than-amd64
_OF_DOCKER_HUB = {"amd64": Architecture.X86_64, "arm64v8": Architecture.ARM64}
_OF_DOCKER = {"linux/amd64": Architecture.X86_64, "linux/arm64": Architecture.ARM64}
_AMOUNT = r"([0-9]{1,9}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})\s*([A-Za-z]{0,8})"


def task_of(resource: Resource, name: str, notes: Notes) -> Task:
    """Reads a task definition."""
    properties = Section.of(resource, notes)
    network_mode = given(properties.text("NetworkMode"), "bridge")
    needs = needs_in(resource, notes)
    platform = properties.section("RuntimePlatform")
    cpu, memory = task_size_of(properties)
    volumes = {
        f"Volumes.{setting}": None
        for each in properties.sections("Volumes")
        for setting in used_settings(each, VOLUME_SETTINGS_REFUSED)
        if setting != "Host.SourcePath"
        or not f"{each.section('Host').get('SourcePath')}/".startswith(WRITABLE_ON_MANAGED)
    }
    names = [each.text("Name") for each in properties.sections("Volumes")]
    has_all_names = not resource.is_part and all(isinstance(each, str) for each in names)
    required = properties.texts("RequiresCompatibilities")
    return Task(
        name=name,
        containers=tuple(
            container_of(each, network_mode=network_mode, needs=needs, built_for=built_for(resource, each))
            for each in properties.sections("ContainerDefinitions")
        ),
        network_mode=network_mode,
        names_network_mode=properties.has("NetworkMode"),
        family=properties.text("Family"),
        cpu_limit=cpu,
        memory_limit_mib=memory,
        compatibilities=() if UNKNOWN in required else tuple(map(str, required)),
        architecture=architecture_of(platform),
        operating_system=platform.text("OperatingSystemFamily"),
        ipc_mode=properties.text("IpcMode"),
        constraints=constraints_of(properties),
        unknown_keys=words_for_gpus(properties),
        used_keys=(*used_settings(properties, TASK_SETTINGS_REFUSED), *volumes),
        volumes=tuple(map(str, names)) if has_all_names else UNKNOWN,
        has_task_role=UNKNOWN if resource.is_part else properties.has("TaskRoleArn"),
        is_part=resource.is_part,
        origin=resource.origin,
    )


def built_for(resource: Resource, container: Section) -> Architecture | None:
    """What the image of a container is built for, where its name or the app that builds it says so."""
    image = container.get("Image")
    if isinstance(image, str):
        server = server_of_image(image)
        of_server = None if server is None else _ARCHITECTURES.get(server.architecture)
        return of_server or _OF_DOCKER_HUB.get(image_name(image).repository.partition("/")[0])
    platform = resource.platform_of(end_of(image).rpartition(":")[2]) if isinstance(image, Text) else None
    return _OF_DOCKER.get("/".join(platform.split("/")[:2])) if platform is not None else None


def architecture_of(platform: Section) -> Architecture | Unknown | None:
    """The processor architecture of a ``RuntimePlatform``; None if none was written; another value is noted."""
    written = platform.one_of("CpuArchitecture", _ARCHITECTURES)
    return written if isinstance(written, Unknown) else _ARCHITECTURES.get(written or "")


def constraints_of(section: Section) -> tuple[PlacementConstraint, ...]:
    """Placement constraints as written."""
    return tuple(
        PlacementConstraint(type=each.text("Type") or "", expression=each.text("Expression"))
        for each in section.sections("PlacementConstraints")
    )


def task_size_of(section: Section) -> tuple[int | Unknown | None, int | Unknown | None]:
    """CPU units and MiB of a whole task, as its definition or its overrides set them; None where they do not."""
    cpu = amount_of(section, "Cpu", section.text("Cpu"), {"": 1, "vCPU": CPU_UNITS_PER_VCPU})
    return cpu, amount_of(section, "Memory", section.text("Memory"), {"": 1, "GB": 1024})


def amount_of(
    section: Section, key: str, written: str | Unknown | None, units: Mapping[str, int]
) -> int | Unknown | None:
    """A whole amount, rounded down, as ``1024``, ``1 vCPU`` or ``2 GB``; another text is noted and unknown.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html
    """
    if written is None or isinstance(written, Unknown):
        return written
    found = re.fullmatch(_AMOUNT, written.strip())
    size = {name.lower(): each for name, each in units.items()}.get(found[2].lower()) if found else None
    if found is None or size is None:
        section.note("".join(["expects a number", *(f", or one of {each}" for each in units if each)]), written, key)
        return UNKNOWN
    return int(float(found[1]) * size)
