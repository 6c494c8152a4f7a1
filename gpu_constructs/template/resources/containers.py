"""What a container of a task definition, or of a job, asks of its host and of AWS.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-ecs-taskdefinition-containerdefinition.html

What CloudFormation has no property for travels in the resource's metadata::

    Metadata:
      gpu-constructs:
        Containers:
          vllm: {GpuMemoryMib: 16384, ComputeCapability: "8.0", Precision: bf16, Nvlink: true}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpu_constructs.facts import Architecture
from gpu_constructs.facts.aws_limits import CONTAINER_SETTINGS_REFUSED, LARGEST_PORT
from gpu_constructs.facts.cuda import is_target
from gpu_constructs.fleet import (
    METADATA_KEY,
    UNKNOWN,
    Container,
    Dependency,
    GpuNeeds,
    NvidiaMps,
    Relations,
    ResourceRequirement,
    Unknown,
)
from gpu_constructs.fleet.keys import GPU_WORDS, plain
from gpu_constructs.fleet.requirement import GPU, NEURON_DEVICE
from gpu_constructs.template.model import Reference, Resource, pattern_of, pieces_of
from gpu_constructs.template.resources.index import Index
from gpu_constructs.template.resources.section import Notes, Section, given, is_list

_NEEDS_KEYS = frozenset({"ComputeCapability", "GpuMemoryMib", "Nvlink", "Precision"})
_CAPABILITY = r"([0-9]{1,3})\.([0-9]{1,2})([af]?)"
_NO_NAME = "unknown"
_RANGES = "NodeRangeProperties"


def container_of(
    section: Section, *, network_mode: str | Unknown, needs: Mapping[str, GpuNeeds], built_for: Architecture | None
) -> Container:
    """Reads one container, given what metadata says that those of its task need, by their names."""
    linux, check = section.section("LinuxParameters"), section.section("HealthCheck")
    listed, devices = linux.get("Devices"), linux.known_texts("Devices", "HostPath")
    has_all_devices = listed is None or (is_list(listed) and len(listed) == len(devices))
    return Container(
        name=container_name(section),
        requirements=requirements_of(section),
        needs=needs.get(container_name(section)),
        cpu=section.integer("Cpu") or 0,
        memory_limit_mib=section.integer("Memory"),
        memory_reservation_mib=section.integer("MemoryReservation"),
        shared_memory_mib=linux.integer("SharedMemorySize"),
        host_ports=_host_ports(section, network_mode),
        port_mappings=_port_mappings(section),
        stop_timeout_seconds=section.integer("StopTimeout"),
        devices=devices,
        may_have_other_devices=section.flag("Privileged") not in {None, False} or not has_all_devices,
        privileged=given(section.flag("Privileged"), default=False),
        environment=environment_of(section),
        image=section.text("Image"),
        entry_point=section.texts("EntryPoint"),
        command=section.texts("Command"),
        unknown_keys=words_for_gpus(section),
        used_keys=used_settings(section, CONTAINER_SETTINGS_REFUSED),
        relations=Relations(
            depends_on=tuple(
                Dependency(container=name, condition=given(each.text("Condition"), ""))
                for each in section.sections("DependsOn")
                if isinstance(name := each.text("ContainerName"), str)
            ),
            mounts=section.known_texts("MountPoints", "SourceVolume"),
            mount_paths=mount_paths_of(section),
            has_volumes_of_others=bool(section.sections("VolumesFrom")),
            log_driver=section.section("LogConfiguration").text("LogDriver"),
        ),
        has_health_check=UNKNOWN if check.is_unknown else check.texts("Command")[:1] not in {(), ("NONE",)},
        has_open_name=has_open_name(section),
        built_for=built_for,
        origin=section.origin,
    )


def containers_in(definition: Section) -> Iterator[Section]:
    """The containers of a task definition or of a job."""
    yield from (*definition.sections("ContainerDefinitions"), definition.section("ContainerProperties"))
    yield from (each.section("Container") for each in definition.section("NodeProperties").sections(_RANGES))
    for task in definition.section("EcsProperties").sections("TaskProperties"):
        yield from task.sections("Containers")


def needs_of_aws(container: Section, index: Index, *, is_job: bool = False) -> dict[str, bool]:
    """Services of AWS without which a container has no image or no logs, and whether it then certainly stops.

    By default ECS has awslogs not block (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LogConfiguration.html).
    A job has awslogs where it names no driver (https://docs.aws.amazon.com/batch/latest/userguide/using_awslogs.html).
    """
    pieces, logs = pieces_of(container.get("Image")), container.section("LogConfiguration")
    named = (isinstance(each, Reference) and index.find(each, "AWS::ECR::Repository") for each in pieces)
    is_of_ecr = re.match(r"[0-9*]+\.dkr[.-]ecr\.", pattern_of(container.get("Image"))) or any(named)
    found = dict.fromkeys(("ecr.api", "ecr.dkr", "s3") if is_of_ecr else (), True)
    is_blocking = logs.section("Options").text("mode") == "blocking"
    driver = logs.text("LogDriver") if logs.has("LogDriver") or not is_job else "awslogs"
    return {**found, **({"logs": is_blocking} if driver == "awslogs" else {})}


def mount_paths_of(section: Section) -> tuple[str | Unknown, ...]:
    """Where a container mounts volumes, or Docker makes a directory."""
    mounted = (*section.sections("MountPoints"), *section.section("LinuxParameters").sections("Tmpfs"))
    made = () if section.get("WorkingDirectory") is None else (given(section.text("WorkingDirectory"), UNKNOWN),)
    return (*(given(each.text("ContainerPath"), UNKNOWN) for each in mounted), *made)


def container_name(section: Section) -> str:
    """The name of a container, empty if it has none; something to call it where that is only known at deploy time.

    Two of one task are called differently, so that they are not taken for one name that is written twice.
    """
    name = section.text("Name")
    if not isinstance(name, Unknown):
        return name or ""
    number = section.path[-1] if section.path else 0
    return f"{_NO_NAME}-{number + 1}" if isinstance(number, int) and number else _NO_NAME


def has_open_name(section: Section) -> bool:
    """Whether the name of a container is only known at deploy time."""
    return isinstance(section.text("Name"), Unknown)


def requirements_of(section: Section) -> tuple[ResourceRequirement, ...]:
    """What a container asks of accelerators, as written."""
    written = section.get("ResourceRequirements")
    entries = written if isinstance(written, Sequence) and not isinstance(written, str) else ()
    # A text is not an entry, and not a value of the deploy either. Only a type is quoted of it.
    texts = {
        number: each if each in {GPU, NEURON_DEVICE} else ""
        for number, each in enumerate(entries)
        if isinstance(each, str)
    }
    return tuple(
        ResourceRequirement(type=texts[number]) if number in texts else _requirement(each)
        for each in section.sections("ResourceRequirements")
        for number in each.path[-1:]
    )


def environment_of(section: Section) -> tuple[tuple[str, str | Unknown], ...]:
    """Environment variables in order of name; the value of a secret is unknown."""
    found: dict[str, str | Unknown] = {}
    for key, is_secret in (("Environment", False), ("Secrets", True)):
        for each in section.sections(key):
            name = each.text("Name")
            if isinstance(name, str):
                found[name] = UNKNOWN if is_secret else each.text("Value") or ""
    return tuple((name, found[name]) for name in sorted(found))


def needs_in(resource: Resource, notes: Notes) -> dict[str, GpuNeeds]:
    """What the metadata of a task definition says that its containers need, by their names."""
    metadata: object = resource.metadata
    top = Section(metadata if isinstance(metadata, Mapping) else {}, resource.origin, ("Metadata",), notes)
    containers = top.section(METADATA_KEY).section("Containers")
    return {name: each for name in containers.keys if (each := needs_of(containers.section(name))) is not None}


def needs_of(section: Section) -> GpuNeeds | None:
    """What the metadata of a task definition says about one container; None if nothing."""
    if not section.keys:
        return None
    for key in unknown_keys(section, _NEEDS_KEYS):
        section.note(f"expects {', '.join(sorted(_NEEDS_KEYS))}", key, key)
    memory = section.integer("GpuMemoryMib")
    if isinstance(memory, int) and memory <= 0:
        section.note("expects MiB", memory, "GpuMemoryMib")
        memory = None
    precision = section.text("Precision")
    capability, features = _capability(section)
    return GpuNeeds(
        memory_mib=None if isinstance(memory, Unknown) else memory,
        compute_capability=capability,
        compute_features=features,
        precision=None if isinstance(precision, Unknown) else precision,
        nvlink=section.flag("Nvlink") is True,
    )


def unknown_keys(section: Section, known: Iterable[str]) -> tuple[str, ...]:
    """Keys that the API does not have, in the order in which they were written."""
    return tuple(each for each in section.keys if each not in known)


def words_for_gpus(section: Section) -> tuple[str, ...]:
    """Keys by which GPUs are asked for and which the API does not have, such as ``gpuCount``."""
    return tuple(each for each in section.keys if plain(each) in GPU_WORDS)


def used_settings(section: Section, settings: Iterable[str]) -> tuple[str, ...]:
    """Those of the settings, such as ``Host.SourcePath``, that are written and not empty or false."""
    return tuple(each for each in settings if _is_used(section, each))


def _is_used(section: Section, setting: str) -> bool:
    above, _, key = setting.rpartition(".")
    values = section.get(above) if above else section.values
    if values is None or section.is_unknown or not isinstance(values, (dict, Mapping)):
        return False
    value = values.get(key)
    if value is None or value is False:
        return False
    return bool(value) or not isinstance(value, (str, Sequence, Mapping))


def _requirement(section: Section) -> ResourceRequirement:
    beyond = unknown_keys(section, {"SharingStrategy", "Type", "Value"})
    mps = None
    if section.has("SharingStrategy"):
        sharing = section.section("SharingStrategy")
        beyond += tuple(f"SharingStrategy.{each}" for each in unknown_keys(sharing, ("NvidiaMps",)))
        if sharing.is_unknown or sharing.has("NvidiaMps"):
            share = sharing.section("NvidiaMps")
            keys = unknown_keys(share, ("MaxComputePercent", "Memory"))
            beyond += tuple(f"SharingStrategy.NvidiaMps.{each}" for each in keys)
            mps = NvidiaMps(memory_mib=share.integer("Memory"), max_compute_percent=share.integer("MaxComputePercent"))
    return ResourceRequirement(
        type=section.text("Type") or "",
        value=section.text("Value"),
        nvidia_mps=mps,
        unknown_keys=beyond,
        is_number=section.path[:1] != ("Properties",) and type(section.get("Value")) in {int, float},
    )


def _host_ports(section: Section, network_mode: str | Unknown) -> tuple[tuple[int, str], ...]:
    """Ports of the host that are certainly taken: static ones in mode bridge, all of them in mode host.

    One that two mappings take is there twice, which no host can give
    (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html).
    """
    ports: list[tuple[int, str]] = []
    for each in section.sections("PortMappings"):
        port, protocol = each.integer("HostPort"), each.text("Protocol")
        if network_mode == "host" and port in {None, 0}:
            port = each.integer("ContainerPort")
        if not isinstance(port, int) or isinstance(protocol, Unknown):
            continue
        if 0 < port <= LARGEST_PORT and network_mode in {"bridge", "host"}:
            ports.append((port, (protocol or "tcp").lower()))
    return tuple(ports)


def _port_mappings(section: Section) -> tuple[tuple[int, int], ...] | Unknown:
    found = []
    for each in section.sections("PortMappings"):
        inside, on_host = each.integer("ContainerPort"), each.integer("HostPort") or 0
        if not isinstance(inside, int) or not isinstance(on_host, int):
            return UNKNOWN
        found.append((inside, on_host))
    return UNKNOWN if section.is_unknown else tuple(found)


def _capability(section: Section) -> tuple[tuple[int, int] | None, str]:
    written = section.text("ComputeCapability")
    found = re.fullmatch(_CAPABILITY, written) if isinstance(written, str) else None
    if found is not None and is_target((int(found[1]), int(found[2])), found[3]):
        return (int(found[1]), int(found[2])), found[3]
    if isinstance(written, str):
        expected = "expects major and minor, such as '8.0', with the letter a from 9.0 and f from 10.0"
        section.note(expected, written, "ComputeCapability")
    return None, ""
