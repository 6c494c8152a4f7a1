"""Instance types that are newer than the catalogue, declared by whoever has their data sheet, in code or in a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, fields
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from gpu_constructs.errors import InvalidValueError, UnknownNameError, arguments_written, shown
from gpu_constructs.facts import catalogue
from gpu_constructs.facts.budget import ENTRIES, NAME
from gpu_constructs.facts.model import Accelerators, Architecture, InstanceType, LocalDisk, Network, Vendor
from gpu_constructs.facts.names import name_problem
from gpu_constructs.facts.values import dataclass

_EXAMPLE = "DeclaredInstanceType('g9.xlarge', vcpus=4, memory_mib=16384, gpus=1, gpu_model='R200')"


@dataclass(frozen=True)
class DeclaredInstanceType:
    """An instance type that the catalogue does not have, as AWS describes it; what is left out is not known.

    Args:
        name: The name AWS prints, such as ``g9.xlarge``.
        vcpus: Default vCPUs.
        memory_mib: Nominal memory of the host in MiB.
        architecture: ``x86_64`` or ``arm64``.
        gpus: Whole NVIDIA GPUs.
        gpu_model: Their model, such as ``R200``; that of a GPU which the catalogue knows brings its facts.
        gpu_memory_mib: Memory of one GPU in MiB, as EC2 reports it.
        compute_capability: Their CUDA compute capability as (major, minor).
        neuron_devices: Neuron devices, on a type without GPUs.
        neuron_model: Their model, such as ``Trainium3``.
        neuron_cores: Neuron cores of one device.
        max_interfaces: Elastic network interfaces at most.
        efa_cards: Network cards that take an interface of type ``efa-only``; none for a type without EFA.
        local_disks_gb: Size of each local disk in GB.

    Raises:
        InvalidValueError: A value is wrong, or another one is missing that it needs.
        UnknownNameError: No instance type can have this name.
    """

    name: str
    _: KW_ONLY
    vcpus: int
    memory_mib: int
    architecture: str = Architecture.X86_64.value
    gpus: int = 0
    gpu_model: str | None = None
    gpu_memory_mib: int | None = None
    compute_capability: tuple[int, int] | None = None
    neuron_devices: int = 0
    neuron_model: str | None = None
    neuron_cores: int | None = None
    max_interfaces: int | None = None
    efa_cards: Sequence[int] | None = None
    local_disks_gb: Sequence[int] = ()

    def __post_init__(self) -> None:
        problem = name_problem(self.name) if isinstance(self.name, str) else "it is not a string"
        if problem:
            near = catalogue.near_types(self.name) if isinstance(self.name, str) else ()
            raise UnknownNameError(
                f"{shown(self.name)} cannot be an instance type: {problem}",
                argument="name",
                value=self.name,
                nearest=near,
            )
        for field in TYPE_FIELDS:
            value = getattr(self, field)
            if value is not None or field not in _MAY_BE_UNKNOWN:
                object.__setattr__(self, field, checked_value(field, value, *TYPE_FIELDS[field]))
        self._require_pairs()

    def _require_pairs(self) -> None:
        """Refuses accelerators without a model, facts about accelerators that there are none of, and both kinds."""
        if self.gpus and self.neuron_devices:
            raise InvalidValueError(
                f"{self.name} has GPUs or Neuron devices, not both",
                argument="neuron_devices",
                value=self.neuron_devices,
                fix="leave gpus or neuron_devices out",
            )
        for count, kind in (("gpus", "gpu_"), ("neuron_devices", "neuron_")):
            facts = [f"{kind}model", *_FACTS[count]]
            given = [each for each in facts if getattr(self, each) is not None]
            if given and not getattr(self, count):
                raise InvalidValueError(
                    f"{self.name} has {given[0]} and no {count}",
                    argument=given[0],
                    fix=f"{count}=1, or how many it has",
                )
            if getattr(self, count) and not getattr(self, facts[0]):
                raise InvalidValueError(
                    f"{self.name} has {count} and no {facts[0]}", argument=facts[0], fix=f"{facts[0]}='…'"
                )

    @cached_property
    def instance_type(self) -> InstanceType:
        """The type that it describes, marked as declared."""
        cards = None if self.efa_cards is None else tuple(self.efa_cards)
        disks = Counter(self.local_disks_gb)
        return InstanceType(
            name=self.name,
            vcpus=self.vcpus,
            memory_mib=self.memory_mib,
            architecture=Architecture(self.architecture),
            accelerators=self._accelerators(),
            network=Network(
                max_interfaces=self.max_interfaces,
                efa_supported=None if cards is None else bool(cards),
                max_efa_interfaces=None if cards is None else len(cards),
                efa_cards=cards or (),
                efa_only_cards=cards or (),
            ),
            local_disks=tuple(LocalDisk(count=count, size_gb=size) for size, count in disks.items()),
            purchase_classes=(),
            regions=(),
            quota=None,
            current_generation=True,
            bare_metal=self.name.partition(".")[2].startswith("metal"),
            declared=True,
        )

    def _accelerators(self) -> Accelerators | None:
        if self.gpus:
            like = catalogue.known_gpu(self.gpu_model or "")
            return Accelerators(
                vendor=Vendor.NVIDIA,
                model=like.model if like else self.gpu_model or "",
                count=self.gpus,
                logical_count=self.gpus,
                memory_mib=self.gpu_memory_mib,
                generation=like.generation if like else None,
                compute_capability=self.compute_capability or (like.compute_capability if like else None),
            )
        if self.neuron_devices:
            return Accelerators(
                vendor=Vendor.NEURON,
                model=self.neuron_model or "",
                count=self.neuron_devices,
                logical_count=self.neuron_devices,
                cores=self.neuron_cores,
            )
        return None


def declare_instance_types(*types: DeclaredInstanceType) -> None:
    """Makes instance types known that the catalogue does not have, in every look-up of this process.

    They are checked like all others, and marked as declared wherever they are shown. Once the catalogue has a type, its
    facts count, and a declaration that says otherwise is refused.

    Args:
        types: The types.

    Raises:
        InvalidValueError: It is not a `DeclaredInstanceType`, or differs from the catalogue or an earlier one.
    """
    catalogue.for_the_process(instance_types_of_declarations(types))


def instance_types_of_declarations(declarations: Sequence[DeclaredInstanceType]) -> dict[str, InstanceType]:
    """The types that are declared, by name, without those that the catalogue has by now.

    Raises:
        InvalidValueError: It is not a `DeclaredInstanceType`, or differs from the catalogue or another one.
    """
    types: dict[str, InstanceType] = {}
    for each in declarations:
        if not isinstance(each, DeclaredInstanceType):
            raise InvalidValueError(f"{shown(each)} is not a DeclaredInstanceType", value=each, fix=_EXAMPLE)
        found = each.instance_type
        recorded = catalogue.recorded_type(each.name)
        if recorded is not None:
            _require_the_same(found, recorded)
        elif (types.get(each.name) or catalogue.declared_type(each.name) or found) != found:
            raise InvalidValueError(
                f"{each.name} is declared twice, with different facts", argument="name", value=each.name, fix="keep one"
            )
        else:
            types[each.name] = found
    return types


def _require_the_same(declared: InstanceType, recorded: InstanceType) -> None:
    """Refuses a fact that differs; what one of both leaves out does not."""
    ours = {"local_disks_gb": []} | _with_counts(recorded)
    for name, value in _with_counts(declared).items():
        if name in ours and str(value).lower() != str(ours[name]).lower():
            raise InvalidValueError(
                f"the catalogue of {catalogue.RECORDED} has {declared.name} with {name} {ours[name]}, and it is "
                f"declared with {value}",
                argument="name",
                value=declared.name,
                fix="remove the declaration",
            )


def _with_counts(found: InstanceType) -> dict[str, object]:
    facts = _facts_of(found)
    return facts | {each: facts.get(each, 0) for each in _COUNTS.values()}


def declared_type_of(name: str, written: Mapping[str, object]) -> DeclaredInstanceType:
    """A declared type as files write it: fields by name, as ``memory_mib`` or ``MemoryMib``.

    Raises:
        InvalidValueError: A value is wrong, or a field is missing; `argument` is the key as it is written.
        UnknownNameError: There is no such field, or no type can have this name.
    """
    keys = fields_by_key(written, [each.name for each in fields(DeclaredInstanceType)[1:]], "an instance type")
    for field in ("vcpus", "memory_mib"):
        if field not in keys:
            raise InvalidValueError(f"{field} of {shown(name)} is missing", value=name, fix=f"{field}: …")
    values: dict[str, Any] = {field: written[key] for field, key in keys.items()}
    with arguments_written(keys):
        return DeclaredInstanceType(name, **values)


def metadata_of(declared: Sequence[InstanceType]) -> dict[str, object]:
    """Declared types as templates write them, for `declared_type_of`: ``{"g9.xlarge": {"Vcpus": 4, …}}``."""
    return {each.name: as_properties(_facts_of(each)) for each in declared if each.declared}


def _facts_of(found: InstanceType) -> dict[str, object]:
    """The fields of a declaration that has the facts of a type, as far as they are known."""
    devices, network = found.accelerators, found.network
    facts: dict[str, object] = {
        "vcpus": found.vcpus,
        "memory_mib": found.memory_mib,
        "architecture": str(found.architecture),
        "max_interfaces": network.max_interfaces,
        "efa_cards": None if network.efa_supported is None else list(network.efa_only_cards),
        "local_disks_gb": [disk.size_gb for disk in found.local_disks for _ in range(disk.count)] or None,
    }
    if devices is not None and devices.vendor in _KINDS:
        kind = _KINDS[devices.vendor]
        facts |= {
            _COUNTS[kind]: devices.logical_count,
            f"{kind}_model": devices.model,
            f"{kind}_memory_mib": devices.memory_mib,
            "compute_capability": devices.compute_capability and list(devices.compute_capability),
            f"{kind}_cores": devices.cores,
        }
    return {name: value for name, value in facts.items() if value is not None}


_MAY_BE_UNKNOWN = frozenset(each.name for each in fields(DeclaredInstanceType) if each.default is None)
_KINDS = {Vendor.NVIDIA: "gpu", Vendor.NEURON: "neuron"}
_COUNTS = {"gpu": "gpus", "neuron": "neuron_devices"}
_FACTS = {"gpus": ("gpu_memory_mib", "compute_capability"), "neuron_devices": ("neuron_cores",)}


MOST_DEVICES = 1000
"""More GPUs or Neuron devices than any host has."""

_MODEL = rf"[A-Za-z0-9][A-Za-z0-9 ._-]{{0,{NAME - 1}}}"


Fields = Mapping[str, tuple[str, Callable[[object], object | None]]]
"""By field of a declaration: the values that it can have, in words, and what it keeps of one, None of a wrong one."""


def checked_value(field: str, value: object, allowed: str, kept: Callable[[Any], object | None]) -> object:
    """The value that a field keeps, such as a tuple for a list.

    Raises:
        InvalidValueError: The field cannot have it.
    """
    found = kept(value)
    if found is None:
        raise InvalidValueError(f"got {shown(value)}", argument=field, value=value, allowed=allowed)
    return found


def fields_by_key(written: Mapping[str, object], fields: Iterable[str], of: str) -> dict[str, str]:
    """The key of each field that a file writes, as ``memory_mib`` or ``MemoryMib``; `of` says whose fields they are.

    Raises:
        UnknownNameError: There is no such field.
        InvalidValueError: Two keys are one field.
    """
    known = {each.replace("_", ""): each for each in fields}
    keys: dict[str, str] = {}
    for key in written:
        field = known.get(key[:NAME].replace("_", "").lower())
        if field is None:
            near = tuple(get_close_matches(key[:NAME].lower(), known.values(), n=2))
            raise UnknownNameError(f"{of} has no {shown(key)}", argument=key, value=key, nearest=near)
        if field in keys:
            raise InvalidValueError(
                f"{shown(keys[field])} and {shown(key)} are the same fact", argument=key, fix="leave one out"
            )
        keys[field] = key
    return keys


def as_properties(facts: Mapping[str, object]) -> dict[str, object]:
    """Facts as templates write them, those that are known: ``{"MemoryMib": 4096}``."""
    known = {name: value for name, value in facts.items() if value is not None}
    return {"".join(map(str.capitalize, name.split("_"))): value for name, value in known.items()}


def whole_number(smallest: int, largest: int) -> Callable[[object], int | None]:
    """What keeps a whole number between two others."""

    def kept(value: object) -> int | None:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return value if isinstance(value, int) and is_number and smallest <= value <= largest else None

    return kept


def _numbers(smallest: int, largest: int, *, once: bool = False) -> Callable[[object], tuple[int, ...] | None]:
    one = whole_number(smallest, largest)

    def kept(value: object) -> tuple[int, ...] | None:
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) or len(value) > ENTRIES:
            return None
        found = tuple(number for each in value if (number := one(each)) is not None)
        is_right = len(found) == len(value) and not (once and len(set(found)) < len(found))
        return found if is_right else None

    return kept


def _architecture(value: object) -> str | None:
    return next((each.value for each in Architecture if value in (each, each.value)), None)


def text_like(pattern: str) -> Callable[[object], str | None]:
    """What keeps a text of a form."""
    return lambda value: value if isinstance(value, str) and re.fullmatch(pattern, value) else None


def _capability(value: object) -> tuple[int, int] | None:
    match value:
        case [int(major), int(minor)] if whole_number(1, 99)(major) and whole_number(0, 9)(minor) is not None:
            return major, minor
    written = re.fullmatch(r"([1-9][0-9]?)\.([0-9])", str(value)) if isinstance(value, (str, float)) else None
    return (int(written[1]), int(written[2])) if written else None


_MODELS = "a name of letters, digits, blanks, dots and hyphens, such as R200"
TYPE_FIELDS: Fields = {
    "vcpus": ("a whole number from 1 to 10000", whole_number(1, 10_000)),
    "memory_mib": ("MiB as a whole number from 1 to 1000000000", whole_number(1, 10**9)),
    "architecture": ("x86_64 or arm64", _architecture),
    "gpus": (f"a whole number from 0 to {MOST_DEVICES}", whole_number(0, MOST_DEVICES)),
    "gpu_model": (_MODELS, text_like(_MODEL)),
    "gpu_memory_mib": ("MiB as a whole number from 1 to 100000000", whole_number(1, 10**8)),
    "compute_capability": ("major and minor of one digit, such as (10, 3), or the string '10.3'", _capability),
    "neuron_devices": (f"a whole number from 0 to {MOST_DEVICES}", whole_number(0, MOST_DEVICES)),
    "neuron_model": (_MODELS, text_like(_MODEL)),
    "neuron_cores": ("a whole number from 1 to 1000", whole_number(1, 1000)),
    "max_interfaces": ("a whole number from 1 to 1000", whole_number(1, 1000)),
    "efa_cards": ("a list of indexes of network cards from 0, each once, such as [0]", _numbers(0, 1000, once=True)),
    "local_disks_gb": ("a list with the GB of each disk, such as [1900, 1900]", _numbers(1, 10**6)),
}
"""The fields of a declared type but its name."""
