"""What a host of ECS Managed Instances must have, where ECS is to choose its type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gpu_constructs.cdk.arguments import gpu_memory_mib, texts, whole_number
from gpu_constructs.cdk.kinds import with_names_checked
from gpu_constructs.errors import InvalidValueError, shown
from gpu_constructs.fleet import Unknown
from gpu_constructs.hardware import Architecture, InstanceType, accelerated
from gpu_constructs.hardware.aws_limits import LARGEST_INTEGER
from gpu_constructs.hardware.catalogue import declared_types


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
