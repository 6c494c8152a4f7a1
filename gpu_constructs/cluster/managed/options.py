"""What ECS Managed Instances can be asked to be: what a host must have, how it is bought, and who looks after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gpu_constructs.cdk.arguments import flag, gpu_memory_mib, known_or, texts, whole_number
from gpu_constructs.cdk.kinds import names_checked, with_names_checked
from gpu_constructs.cdk.tokens import known_text
from gpu_constructs.cluster.hosts.providers import require_group_arn
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.facts import Architecture, InstanceType, accelerated
from gpu_constructs.facts.aws_limits import GP3_MAX_GIB, LARGEST_INTEGER, MAX_IDLE_SECONDS
from gpu_constructs.facts.catalogue import declared_types
from gpu_constructs.fleet import PurchaseOption, Reservation, Unknown


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
        generations: GPU generations that will do, such as ``("Ada", "Hopper")``. By default any.
        architecture: Processor architecture of the hosts, which the container images must have: ``x86_64`` or
            ``arm64``. By default ``x86_64``.
        min_vcpus: vCPUs at least. By default whatever there is.
        max_vcpus: vCPUs at most. By default any number.
        min_memory_mib: Memory of a host at least, in MiB. By default whatever there is.
        max_memory_mib: Memory of a host at most, in MiB. By default any amount.

    Raises:
        InvalidValueError: An argument is wrong by itself, only known at deploy time, or not the name of a GPU.
    """

    gpus: int = 1
    gpu_memory_gib: float | None = None
    models: Sequence[str] = ()
    generations: Sequence[str] = ()
    architecture: Architecture | str = Architecture.X86_64
    min_vcpus: int = 1
    max_vcpus: int | None = None
    min_memory_mib: int = 1
    max_memory_mib: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "gpus",
            _known_number("gpus", self.gpus, unit="GPUs", largest=max(each.gpus for each in _with_gpus())),
        )
        if self.gpu_memory_gib is not None:
            gpu_memory_mib(self.gpu_memory_gib)
        names: tuple[tuple[str, Sequence[str], Callable[[InstanceType], str | None]], ...] = (
            ("models", self.models, model_of),
            ("generations", self.generations, generation_of),
        )
        for argument, given, of_type in names:
            object.__setattr__(self, argument, _names(argument, given, of_type))
        object.__setattr__(self, "architecture", _architecture(self.architecture))
        for what, unit, low, high in (
            ("vcpus", "vCPUs", self.min_vcpus, self.max_vcpus),
            ("memory_mib", "MiB", self.min_memory_mib, self.max_memory_mib),
        ):
            least = _known_number(f"min_{what}", low, unit=unit)
            most = None if high is None else _known_number(f"max_{what}", high, unit=unit)
            object.__setattr__(self, f"min_{what}", least)
            object.__setattr__(self, f"max_{what}", most)
            if most is not None and most < least:
                raise InvalidValueError(
                    f"{low} {unit} at least and {high} at most contradict each other",
                    argument=f"max_{what}",
                    value=high,
                    allowed=f"{low} or more",
                    fix=f"leave max_{what} out",
                )

    @property
    def gpu_memory_mib(self) -> int:
        """Memory that each GPU must have in MiB; 0 asks for nothing."""
        return 0 if self.gpu_memory_gib is None else gpu_memory_mib(self.gpu_memory_gib)


def _names(argument: str, given: Sequence[str], of_type: Callable[[InstanceType], str | None]) -> tuple[str, ...]:
    known = {name.lower(): name for name in map(of_type, _with_gpus()) if name is not None}
    wanted = texts(argument, given, example=f"{argument}=({min(known.values())!r},)")
    for each in wanted:
        if each.lower() not in known:
            raise InvalidValueError(
                f"no GPU is called {shown(each)}",
                argument=argument,
                value=each,
                allowed=", ".join(sorted(known.values())),
                fix=f"leave {argument} out for any",
            )
    return tuple(dict.fromkeys(known[each.lower()] for each in wanted))


def _with_gpus() -> Iterator[InstanceType]:
    return (each for each in (*accelerated(), *declared_types()) if each.gpus)


def model_of(each: InstanceType) -> str | None:
    """The model of its accelerators; None without any."""
    return None if each.accelerators is None else each.accelerators.model


def generation_of(each: InstanceType) -> str | None:
    """The maker's name of the architecture of its GPUs; None without any."""
    return None if each.accelerators is None else each.accelerators.generation


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


def _known_number(argument: str, value: int, *, unit: str, largest: int = LARGEST_INTEGER) -> int:
    number = whole_number(argument, value, smallest=1, largest=largest, unit=unit, fix=f"{argument}=1")
    if isinstance(number, Unknown):
        raise InvalidValueError(
            "a number that is only known at deploy time selects no instance types at synth",
            argument=argument,
            value=value,
            fix="take the number from context instead of a parameter",
        )
    return number


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedOperation:
    """How ECS looks after the hosts of Managed Instances.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateManagedInstancesProviderConfiguration.html

    Args:
        automatic_repair: Whether ECS replaces hosts that are impaired, their GPUs included. By default it does.
        scale_in_after_seconds: How long a host may be idle or half empty before ECS ends it, up to 3600; with
            -1 it never does. By default as ECS sees fit.
        detailed_monitoring: Whether hosts send metrics every minute instead of every five. By default not.
        fips: Whether hosts use validated cryptographic modules only. By default in GovCloud regions.
        propagate_tags: Whether hosts get the tags of the provider. By default they do.

    Raises:
        InvalidValueError: An argument is wrong by itself.
    """

    automatic_repair: bool = True
    scale_in_after_seconds: int | None = None
    detailed_monitoring: bool = False
    fips: bool | None = None
    propagate_tags: bool = True

    def __post_init__(self) -> None:
        for argument in ("automatic_repair", "detailed_monitoring", "propagate_tags"):
            flag(argument, getattr(self, argument))
        if self.fips is not None:
            flag("fips", self.fips)
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

    def template_data(self) -> Mapping[str, object]:
        """What it adds to the ``InstanceLaunchTemplate``."""
        return {} if self.fips is None else {"FipsEnabled": self.fips}

    def provider_data(self) -> Mapping[str, object]:
        """What it adds to the ``ManagedInstancesProvider``, where aws-cdk-lib 2.275 has no words for it."""
        repair = {"AutoRepairConfiguration": {"ActionsStatus": "ENABLED" if self.automatic_repair else "DISABLED"}}
        if self.scale_in_after_seconds is None:
            return repair
        return {**repair, "InfrastructureOptimization": {"ScaleInAfter": self.scale_in_after_seconds}}


_OPTIONS = {
    PurchaseOption.ON_DEMAND: "ON_DEMAND",
    PurchaseOption.SPOT: "SPOT",
    PurchaseOption.RESERVED: "RESERVED",
}


@with_names_checked
@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedPurchase:
    """How the hosts of ECS Managed Instances are bought. Made by one of the class methods alone, on demand by default.

    The API has these three: no base on demand below spot, no Capacity Blocks, no single reservation
    (https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_InstanceLaunchTemplate.html).

    Attributes:
        option: How the hosts are bought, in one word.
        reservation: The capacity reservations that they run in; None without.
        target: The resource group of reservations, as given; None without.
    """

    option: PurchaseOption = field(default=PurchaseOption.ON_DEMAND, init=False)
    reservation: Reservation | None = field(default=None, init=False)
    target: str | None = field(default=None, init=False)

    @classmethod
    def on_demand(cls) -> ManagedPurchase:
        """On demand, by the second, in whatever capacity there is."""
        return cls()

    @classmethod
    def spot(cls) -> ManagedPurchase:
        """Spot: cheaper, and ended two minutes after a notice."""
        return cls._bought(PurchaseOption.SPOT)

    @classmethod
    @names_checked
    def reservations(cls, *, resource_group_arn: str, only: bool = False) -> ManagedPurchase:
        """On-Demand Capacity Reservations first, and on demand where they have no room left.

        Args:
            resource_group_arn: The resource group of the reservations; Managed Instances take no single one
                (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-cr-group.html).
            only: Whether hosts start in the reservations or not at all. By default they start on demand then.

        Raises:
            InvalidValueError: It is not the ARN of a resource group.
        """
        require_group_arn(resource_group_arn)
        flag("only", only)
        return cls._bought(
            PurchaseOption.RESERVED,
            reservation=Reservation(
                preference="RESERVATIONS_ONLY" if only else "RESERVATIONS_FIRST", group=known_text(resource_group_arn)
            ),
            target=resource_group_arn,
        )

    @classmethod
    def _bought(cls, option: PurchaseOption, **facts: object) -> ManagedPurchase:
        # No field is an argument: one without the others would be bought in another way than it says.
        made = cls()
        for name, value in {"option": option, **facts}.items():
            object.__setattr__(made, name, value)
        return made

    def template_data(self) -> Mapping[str, object]:
        """What it adds to the ``InstanceLaunchTemplate``."""
        reserved = (
            {}
            if self.reservation is None
            else {
                "CapacityReservations": {
                    "ReservationGroupArn": self.target,
                    "ReservationPreference": self.reservation.preference,
                }
            }
        )
        return {"CapacityOptionType": _OPTIONS[self.option], **reserved}


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
