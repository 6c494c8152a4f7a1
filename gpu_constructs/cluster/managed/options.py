"""What ECS Managed Instances can be asked to be: what a host must have, what it stores, and who looks after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpu_constructs.cdk.arguments import flag, gpu_memory_mib, known_number, known_or, texts, whole_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.facts import Architecture, InstanceType, accelerated
from gpu_constructs.facts.aws_limits import GP3_MAX_GIB, MAX_IDLE_SECONDS
from gpu_constructs.facts.catalogue import declared_types
from gpu_constructs.facts.values import dataclass

_SELECTS_NONE = "selects no instance types at synth"


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class HostNeed:
    """What a host must have, where ECS Managed Instances are to choose the type.

    ECS takes the cheapest type that satisfies it and takes the waiting tasks, those that come out later among them.
    Where a declared type satisfies it (`declare_instance_types`), ECS gets the names of all types that do.

    Args:
        gpus: Whole NVIDIA GPUs of a host, no more and no fewer. By default 1.
        gpu_memory_gib: Memory in GiB that each GPU must have, measured by what EC2 reports: an L4 has 22.3 GiB, not 24.
            By default any will do.
        models: GPU models that will do, such as ``("L4", "L40S")``. By default any.
        architecture: Processor architecture of the hosts, which the container images must have: ``x86_64`` or
            ``arm64``. By default ``x86_64``.

    Raises:
        InvalidValueError: An argument is wrong by itself, only known at deploy time, or not the name of a GPU.
    """

    gpus: int = 1
    gpu_memory_gib: float | None = None
    models: Sequence[str] = ()
    architecture: Architecture | str = Architecture.X86_64

    def __post_init__(self) -> None:
        most = max(each.gpus for each in _with_gpus())
        gpus = known_number("gpus", self.gpus, smallest=1, largest=most, unit="GPUs", fix="gpus=1", why=_SELECTS_NONE)
        object.__setattr__(self, "gpus", gpus)
        if self.gpu_memory_gib is not None:
            gpu_memory_mib(self.gpu_memory_gib)
        object.__setattr__(self, "models", _models(self.models))
        object.__setattr__(self, "architecture", _architecture(self.architecture))

    @property
    def gpu_memory_mib(self) -> int:
        """Memory that each GPU must have in MiB; 0 asks for nothing."""
        return 0 if self.gpu_memory_gib is None else gpu_memory_mib(self.gpu_memory_gib)


def _models(given: Sequence[str]) -> tuple[str, ...]:
    known = {name.lower(): name for name in map(model_of, _with_gpus()) if name is not None}
    wanted = texts("models", given, example=f"models=({min(known.values())!r},)")
    for each in wanted:
        if each.lower() not in known:
            raise InvalidValueError(
                f"no GPU is called {shown(each)}",
                argument="models",
                value=each,
                allowed=", ".join(sorted(known.values())),
                fix="leave models out for any",
            )
    return tuple(dict.fromkeys(known[each.lower()] for each in wanted))


def _with_gpus() -> Iterator[InstanceType]:
    return (each for each in (*accelerated(), *declared_types()) if each.gpus)


def model_of(each: InstanceType) -> str | None:
    """The model of its accelerators; None without any."""
    return None if each.accelerators is None else each.accelerators.model


def _architecture(given: Architecture | str) -> Architecture:
    if isinstance(given, Architecture):
        return given
    found = {each.value: each for each in Architecture}.get(given) if isinstance(given, str) else None
    if found is None:
        raise InvalidValueError(
            f"expects an architecture, got {shown(given)}",
            argument="architecture",
            value=given,
            allowed=", ".join(each.value for each in Architecture),
            fix="leave it out for x86_64",
        )
    return found


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedOperation:
    """How ECS looks after the hosts of Managed Instances.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateManagedInstancesProviderConfiguration.html

    Args:
        automatic_repair: Whether ECS replaces hosts that are impaired, their GPUs included. By default it does.
        scale_in_after_seconds: How long a host may be idle or half empty before ECS ends it, up to 3600; with
            -1 it never does. By default as ECS sees fit.

    Raises:
        InvalidValueError: An argument is wrong by itself.
    """

    automatic_repair: bool = True
    scale_in_after_seconds: int | None = None

    def __post_init__(self) -> None:
        flag("automatic_repair", self.automatic_repair)
        if self.scale_in_after_seconds is not None:
            seconds = whole_number(
                "scale_in_after_seconds",
                self.scale_in_after_seconds,
                smallest=-1,
                largest=MAX_IDLE_SECONDS,
                unit="seconds, -1 for never",
                fix="leave it out for ECS's own default",
            )
            object.__setattr__(self, "scale_in_after_seconds", known_or(self.scale_in_after_seconds, seconds))

    def provider_data(self) -> Mapping[str, object]:
        """What it adds to the ``ManagedInstancesProvider``, where aws-cdk-lib 2.275 has no words for it."""
        repair = {"AutoRepairConfiguration": {"ActionsStatus": "ENABLED" if self.automatic_repair else "DISABLED"}}
        if self.scale_in_after_seconds is None:
            return repair
        return {**repair, "InfrastructureOptimization": {"ScaleInAfter": self.scale_in_after_seconds}}


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedStorage:
    """Where hosts of ECS Managed Instances keep container images, logs and scratch data.

    Args:
        volume_gib: Size of the data volume in GiB. By default 100: CUDA images want no less, and ECS's own default is
            80.
        local_disks: Whether the local disks of the host are used instead, joined to one volume; only types that have
            some are launched then. By default not.

    Raises:
        InvalidValueError: An argument is wrong by itself.
    """

    volume_gib: int = 100
    local_disks: bool = False

    def __post_init__(self) -> None:
        volume = whole_number(
            "volume_gib", self.volume_gib, smallest=1, largest=GP3_MAX_GIB, unit="GiB", fix="volume_gib=100"
        )
        object.__setattr__(self, "volume_gib", known_or(self.volume_gib, volume))
        flag("local_disks", self.local_disks)

    def template_data(self) -> Mapping[str, object]:
        """What it adds to the ``InstanceLaunchTemplate``."""
        if self.local_disks:
            # "EBS volumes are not provisioned for data storage"
            # (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ManagedInstancesLocalStorageConfiguration.html)
            return {"LocalStorageConfiguration": {"UseLocalStorage": True}}
        return {"StorageConfiguration": {"StorageSizeGiB": self.volume_gib}}
